//! The words of `gerbil session`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ::job::element::GivenCores;
use clap::{Args, Subcommand};
use policy::elements::Trust;
use policy::lending::{SlotBinding, SlotCut};
use policy::schedule::{POLICIES, WRAPPERS, names};
use session::logs::LogOf;
use session::{JobName, Name};

use crate::arguments::DiskAmount;
use crate::arguments::values::{Whole, memory, ports, span};
use crate::hostfile::{self, HostNames};

/// Most containers.
pub(super) const MOST: NonZeroU32 = most(100_000);
/// Most slots of one: each may be a job of its own.
pub(super) const SLOTS: NonZeroU32 = most(job::transport::JOBS_MAX);

/// Most tasks at a time on a device.
const WAYS: NonZeroU32 = most(1024);

/// A folder of the nodes.
fn per_core(text: &str) -> Result<SlotCut, String> {
    SlotCut::PerCore(text.parse()?).with_reduces()
}

fn root(text: &str) -> Result<String, String> {
    match text.starts_with('/') {
        true => Ok(text.to_owned()),
        false => Err(format!("{text} is no absolute path; / is the node itself")),
    }
}

/// What `--policy` may be.
fn policies() -> String {
    format!(
        "Which job has slots first: {}; with their settings, and wrappers ({}), as in fair:by=user+priority; where only some \
         nodes have a device that tasks need, hpe-conserve costs least (hpe is its paper's); hetero shares between jobs of \
         unlike needs",
        names(POLICIES),
        names(WRAPPERS)
    )
}

const fn most(number: u32) -> NonZeroU32 {
    match NonZeroU32::new(number) {
        Some(most) => most,
        None => NonZeroU32::MIN,
    }
}

/// What can be done with sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionTask {
    /// Start one, and wait until it is ready: gerbil session start --containers 4; then gerbil-run
    /// --session default -n 4 ./cpi
    Start(Box<SessionStart>),
    /// List your sessions: slots that are lent of how many, jobs that run and wait
    List {
        /// One JSON array instead of words: what gerbil session status --json says of each
        #[arg(long)]
        json: bool,
    },
    /// What a session holds and runs, what its jobs wait for, and what is asked of YARN
    Status {
        /// The session
        name: Name,
        /// One JSON object instead of words
        #[arg(long)]
        json: bool,
        /// Write which job had which slots when into this file, a picture (.svg) or for other programs (.json, in
        /// seconds since the session began): all that runs, and the last 1,000 tasks and shares of gangs that are over
        #[arg(long, value_name = "FILE", conflicts_with = "json")]
        gantt: Option<GanttFile>,
    },
    /// What the session's nodes have: GPUs and other elements, by what they are known, and what YARN counts
    Nodes {
        /// The session
        name: Name,
        /// One JSON array instead of words
        #[arg(long)]
        json: bool,
    },
    /// End one job of a session, and wait until it is gone: gerbil session kill s42.7
    Kill {
        /// As its session's status lists it
        job: JobName,
    },
    /// Show a job that was left to its session (--detach), from the beginning to its end: gerbil attach s42.7
    Attach {
        /// As its session's status lists it
        job: JobName,
        #[command(flatten)]
        given: AttachOptions,
    },
    /// Print what a job has printed so far that was left to its session: gerbil logs s42.7; or which tasks of a
    /// MapReduce job there are, and what one has printed: gerbil logs s42.7 m3
    Logs {
        /// As its session's status lists it; or the application of a gerbil mr
        job: JobName,
        #[command(flatten)]
        given: LogsOptions,
    },
    /// Print what another host needs to use a session, which is a secret: gerbil session key | ssh HOST
    /// gerbil session import -
    Key {
        /// The session
        #[arg(default_value_t)]
        name: Name,
        /// Write it into this file, which is made and which nobody else can read
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Use a session that was started on another host: gerbil session import FILE
    Import {
        /// What gerbil session key has written there; - is standard input
        file: PathBuf,
        /// Call it so here [default: as it is called there]
        #[arg(long, value_name = "NAME")]
        name: Option<Name>,
    },
    /// End a session, and wait until it is gone: it takes no further job, and ends with its last one
    Stop {
        /// The session
        name: Name,
        /// End its jobs now
        #[arg(long, conflicts_with = "drain")]
        now: bool,
        /// Run its jobs to their ends; so it is done without this, too
        #[arg(long)]
        drain: bool,
    },
}

