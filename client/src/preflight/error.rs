//! Why the cluster can never give what the job wants.

use follow::FollowError;
use job::exit::Exit;
use policy::{MiB, Vcores};

use crate::data::DataError;

/// One sentence, with the numbers and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PreflightError {
    /// The ResourceManager does not answer.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// Files that the processes are to be near.
    #[error(transparent)]
    Data(#[from] DataError),
    #[error("no node is left for the job: {nodes}")]
    NoNode {
        /// What there is, in words.
        nodes: String,
    },
    #[error("--exclude: {why}")]
    Excluded {
        /// Which name means nothing, and what may be meant.
        why: String,
    },
    #[error("--local-disk: {why}")]
    LocalDisk {
        /// Which name means nothing, and what may be meant.
        why: String,
    },
    /// A name of a list of hosts.
    #[error("{at}{why}")]
    Listed {
        /// Where it stands in a file, with what parts that from the rest; empty elsewhere.
        at: String,
        /// What is wrong with it.
        why: String,
    },
    #[error("{at}{name} is both listed and excluded; leave it out of one of the two")]
    ListedAndExcluded {
        /// Where it stands in a file, with what parts that from the rest; empty elsewhere.
        at: String,
        name: String,
    },
    #[error("{at}the listed host {name} {trouble}")]
    Unusable {
        /// Where it stands in a file, with what parts that from the rest; empty elsewhere.
        at: String,
        name: String,
        /// "is lost", …
        trouble: String,
    },
    #[error("--node-label {label}: no such label; {there}")]
    NoLabel {
        label: String,
        /// Which there are.
        there: String,
    },
    #[error(
        "--node-label {label}: the queue {queue} may not use it ({there}); choose another queue with --queue"
    )]
    ClosedLabel {
        label: String,
        queue: String,
        /// Which it may use.
        there: String,
    },
    #[error(
        "one process wants {wanted}, but this cluster gives a container at most {most}; ask for less with \
         --vcores-per-proc"
    )]
    Cores { wanted: Vcores, most: Vcores },
    #[error(
        "{processes} processes are too many for this cluster, whose nodes have {memory}: that is less than {least} for \
         each; start fewer (-n)"
    )]
    Crowd {
        processes: u32,
        memory: MiB,
        least: MiB,
    },
    #[error("--resource {name}: {why}")]
    UnknownResource {
        name: String,
        /// What it does count, and what to do.
        why: String,
    },
    #[error("{why}")]
    Rejected {
        /// What is missing, with the numbers.
        why: String,
    },
    #[error(
        "{why}. The job's own ApplicationMaster holds {own} of one of them; with --deploy-mode client it runs \
         here"
    )]
    BesideAppmaster {
        /// What is missing, with the numbers.
        why: String,
        /// What that takes, in words.
        own: String,
    },
}

impl PreflightError {
    /// What the command returns.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Follow(error) => error.exit(),
            Self::Data(error) => error.exit(),
            Self::Excluded { .. }
            | Self::LocalDisk { .. }
            | Self::Listed { .. }
            | Self::ListedAndExcluded { .. } => Exit::Usage,
            Self::NoNode { .. }
            | Self::Unusable { .. }
            | Self::NoLabel { .. }
            | Self::ClosedLabel { .. }
            | Self::Cores { .. }
            | Self::Crowd { .. }
            | Self::UnknownResource { .. }
            | Self::Rejected { .. }
            | Self::BesideAppmaster { .. } => Exit::Impossible,
        }
    }
}
