//! HPE with room for plain tasks: those that need an element go first, and only as many as keep it busy.
//!
//! [`Hpe`](super::Hpe) fills a node that has an element with tasks that need it. Where they wait for it in turn, most of
//! their slots are idle while plain tasks find none; and what it passes over counts in jobs, whatever these are. Here, for
//! each free slot of a node, map slots first:
//!
//! ```text
//! needing = the first job whose task needs what the node has
//! plain   = the first whose task needs no element
//! where both wait:  needing  while fewer than `per` attempts a device are on the node,  else plain
//! else whichever waits
//! ```
//!
//! Two a device are enough: one has it, the other loads what comes next. More are needed where a task loads for longer
//! than it computes. What a task takes of a count, such as a function, has its limit in the count. No slot is left empty
//! that a task could have, and nothing is kept free.
//!
//! That plain jobs do not starve holds where a node has more slots than its devices take; [`Age`](super::wrapper::Age)
//! makes it true everywhere, and goes around this policy unless it is told otherwise.
//!
//! Cost: O(classes of need · log jobs + slots of the node) a slot.

use serde::{Deserialize, Serialize};

use super::can_run::fits;
use super::element::needs_element;
use super::fifo::{ONE_BY_ONE, start};
use super::hpe::{maps_first, preferred_home};
use super::{Decision, JobIx, Nanos, Need, NodeIx, Saved, Scheduler, Session, SlotIx, Stage};

/// The policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HpeConserve {
    /// So many attempts a device go before plain tasks; at least 1.
    pub per: u64,
}

impl Default for HpeConserve {
    fn default() -> Self {
        Self { per: 2 }
    }
}

/// A job that is next of its kind: order of submission, stage, number.
type Next = (u64, Stage, JobIx);

impl Scheduler for HpeConserve {
    fn next(&mut self, _now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let node = node?;
        maps_first(session, node).find_map(|slot| {
            let (_, stage, job) = self.choose(session, node, slot)?;
            start(session, job, stage, slot, node)
        })
    }

    fn home(
        &mut self,
        _now: Nanos,
        session: &Session,
        job: JobIx,
        _partition: u32,
        _bytes: u64,
    ) -> Option<NodeIx> {
        preferred_home(session, job)
    }

    fn looks_everywhere(&self, _now: Nanos) -> bool {
        false
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::HpeConserve(*self))
    }
}

impl HpeConserve {
    fn choose(&self, session: &Session, node: NodeIx, slot: SlotIx) -> Option<Next> {
        // Those whose devices have room for more, those whose devices are busy, and plain ones.
        let (mut needing, mut queued, mut plain) = (None, None, None);
        for stage in ONE_BY_ONE {
            if !session.slot(slot)?.stages.contains(&stage) {
                continue;
            }
            for class in session.classes(stage) {
                let need = session.need(class)?;
                let job = session.runnable(stage, class).next();
                let Some((seq, job)) = job.and_then(|ix| Some((session.job(ix)?.seq, ix))) else {
                    continue;
                };
                if fits(session, need, stage, slot).is_err() {
                    continue;
                }
                let first: &mut Option<Next> = if !needs_element(need) {
                    &mut plain
                } else if self.is_busy(session, node, need) {
                    &mut queued
                } else {
                    &mut needing
                };
                let next = (seq, stage, job);
                *first = Some(first.map_or(next, |other| other.min(next)));
            }
        }
        needing.or(plain).or(queued)
    }

    /// Whether one of the devices that a task waits for has enough attempts on the node.
    fn is_busy(&self, session: &Session, node: NodeIx, need: &Need) -> bool {
        need.locks.iter().any(|device| {
            let there = session
                .node(node)
                .map_or(0, |node| node.pool.amount(device));
            let slots = session
                .containers_of(node)
                .flat_map(|container| session.slots_of(container));
            let users = slots.filter_map(|slot| taken_by(session, *slot));
            let users = users.filter(|need| need.locks.contains(device)).count();
            u64::try_from(users).unwrap_or(u64::MAX) >= self.per.saturating_mul(there)
        })
    }
}

/// What the attempt on a slot needs.
fn taken_by(session: &Session, slot: SlotIx) -> Option<&Need> {
    let attempt = session.attempt(session.slot(slot)?.taken.attempt()?)?;
    let state = session.stage(attempt.job, attempt.stage);
    state.map(|state| &state.need)
}
