//! The words of `gerbil mr`.

use std::ffi::OsString;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, CommandFactory as _, Parser};
use gerbil_task::BroughtFile;
use gerbil_task::brought::named;
use session::Name;

use super::session::{MOST, SLOTS};
use crate::arguments::values::{Whole, memory, ports, span};
use crate::arguments::{DiskAmount, optional};
use crate::hostfile::{self, HostNames};

/// What is to be run, and how.
#[derive(Clone, Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct MapReduceArguments {
    /// The session that runs it (gerbil session start) [default: what GERBIL_SESSION names, else an application
    /// of its own, which ends with it]
    #[arg(long, value_name = "NAME")]
    pub session: Option<Name>,

    /// Run it on this machine alone, without a cluster, as PROGRAM --local does
    #[arg(long, conflicts_with_all = ["session", "detach", "wait_for_nodes", "overwrite", "dry_run", "explain", "timing",
        "staging", "no_ship_libs"])]
    pub local: bool,

    /// A setting, by Hadoop's name; it stands over those of the program and of mapred-site.xml
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub settings: Vec<String>,

    /// Files that tasks find in their working folder, under their own names or another: of this machine, or of a file system
    /// that they name (hdfs://…)
    #[arg(long, value_name = "FILE[#NAME],...", value_delimiter = ',', value_parser = file)]
    pub files: Vec<BroughtFile>,

    /// The same with .tar, .tar.gz, .tgz and .zip archives, each unpacked into a folder of its name
    #[arg(long, value_name = "ARCHIVE[#NAME],...", value_delimiter = ',', value_parser = archive)]
    pub archives: Vec<BroughtFile>,

    /// Leave out up to N records of each map, and up to N groups (keys with their values) of each reduce, that the
    /// program fails on, instead of failing with it; how many there were is said at the end. The same as -D
    /// mapreduce.map.skip.maxrecords=N -D mapreduce.reduce.skip.maxgroups=N [default: 0]
    #[arg(long, value_name = "N")]
    pub skip_bad: Option<u32>,

    /// When each job is to be done, from its submission, as in 5m: in a session whose policy goes by that the earlier comes
    /// first (gerbil session start --policy fifo:order=deadline). Nothing ends a job that is late
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub deadline: Option<Duration>,

    /// What earlier runs of the jobs were like, in lines as gerbil-sim trace history prints them: by its job's name, the last
    /// one counts. A session whose policy tells interactive from batch jobs goes by its class where --queue names none, and
    /// one that goes by deadlines foresees by its times whether a job keeps its own
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,

    /// Leave the job to its session, or to an application of its own, print its name, and do not wait for it: gerbil
    /// attach shows it, gerbil logs what its tasks print, gerbil kill ends it. Of programs that run one job
    #[arg(long, conflicts_with_all = ["overwrite", "dry_run", "explain", "report", "timing"])]
    pub detach: bool,

    /// Wait for a node that has what the job needs, such as a GPU, where none has it; else the job is refused
    #[arg(long)]
    pub wait_for_nodes: bool,

    /// Say nothing but what fails: no progress, no counters
    #[arg(short, long)]
    pub quiet: bool,

    /// Let outputs take the place of old ones, which go to your trash when the new ones are complete
    #[arg(long)]
    pub overwrite: bool,

    /// Print what the first job would be: splits, tasks, memory, disk, and what would be asked of YARN; nothing is
    /// uploaded or submitted
    #[arg(long, conflicts_with_all = ["timing", "report"])]
    pub dry_run: bool,

    /// Say where each task goes and how near its input is, and how it ends; into FILE, if one is named
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with = "dry_run"
    )]
    pub explain: Option<Option<PathBuf>>,

    /// With --explain: one JSON object a line instead of words
    #[arg(long, requires = "explain")]
    pub json: bool,

    /// At the end write a report of the jobs, one JSON object, to FILE
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// At the end print when what was done
    #[arg(long)]
    pub timing: bool,

    /// Folder to stage the program in: hdfs://… or file:/… on every node [default: .gerbil in the user's
    /// home folder on the cluster's file system]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    pub staging: Option<String>,

    /// Leave the libraries that the program needs to the nodes
    #[arg(long)]
    pub no_ship_libs: bool,

    #[command(flatten)]
    pub own: OwnApplication,

    /// The program, and its own options, inputs and output; PROGRAM --help lists them. streaming is Hadoop Streaming:
    /// commands as mapper and reducer (gerbil mr streaming --help)
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM ARGS")]
    pub words: Vec<OsString>,
}

