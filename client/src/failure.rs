//! What ends a run early.

use std::time::Duration;

use follow::FollowError;
use job::exit::Exit;
use proto_hadoop::ApplicationId;
use proto_hadoop::conf::ConfError;
use staging::StageError;

use crate::cluster::ClusterError;
use crate::data::DataError;
use crate::list::ListError;
use crate::plan::PlanError;
use crate::preflight::PreflightError;
use crate::system::SystemError;
use crate::usage::UsageError;

/// Why the run cannot go on, in one sentence. Each room has its own reasons; those of no room in
/// particular stand here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The job could not be submitted, or not be followed.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// A session that cannot be used.
    #[error(transparent)]
    Session(#[from] session::SessionError),
    /// A MapReduce program that cannot be run.
    #[error(transparent)]
    MapReduce(#[from] mapreduce_client::MapReduceError),
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
    /// The command line does not become a plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is no cluster to ask.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The operating system does not give this process what it needs.
    #[error(transparent)]
    System(#[from] SystemError),
    /// The application of MapReduce jobs has ended before it took one.
    #[error("the jobs were not run: {why}")]
    NotBegun {
        /// In YARN's words.
        why: String,
        /// As YARN tells it: refused, killed, failed.
        exit: Exit,
    },
    /// Its ApplicationMaster runs, and cannot be reached.
    #[error(
        "cannot reach the ApplicationMaster of {id} at {address}: {why}; is a firewall between here and that port? \
         --am-ports holds it in a range"
    )]
    Unreachable {
        /// The application.
        id: ApplicationId,
        /// Where it should be.
        address: String,
        /// In words.
        why: String,
    },
    /// Its ApplicationMaster did not run in time.
    #[error("nothing ran within {span:?} (--wait-timeout), so it was given up: {waits}")]
    NotInTime {
        /// How long that was.
        span: Duration,
        /// What was last waited for.
        waits: String,
    },
    /// The command line makes no sense.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// Hadoop's settings make no sense.
    #[error(transparent)]
    Settings(#[from] ConfError),
    /// What is no application's id.
    #[error("{text} is no application id; one looks like application_1700000000000_0042")]
    NoApplicationId {
        /// As typed.
        text: String,
    },
    /// Standard output takes no more.
    #[error(transparent)]
    Print(#[from] terminal::PrintError),
    /// Output cannot be kept on HDFS.
    #[error(transparent)]
    HdfsCopy(#[from] storage::StorageError),
}

impl Failure {
    /// What the command returns.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Follow(error) => error.exit(),
            Self::Session(error) => error.exit(),
            Self::MapReduce(error) => error.exit(),
            Self::Staging(error) => error.exit(),
            Self::Data(error) => error.exit(),
            Self::Preflight(error) => error.exit(),
            Self::List(error) => error.exit(),
            Self::HdfsCopy(error) => staging::error::exit_of(error),
            Self::Plan(error) => error.exit(),
            Self::Cluster(error) => error.exit(),
            Self::System(error) => error.exit,
            Self::Print(error) => error.exit(),
            Self::Settings(_) => Exit::Config,
            Self::NotBegun { exit, .. } => *exit,
            Self::Unreachable { .. } => Exit::Unavailable,
            Self::NotInTime { .. } => Exit::NotInTime,
            Self::Usage(_) | Self::NoApplicationId { .. } => Exit::Usage,
        }
    }
}
