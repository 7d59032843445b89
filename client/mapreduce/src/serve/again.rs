//! A job that was lost with the application of its own begins again, in another application, as often as YARN would
//! start its ApplicationMaster (`mapreduce.am.max-attempts`): the ApplicationMaster after the lost one has removed what
//! the job had left.

use std::sync::Arc;

use follow::ended::Ended;

use super::under_way::{Submitted, UnderWay};
use super::{DriverWorkDone, Serving};

impl Serving<'_> {
    /// Whether a job begins again that was given up; if not, it is handed back with how it ended.
    pub(super) fn begins_again(
        &mut self,
        submission: u32,
        job: UnderWay,
        ended: Ended,
    ) -> Option<(UnderWay, Ended)> {
        if self.stopping.is_some() || job.starts >= job.most() {
            return Some((job, ended));
        }
        if let Some(application) = &job.accepted.application {
            self.run.jobs.leave(application);
        }
        let (id, next) = (&job.accepted.id, job.starts + 1);
        self.note(format!(
            "{id} is given up, nothing of its output is left, and it begins again ({next} of {})",
            job.most()
        ));
        self.show.given_up(&job.accepted);
        self.given_up.insert(submission, (job, ended));
        None
    }

    /// Submits the next of those that were given up, one after the other.
    pub(super) fn may_begin_again(&mut self) {
        if self.beginning.is_some() {
            return;
        }
        let Some((number, (job, _))) = self.given_up.first_key_value() else {
            return;
        };
        let Some(order) = &job.order else {
            return;
        };
        let (number, order, jobs) = (*number, Arc::clone(order), Arc::clone(&self.run.jobs));
        self.beginning = Some(Box::pin(async move {
            let submitted = Submitted::new(&jobs, order, false, Vec::new()).await;
            DriverWorkDone::Again(number, Box::new(submitted))
        }));
    }
}
