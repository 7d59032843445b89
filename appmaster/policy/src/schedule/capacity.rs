//! Queues with guaranteed shares.
//!
//! A slot goes to the queue that has the least of its share; inside a queue it is first come, first
//! served. What a queue does not use others take, unless the policy is told `elastic=false`.
//! Queues that are not declared share what the declared ones leave of 100; of a session that is `default` alone.
//!
//! A gang is let in whole where one more slot would stay within its queue's share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::dominant::Share;
use super::fifo::{ONE_BY_ONE, first, start};
use super::{By, Decision, JobIx, Nanos, NodeIx, Owner, Saved, Scheduler, Session, SlotIx};

/// The queue of jobs that name none.
const DEFAULT: &str = "default";

/// The policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Capacity {
    /// Percent of the slots that a queue is guaranteed.
    pub shares: BTreeMap<String, u64>,
    /// Whether a queue may have more than its share when others leave it.
    pub elastic: bool,
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

    /// Whether one more slot stays within a queue's share of `slots`; one is always let in.
    fn within(&self, queue: &str, used: u32, slots: u64) -> bool {
        let after = Share {
            part: u64::from(used).saturating_add(1),
            whole: slots,
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
        let slots = u64::try_from(session.slot_count()).unwrap_or(u64::MAX);
        session
            .open_slots(node)
            .find_map(|slot| self.at(session, slot, node, slots))
    }

    fn shares_among(&self) -> Option<By> {
        Some(By::Queue)
    }

    fn standing(&self, session: &Session, job: JobIx) -> Share {
        let queue = session.job(job).map_or(DEFAULT, |job| &job.queue);
        Share {
            part: u64::from(session.used(&Owner::Queue(queue.to_owned()))),
            whole: self.share(queue),
        }
    }

    fn lets(&self, session: &Session, job: JobIx) -> bool {
        let queue = session.job(job).map_or(DEFAULT, |job| &job.queue);
        let slots = u64::try_from(session.slot_count()).unwrap_or(u64::MAX);
        let used = session.used(&Owner::Queue(queue.to_owned()));
        self.within(queue, used, slots)
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
    fn at(&self, session: &Session, slot: SlotIx, node: NodeIx, slots: u64) -> Option<Decision> {
        let queues = ONE_BY_ONE
            .into_iter()
            .flat_map(|stage| session.owners(stage));
        let queues = queues.filter_map(|owner| {
            let Owner::Queue(name) = owner else {
                return None;
            };
            let used = session.used(owner);
            let share = Share {
                part: u64::from(used),
                whole: self.share(name),
            };
            self.within(name, used, slots).then_some((share, owner))
        });
        let firsts = queues.filter_map(|(share, owner)| {
            let (seq, stage, job) = first(session, slot, Some(owner), |_, _| true)?;
            Some((share, seq, stage, job))
        });
        let (_, _, stage, job) = firsts.min()?;
        start(session, job, stage, slot, node)
    }
}
