//! What all jobs of a container share: who starts their processes, who carries what these print, and the
//! way to the ApplicationMaster.

use job::JobId;
use job::LauncherContext;
use job::element::Element;
use job::pass::Pass;
use job::wire::NodeElements;
use job::wire::launcher_event::Event;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::crowding::Crowding;
use crate::devices;
use crate::disks::Disks;
use crate::elements::Watch;
use crate::functions::Loss;
use crate::lane::ClientKeys;
use crate::life::{MasterCalls, Outbox};
use crate::mpi::topology::Topology;
use crate::nursery::{Nursery, ReapedProcess};
use crate::porters::Porters;
use crate::sampling::Sampling;
use crate::shuffle::Exchange;
use crate::surroundings::Surroundings;
use crate::tasks::Storages;
use crate::warden::Warden;

/// The container, as each of its jobs finds it.
pub(crate) struct OwnContainer<'a> {
    pub(crate) context: LauncherContext,
    pub(crate) around: &'a Surroundings,
    pub(crate) nursery: &'a Nursery,
    pub(crate) warden: &'a Warden,
    /// None: ranks find out by themselves what their node is made of.
    pub(crate) topology: Option<Topology>,
    /// Where what goes to and comes from the AM is carried.
    pub(crate) carriers: &'a Handle,
    /// Who brings what tasks read and write.
    pub(crate) porters: &'a Porters,
    /// Whom the output and the input of processes go to.
    pub(crate) calls: MasterCalls,
    /// With whose keys a client is dialled.
    pub(crate) keys: ClientKeys,
    pub(crate) outbox: Outbox,
    /// What maps have left here, and what fetches from elsewhere.
    pub(crate) exchange: Exchange,
    /// Where tasks read and write.
    pub(crate) storages: Storages,
    /// Where tasks spill, and what they fetch lies.
    pub(crate) disks: Disks,
    /// Its graphics processors.
    pub(crate) gpus: devices::Pool,
    /// What its node has.
    pub(crate) elements: Watch,
    pub(crate) sampling: Sampling,
    /// Whether ranks fill its disks.
    pub(crate) crowding: Crowding,
    /// Processes that were reaped while somebody else's were, until their job is told.
    pub(crate) reaped: Vec<ReapedProcess>,
    /// What goes on beside the jobs: the link, and the logs of tasks.
    pub(crate) tasks: JoinSet<()>,
}

impl OwnContainer<'_> {
    /// Tells the ApplicationMaster what the node has now.
    pub(crate) fn tell_elements(&mut self, elements: Vec<Element>) {
        let told = NodeElements {
            elements: elements.into_iter().map(Into::into).collect(),
            scanning: self.elements.looks_again(),
            loads: self.elements.take_loads(),
        };
        self.outbox.push_back(Event::Elements(told));
    }

    /// A task has not found the device that the node has.
    pub(crate) fn device_lost(&mut self) {
        if let Some(elements) = self.elements.lost() {
            self.tell_elements(elements);
        }
    }

    /// A task has not got a device of this function, or has lost it.
    pub(crate) fn function_lost(&mut self, function: &str, loss: Loss) {
        if let Some(elements) = self.elements.function_lost(function, loss) {
            self.tell_elements(elements);
        }
    }

    /// What is shown to the ApplicationMaster with each call about a job.
    pub(crate) fn pass(&self, job: JobId) -> Pass {
        Pass {
            container: self.context.container.clone(),
            ticket: self.context.ticket.clone(),
            job: job.0,
        }
    }

    /// Kills what is left of a job, and whatever the container has where no other job runs. Those of the
    /// job that were reaped.
    pub(crate) async fn sweep(&mut self, job: JobId) -> Vec<ReapedProcess> {
        let ended = self.nursery.sweep(job).await;
        let (own, others) = ended.into_iter().partition(|end| end.id.job == job);
        self.reaped.extend::<Vec<ReapedProcess>>(others);
        own
    }
}
