//! A command line that makes no sense, where clap cannot know.

use std::ffi::OsString;
use std::io;
use std::num::NonZeroU32;
use std::path::PathBuf;

use policy::schedule::UnknownPolicy;
use session::{JobName, Name, SessionError};

use crate::split_words::OpenQuote;

/// One sentence. What the command returns is `Exit::Usage`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UsageError {
    /// There is nothing to do.
    #[error("no program is named; as in gerbil-run -n 4 ./cpi (gerbil-run -h has more)")]
    NothingNamed,
    /// One of the programs is missing.
    #[error("no program given; write for example: gerbil-run -n 4 ./cpi")]
    NoProgramGiven,
    /// Arguments of no program.
    #[error(
        "-i {text}: arguments in this form belong to a program given with -a; without -a write them behind the program"
    )]
    ArgumentsAlone {
        /// As typed.
        text: String,
    },
    /// Two words on the same.
    #[error("--pmix names a libpmix, and --pm pmi speaks no PMIx; leave one of the two out")]
    PmixForPmi,
    /// A library that is not there.
    #[error("--pmix {}: {source}", path.display())]
    Pmix {
        /// As typed.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Arguments that are no words.
    #[error(transparent)]
    Quote(#[from] OpenQuote),
    /// An argument that cannot be handed on.
    #[error("the argument {} is no UTF-8", argument.display())]
    NotUtf8 {
        /// As typed.
        argument: OsString,
    },
    /// A folder that cannot be handed on.
    #[error(
        "the current folder {} is no UTF-8, so the program cannot start in it; start it in another with -wdir, or \
         from another folder", folder.display()
    )]
    FolderNotUtf8 {
        /// The current one.
        folder: PathBuf,
    },
    /// A limit that is none.
    #[error("the variable MPIEXEC_TIMEOUT is {text}, which is no number of seconds")]
    TimeoutVariable {
        /// Its value.
        text: String,
    },
    /// How many of a type a process wants, said twice.
    #[error("--resource names {name} twice")]
    ResourceTwice {
        /// The type, as the cluster names it.
        name: String,
    },
    /// More types than fit.
    #[error("--resource names {count} types; a process may want {most}")]
    ResourceTypes {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// More tags than YARN takes.
    #[error("--tags names {count}; YARN takes at most {most}")]
    Tags {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// Two things on one stream.
    #[error("--report -: standard output is the program's; name a file, or /dev/stderr")]
    ReportOnOutput,
    /// What the environment names as a session can be none.
    #[error("{sentence}")]
    SessionVariable {
        /// Which variable, and what is wrong with its value.
        sentence: String,
    },
    /// An application of its own has one job after the other.
    #[error(
        "--deadline is for jobs of a session, whose policy goes by it: gerbil session start NAME --policy \
         fifo:order=deadline, then gerbil mr --session NAME"
    )]
    DeadlineAlone,
    /// A run on this machine has no session.
    #[error(
        "--deadline is for jobs of a session, whose policy goes by it, and --local has none: leave it out"
    )]
    DeadlineHere,
    /// Nobody goes by it.
    #[error(
        "--profile is for jobs of a session, whose policy goes by it: gerbil session start NAME --policy dyscale, then gerbil \
         mr --session NAME"
    )]
    ProfileAlone,
    /// A file that is no trace.
    #[error("--profile {}: {why}", path.display())]
    Profile {
        /// Its name.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Hadoop Streaming has options of its own for that.
    #[error(
        "--files and --archives are for programs; streaming has -files and -archives behind it: gerbil mr streaming -files \
         FILE,… …"
    )]
    BroughtToStreaming,
    /// A session has its size already.
    #[error(
        "{option}: GERBIL_SESSION names session {name}, which has its containers already; unset it to run this in an \
         application of its own"
    )]
    SizedSession {
        /// The option of an application of its own, as typed.
        option: &'static str,
        /// The session that the environment names.
        name: Name,
    },
    /// A run on this machine has no application.
    #[error(
        "{option} is of an application on a cluster, and --local has none: give --slots N behind the program"
    )]
    SizedHere {
        /// The option of an application of its own, as typed.
        option: &'static str,
    },
    /// A jar that is none of Hadoop Streaming's.
    #[error(
        "gerbil mr jar {jar}: gerbil runs no Java, and knows hadoop-streaming.jar alone, which runs commands as mapper and \
         reducer"
    )]
    Jar {
        /// As typed.
        jar: String,
    },
    /// A command line of Hadoop Streaming that makes no job.
    #[error("gerbil mr streaming: {sentence}")]
    Streaming {
        /// Why.
        sentence: String,
    },
    /// Nothing is to be run.
    #[error("gerbil mr wants a program")]
    NoProgram,
    /// A program that cannot be looked at.
    #[error("{}: {source}", path.display())]
    Program {
        /// As typed.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// What is kept of a job is kept when it is over.
    #[error("{job} is not over yet; gerbil mr status {job} tells how it is")]
    NotOver {
        /// The job, which one of the user's sessions has.
        job: JobName,
    },
    /// A job that is over, and of which nothing is known.
    #[error(
        "there is no MapReduce job {job} in {places}; gerbil mr list shows those that there are: they are kept for a \
         week"
    )]
    NoPastJob {
        /// What was asked for.
        job: JobName,
        /// Where it is not.
        places: String,
    },
    /// Bounds the wrong way round.
    #[error("--max-containers {most} is fewer than --containers {containers}")]
    FewerThanContainers {
        /// The most containers that there may be at a time.
        most: NonZeroU32,
        /// Those that are always held.
        containers: NonZeroU32,
    },
    /// Nothing that could be wanted strictly.
    #[error(
        "--strict wants fast and slow cores of each node, and nothing here tells them apart: give --slots or --slots-per-core, \
         or a policy such as dyscale"
    )]
    StrictWithoutCores,
    /// Two amounts for one thing.
    #[error("--local-disk gives {what} twice")]
    DiskTwice {
        /// What that is.
        what: String,
    },
    /// A policy that there is not.
    #[error("--policy {text}: {source}")]
    Policy {
        /// As typed.
        text: String,
        /// What is wrong with it.
        source: UnknownPolicy,
    },
    /// A session that other hosts cannot use has no key to give.
    #[error("session {name} is on this machine alone (--local), where no other host reaches it")]
    LocalSession {
        /// The session.
        name: Name,
    },
    /// Launchers of a session unpack what they can read without a program.
    #[error(
        "--archives: a session unpacks .tar alone, and {link} is another archive; pack it anew, or run the job without \
         a session"
    )]
    Archive {
        /// The archive, by the name that the job would see.
        link: String,
    },
    /// No session has the job.
    #[error(
        "{source}; a job in an application of its own ends with that: gerbil ps lists it, gerbil kill APPLICATION \
         ends it"
    )]
    NoSuchJob {
        /// Which job it is.
        source: SessionError,
    },
}
