//! The command line as the user typed it.
//!
//! [`lexer`] brings mpiexec's single-dash words into one form, clap reads that; each group of flags
//! has a file of its own. What the flags mean together is not decided here.

mod binding;
mod data;
mod deployment;
mod detached;
mod ends;
mod generated_text;
mod headings;
mod launchers;
mod lexer;
mod local;
mod local_disk;
mod mca;
pub(crate) mod optional;
mod parse;
mod parse_error;
mod placement;
mod process_manager;
mod program;
mod program_hosts;
mod programs;
mod ranks;
mod reporting;
mod resources;
mod session;
mod small_file;
mod streams;
pub(crate) mod values;
mod words_on_disk;

use std::ffi::OsString;

use clap::{ArgAction, Parser};

pub(crate) use binding::{BindArguments, ShipArguments};
pub(crate) use data::{DataArguments, Outgoing};
pub(crate) use deployment::{DeployMode, Deployment};
pub(crate) use ends::{Ends, ExitRule};
pub(crate) use generated_text::GeneratedText;
use headings::{PROGRAM, WHERE};
pub(crate) use launchers::page;
pub(crate) use local::LocalArguments;
pub(crate) use local_disk::{DiskAmount, LocalDisk};
pub(crate) use parse_error::{Help, ParseError};
pub(crate) use placement::{Placement, Relax};
use process_manager::ManagerArguments;
use program::Further;
pub(crate) use program::{Environment, ProgramOptions, TypedProgram};
pub(crate) use ranks::{RankBy, RankMap};
pub(crate) use reporting::Reporting;
pub(crate) use resources::of_a_process;
use session::SessionArguments;
pub(crate) use session::of_environment as session_of_environment;
pub(crate) use streams::{CopyTo, StreamArguments};

/// The heading of --help under which this file alone has options.
const HELP: &str = "Other jobs, and help";

