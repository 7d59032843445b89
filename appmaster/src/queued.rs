//! An MPI job of a session that has had no slots yet. Thousands may wait, and what an MPI job keeps for its life is some
//! kilobytes: it is made when slots come, or when the job hears of anything else.

use holding::ClusterLimits;
use job::JobId;
use job::{MpiJob, wire};
use policy::Millis;
use policy::lifecycle::MpiMachine;
use proto_hadoop::AppAttemptId;

use crate::mpi::checkpoints::Checkpoints;
use crate::mpi::explain::Story;
use crate::mpi::{Beginning, Mpi, MpiHeard};
use crate::work::JobEvent;

/// To its client and the session its life has begun.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) description: MpiJob,
    pub(crate) job: JobId,
    pub(crate) attempt: AppAttemptId,
    /// What the cluster said of its limits.
    pub(crate) limits: ClusterLimits,
    /// When it came, microseconds since 1970.
    pub(crate) began_us: i64,
    /// The ApplicationMaster itself follows it.
    pub(crate) is_detached: bool,
}

impl Queued {
    /// The job as it were had it been there from its beginning.
    pub(crate) fn wake(&self) -> Mpi {
        let demand = self.description.demand.clone();
        let mut mpi = Mpi::new(Beginning {
            attempt: self.attempt,
            name: format!("{}_{}", self.attempt, self.job.0),
            limits: self.limits.clone(),
            candidates: None,
            story: Story::new(demand.clone(), self.description.explain),
            job: MpiMachine::new(demand, self.description.limits, rand::random()),
            checkpoints: Checkpoints::default(),
            timing: wire::Timing {
                appmaster_started_us: self.began_us,
                registered_us: self.began_us,
                ..wire::Timing::default()
            },
            began_us: self.began_us,
            description: self.description.clone(),
        });
        // Slots are wished for already, and no client follows that could be shown anything.
        drop(mpi.begin(Millis(0)));
        if self.is_detached {
            drop(mpi.hear(Millis(0), MpiHeard::Every(JobEvent::ClientAttached)));
        }
        mpi
    }
}