fn file(word: &str) -> Result<BroughtFile, String> {
    named(word, false)
}

fn archive(word: &str) -> Result<BroughtFile, String> {
    named(word, true)
}

/// What the application is to be that is submitted where there is no session.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Without a session")]
pub(crate) struct OwnApplication {
    /// Containers that it holds from its beginning, on as many nodes as there are [default: one, and as many more
    /// as the first job has tasks for]
    #[arg(long, value_name = "K", conflicts_with = "session",
        value_parser = Whole::new("number of containers", NonZeroU32::MIN, MOST))]
    pub containers: Option<NonZeroU32>,

    /// Containers that it holds at the most, while its jobs lack slots [default: as many as --containers, else
    /// one on every node, and as many more there as it takes where YARN gives less than a node]
    #[arg(long, value_name = "M", conflicts_with = "session",
        value_parser = Whole::new("number of containers", NonZeroU32::MIN, MOST))]
    pub max_containers: Option<NonZeroU32>,

    /// Tasks that a container runs at the same time [default: so many that the first job's fit, at most the
    /// cores that YARN counts and as many as there is room for]
    #[arg(long, value_name = "S", conflicts_with = "session",
        value_parser = Whole::new("number of slots", NonZeroU32::MIN, SLOTS))]
    pub slots_per_container: Option<NonZeroU32>,

    /// Memory of a slot: MiB, or with a unit as in 512m or 4g [default: mapreduce.map.memory.mb where it is given
    /// with -D, else 512m, or the cluster's smallest container where that is more]
    #[arg(long, value_name = "SIZE", value_parser = memory, conflicts_with = "session")]
    pub memory: Option<u64>,

    /// Disk of a node that all tasks of a container may fill with what they sort and fetch: MiB, or with a unit as in
    /// 20g; of one node as in node3=5g, which may be given beside it [default: as long as the disk stays 5 % below
    /// what YARN bears, which is 90 % unless set]
    #[arg(
        long,
        value_name = "[NODE=]SIZE,...",
        value_delimiter = ',',
        conflicts_with = "session"
    )]
    pub local_disk: Vec<DiskAmount>,

    /// Queue to submit it to; in a session one of its policy's for all jobs, such as interactive and batch of dyscale,
    /// which goes by a job's size where none is named [default: mapreduce.job.queuename of each job, without a session
    /// of the first, else default]
    #[arg(long, value_name = "QUEUE")]
    pub queue: Option<String>,

    /// Ports its ApplicationMaster may listen on, for firewalls
    #[arg(long, value_name = "FIRST-LAST", value_parser = ports, conflicts_with = "session")]
    pub am_ports: Option<(u16, u16)>,

    /// Ports its launchers may listen on, where reduces fetch what maps of other nodes have left, for firewalls; as
    /// many on a node as containers may be there
    #[arg(long, value_name = "FIRST-LAST", value_parser = ports, conflicts_with = "session")]
    pub launcher_ports: Option<(u16, u16)>,

    /// Network interface of the nodes over which its tasks talk
    #[arg(long, value_name = "INTERFACE", conflicts_with = "session")]
    pub iface: Option<String>,

    /// Hosts where it takes no container
    #[arg(long, value_name = "HOST,...", value_parser = hostfile::names, conflicts_with = "session")]
    pub exclude: Vec<HostNames>,

    /// Give it up when its ApplicationMaster does not run after so long [default: wait for ever]
    #[arg(long, value_name = "SPAN", value_parser = span, conflicts_with = "session")]
    pub wait_timeout: Option<Duration>,
}

impl OwnApplication {
    /// One of these that was given, by its name.
    pub(crate) fn typed(&self) -> Option<&'static str> {
        let all = [
            ("--containers", self.containers.is_some()),
            ("--max-containers", self.max_containers.is_some()),
            ("--slots-per-container", self.slots_per_container.is_some()),
            ("--memory", self.memory.is_some()),
            ("--local-disk", !self.local_disk.is_empty()),
            ("--am-ports", self.am_ports.is_some()),
            ("--launcher-ports", self.launcher_ports.is_some()),
            ("--iface", self.iface.is_some()),
            ("--exclude", !self.exclude.is_empty()),
            ("--wait-timeout", self.wait_timeout.is_some()),
        ];
        let typed = all.into_iter().find(|(_, is_given)| *is_given);
        typed.map(|(name, _)| name)
    }
}

