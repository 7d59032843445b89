//! Queues with guaranteed shares.
//!
//! A slot goes to the queue that has the least of its share; inside a queue it is first come, first
//! served. What a queue does not use others take, unless the policy is told `elastic=false`.
//! With `by-stage=true` maps, reduces and gangs of a queue are counted apart, each against the slots that run them: who has
//! all slots for maps has its share of those for reduces still.
//! Queues that are not declared share what the declared ones leave of 100; of a session that is `default` alone.
//!
//! A gang is let in whole where one more slot would stay within its queue's share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::dominant::Share;
use super::fifo::{ONE_BY_ONE, first, start};
use super::{By, Decision, JobIx, Nanos, NodeIx, Owner, Saved, Scheduler, Session, SlotIx, Stage};

/// The queue of jobs that name none.
const DEFAULT: &str = "default";

/// The policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Capacity {
    /// Percent of the slots that a queue is guaranteed.
    pub shares: BTreeMap<String, u64>,
    /// Whether a queue may have more than its share when others leave it.
    pub elastic: bool,
    /// Whether what a queue has of each stage is counted by itself.
    pub by_stage: bool,
}

impl Capacity {
    /// What a queue is guaranteed, in percent, at least 1.
    fn share(&self, queue: &str) -> u64 {
        let declared = self
            .shares
            .values()
            .fold(0_u64, |sum, share| sum.saturating_add(*share));
        let rest = || 100_u64.saturating_sub(declared);
        self.shares.get(queue).copied().unwrap_or_else(rest).max(1)
    }

    /// What a queue has of its share, where one more task or rank of `stage` counts.
    fn used(&self, session: &Session, queue: &Owner, stage: Stage) -> u32 {
        match self.by_stage {
            true => session.used_by(queue, stage),
            false => session.used(queue),
        }
    }

    /// Whether one more slot for `stage` stays within a queue's share; one is always let in.
    fn within(&self, session: &Session, queue: &str, used: u32, stage: Stage) -> bool {
        let slots = match self.by_stage {
            true => session.slot_count_of(stage),
            false => session.slot_count(),
        };
        let after = Share {
            part: u64::from(used).saturating_add(1),
            whole: u64::try_from(slots).unwrap_or(u64::MAX),
        };
        self.elastic
            || used == 0
            || after
                <= Share {
                    part: self.share(queue),
                    whole: 100,
                }
    }
}

impl Scheduler for Capacity {
    fn next(&mut self, _now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let node = node?;
        let mut slots = session.open_slots(node);
        slots.find_map(|slot| self.at(session, slot, node))
    }

    fn shares_among(&self) -> Option<By> {
        Some(By::Queue)
    }

    /// Of gangs, which are let in by that.
    fn standing(&self, session: &Session, job: JobIx) -> Share {
        let queue = session.job(job).map_or(DEFAULT, |job| &job.queue);
        let used = self.used(session, &Owner::Queue(queue.to_owned()), Stage::Gang);
        Share {
            part: u64::from(used),
            whole: self.share(queue),
        }
    }

    fn lets(&self, session: &Session, job: JobIx) -> bool {
        let queue = session.job(job).map_or(DEFAULT, |job| &job.queue);
        let used = self.used(session, &Owner::Queue(queue.to_owned()), Stage::Gang);
        self.within(session, queue, used, Stage::Gang)
    }

    fn queues(&self) -> Option<Vec<&str>> {
        let declared = self.shares.keys().map(String::as_str);
        let mut all: Vec<&str> = declared.chain([DEFAULT]).collect();
        all.sort_unstable();
        all.dedup();
        Some(all)
    }

    fn looks_everywhere(&self, _now: Nanos) -> bool {
        false
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::Capacity(self.clone()))
    }
}

impl Capacity {
    fn at(&self, session: &Session, slot: SlotIx, node: NodeIx) -> Option<Decision> {
        let queues = ONE_BY_ONE
            .into_iter()
            .flat_map(|stage| session.owners(stage).map(move |owner| (stage, owner)));
        let queues = queues.filter_map(|(stage, owner)| {
            let Owner::Queue(name) = owner else {
                return None;
            };
            let used = self.used(session, owner, stage);
            let share = Share {
                part: u64::from(used),
                whole: self.share(name),
            };
            let is_let = self.within(session, name, used, stage);
            is_let.then_some((share, stage, owner))
        });
        let firsts = queues.filter_map(|(share, counted, owner)| {
            let may = |stage, _| !self.by_stage || stage == counted;
            let (seq, stage, job) = first(session, slot, Some(owner), may)?;
            Some((share, seq, stage, job))
        });
        let (_, _, stage, job) = firsts.min()?;
        start(session, job, stage, slot, node)
    }
}
