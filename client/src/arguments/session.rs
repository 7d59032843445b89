//! A job that a session runs, and which options it cannot have.

use clap::Args;
use session::Name;

use crate::environment;
use crate::usage::UsageError;

/// The session where no option names one.
const VARIABLE: &str = "GERBIL_SESSION";

/// The options of this group.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = super::headings::WHERE)]
pub(crate) struct SessionArguments {
    /// Run the program in a session, which holds its containers already (gerbil session start) and has
    /// other jobs too; Ctrl-C ends the job alone [default: what GERBIL_SESSION names]
    #[arg(long, value_name = "NAME")]
    pub session: Option<Name>,

    /// Leave the job to its session: print its name, as s42.7, and return when it is taken. gerbil attach
    /// shows it from the beginning, and gerbil logs what there is; gerbil kill ends it. Its standard input is
    /// empty, or with --input 0 that of who attaches with --input
    #[arg(long)]
    pub detach: bool,

    /// The session is one of this machine alone: jobs start in the current folder, as with --local.
    #[arg(skip)]
    pub is_local: bool,
}

/// Where the session's containers and its ApplicationMaster lie was said when it was started.
const STARTED: &str = "that is said when a session is started: gerbil session start";
/// A session's slots are alike, and it chooses among them.
const PLACED: &str = "a session places its jobs itself, on whichever of its slots are free; run the job \
                      without a session to say where it goes";
/// The session's containers are held already.
const HELD: &str = "a session holds its containers already, and this job asks YARN for none";
/// What needs a container of the job's own.
const MOVED: &str = "a job of a session cannot have data moved yet; have the program read and write the file \
                     system itself, bring small files with --files, or run the job without a session";
const SAVED: &str = "a job of a session is not saved yet; run it without a session";
const COUNTED: &str =
    "the slots of a session are memory and one core each; run the job without a session";

/// Who is to run a job that nobody follows.
const ALONE: &str = "--detach leaves a job to a session: gerbil session start starts one, and --session or \
                     GERBIL_SESSION names it";

/// Slots of a session alone are of fast and of slow cores.
const ANY_SPEED: &str = "--any-speed is about slots on fast and on slow cores, which a session has: name it with --session, or \
                         leave --any-speed out";

/// Options that a job of a session cannot have, by their long names, and why or what to do.
const REFUSED: &[(&str, &str)] = &[
    (
        "local",
        "gerbil session start --local starts one on this machine",
    ),
    ("deploy-mode", "a session's ApplicationMaster runs already"),
    ("am-ports", STARTED),
    ("iface", STARTED),
    (
        "tags",
        "they are an application's, and this job is a part of one; --name names the job",
    ),
    ("vcores-per-proc", COUNTED),
    ("resource", COUNTED),
    ("gpus-per-proc", COUNTED),
    ("hostfile", PLACED),
    ("hosts", PLACED),
    ("relax", PLACED),
    ("processes-per-node", PLACED),
    ("nodes", PLACED),
    ("rank-by", PLACED),
    ("rankmap", PLACED),
    (
        "exclude",
        "a session leaves out nodes when it is started: gerbil session start --exclude",
    ),
    ("same-rack", PLACED),
    ("near", PLACED),
    ("node-label", HELD),
    ("pack", PLACED),
    ("sort-nodes", PLACED),
    (
        "oversubscribe",
        "a slot of a session has one process at a time",
    ),
    ("reissue-after", HELD),
    ("gang-timeout", HELD),
    ("join-timeout", HELD),
    (
        "attempts",
        "a session has one ApplicationMaster, and ends with it",
    ),
    ("stage-in", MOVED),
    ("stage-out", MOVED),
    ("get", MOVED),
    ("checkpoint-interval", SAVED),
    ("checkpoint-signal", SAVED),
    ("checkpoint-dir", SAVED),
    ("restore", SAVED),
];

impl SessionArguments {
    /// Takes the session of the environment where none is named, and refuses what a job of a session cannot
    /// have. `typed` are the long names of the options on the command line.
    ///
    /// # Errors
    /// One sentence for the user.
    pub(super) fn check<'a>(
        &mut self,
        variable: Option<&str>,
        mut typed: impl Iterator<Item = &'a str>,
    ) -> Result<(), String> {
        let from_variable = self.session.is_none();
        if let (None, Some(name)) = (&self.session, variable.filter(|name| !name.is_empty())) {
            self.session = Some(parsed(name)?);
        }
        let Some(name) = &self.session else {
            return match (self.detach, typed.any(|long| long == "any-speed")) {
                (true, _) => Err(ALONE.to_owned()),
                (false, true) => Err(ANY_SPEED.to_owned()),
                (false, false) => Ok(()),
            };
        };
        let refused = typed.find_map(|long| REFUSED.iter().find(|(other, _)| *other == long));
        match refused {
            None => Ok(()),
            Some((long, why)) => Err(format!(
                "--{long} does not go with a session ({}{name}): {why}",
                match from_variable {
                    true => "GERBIL_SESSION=",
                    false => "--session ",
                }
            )),
        }
    }
}

