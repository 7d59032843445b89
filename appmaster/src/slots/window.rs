//! Jobs of a session that may have slots at the same time, where their number is bounded, and those that wait for one
//! of them to end.
//!
//! Where the policy shares out among queues or users each of them has a window of its own: or the jobs of one would
//! fill it, and nothing of what the policy guarantees the others would come to them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use job::JobId;
use policy::schedule::Owner;

/// The windows of a session, each by the queue or user that it is of; `None`: all jobs share one.
#[derive(Debug, Default)]
pub(super) struct RunningWindow {
    /// Jobs in each; `None`: any number.
    most: Option<NonZeroU32>,
    /// Those in it. None is empty.
    running: BTreeMap<Option<Owner>, u32>,
    /// Those that wait: the highest priority first, then who was submitted first. None is empty.
    waiting: BTreeMap<Option<Owner>, BTreeSet<(Reverse<i32>, JobId)>>,
}

impl RunningWindow {
    pub(super) const fn new(most: Option<NonZeroU32>) -> Self {
        Self {
            most,
            running: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// A job wants slots.
    pub(super) fn wait(&mut self, owner: &Option<Owner>, priority: i32, job: JobId) {
        let waiting = self.waiting.entry(owner.clone()).or_default();
        waiting.insert((Reverse(priority), job));
    }

    /// It does not any more.
    pub(super) fn wait_no_more(&mut self, owner: &Option<Owner>, priority: i32, job: JobId) {
        if let Some(waiting) = self.waiting.get_mut(owner) {
            waiting.remove(&(Reverse(priority), job));
            if waiting.is_empty() {
                self.waiting.remove(owner);
            }
        }
    }

    /// The next job that may have slots, which is in its window from now on, and the owner of that window. Cost: O(owners).
    pub(super) fn next(&mut self) -> Option<(JobId, Option<Owner>)> {
        let firsts = self
            .waiting
            .iter()
            .filter(|(owner, _)| self.has_room(owner));
        let firsts = firsts.filter_map(|(owner, waiting)| Some((*waiting.first()?, owner)));
        let ((Reverse(priority), job), owner) = firsts.min()?;
        let owner = owner.clone();
        self.wait_no_more(&owner, priority, job);
        let running = self.running.entry(owner.clone()).or_default();
        *running = running.saturating_add(1);
        Some((job, owner))
    }

    /// One that was in a window has left it.
    pub(super) fn leave(&mut self, owner: &Option<Owner>) {
        if let Some(running) = self.running.get_mut(owner) {
            *running = running.saturating_sub(1);
            if *running == 0 {
                self.running.remove(owner);
            }
        }
    }

    /// Jobs in a window.
    pub(super) fn running(&self, owner: &Option<Owner>) -> u32 {
        self.running.get(owner).copied().unwrap_or(0)
    }

    fn has_room(&self, owner: &Option<Owner>) -> bool {
        let most = self.most.map_or(u32::MAX, NonZeroU32::get);
        self.running(owner) < most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(window: &mut RunningWindow) -> Vec<u32> {
        std::iter::from_fn(|| window.next())
            .map(|(job, _)| job.0)
            .collect()
    }

    fn queue(name: &str) -> Option<Owner> {
        Some(Owner::Queue(name.to_owned()))
    }

    #[test]
    fn a_full_window_leaves_the_others_open() {
        let (etl, ad_hoc) = (queue("etl"), queue("ad-hoc"));
        let mut window = RunningWindow::new(NonZeroU32::new(2));
        for job in 1..=20 {
            window.wait(&etl, 0, JobId(job));
        }
        assert_eq!(all(&mut window), [1, 2]);
        window.wait(&ad_hoc, 0, JobId(21));
        assert_eq!(all(&mut window), [21]);
        // One job ends: the next is of the highest priority.
        window.wait(&etl, 5, JobId(22));
        window.leave(&etl);
        assert_eq!(all(&mut window), [22]);
        assert_eq!((window.running(&etl), window.running(&ad_hoc)), (2, 1));
        // Who waits no more is not next.
        window.wait_no_more(&etl, 0, JobId(3));
        window.leave(&etl);
        assert_eq!(all(&mut window), [4]);
    }

    #[test]
    fn without_a_bound_all_are_let_in_by_priority() {
        let mut window = RunningWindow::new(None);
        for (job, priority) in [(1, 0), (2, 1), (3, 0)] {
            window.wait(&None, priority, JobId(job));
        }
        assert_eq!(all(&mut window), [2, 1, 3]);
        for _ in 0..4 {
            window.leave(&None);
        }
        assert_eq!(window.running(&None), 0);
        assert!(window.waiting.is_empty() && window.running.is_empty());
    }
}