/// What a session is to be.
#[derive(Clone, Debug, Args)]
pub(crate) struct SessionStart {
    /// By which jobs name it [default: default, or if there is one default-2, and so on]
    pub name: Option<Name>,

    /// On this machine alone, without Hadoop: a small cluster lives as long as the session. With a number it has
    /// so many nodes, which share the machine
    #[arg(long, value_name = "NODES", num_args = 0..=1, default_missing_value = "1", require_equals = true,
        value_parser = Whole::new("number of nodes", 1u8, 64))]
    pub local: Option<u8>,

    /// Containers that it holds, on as many nodes as there are; a node has a second one where no other has room
    #[arg(long, value_name = "K", default_value = "1",
        value_parser = Whole::new("number of containers", NonZeroU32::MIN, MOST))]
    pub containers: NonZeroU32,

    /// Containers that it holds at the most, while its jobs lack slots [default: as many as --containers]
    #[arg(long, value_name = "M",
        value_parser = Whole::new("number of containers", NonZeroU32::MIN, MOST))]
    pub max_containers: Option<NonZeroU32>,

    /// Containers beyond --containers that no job has used for so long are given back
    #[arg(long, value_name = "SPAN", default_value = "1m", value_parser = span)]
    pub idle_timeout: Duration,

    /// Processes that a container runs at the same time; cores are not counted
    /// [default: 1]
    #[arg(long, value_name = "S", value_parser = Whole::new("number of slots", NonZeroU32::MIN, SLOTS))]
    pub slots_per_container: Option<NonZeroU32>,

    /// The same on a node with GPUs, whose other tasks load and store while one has a GPU [default: as
    /// --slots-per-container; without that 4, where YARN counts the GPUs]
    #[arg(long, value_name = "K", value_parser = Whole::new("number of slots", NonZeroU32::MIN, SLOTS))]
    pub gpu_slots: Option<NonZeroU32>,

    /// Slots by the cores of a node, of as many cores as --slots-per-container says [default: 2]: MAPS:REDUCES of each, as
    /// in 1:1, on fast and on slow cores apart where the node has both, to which tasks are bound [default with a policy
    /// that tells them apart, such as dyscale: 1:1]
    #[arg(long, value_name = "MAPS:REDUCES", conflicts_with = "slots", value_parser = per_core)]
    pub slots_per_core: Option<SlotCut>,

    /// The same where it does not go by cores: fast=MAPS:REDUCES,slow=MAPS:REDUCES of a container, as in
    /// fast=1:1,slow=3:3, with memory for as many tasks as it has slots for maps, or for reduces, unless
    /// --slots-per-container says for how many
    #[arg(long, value_name = "CLASS=SLOTS,...")]
    pub slots: Option<SlotCut>,

    /// What a task is bound to where slots are on fast and on slow cores: core, one of the class of its slot, or class,
    /// all of them
    #[arg(
        long,
        value_name = "TO",
        default_value = "class",
        hide_short_help = true
    )]
    pub slot_bind: SlotBinding,

    /// Which cores of the nodes are fast and which are slow, as in fast=0-3,slow=4-11; of one node as in
    /// node3=fast=0,slow=1, which may be given beside it [default: as the kernel tells, else as they are measured]
    #[arg(long, value_name = "[NODE=]fast=CORES,slow=CORES")]
    pub cores: Vec<GivenCores>,

    /// End the session, with code 65, when a node joins that has no slots on fast and on slow cores: it has one class of
    /// cores, --cores names others than its launcher may use, or its kernel binds nothing to cores [default: such a
    /// node's slots are neither]
    #[arg(long)]
    pub strict: bool,

    /// Whose count of a node's GPUs and other elements holds: scan, what its launcher finds; yarn, what YARN
    /// grants, all that the node has free being asked for; both, the smaller, where YARN counts any
    #[arg(long, value_name = "WHOSE", default_value = "both")]
    pub elements: Trust,

    /// Tasks that a GPU runs at a time; others wait in turn
    #[arg(long, value_name = "N", default_value = "1",
        value_parser = Whole::new("number of tasks", NonZeroU32::MIN, WAYS))]
    pub ways: NonZeroU32,

    /// Look for elements again every so often [default: once, when a launcher begins]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub scan_interval: Option<Duration>,

    /// Look for them below this folder of the nodes, which has dev, sys and usr/lib, to try a session without
    /// the devices; %h is the node's host
    #[arg(long, value_name = "FOLDER", default_value = "/", value_parser = root, hide_short_help = true)]
    pub scan_root: String,

    /// Memory of a slot: MiB, or with a unit as in 512m or 4g [default: the cluster's smallest container]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<u64>,

    /// Disk of a node that all MapReduce tasks of a container may fill with what they sort and fetch: MiB, or with a
    /// unit as in 20g; of one node as in node3=5g, which may be given beside it [default: as long as the disk stays
    /// 5 % below what YARN bears, which is 90 % unless set]
    #[arg(long, value_name = "[NODE=]SIZE,...", value_delimiter = ',')]
    pub local_disk: Vec<DiskAmount>,

    /// Queue to submit it to
    #[arg(long, value_name = "QUEUE", default_value = "default")]
    pub queue: String,

    /// Which job has slots first
    #[arg(long, value_name = "POLICY", default_value = "fifo", help = policies())]
    pub policy: String,

    /// Jobs that run at the same time at most; of each queue or user where POLICY shares out among them [default: as
    /// many as there is room for]
    #[arg(long, value_name = "N", value_parser = Whole::new("number of jobs", NonZeroU32::MIN, NonZeroU32::MAX))]
    pub max_running: Option<NonZeroU32>,

    /// Write what its policy is told and what it decides into this new file, for gerbil-sim replay: hdfs://… or file:/… that
    /// its nodes see; with --local a path of this machine
    #[arg(long, value_name = "FILE")]
    pub record: Option<String>,

    /// Without jobs for so long it ends; never is possible
    #[arg(long, value_name = "SPAN", default_value = "10m")]
    pub session_timeout: Idle,

    /// Folder to stage gerbil in: hdfs://… or file:/… on every node [default: .gerbil in the user's home
    /// folder on the cluster's file system]
    #[arg(long, value_name = "URL")]
    pub staging: Option<String>,

    /// Ports its ApplicationMaster may listen on, for firewalls
    #[arg(long, value_name = "FIRST-LAST", value_parser = ports)]
    pub am_ports: Option<(u16, u16)>,

    /// Ports its launchers may listen on, where reduces fetch what maps of other nodes have left, for firewalls; as
    /// many on a node as containers may be there
    #[arg(long, value_name = "FIRST-LAST", value_parser = ports)]
    pub launcher_ports: Option<(u16, u16)>,

    /// Network interface of the nodes over which its jobs talk
    #[arg(long, value_name = "INTERFACE")]
    pub iface: Option<String>,

    /// Hosts where it takes no container
    #[arg(long, value_name = "HOST,...", value_parser = hostfile::names)]
    pub exclude: Vec<HostNames>,

    /// Give it up when it is not ready after so long [default: wait for ever]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub wait_timeout: Option<Duration>,
}

