//! Where input comes from and output goes.

use std::path::PathBuf;

use clap::Args;
use follow::pattern::Pattern;
use follow::streams::StandardInput;

use super::values::Whole;
use crate::hostfile::PROCESSES_MAX;

/// The options of this group.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Input and output")]
pub(crate) struct StreamArguments {
    /// Begin every line of output with the rank that wrote it; also -l before the program, and
    /// -prepend-rank. With and without it, lines of up to 64 KiB stay whole and those of one rank in their
    /// order; a longer line is cut. A line without an end is shown after a fifth of a second, with a label when it ends
    #[arg(long, visible_alias = "prepend-rank")]
    pub label: bool,

    /// Begin every line of output with this: %r is the rank, %h the host, %p the number of the node
    /// in the job, %g the number of the process group, which is 0, %% a percent sign
    #[arg(long, value_name = "PATTERN", value_parser = Pattern::parse, conflicts_with = "label")]
    pub prepend_pattern: Option<Pattern>,

    /// Write standard output into files here rather than to standard output; the name may hold what
    /// -prepend-pattern may. Missing folders are made, and files that are there are written anew
    #[arg(long, visible_alias = "outfile", value_name = "PATTERN", value_parser = Pattern::parse)]
    pub outfile_pattern: Option<Pattern>,

    /// The same of standard error
    #[arg(long, visible_alias = "errfile", value_name = "PATTERN", value_parser = Pattern::parse)]
    pub errfile_pattern: Option<Pattern>,

    /// Keep a copy of all output in files of this folder, rank-R.out and rank-R.err: a folder here, or one
    /// of HDFS, as in hdfs://host:port/folder or hdfs:///folder
    #[arg(long, value_name = "FOLDER", value_parser = folder)]
    pub output: Option<CopyTo>,

    /// Give rank 0 this terminal, as srun does: its input and output are a terminal of the size of ours,
    /// and every key goes to it, Ctrl-C too. Of the other ranks nothing is shown
    #[arg(long, conflicts_with = "input")]
    pub pty: bool,

    /// Show the output of this rank alone
    #[arg(long, value_name = "RANK", value_parser = Whole::new("rank", 0, PROCESSES_MAX))]
    pub output_from: Option<u32>,

    /// What rank 0 reads: a file here, or none; otherwise standard input
    #[arg(long, value_name = "FILE", visible_alias = "stdin", value_parser = input)]
    pub input: Option<StandardInput>,
}

/// A folder that keeps a copy of all output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CopyTo {
    /// Of this machine.
    Here(PathBuf),
    /// Of HDFS; its URL.
    Hdfs(String),
}

fn folder(text: &str) -> Result<CopyTo, String> {
    if text.contains('%') {
        return Err(format!(
            "{text}: this names a folder that keeps a copy; files by a pattern are -outfile-pattern \
             and -errfile-pattern, with %r for srun's %t and %h for its %N"
        ));
    }
    match text.split_once("://") {
        Some(("file", path)) => Ok(CopyTo::Here(path.into())),
        Some(("hdfs" | "viewfs", _)) => Ok(CopyTo::Hdfs(text.to_owned())),
        Some((scheme, _)) => Err(format!(
            "{text}: {scheme}: folders cannot be written; name one here or of hdfs:"
        )),
        None if text.is_empty() => Err("a folder wants a name".into()),
        None => Ok(CopyTo::Here(text.into())),
    }
}

fn input(text: &str) -> Result<StandardInput, String> {
    match text {
        "" => Err("a file wants a name".into()),
        "none" => Ok(StandardInput::None),
        "0" => Ok(StandardInput::Own),
        "all" => Err("all: standard input goes to rank 0 alone".into()),
        number if number.bytes().all(|b| b.is_ascii_digit()) => Err(format!(
            "{number}: standard input goes to rank 0 alone; a file of that name is ./{number}"
        )),
        file => Ok(StandardInput::File(file.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_has_the_words_of_srun_and_mpirun() {
        assert_eq!(input("none"), Ok(StandardInput::None));
        assert_eq!(input("0"), Ok(StandardInput::Own));
        assert_eq!(input("./7"), Ok(StandardInput::File("./7".into())));
        assert!(input("7").unwrap_err().contains("./7"));
        assert!(input("all").is_err());
    }

    #[test]
    fn a_copy_goes_to_a_folder() {
        let here = |path: &str| Ok(CopyTo::Here(path.into()));
        assert_eq!(folder("out"), here("out"));
        assert_eq!(folder("file:///tmp/x"), here("/tmp/x"));
        assert_eq!(folder("hdfs:///x"), Ok(CopyTo::Hdfs("hdfs:///x".into())));
        assert!(folder("out.%t").unwrap_err().contains("-outfile-pattern"));
        assert!(folder("s3://x").unwrap_err().contains("hdfs"));
    }
}