/// Runs MPI programs on a Hadoop YARN cluster, as mpiexec does on its own hosts.
#[derive(Debug, Parser)]
#[command(
    name = "gerbil-run",
    version,
    disable_help_flag = true,
    disable_version_flag = true,
    override_usage = "gerbil-run [OPTIONS] PROGRAM [ARGS]...\n       gerbil-run [OPTIONS] -a PROGRAM [-i \"ARGS\"]\n       gerbil-run --list FILE\n       gerbil-run --ps\n       gerbil-run -k APPLICATION_ID",
    after_help = "Every option may be written with one dash or two, and its value behind a blank or behind \
                  =; --explain and --local, which need none, take one behind = alone. The options end at the program: what stands behind it is the program's own.\n\
                  The cluster is the one that HADOOP_CONF_DIR, YARN_CONF_DIR or HADOOP_HOME names; where none \
                  of them is set, that of /etc/hadoop/conf.\n\
                  A program may have any name, so gerbil-run's own tasks are options: gerbil-run ps runs the \
                  program ps on the nodes, gerbil-run --ps lists your jobs. Under the name gerbil (ln -s \
                  gerbil-run gerbil) the same file takes a command first: gerbil run, ps, kill, completions. \
                  Alone on the line, the words help and version are not programs.\n\
                  Completions: source <(gerbil-run --generate bash); the manual page: gerbil-run --generate man \
                  | man -l -\n\
                  The exit code is that of the first rank that failed, 128 + N for signal N; \
                  gerbil-run's own codes are 64 (usage), 65 (the cluster can never give this), \
                  69 (cluster unreachable), 70 (job lost), 74 (staging), 75 (not started in time), 78 \
                  (settings), 124 (-timeout), 126 and 127 (program not executable, not found), 130 (Ctrl-C), 143 \
                  (killed through YARN)."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub local: LocalArguments,

    #[command(flatten)]
    pub deployment: Deployment,

    #[command(flatten)]
    pub session: SessionArguments,

    /// Queue to submit to; in a session that of its policy, which shares out between queues where it is capacity, or
    /// fair:by=queue
    #[arg(long, value_name = "QUEUE", default_value = "default", help_heading = WHERE)]
    pub queue: String,

    /// Priority of the application in its queue; higher is sooner
    #[arg(short = 'p', long, value_name = "P", allow_negative_numbers = true, value_parser = values::priority,
        help_heading = WHERE)]
    pub priority: Option<i32>,

    /// Name of the application, as YARN's pages show it [default: the program's name]
    #[arg(long, value_name = "NAME", help_heading = WHERE)]
    pub name: Option<String>,

    /// Tags of the application, by which YARN's pages and other tools find it; of letters, digits and
    /// punctuation of ASCII
    #[arg(long, value_name = "TAG,...", value_delimiter = ',', value_parser = values::tag, help_heading = WHERE)]
    pub tags: Vec<String>,

    /// Ports the ApplicationMaster may listen on, for firewalls
    #[arg(long, value_name = "FIRST-LAST", value_parser = values::ports, help_heading = WHERE)]
    pub am_ports: Option<(u16, u16)>,

    /// Network interface of the nodes over which the job talks
    #[arg(long, value_name = "INTERFACE", help_heading = WHERE)]
    pub iface: Option<String>,

    #[command(flatten)]
    pub placement: Placement,

    /// Memory of one process: MiB, or with a unit as in 512m or 4g [default: the cluster's smallest
    /// container]
    #[arg(long, value_name = "SIZE", value_parser = values::memory, help_heading = placement::PLACEMENT)]
    pub mem_per_proc: Option<u64>,

    /// Cores of one process
    #[arg(long, value_name = "CORES", default_value = "1", help_heading = placement::PLACEMENT,
        value_parser = values::Whole::new("number of cores", 1, u32::MAX))]
    pub vcores_per_proc: u32,

    /// What else one process wants of what the cluster counts: N of the resource type NAME, as in
    /// acc/kmeans-map=2, in the unit that YARN counts it in. May be given once for each type; GPUs are
    /// -gpus-per-proc
    #[arg(long, value_name = "NAME=N", value_parser = resources::resource,
        help_heading = placement::PLACEMENT)]
    pub resource: Vec<(String, u64)>,

    #[command(flatten)]
    pub manager: ManagerArguments,

    /// The program, in GERBIL's own form
    #[arg(
        short = 'a',
        long = "mpi",
        value_name = "PROGRAM",
        conflicts_with = "command",
        help_heading = PROGRAM
    )]
    pub mpi: Option<OsString>,

    /// Its arguments, in GERBIL's own form: one string, split as a shell does it
    #[arg(short = 'i', long, value_name = "ARGS", help_heading = PROGRAM)]
    pub arguments: Option<String>,

    /// How many processes the program is told that the job may become when it spawns some: a number,
    /// SYSTEM for the cores of its containers, INFINITE for unknown [default: INFINITE]
    #[arg(long, value_name = "N", value_parser = values::universe, help_heading = PROGRAM)]
    pub usize: Option<job::Universe>,

    /// Do not ship the shared libraries that the program needs: the nodes have them
    #[arg(long, help_heading = "What is brought along")]
    pub no_ship_libs: bool,

    /// Folder to stage files in: hdfs://… or file:/… on every node [default: .gerbil in the user's
    /// home folder on the cluster's file system]
    #[arg(long, value_name = "URL", help_heading = "What is brought along")]
    pub staging: Option<String>,

    #[command(flatten)]
    pub reporting: Reporting,

    #[command(flatten)]
    pub streams: StreamArguments,

    #[command(flatten)]
    pub ends: Ends,

    #[command(flatten)]
    pub bind: BindArguments,

    #[command(flatten)]
    pub ship: ShipArguments,

    #[command(flatten)]
    pub data: DataArguments,

    /// What was understood of the command line without having an effect, a sentence each.
    #[arg(skip)]
    pub notes: Vec<String>,

    #[command(flatten)]
    pub start: ProgramOptions,

    #[command(flatten)]
    pub environment: Environment,

    /// The programs behind the first.
    #[arg(skip)]
    pub further: Vec<Further>,

    /// Processes of the first of several programs.
    #[arg(skip)]
    pub first_processes: Option<u32>,

    /// End the application with this id, and wait until it is gone; goes with no other option
    #[arg(short = 'k', long, value_name = "APPLICATION_ID", exclusive = true, help_heading = HELP)]
    pub kill: Option<String>,

    /// List your jobs on the cluster: those that wait or run, with what they wait for
    #[arg(long, exclusive = true, help_heading = HELP)]
    pub ps: bool,

    /// Print the manual page, the completions of a shell, or the page on other launchers' options
    #[arg(long, value_enum, value_name = "FORM", exclusive = true, help_heading = HELP)]
    pub generate: Option<GeneratedText>,

    /// The usual command lines on one screen
    #[arg(short = 'h', long, action = ArgAction::SetTrue, help_heading = HELP)]
    pub usage: bool,

    /// This text
    #[arg(long, action = ArgAction::HelpLong, help_heading = HELP)]
    help: Option<bool>,

    /// The version of gerbil
    #[arg(short = 'V', long, action = ArgAction::Version, help_heading = HELP)]
    version: Option<bool>,

    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM [ARGS]"
    )]
    pub command: Vec<OsString>,
}

#[cfg(test)]
mod tests;
