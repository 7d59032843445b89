//! Slots of the speed that a job has before others: whether there are any.

use super::{Session, Speed, Stage};

/// Stages with tasks of which the session has slots, all of them of the other speed: such tasks have what is spare.
///
/// Cost: O(slots).
#[must_use]
pub fn without_own_slots(session: &Session, own: Speed, maps: u32, reduces: u32) -> Vec<Stage> {
    let stages = [(Stage::Map, maps), (Stage::Reduce, reduces)];
    let stages = stages.into_iter().filter(|(stage, tasks)| {
        let slots = session.slots().map(|(_, slot)| slot);
        let mut speeds = slots
            .filter(|slot| slot.starts_tasks() && slot.stages.contains(stage))
            .map(|slot| slot.speed)
            .peekable();
        let has_any = speeds.peek().is_some();
        *tasks > 0 && has_any && speeds.all(|speed| speed != own && speed != Speed::Plain)
    });
    stages.map(|(stage, _)| stage).collect()
}
