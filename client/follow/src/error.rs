//! Why a job cannot be submitted, or not be followed to its end.

use std::io;
use std::path::PathBuf;

use job::exit::Exit;
use proto_hadoop::yarn::{UrlError, YarnApplicationState};
use proto_hadoop::{ApplicationId, CallError};

use crate::ended::chain;

/// One sentence, with the value and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// The ResourceManager does not answer, or answers nonsense.
    #[error("the ResourceManager: {0}")]
    ResourceManager(#[source] Box<CallError>),
    /// The ResourceManager has answered that it does not kill it: it is another user's.
    #[error("{id} is not killed: {why}")]
    KillRefused {
        /// It.
        id: ApplicationId,
        /// In the ResourceManager's words.
        #[source]
        why: Box<CallError>,
    },
    /// The ResourceManager refused the job.
    #[error("the ResourceManager did not take the application: {0}")]
    NotTaken(#[source] Box<CallError>),
    /// There is no such application.
    #[error(
        "this cluster knows no {id}; yarn application -list, or the page of the ResourceManager, shows the \
         ids of those that run"
    )]
    Unknown {
        /// The application.
        id: ApplicationId,
    },
    /// YARN cannot end it.
    #[error(
        "{id} is still {state:?} {seconds} s after it was ordered to end; try again, or ask the \
         administrator"
    )]
    NotKilled {
        /// The application.
        id: ApplicationId,
        /// What YARN says of it.
        state: YarnApplicationState,
        /// Since the order.
        seconds: u64,
    },
    /// More is to be told to the ApplicationMaster than a ResourceManager stores.
    #[error(
        "arguments, environment and list of hosts together have {length} bytes, at most {most} can be \
         handed over; put what is large into a file"
    )]
    DescriptionTooLong {
        /// Bytes.
        length: usize,
        /// The most there may be, bytes.
        most: usize,
    },
    /// What is to be told to the ApplicationMaster cannot be written.
    #[error("cannot write the job's description: {0}")]
    Description(#[source] serde_json::Error),
    /// A staged file lies where YARN cannot be told of.
    #[error(transparent)]
    StagedUrl(#[from] UrlError),
    /// No keys.
    #[error("cannot make the job's certificates: {0}")]
    Keys(#[source] rcgen::Error),
    /// The nodes could not reach an ApplicationMaster here.
    #[error(
        "cannot tell by which address the nodes reach this machine: no way leads to the ResourceManager \
         ({}); name a network interface with --iface",
        resource_managers.join(", ")
    )]
    NoAddress {
        /// All of them, `host:port`.
        resource_managers: Vec<String>,
    },
    /// An ApplicationMaster here has no port.
    #[error("{}", chain(.0))]
    NoPort(anyhow::Error),
    /// The ApplicationMaster in this process has failed.
    #[error("{sentence}")]
    AppmasterBroke {
        /// Which, and why.
        sentence: String,
    },
    /// Output has no place.
    #[error("cannot make the folder {} for the output: {source}", folder.display())]
    OutputFolder {
        /// The folder.
        folder: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file that the user named cannot be written.
    #[error("{option}{}: cannot write there: {source}", path.display())]
    NotWritable {
        /// The option that names it, with what stands before the name.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl From<CallError> for FollowError {
    fn from(error: CallError) -> Self {
        Self::ResourceManager(Box::new(error))
    }
}

impl FollowError {
    /// What the command returns.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self {
            Self::ResourceManager(_) | Self::NotKilled { .. } | Self::NoAddress { .. } => {
                Exit::Unavailable
            }
            Self::NotTaken(_)
            | Self::KillRefused { .. }
            | Self::Unknown { .. }
            | Self::NoPort(_) => Exit::Impossible,
            Self::DescriptionTooLong { .. }
            | Self::OutputFolder { .. }
            | Self::NotWritable { .. } => Exit::Usage,
            Self::StagedUrl(_) => Exit::Staging,
            Self::Description(_) | Self::Keys(_) | Self::AppmasterBroke { .. } => Exit::Lost,
        }
    }
}