/// How a job is watched.
#[derive(Clone, Debug, Args)]
pub(crate) struct AttachOptions {
    /// Give the job's standard input, of one that was left with --detach --input 0
    #[arg(long)]
    pub input: bool,

    /// Begin every line of output with the rank that wrote it
    #[arg(long, short)]
    pub label: bool,
}

/// Which output is printed.
#[derive(Clone, Debug, Args)]
pub(crate) struct LogsOptions {
    /// Of this rank alone; or of this task of a MapReduce job: m3 is map 3, r0.1 the second attempt at reduce 0. Of a
    /// job that is over, what attempts that failed have printed is kept, its beginning and its end
    #[arg(value_name = "RANK|TASK")]
    pub of: Option<LogOf>,

    /// The folder that the job's program was staged in, where that is not the usual one: what is kept of jobs that
    /// are over lies there
    #[arg(long, value_name = "URL")]
    pub staging: Option<String>,

    /// Begin every line of output with the rank that wrote it
    #[arg(long, short)]
    pub label: bool,
}

/// Where a chart is written, and as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GanttFile {
    pub path: PathBuf,
    /// JSON; else SVG.
    pub is_json: bool,
}

impl FromStr for GanttFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let is_json = match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => false,
            Some("json") => true,
            _ => return Err(format!("{text} is to end in .svg or in .json")),
        };
        Ok(Self { path, is_json })
    }
}

