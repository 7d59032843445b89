//! When jobs have slots and when they give them back, for the ledger.

use job::JobId;
use job::wire;
use job::wire::session_span::How;
use policy::lending::{Lent, TaskStart};
use policy::lifecycle::Cause;
use policy::schedule::{AttemptIx, AttemptOutcome};
use tonic::Status;

use crate::session::Session;
use crate::work::JobWork;

impl Session {
    /// What the jobs of a session had of its slots.
    pub(crate) fn timeline(&self) -> Result<wire::SessionTimeline, Status> {
        let none = "this application was started for one job and is no session";
        let sharing = self.sharing.as_ref();
        let sharing = sharing.ok_or_else(|| Status::failed_precondition(none))?;
        Ok(sharing.ledger.timeline(self.now()))
    }

    /// A gang has its slots.
    pub(crate) fn gang_begins(&mut self, job: JobId, lent: &Lent) {
        let (now, name) = (self.now(), self.name_of(job));
        let shares = lent.shares.iter().map(|(container, slots)| {
            let host = self.holding.host_of(container).unwrap_or_default();
            (container.clone(), host, *slots)
        });
        let shares = shares.collect();
        if let Some(sharing) = &mut self.sharing {
            sharing.ledger.gang_begins(now, job, &name, shares);
        }
    }

    /// A task has a slot.
    pub(crate) fn task_begins(&mut self, job: JobId, start: &TaskStart) {
        let (now, name) = (self.now(), self.name_of(job));
        if let Some(sharing) = &mut self.sharing {
            sharing.ledger.task_begins(now, job, &name, start);
        }
    }

    /// An attempt at a task has given its slot back.
    pub(crate) fn task_ends(&mut self, job: JobId, attempt: AttemptIx, how: AttemptOutcome) {
        let now = self.now();
        if let Some(sharing) = &mut self.sharing {
            sharing.ledger.task_ends(now, job, attempt, how);
        }
    }

    /// A job has given all back that it had.
    pub(crate) fn spans_end(&mut self, job: JobId) {
        let now = self.now();
        let how = match self.jobs.get(&job).map(|entry| &entry.work) {
            Some(JobWork::Mpi(mpi)) => match mpi.cause() {
                None => How::Done,
                Some(Cause::Killed(_)) => How::Killed,
                Some(_) => How::Failed,
            },
            // Its tasks have told of themselves before.
            Some(JobWork::MapReduce(_) | JobWork::Queued(_)) | None => How::Killed,
        };
        if let Some(sharing) = &mut self.sharing {
            sharing.ledger.job_ends(now, job, how);
        }
    }

    fn name_of(&self, job: JobId) -> String {
        let loan = self.jobs.get(&job).and_then(|entry| entry.loan.as_ref());
        loan.map_or_else(String::new, |loan| loan.name.clone())
    }
}
