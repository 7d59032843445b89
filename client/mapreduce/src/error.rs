//! Why a MapReduce program cannot be run.

use std::io;
use std::path::PathBuf;

use gerbil_task::inputs::InputError;
use gerbil_task::pattern::PatternError;
use job::exit::Exit;
use scan::BadLabel;
use session::SessionError;
use staging::StageError;
use storage::StorageError;
use terminal::Foreign;

/// One sentence, with the value and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapReduceError {
    /// The program does not behave as a job.
    #[error("{} {}", Foreign::sentence(program), Foreign::sentence(why))]
    NoJob {
        /// The program.
        program: PathBuf,
        /// What it did instead.
        why: String,
    },
    /// A process cannot be started.
    #[error("cannot start {}: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A thread, a pipe.
    #[error("cannot {doing}: {source}")]
    System {
        /// "make a pipe", …
        doing: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// A setting that nobody would read, or whose value makes no sense.
    #[error("{0}")]
    Setting(String),
    /// A stage needs a function of accelerators that the cluster does not count.
    #[error(transparent)]
    Uncounted(BadLabel),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Asked(String),
    /// An input or output names nothing.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A pattern that makes no sense.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A name leads to no file system that is spoken here.
    #[error("{name}: {why}")]
    Place {
        /// As given.
        name: String,
        /// Why, and what to give instead.
        why: String,
    },
    /// No such input.
    #[error("{url}: there is no such file{more}")]
    Absent {
        /// In full.
        url: String,
        /// ` for this pattern`, and what else may help.
        more: String,
    },
    /// The output folder is there.
    #[error("{url} exists already; choose another, or remove it, or give --overwrite")]
    OutputExists {
        /// In full.
        url: String,
    },
    /// The output is a file: an output takes the place of folders alone.
    #[error("{url} is a file: the output is a folder; choose another, or remove the file")]
    OutputIsFile {
        /// In full.
        url: String,
    },
    /// A file stands where a folder above the output would.
    #[error(
        "the output {url} cannot be made: {file} is a file; choose another, or remove the file"
    )]
    OutputBelowFile {
        /// In full.
        url: String,
        /// The file, in full.
        file: String,
    },
    /// HDFS takes no such name.
    #[error("the output {url} has a colon in its name, which HDFS does not take; choose another")]
    OutputHasColon {
        /// In full.
        url: String,
    },
    /// The output is the root.
    #[error("{url} is the root of its file system, which is no output; choose a folder in it")]
    OutputIsRoot {
        /// In full.
        url: String,
    },
    /// The file system refuses or does not answer.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The program could not be brought to the nodes.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// There is no application for the jobs.
    #[error("{}", Foreign::sentence(sentence))]
    Application {
        /// Why there is none, a whole sentence.
        sentence: String,
        /// What the command returns.
        exit: Exit,
    },
    /// The session refuses the job, or cannot be reached.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl MapReduceError {
    /// What the command returns.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self {
            Self::NoJob { .. } | Self::Start { .. } => Exit::NotExecutable,
            Self::System { .. } => Exit::Lost,
            Self::Uncounted(_) => Exit::Impossible,
            Self::Setting(_)
            | Self::Asked(_)
            | Self::Input(_)
            | Self::Pattern(_)
            | Self::Place { .. }
            | Self::Absent { .. }
            | Self::OutputExists { .. }
            | Self::OutputIsFile { .. }
            | Self::OutputBelowFile { .. }
            | Self::OutputHasColon { .. }
            | Self::OutputIsRoot { .. } => Exit::Usage,
            Self::Storage(error) => staging::error::exit_of(error),
            Self::Stage(error) => error.exit(),
            Self::Application { exit, .. } => *exit,
            Self::Session(error) => error.exit(),
        }
    }
}
