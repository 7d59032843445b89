//! What is told about a job, and where.

use std::num::NonZeroU16;
use std::path::{Path, PathBuf};

use clap::{Arg, Args};

/// The options that say nothing about the job itself.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "What is told")]
pub(crate) struct Reporting {
    /// Print the cluster, the placement and each node's reason to standard output; nothing is
    /// uploaded or submitted
    #[arg(long, conflicts_with_all = ["explain", "report", "timing"])]
    pub dry_run: bool,

    /// Tell what is asked of the cluster, what comes and what is missing, as it happens: on standard
    /// error, since standard output is the program's, or in FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub explain: Option<Option<PathBuf>>,

    /// With --dry-run or --explain: one JSON object a line instead of words
    #[arg(long)]
    pub json: bool,

    /// At the end write a report of the job, one JSON object, to FILE
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// At the end print where the time went, the placement, and memory and processor time of the ranks
    #[arg(long)]
    pub timing: bool,

    /// Say nothing that is not an error: not where the job runs degraded, what it waits for, and which
    /// options have no effect here
    #[arg(long)]
    pub quiet: bool,

    /// Run many jobs: each line of FILE is the command line of one (# begins a comment); a table at
    /// the end, the exit code is the highest of all
    #[arg(long, value_name = "FILE")]
    pub list: Option<PathBuf>,

    /// With --list: how many jobs run at once
    #[arg(long, value_name = "N", default_value = "16", requires = "list",
        value_parser = clap::builder::ValueParser::new(parallel))]
    pub list_parallel: Option<NonZeroU16>,
}

/// Two descriptors a job, and some to spare.
const PARALLEL_MAX: u16 = 256;

fn parallel(text: &str) -> Result<NonZeroU16, String> {
    let number = text
        .parse()
        .ok()
        .filter(|n: &NonZeroU16| n.get() <= PARALLEL_MAX);
    number.ok_or_else(|| format!("{text} is no number of jobs from 1 to {PARALLEL_MAX}"))
}

/// What stands beside `--list`; everything else belongs into its lines.
const BESIDE_LIST: [&str; 7] = [
    "list",
    "list_parallel",
    "dry_run",
    "explain",
    "json",
    "report",
    "timing",
];

impl Reporting {
    /// Refuses combinations that say nothing. `typed` are those that stood on the command line.
    ///
    /// # Errors
    /// One sentence for the user.
    pub(crate) fn check<'a>(&self, mut typed: impl Iterator<Item = &'a Arg>) -> Result<(), String> {
        if self.json && !self.dry_run && self.explain.is_none() {
            return Err("--json goes with --dry-run or --explain".into());
        }
        if self.report.as_deref() == Some(Path::new("-")) {
            return Err(
                "--report -: standard output is the program's; name a file, or /dev/stderr".into(),
            );
        }
        let Some(list) = &self.list else {
            return Ok(());
        };
        let belongs = |argument: &&Arg| !BESIDE_LIST.contains(&argument.get_id().as_str());
        if let Some(stray) = typed.find(belongs) {
            return Err(format!(
                "--list {}: {} belongs into the lines of the list",
                list.display(),
                match (stray.get_id().as_str(), stray.get_long()) {
                    ("mpi", _) | (_, None) => "a program".to_owned(),
                    (_, Some(long)) => format!("--{long}"),
                }
            ));
        }
        if let Some(Some(file)) = &self.explain {
            return Err(format!(
                "--explain={}: the jobs of a list would write over each other; give each line its own",
                file.display()
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;

    fn check(line: &str) -> Result<Reporting, String> {
        let words = std::iter::once("gerbil-run").chain(line.split_whitespace());
        Arguments::parse(words.map(Into::into))
            .map(|given| given.reporting)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn json_says_how_something_is_told() {
        assert!(
            check("--json ./cpi")
                .unwrap_err()
                .contains("--dry-run or --explain")
        );
        assert!(check("--json --dry-run ./cpi").unwrap().dry_run);
        assert_eq!(check("--json --explain ./cpi").unwrap().explain, Some(None));
        assert_eq!(
            check("--explain=what.json ./cpi").unwrap().explain,
            Some(Some("what.json".into()))
        );
        assert!(check("--explain --dry-run ./cpi").is_err());
    }

    #[test]
    fn a_report_does_not_go_to_the_programs_output() {
        assert!(
            check("--report - ./cpi")
                .unwrap_err()
                .contains("name a file")
        );
        assert_eq!(
            check("--report r.json ./cpi").unwrap().report,
            Some("r.json".into())
        );
    }

    #[test]
    fn beside_a_list_stands_only_what_is_told_of_it() {
        let given = check("--list jobs --timing --report r.json --list-parallel 2").unwrap();
        assert_eq!(given.list, Some("jobs".into()));
        assert_eq!(given.list_parallel, NonZeroU16::new(2));
        assert_eq!(
            check("--list jobs").unwrap().list_parallel,
            NonZeroU16::new(16)
        );
        assert!(
            check("--list jobs -n 4")
                .unwrap_err()
                .contains("--processes belongs into")
        );
        assert!(
            check("--list jobs ./cpi")
                .unwrap_err()
                .contains("a program belongs into")
        );
        assert!(
            check("--list jobs --explain=x")
                .unwrap_err()
                .contains("write over")
        );
        let alone = check("--list-parallel 2 ./cpi").unwrap_err();
        assert!(alone.contains("--list"), "{alone}");
        assert!(check("--list jobs --list-parallel 0").is_err());
        assert!(check("--list jobs --list-parallel 300").is_err());
    }
}