const AFTER: &str = "\
Inputs are files, folders, lists with commas and patterns ({a,b} * ? [a-c]);
names that begin with _ or . are left out. What names no file system lies on
that of fs.defaultFS, and unless it begins with / in the user's folder there.
A backslash makes a letter a plain one: 'a\\,b' is one name with a comma.
file: is a folder that all nodes have mounted. OUT must not be there yet; with
--overwrite it may be a folder, which goes to the trash, or is removed where
HDFS has none (fs.trash.interval 0), when the new one is complete, which is
written beside it (_OUT.new).

Without a session the jobs of the program are one application of YARN's, which
has its name, is submitted when the first job is known, and ends with the
command, however that ends.

With --detach the command ends when the job is taken, and the job goes on: an
application of its own ends with it. gerbil attach JOB shows it from anywhere
on this host, and returns its exit code.

What became of each job is kept for a week: gerbil mr list shows the jobs,
gerbil mr status, counters and history JOB what they did, where and when (as a
page: gerbil mr history --html JOB), gerbil mr kill JOB ends one.

Ctrl-C ends the jobs and their driver; once more does not wait for it.
The exit code is 0, or that of a job that failed, or 1, or what the program
returned that disliked its command line.

  gerbil mr ./wordcount /books /counts
  gerbil mr streaming -input /books -output /counts -mapper 'python3 m.py' \\
    -reducer 'python3 r.py' -files m.py,r.py
  gerbil mr jar any/hadoop-streaming.jar OPTIONS       the same, for old scripts
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

const ABOUT: &str =
    "Run a program of maps and reduces, in an application of its own or in a session";

/// Its definition.
pub(crate) fn command() -> clap::Command {
    Alone::command()
}

/// The words of the command with a mark before the program: what is behind it is the program's, whatever it looks
/// like.
///
/// # Errors
/// A word that may be the value of the option before it, or the program.
pub(super) fn marked(words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let definition = command();
    let takes = |is_it: &dyn Fn(&clap::Arg) -> bool| {
        let mut all = definition.get_arguments();
        // Not one that takes a value behind an equals sign alone.
        all.any(|arg| is_it(arg) && arg.get_action().takes_values() && !arg.is_require_equals_set())
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
        } else {
            optional::refuse_value(&definition, &text, words.as_slice(), optional::PROGRAM)?;
        }
    }
    marked.extend(words);
    Ok(marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &str) -> Result<MapReduceArguments, String> {
        let words = line.split_whitespace().map(OsString::from).collect();
        let words = std::iter::once("gerbil-mr".into()).chain(marked(words)?);
        let line = Alone::try_parse_from(words).map_err(|error| error.to_string())?;
        Ok(line.given)
    }

    #[test]
    fn what_follows_the_program_is_its_own() {
        let line = "--session s --skip-bad 3 -qD a=b -Dc=d -D e=f ./p -D g=h --quiet IN -- OUT";
        let found = given(line).unwrap();
        assert_eq!(found.session.unwrap().as_str(), "s");
        assert_eq!(found.settings, ["a=b", "c=d", "e=f"]);
        assert!(found.quiet);
        assert_eq!(found.skip_bad, Some(3));
        assert_eq!(
            found.words,
            ["./p", "-D", "g=h", "--quiet", "IN", "--", "OUT"]
        );
        let found = given("--explain ./p IN OUT").unwrap();
        assert_eq!((found.explain, found.words.len()), (Some(None), 3));
        let found = given("--explain=here --json ./p IN OUT").unwrap();
        assert_eq!(found.explain, Some(Some("here".into())));
        for value in ["3", "true", "no"] {
            let refused = given(&format!("--explain {value} ./p IN OUT")).unwrap_err();
            assert!(refused.contains(&format!("--explain={value}")), "{refused}");
        }
        assert!(given("--detach ./p IN OUT").unwrap().detach);
        for other in [
            "--overwrite",
            "--dry-run",
            "--explain",
            "--timing",
            "--report=f",
        ] {
            let refused = given(&format!("--detach {other} ./p IN OUT")).unwrap_err();
            assert!(refused.contains("cannot be used with"), "{refused}");
        }
        let found = given("--deadline 5m ./p IN OUT").unwrap();
        assert_eq!(found.deadline, Some(Duration::from_secs(300)));
        assert!(given("--deadline soon ./p IN OUT").is_err());
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
