//! The tasks of a job, each on a slot of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::messages::{Offer, TaskInput, Word};
use super::{Lending, nanos};
use crate::Millis;
use crate::schedule::{
    AttemptIx, AttemptOutcome, AttemptPhase, ContainerIx, Event, Nanos, Stage, Task, TaskIx, wanted,
};

impl Lending {
    /// These tasks of `job` may start, numbered on from those before.
    pub fn runnable(
        &mut self,
        now: Millis,
        job: u32,
        stage: Stage,
        inputs: &[TaskInput],
    ) -> Vec<Word> {
        let Some(borrower) = self.jobs.get(&job) else {
            return Vec::new();
        };
        let ix = borrower.ix;
        let hosts: BTreeSet<&String> = inputs.iter().flat_map(|input| &input.hosts).collect();
        let known = self.driver.session();
        let unknown = hosts.into_iter().filter(|host| known.host(host).is_none());
        let unknown: Vec<String> = unknown.cloned().collect();
        if !unknown.is_empty() {
            // Containers may come there.
            self.driver.tell(nanos(now), &Event::Hosts(unknown));
        }
        let session = self.driver.session();
        let tasks = inputs.iter().map(|input| Task {
            nodes: input
                .hosts
                .iter()
                .filter_map(|host| session.host(host))
                .collect(),
            bytes: input.bytes,
        });
        let runnable = Event::Runnable {
            job: ix,
            stage,
            tasks: tasks.collect(),
        };
        self.happened(now, &runnable)
    }

    /// No task of `job` is to be started any more; what runs keeps its slots until it ends.
    pub fn close(&mut self, now: Millis, job: u32) -> Vec<Word> {
        if let Some(ix) = self.jobs.get(&job).map(|borrower| borrower.ix) {
            self.leave(now, ix);
        }
        self.decided(now)
    }

    /// Slots that jobs could use at once if they were there.
    #[must_use]
    pub fn lacking(&self) -> u32 {
        let wanted = wanted(self.driver.session()).into_iter();
        wanted.fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// Whether an attempt is there: one that was lost with its container is not.
    #[must_use]
    pub fn is_under_way(&self, attempt: AttemptIx) -> bool {
        self.driver.session().attempt(attempt).is_some()
    }

    /// Slots that a job has.
    #[must_use]
    pub fn held(&self, job: u32) -> u32 {
        let held = self.jobs.get(&job).map_or(0, |of| of.attempts.len());
        u32::try_from(held).unwrap_or(u32::MAX)
    }

    /// Slots that a job has, by container, in the order of joining. Cost: O(attempts of the job).
    #[must_use]
    pub fn shares(&self, job: u32) -> Vec<(&Offer, u32)> {
        let session = self.driver.session();
        let attempts = self.jobs.get(&job).into_iter().flat_map(|of| &of.attempts);
        let mut shares: BTreeMap<ContainerIx, u32> = BTreeMap::new();
        for attempt in attempts.filter_map(|ix| session.attempt(*ix)) {
            if let Some(slot) = session.slot(attempt.slot) {
                let share = shares.entry(slot.container).or_default();
                *share = share.saturating_add(1);
            }
        }
        let shares = shares.into_iter();
        shares
            .filter_map(|(ix, slots)| Some((self.offers.get(&ix)?, slots)))
            .collect()
    }

    /// An attempt runs.
    pub fn began(&mut self, now: Millis, attempt: AttemptIx) {
        if self.is_under_way(attempt) {
            self.driver.tell(nanos(now), &Event::Began(attempt));
        }
    }

    /// An attempt has done so much of so much: what is decided of that, is at the next [tick](Self::tick).
    pub fn progress(&mut self, now: Millis, attempt: AttemptIx, done: u64, of: u64) {
        let Some(stage) = self.driver.session().attempt(attempt).map(|of| of.stage) else {
            return;
        };
        let phase = match stage {
            Stage::Map => AttemptPhase::Map,
            Stage::Reduce => AttemptPhase::Reduce,
            Stage::Gang => AttemptPhase::Run,
        };
        let progress = Event::Progress {
            attempt,
            phase,
            done,
            of,
        };
        self.driver.tell(nanos(now), &progress);
    }

    /// An attempt is over, of whose phases nothing is known.
    pub fn ended(&mut self, now: Millis, attempt: AttemptIx, how: AttemptOutcome) -> Vec<Word> {
        self.ended_after(now, attempt, how, Vec::new())
    }

    /// An attempt is over, and was so long in each phase.
    pub fn ended_after(
        &mut self,
        now: Millis,
        attempt: AttemptIx,
        how: AttemptOutcome,
        phases: Vec<(AttemptPhase, Nanos)>,
    ) -> Vec<Word> {
        let Some(job) = self.driver.session().attempt(attempt).map(|of| of.job) else {
            return Vec::new();
        };
        if let Some(borrower) = self.borrower(job) {
            borrower.attempts.remove(&attempt);
        }
        self.bindings.forget(attempt);
        let ended = Event::Ended {
            attempt,
            how,
            phases,
        };
        self.happened(now, &ended)
    }

    /// The results of these maps of `job` are gone, and wanted.
    pub fn output_lost(&mut self, now: Millis, job: u32, maps: Vec<TaskIx>) -> Vec<Word> {
        let Some(borrower) = self.jobs.get(&job) else {
            return Vec::new();
        };
        let job = borrower.ix;
        self.happened(now, &Event::OutputLost { job, maps })
    }
}
