//! The jobs of an application: their numbers, which of them something is due for, and which have something to tell their
//! clients.
//!
//! ```text
//! news of a job ─▶ Jobs ─▶ the job hears it ─▶ what it wants done: Do
//! time ──────────▶      ─▶ the jobs for which something is due
//! clients ───────▶      ─▶ the next event for the next client that takes one
//! ```
//!
//! A turn of the loop looks at the jobs that have changed, and at no other: thousands may wait.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod agenda;
mod entry;
mod outlet;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use job::JobId;
use policy::Millis;

use agenda::Agenda;

pub(crate) use entry::JobEntry;
pub(crate) use outlet::Outlet;

use crate::work::{Do, JobEvent, WorkEvent};

/// All jobs that are not over.
#[derive(Default)]
pub(crate) struct Jobs {
    /// Boxed: nodes of the tree are half empty.
    entries: BTreeMap<JobId, Box<JobEntry>>,
    agenda: Agenda,
    /// Jobs with which something has happened.
    touched: BTreeSet<JobId>,
    /// The number of the job that came last; 0: none has come.
    last: u32,
    /// Jobs that are over.
    ended: u32,
}

impl Jobs {
    /// The number of the job that comes next, if it is taken.
    pub(crate) const fn next_number(&self) -> JobId {
        JobId(self.last.saturating_add(1))
    }

    /// A job has come.
    pub(crate) fn insert(&mut self, job: JobId, entry: JobEntry) {
        self.last = self.last.max(job.0);
        self.entries.insert(job, Box::new(entry));
    }

    /// A job is over and forgotten.
    pub(crate) fn remove(&mut self, job: JobId) {
        self.entries.remove(&job);
        self.agenda.changed(job);
        self.ended = self.ended.saturating_add(1);
    }

    /// Its life begins: what it wants done.
    pub(crate) fn begin(&mut self, now: Millis, job: JobId) -> Vec<Do> {
        let entry = self.get_mut(job);
        entry.map_or_else(Vec::new, |entry| entry.begin(now))
    }

    /// A job hears what has happened: what it wants done, in order.
    pub(crate) fn hear(&mut self, now: Millis, job: JobId, heard: WorkEvent) -> Vec<Do> {
        self.touched.insert(job);
        let entry = self.get_mut(job);
        entry.map_or_else(Vec::new, |entry| entry.hear(now, heard))
    }

    pub(crate) fn get(&self, job: JobId) -> Option<&JobEntry> {
        self.entries.get(&job).map(AsRef::as_ref)
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, job: JobId) -> Option<&mut JobEntry> {
        self.agenda.changed(job);
        self.entries.get_mut(&job).map(AsMut::as_mut)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (JobId, &JobEntry)> {
        let all = self.entries.iter();
        all.map(|(job, entry)| (*job, entry.as_ref()))
    }

    /// Their numbers, in order.
    pub(crate) fn numbers(&self) -> Vec<JobId> {
        self.entries.keys().copied().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Nothing more comes of any of them.
    pub(crate) fn are_over(&self) -> bool {
        self.entries.values().all(|entry| entry.work().is_over())
    }

    /// Some job has come, whether it is over or not.
    pub(crate) const fn have_come(&self) -> bool {
        self.last > 0
    }

    /// This one has come, whether it is over or not.
    pub(crate) fn has_come(&self, job: JobId) -> bool {
        (1..=self.last).contains(&job.0)
    }

    /// How many are over.
    pub(crate) const fn ended(&self) -> u32 {
        self.ended
    }

    /// Looks at those that have changed: what is due, and what is to be told, is right after it.
    pub(crate) fn bring_up(&mut self) {
        self.agenda.bring_up(&self.entries);
    }

    /// When something is due for the first of them.
    pub(crate) fn first_due(&self) -> Option<Millis> {
        self.agenda.first_due()
    }

    /// Those for which something is due by now, in the order of their numbers.
    pub(crate) fn due(&self, now: Millis) -> BTreeSet<JobId> {
        self.agenda.due(now)
    }

    /// What a job hears for which something is due; `None`: it is over.
    pub(crate) fn overdue(&mut self, now: Millis, job: JobId) -> Option<WorkEvent> {
        let heard = self.get_mut(job)?.overdue(now);
        if matches!(heard, WorkEvent::Every(JobEvent::ClientLeft)) {
            tracing::warn!("the client of job {} has not come", job.0);
        }
        Some(heard)
    }

    /// The next job with which something has happened.
    pub(crate) fn next_touched(&mut self) -> Option<JobId> {
        self.touched.pop_first()
    }
}
