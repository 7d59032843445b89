//! Why a command line does not become a plan.

use std::io;
use std::path::PathBuf;

use job::exit::Exit;

use crate::cluster::ClusterError;
use crate::data::DataError;
use crate::placement_request::Contradiction;
use crate::usage::UsageError;

/// One sentence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanError {
    /// Flags that contradict each other.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
    /// The command line makes no sense.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The cluster's settings.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Data that cannot be moved.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A file that rank 0 is to read.
    #[error("--input {}: {source}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl PlanError {
    /// What the command returns.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Contradiction(_) | Self::Usage(_) | Self::Input { .. } => Exit::Usage,
            Self::Cluster(error) => error.exit(),
            Self::Data(error) => error.exit(),
        }
    }
}
