//! What all jobs of a container share: who starts their processes, who carries what these print, and the
//! way to the ApplicationMaster.

use job::Seat;
use job::pass::Pass;
use job::wire::OutputChunk;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::devices;
use crate::lane::Lanes;
use crate::life::{Calls, Outbox};
use crate::mpi::topology::Topology;
use crate::nursery::{Ended, Nursery};
use crate::process::JobId;
use crate::sampling::Sampling;
use crate::surroundings::Surroundings;
use crate::warden::Warden;

/// The container, as each of its jobs finds it.
pub(crate) struct Container<'a> {
    pub(crate) seat: Seat,
    pub(crate) around: &'a Surroundings,
    pub(crate) nursery: &'a Nursery,
    pub(crate) warden: &'a Warden,
    /// None: ranks find out by themselves what their node is made of.
    pub(crate) topology: Option<Topology>,
    /// Where what goes to and comes from the AM is carried.
    pub(crate) carriers: &'a Handle,
    /// Whom the output and the input of processes go to.
    pub(crate) calls: Calls,
    /// What is shown to the ApplicationMaster with each call.
    pub(crate) pass: Pass,
    /// What all processes print, on its way to the ApplicationMaster.
    pub(crate) chunks: mpsc::Sender<OutputChunk>,
    pub(crate) lanes: Lanes,
    pub(crate) outbox: Outbox,
    /// Its graphics processors.
    pub(crate) gpus: devices::Pool,
    pub(crate) sampling: Sampling,
    /// Processes that were reaped while somebody else's were, until their job is told.
    pub(crate) reaped: Vec<Ended>,
    /// The tasks that serve processes.
    pub(crate) tasks: JoinSet<()>,
}

impl Container<'_> {
    /// Kills what is left of a job, and whatever the container has where no other job runs. Those of the
    /// job that were reaped.
    pub(crate) async fn sweep(&mut self, job: JobId) -> Vec<Ended> {
        let ended = self.nursery.sweep(job).await;
        let (own, others) = ended.into_iter().partition(|end| end.id.job == job);
        self.reaped.extend::<Vec<Ended>>(others);
        own
    }
}
