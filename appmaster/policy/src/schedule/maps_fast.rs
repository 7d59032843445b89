//! Maps on fast cores, reduces on slow ones: the simple way that DyScale is compared with.
//!
//! Source: as [`DyScale`](super::DyScale), §5.2. Jobs are served first come, first served; slots whose speed is not known
//! run either. It is there for comparison: fast slots stand idle while reduces run, slow ones while maps do.
//!
//! Cost: O(classes of need · log jobs) a slot.

use serde::{Deserialize, Serialize};

use super::fifo::{first, start};
use super::{Decision, Nanos, NodeIx, Saved, Scheduler, Session, Speed, Stage};

/// The policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapsFast;

impl Scheduler for MapsFast {
    fn next(&mut self, _now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let node = node?;
        session.open_slots(node).find_map(|slot| {
            let speed = session.slot(slot)?.speed;
            let (_, stage, job) = first(session, slot, None, |stage, _| runs(speed, stage))?;
            start(session, job, stage, slot, node)
        })
    }

    fn looks_everywhere(&self, _now: Nanos) -> bool {
        false
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::MapsFast(*self))
    }
}

const fn runs(speed: Speed, stage: Stage) -> bool {
    match (speed, stage) {
        (Speed::Plain, _) => true,
        (Speed::Fast, stage) => matches!(stage, Stage::Map),
        (Speed::Slow, stage) => matches!(stage, Stage::Reduce),
        (Speed::Parked, _) => false,
    }
}
