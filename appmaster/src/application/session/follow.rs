//! The ApplicationMaster follows a job itself that no client follows.

use job::JobId;

use super::Session;
use crate::detached::{Following, InputSender};
use crate::work::{JobEvent, JobWork, WorkEvent};

impl Session {
    /// No client follows this job, which has just begun, so its output is kept here.
    pub(super) fn detach(&mut self, job: JobId) {
        let Some(entry) = self.jobs.get_mut(job) else {
            return;
        };
        entry.detach();
        let takes_input = match entry.work() {
            JobWork::Queued(queued) => queued.description.input,
            JobWork::Mpi(mpi) => mpi.description.input,
            JobWork::MapReduce(_) => false,
        };
        let input = match takes_input {
            true => InputSender::Free,
            false => InputSender::Empty,
        };
        let name = self.slots.name(job).unwrap_or_default();
        let _kept = self.edge.detached.insert(job, name, input);
        match entry.work_mut() {
            // It hears of it when it has something to tell.
            JobWork::Queued(queued) => queued.is_detached = true,
            JobWork::Mpi(_) | JobWork::MapReduce(_) => {
                self.tell(job, WorkEvent::Every(JobEvent::ClientAttached))
            }
        }
    }

    /// One that is detached, and has slots or something to tell, is followed from now on: while it only waits it is not,
    /// since thousands may.
    pub(super) fn may_be_followed(&mut self, job: JobId) {
        let Some(entry) = self.jobs.get_mut(job) else {
            return;
        };
        let work = entry.work();
        let is_up = match work {
            JobWork::Queued(_) => false,
            JobWork::Mpi(_) => self.slots.has_slots(job) || work.is_ending() || work.has_an_event(),
            JobWork::MapReduce(_) => true,
        };
        if entry.client().is_some() || !is_up {
            return;
        }
        let Some(kept) = self.edge.detached.get(job) else {
            return;
        };
        let Some(output) = entry.console().take_output() else {
            return;
        };
        let (following, events, heard) = Following::new(
            job,
            kept,
            &self.edge.detached,
            entry.console(),
            &self.edge.news,
        );
        entry.follow(events);
        self.edge.tasks.spawn(following.follow(heard, output));
    }
}
