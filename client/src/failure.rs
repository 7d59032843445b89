//! What ends a run early.

use std::io;
use std::path::PathBuf;

use follow::FollowError;
use job::exit::Exit;
use proto_hadoop::conf::ConfError;
use staging::StageError;

use crate::data::DataError;
use crate::list::ListError;
use crate::placement_request::Contradiction;
use crate::preflight::PreflightError;

/// Why the run cannot go on, in one sentence. Each room has its own reasons; those of no room in
/// particular stand here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The job could not be submitted, or not be followed.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// The program could not be brought to the nodes.
    #[error(transparent)]
    Staging(#[from] StageError),
    /// Data could not be moved.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The cluster can never give what the job wants.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// The list of jobs is none.
    #[error(transparent)]
    List(#[from] ListError),
    /// Flags that contradict each other.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Hadoop's settings make no sense.
    #[error(transparent)]
    Settings(#[from] ConfError),
    /// The cluster of this machine cannot start.
    #[error(transparent)]
    Local(#[from] mini::MiniError),
    /// A setting is to be a number.
    #[error("the setting {key} is {value}, which is no number")]
    NoNumber {
        /// Of the setting.
        key: String,
        /// What it is.
        value: String,
    },
    /// Nobody knows who asks.
    #[error("this user id has no name here; say who you are on the cluster with HADOOP_USER_NAME")]
    NoUser,
    /// What is no application's id.
    #[error("{text} is no application id; one looks like application_1700000000000_0042")]
    NoApplicationId {
        /// As typed.
        text: String,
    },
    /// Output is to be kept where it cannot be.
    #[error("--output {url}: {path} is no folder of HDFS")]
    NotOnHdfs {
        /// As typed.
        url: String,
        /// Its path.
        path: String,
    },
    /// Output cannot be kept on HDFS.
    #[error(transparent)]
    HdfsCopy(#[from] storage::StorageError),
    /// A file that rank 0 is to read.
    #[error("--input {}: {source}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The operating system does not give this process what it needs.
    #[error("cannot {doing}: {source}")]
    System {
        /// "start threads", …
        doing: &'static str,
        /// What it said.
        source: io::Error,
        /// What the command returns.
        exit: Exit,
    },
}

impl Failure {
    /// What the command returns.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Follow(error) => error.exit(),
            Self::Staging(error) => error.exit(),
            Self::Data(error) => error.exit(),
            Self::Preflight(error) => error.exit(),
            Self::List(error) => error.exit(),
            Self::HdfsCopy(error) => staging::error::exit_of(error),
            Self::Settings(_) | Self::Local(_) | Self::NoNumber { .. } | Self::NoUser => {
                Exit::Config
            }
            Self::Usage(_)
            | Self::Contradiction(_)
            | Self::NoApplicationId { .. }
            | Self::NotOnHdfs { .. }
            | Self::Input { .. } => Exit::Usage,
            Self::System { exit, .. } => *exit,
        }
    }
}

/// Of an error of the operating system; `exit` is what the command returns.
pub(crate) fn system(doing: &'static str, exit: Exit) -> impl FnOnce(io::Error) -> Failure {
    move |source| Failure::System {
        doing,
        source,
        exit,
    }
}
