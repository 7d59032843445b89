//! First come, first served, by who knows of no elements: Hadoop without Pamar.
//!
//! A task that needs an element starts wherever a slot is free, and fails where the node lacks it. It is there for
//! comparison.
//!
//! Cost: O(classes of need · log jobs) a decision.

use serde::{Deserialize, Serialize};

use super::can_run::can_run_blindly;
use super::fifo::{ONE_BY_ONE, start};
use super::{Decision, Nanos, NodeIx, Saved, Scheduler, Session};

/// The policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blind;

impl Scheduler for Blind {
    fn next(&mut self, _now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let node = node?;
        session.open_slots(node).find_map(|slot| {
            let stages = ONE_BY_ONE.into_iter();
            let classes =
                stages.flat_map(|stage| session.classes(stage).map(move |class| (stage, class)));
            let firsts = classes.filter_map(|(stage, class)| {
                let job = session.runnable(stage, class).next()?;
                can_run_blindly(session, job, stage, slot).ok()?;
                Some((session.job(job)?.seq, stage, job))
            });
            let (_, stage, job) = firsts.min()?;
            start(session, job, stage, slot, node)
        })
    }

    fn is_blind(&self) -> bool {
        true
    }

    fn looks_everywhere(&self, _now: Nanos) -> bool {
        false
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::Blind(*self))
    }
}
