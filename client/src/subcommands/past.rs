//! The words of `gerbil mr list` and its like, which show jobs instead of running them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use session::JobName;

/// What they are called; a program of such a name is run as ./list.
const NAMES: [&str; 6] = ["list", "status", "counters", "history", "kill", "scan"];

/// Shows MapReduce jobs, those that are over too.
#[derive(Debug, Parser)]
#[command(name = "gerbil mr", bin_name = "gerbil mr", version)]
pub(crate) struct PastArguments {
    /// The folder that the jobs' programs were staged in: what became of them lies there [default: .gerbil in
    /// the user's home folder on the cluster's file system]
    #[arg(long, value_name = "URL", global = true)]
    pub staging: Option<String>,

    /// What is to be shown
    #[command(subcommand)]
    pub task: PastTask,
}

/// What can be done with jobs that run or are over.
#[derive(Debug, Subcommand)]
pub(crate) enum PastTask {
    /// List your MapReduce jobs of the last week, and those of your sessions that are not over
    List {
        /// One JSON array instead of a table
        #[arg(long)]
        json: bool,
    },
    /// How a job is, or how it ended
    Status {
        /// As list shows it, s42.7; or its application
        job: JobName,
    },
    /// The counters of a job that is over
    Counters {
        /// As list shows it, s42.7; or its application
        job: JobName,
    },
    /// Where and when the attempts of a job ran, and why some failed
    History {
        /// As list shows it, s42.7; or its application
        job: JobName,
        /// The file that its ApplicationMaster has left, JSON
        #[arg(long, conflicts_with = "html")]
        json: bool,
        /// A page with a chart: gerbil mr history --html s42.7 > job.html
        #[arg(long)]
        html: bool,
    },
    /// End a job, and wait until nothing of it is left
    Kill {
        /// As list shows it, s42.7; or its application
        job: JobName,
    },
    /// Say what the stages of a program need of their nodes, such as a GPU, without running it
    Scan {
        /// The program, a library, a script or a jar
        file: PathBuf,
        /// Files that travel with it
        #[arg(long, value_name = "FILE")]
        shipped: Vec<PathBuf>,
        /// One JSON array instead of lines
        #[arg(long)]
        json: bool,
    },
}

/// Whether these words, behind `mr`, are such.
pub(super) fn is_of_past(words: &[OsString]) -> bool {
    let first = words.iter().find(|word| !word.is_empty());
    first.is_some_and(|first| NAMES.iter().any(|name| first == name))
}

/// Refuses such a word where a program is expected, behind options of `gerbil mr`: `rest` has a mark before it.
///
/// # Errors
/// How it is written.
pub(super) fn behind_options(rest: &[OsString]) -> Result<(), String> {
    let mut parts = rest.splitn(2, |word| word == "--");
    let (Some(options), Some([word, ..])) = (parts.next(), parts.next()) else {
        return Ok(());
    };
    let is_one = NAMES.iter().any(|name| word == name) && !options.is_empty();
    if !is_one || std::path::Path::new(word).is_file() {
        return Ok(());
    }
    let word = word.to_string_lossy();
    Err(format!(
        "options of gerbil mr {word} stand behind that word: gerbil mr {word} --staging URL (a program of that name is \
         ./{word})"
    ))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn programs_are_told_from_what_shows_jobs() {
        let is = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            is_of_past(&words)
        };
        assert!(is("list") && is("history s4.2 --html"));
        assert!(!is("./list /in /out") && !is("--session s list /in /out") && !is(""));
        let refused = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            behind_options(&words).unwrap_err()
        };
        let said = refused("--staging hdfs://n/s -- list");
        assert!(said.contains("gerbil mr list --staging URL"), "{said}");
        let words = ["--staging", "x", "--", "./list", "in"].map(OsString::from);
        assert_eq!(behind_options(&words), Ok(()));
        let command = PastArguments::command();
        command.clone().debug_assert();
        let names: Vec<String> = command
            .get_subcommands()
            .map(|of| of.get_name().to_owned())
            .collect();
        assert_eq!(names, NAMES);
    }
}
