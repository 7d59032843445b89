//! The words of `gerbil mr`.

use std::ffi::OsString;

use clap::{Args, CommandFactory as _, Parser};
use session::Name;

/// What is to be run, and how.
#[derive(Clone, Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct MapReduceArguments {
    /// The session that runs it (gerbil session start) [default: what GERBIL_SESSION names]
    #[arg(long, value_name = "NAME")]
    pub session: Option<Name>,

    /// A setting, by Hadoop's name; it stands over those of the program and of mapred-site.xml
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub settings: Vec<String>,

    /// Say nothing but what fails: no progress, no counters
    #[arg(short, long)]
    pub quiet: bool,

    /// Folder to stage the program in: hdfs://… or file:/… on every node [default: .gerbil in the user's
    /// home folder on the cluster's file system]
    #[arg(long, value_name = "URL")]
    pub staging: Option<String>,

    /// Leave the libraries that the program needs to the nodes
    #[arg(long)]
    pub no_ship_libs: bool,

    /// The program, and its own options, inputs and output; PROGRAM --help lists them
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM ARGS")]
    pub words: Vec<OsString>,
}

const AFTER: &str = "\
Inputs are files, folders, lists with commas and patterns ({a,b} * ? [a-c]);
names that begin with _ or . are left out. What names no file system lies on
that of fs.defaultFS, and unless it begins with / in the user's folder there.
file: is a folder that all nodes have mounted. OUT must not be there yet.

Ctrl-C ends the jobs and their driver; once more leaves that to the session.
The exit code is 0, or that of a job that failed, or 1, or what the program
returned that disliked its command line.

  gerbil session start s --containers 4 --slots-per-container 2
  gerbil mr --session s ./wordcount /books /counts
  gerbil mr --session s -D mapreduce.job.reduces=8 ./wordcount '/b*' /counts2";

/// The command alone, for its manual page.
#[derive(Debug, Parser)]
#[command(name = "gerbil-mr", version, about = ABOUT)]
struct Alone {
    #[command(flatten)]
    given: MapReduceArguments,
}

const ABOUT: &str = "Run a program of maps and reduces in a session";

/// Its definition.
pub(crate) fn command() -> clap::Command {
    Alone::command()
}

/// The words of the command with a mark before the program: what is behind it is the program's, whatever it looks
/// like.
pub(super) fn marked(words: Vec<OsString>) -> Vec<OsString> {
    let definition = command();
    let takes = |is_it: &dyn Fn(&clap::Arg) -> bool| {
        let mut all = definition.get_arguments();
        all.any(|arg| is_it(arg) && arg.get_action().takes_values())
    };
    let mut marked = Vec::with_capacity(words.len() + 1);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        if text == "--" {
            marked.push(word);
            break;
        }
        let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
            marked.extend(["--".into(), word]);
            break;
        };
        marked.push(word);
        let wants_more = match option.strip_prefix('-') {
            Some(long) => takes(&|arg| arg.get_long() == Some(long)),
            // Of letters in a row the first that takes a value has the rest, or what comes next.
            None => {
                let letters: Vec<char> = option.chars().collect();
                let taking = letters
                    .iter()
                    .position(|letter| takes(&|arg| arg.get_short() == Some(*letter)));
                taking.is_some_and(|taking| taking + 1 == letters.len())
            }
        };
        if wants_more {
            marked.extend(words.next());
        }
    }
    marked.extend(words);
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &str) -> Result<MapReduceArguments, String> {
        let words = line.split_whitespace().map(OsString::from).collect();
        let words = std::iter::once("gerbil-mr".into()).chain(marked(words));
        let line = Alone::try_parse_from(words).map_err(|error| error.to_string())?;
        Ok(line.given)
    }

    #[test]
    fn what_follows_the_program_is_its_own() {
        let line = "--session s -qD a=b -Dc=d -D e=f ./p -D g=h --quiet IN -- OUT";
        let found = given(line).unwrap();
        assert_eq!(found.session.unwrap().as_str(), "s");
        assert_eq!(found.settings, ["a=b", "c=d", "e=f"]);
        assert!(found.quiet);
        assert_eq!(
            found.words,
            ["./p", "-D", "g=h", "--quiet", "IN", "--", "OUT"]
        );
        let found = given("-- -odd IN").unwrap();
        assert_eq!(found.words, ["-odd", "IN"]);
    }

    #[test]
    fn an_option_that_is_none_is_no_program() {
        let refused = given("--sesion s ./p IN OUT").unwrap_err();
        assert!(refused.contains("--session"), "{refused}");
        assert!(given("-D").is_err());
        assert!(given("--session s").is_err());
        command().debug_assert();
    }
}