/// How long a session stays without jobs; `None`: for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Idle(pub Option<Duration>);

impl FromStr for Idle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "never" => Ok(Self(None)),
            _ => span(text)
                .map(|span| Self(Some(span)))
                .map_err(|why| format!("{why}; or never")),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct SessionLine {
        #[command(subcommand)]
        task: SessionTask,
    }

    fn task(line: &str) -> Result<SessionTask, String> {
        let words = std::iter::once("session").chain(line.split_whitespace());
        let line = SessionLine::try_parse_from(words).map_err(|error| error.to_string())?;
        Ok(line.task)
    }

    fn start(line: &str) -> SessionStart {
        match task(line).unwrap() {
            SessionTask::Start(given) => *given,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn slots_are_cut_by_cores_as_it_is_told() {
        let given = start(
            "start s --policy dyscale --slots fast=1:1,slow=3:2 --cores fast=0,slow=1 --cores n3=fast=2,slow=3",
        );
        let cut = given.slots.unwrap();
        assert_eq!((cut.room(0), cut.room(100)), (Some(4), Some(5)));
        assert_eq!(given.cores.len(), 2);
        assert_eq!(given.cores[1].node.as_deref(), Some("n3"));
        assert_eq!(given.slot_bind, SlotBinding::Class);
        let given = start("start s --slots-per-core 1:1 --slot-bind core");
        let each = "1:1".parse().unwrap();
        assert_eq!(given.slots_per_core, Some(SlotCut::PerCore(each)));
        assert_eq!(given.slot_bind, SlotBinding::Core);
        for odd in [
            "--slots fast=1:1",
            "--slots-per-core 1",
            "--slots-per-core 1:0",
            "--slots fast=1:0,slow=3:0",
            "--cores 0-3",
            "--slot-bind node",
        ] {
            assert!(task(&format!("start s {odd}")).is_err(), "{odd}");
        }
        assert!(task("start s --slots-per-core 1:1 --slots fast=1:1,slow=1:1").is_err());
    }

    #[test]
    fn a_session_has_one_container_with_one_slot_unless_more_is_said() {
        let given = start("start");
        assert_eq!(
            (given.containers.get(), given.slots_per_container),
            (1, None)
        );
        assert_eq!((given.elements, given.ways.get()), (Trust::Both, 1));
        assert_eq!(given.name, None);
        assert_eq!(given.policy, "fifo");
        assert_eq!(given.session_timeout, Idle(Some(Duration::from_secs(600))));
        let given = start(
            "start night --containers 3 --slots-per-container 8 --memory 2g --session-timeout never \
             --max-running 4 --am-ports 50100-50200 --exclude n[1-3]",
        );
        assert_eq!(given.name.unwrap().as_str(), "night");
        assert_eq!(given.memory, Some(2048));
        assert_eq!(given.session_timeout, Idle(None));
        assert_eq!(given.max_running.map(NonZeroU32::get), Some(4));
        assert_eq!(given.exclude[0].0.len(), 3);
        for (line, wanted) in [
            ("start --containers 0", "0 is no number of containers"),
            ("start a/b", "is no name of a session"),
            ("start --session-timeout soon", "or never"),
            ("start --elements all", "none of scan"),
            ("start --ways 0", "0 is no number of tasks"),
            ("start --scan-root trial", "no absolute path"),
            ("stop a --now --drain", "cannot be used with"),
            (
                "status a --gantt b.png",
                "b.png is to end in .svg or in .json",
            ),
            ("status a --json --gantt b.svg", "cannot be used with"),
            ("stop", "NAME"),
        ] {
            let refused = task(line).unwrap_err();
            assert!(refused.contains(wanted), "{line}: {refused}");
        }
    }
}
