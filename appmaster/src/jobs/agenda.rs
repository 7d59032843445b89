//! Which jobs the loop has to look at: those for which something is due, and those that have something to tell
//! their client. Thousands may wait, and a turn of the loop looks at none of those.

use std::collections::{BTreeMap, BTreeSet};

use job::JobId;
use policy::Millis;

use super::JobEntry;

/// An index of all jobs, right for those that have not changed since [`Agenda::bring_up`].
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// Jobs that may have changed.
    changed: BTreeSet<JobId>,
    /// When something is due, on the session's clock.
    due: BTreeSet<(Millis, JobId)>,
    due_of: BTreeMap<JobId, Millis>,
    /// Jobs with an event for their client.
    telling: BTreeSet<JobId>,
}

impl Agenda {
    /// Something about a job may have changed, or it has come, or gone.
    pub(super) fn changed(&mut self, job: JobId) {
        self.changed.insert(job);
    }

    /// Looks at the jobs that have changed.
    pub(super) fn bring_up(&mut self, jobs: &BTreeMap<JobId, Box<JobEntry>>) {
        while let Some(job) = self.changed.pop_first() {
            let entry = jobs.get(&job);
            self.is_due(job, entry.and_then(|entry| entry.wakes_at()));
            match entry.is_some_and(|entry| entry.has_an_event()) {
                true => self.telling.insert(job),
                false => self.telling.remove(&job),
            };
        }
    }

    fn is_due(&mut self, job: JobId, at: Option<Millis>) {
        let before = match at {
            Some(at) => self.due_of.insert(job, at),
            None => self.due_of.remove(&job),
        };
        if let Some(before) = before {
            self.due.remove(&(before, job));
        }
        if let Some(at) = at {
            self.due.insert((at, job));
        }
    }

    /// When the first of all is due.
    pub(super) fn first_due(&self) -> Option<Millis> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The jobs for which something is due by now, in the order of their numbers.
    pub(super) fn due(&self, now: Millis) -> BTreeSet<JobId> {
        let due = self.due.iter().take_while(|(at, _)| *at <= now);
        due.map(|(_, job)| *job).collect()
    }

    /// The jobs with an event for their client.
    pub(super) fn telling(&self) -> impl Iterator<Item = JobId> {
        self.telling.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_due_when_it_last_said() {
        let mut agenda = Agenda::default();
        let (one, other) = (JobId(1), JobId(2));
        agenda.is_due(other, Some(Millis(20)));
        agenda.is_due(one, Some(Millis(30)));
        assert_eq!(agenda.first_due(), Some(Millis(20)));
        assert!(agenda.due(Millis(19)).is_empty());
        assert_eq!(agenda.due(Millis(30)), BTreeSet::from([one, other]));
        agenda.is_due(other, Some(Millis(40)));
        assert_eq!(agenda.due(Millis(30)), BTreeSet::from([one]));
        agenda.is_due(one, None);
        agenda.is_due(other, None);
        assert_eq!(agenda.first_due(), None);
        // One that is gone has nothing to tell.
        agenda.telling.insert(one);
        agenda.changed(one);
        agenda.bring_up(&BTreeMap::new());
        assert_eq!(agenda.telling().next(), None);
    }
}