/// The session that the environment names.
pub(super) fn variable() -> Option<String> {
    environment::variable(VARIABLE)
}

/// The same as a name.
pub(crate) fn of_environment() -> Result<Option<Name>, UsageError> {
    let name = variable().filter(|name| !name.is_empty());
    let name = name.map(|name| parsed(&name)).transpose();
    name.map_err(|sentence| UsageError::SessionVariable { sentence })
}

fn parsed(name: &str) -> Result<Name, String> {
    let name = name.parse();
    name.map_err(|why: String| format!("{VARIABLE}: {why}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::arguments::Arguments;

    /// Options that do the same in a session as elsewhere, or stand alone.
    const SAME: &[&str] = &[
        "session",
        "detach",
        "queue",
        "dry-run",
        "priority",
        "name",
        "mem-per-proc",
        "mpi",
        "arguments",
        "usize",
        "no-ship-libs",
        "staging",
        "processes",
        "yield",
        "wait-timeout",
        "any-speed",
        "explain",
        "json",
        "report",
        "timing",
        "quiet",
        "list",
        "list-parallel",
        "timeout",
        "time",
        "wait",
        "disable-auto-cleanup",
        "kill-on-bad-exit",
        "restarts",
        "no-restart",
        "print-all-exitcodes",
        "exit-code",
        "bind-to",
        "map-by",
        "report-bindings",
        "files",
        "archives",
        "venv",
        "in-place",
        "pm",
        "pmix",
        "mca",
        "pmixmca",
        "tune",
        "gmca",
        "gpmixmca",
        "env",
        "envlist",
        "envnone",
        "envall",
        "pass",
        "wdir",
        "path",
        "genv",
        "genvlist",
        "genvnone",
        "genvall",
        "export",
        "label",
        "prepend-pattern",
        "outfile-pattern",
        "errfile-pattern",
        "output",
        "pty",
        "output-from",
        "input",
        "checkpoint",
        "kill",
        "ps",
        "generate",
        "usage",
        "help",
        "version",
    ];

    fn check(line: &str, variable: Option<&str>) -> Result<Option<String>, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut given = SessionArguments::default();
        if let ["--session", name, ..] = words[..] {
            given.session = Some(name.parse().unwrap());
        }
        let typed = words.iter().filter_map(|word| word.strip_prefix("--"));
        given.check(variable, typed)?;
        Ok(given.session.map(|name| name.to_string()))
    }

    #[test]
    fn every_option_does_its_work_in_a_session_or_says_why_not() {
        let all = Arguments::command();
        let all: BTreeSet<&str> = all
            .get_arguments()
            .filter_map(clap::Arg::get_long)
            .map(|long| &*long.to_owned().leak())
            .collect();
        let refused: BTreeSet<&str> = REFUSED.iter().map(|(long, _)| *long).collect();
        let same: BTreeSet<&str> = SAME.iter().copied().collect();
        assert!(refused.is_disjoint(&same));
        let said: BTreeSet<&str> = refused.union(&same).copied().collect();
        assert_eq!(all, said);
    }

    #[test]
    fn a_session_is_named_by_an_option_or_by_the_environment() {
        assert_eq!(check("--quiet", None), Ok(None));
        assert_eq!(check("--queue", None), Ok(None));
        assert_eq!(check("", Some("")), Ok(None));
        assert_eq!(check("", Some("night")), Ok(Some("night".into())));
        assert_eq!(check("--session a", Some("night")), Ok(Some("a".into())));
        let refused = check("", Some("a/b")).unwrap_err();
        assert!(
            refused.starts_with("GERBIL_SESSION: \"a/b\" is no name"),
            "{refused}"
        );
        let refused = check("--session a --iface", None).unwrap_err();
        assert_eq!(
            refused,
            "--iface does not go with a session (--session a): that is said when a session is started: gerbil \
             session start"
        );
        assert_eq!(check("--session a --queue", None), Ok(Some("a".into())));
        let refused = check("--hosts", Some("night")).unwrap_err();
        assert!(refused.contains("(GERBIL_SESSION=night)"), "{refused}");
    }
}
