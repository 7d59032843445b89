//! How the containers of a session are cut into slots.

use std::num::NonZeroU32;

use policy::lending::{CoreSlots, SlotCut, StageSlots};
use policy::schedule;

use crate::subcommands::SessionStart;

/// Slots on a node with GPUs, where nothing is said: one task computes, others load and store.
const GPU_SLOTS: NonZeroU32 = match NonZeroU32::new(4) {
    Some(slots) => slots,
    None => NonZeroU32::MIN,
};

/// By which classes of cores slots are cut; `None`: they are all alike.
pub(super) fn core_slots(given: &SessionStart) -> Option<CoreSlots> {
    let each = StageSlots {
        maps: 1,
        reduces: 1,
    };
    let unsaid = || schedule::goes_by_speed(&given.policy).then_some(SlotCut::PerCore(each));
    let cut = given.slots.or(given.slots_per_core).or_else(unsaid)?;
    Some(CoreSlots {
        cut,
        bind: given.slot_bind,
    })
}

/// What is said where a policy that stops tasks cannot: what is stopped keeps its memory, and each container has that of
/// its slots alone.
pub(super) fn without_room(given: &SessionStart, by_cores: Option<CoreSlots>) -> Option<String> {
    let room = by_cores.and_then(|of| of.cut.room(0));
    let is_enough = match (room, given.slots_per_container) {
        // As many as are needed, unless the user says how many.
        (Some(_), None) => true,
        (Some(room), Some(given)) => given.get() > room,
        (None, _) => false,
    };
    let stops = schedule::parks(&given.policy) > 0;
    let room = room.unwrap_or_default();
    (stops && !is_enough).then(|| match room {
        0 => format!(
            "--policy {} stops no task: containers have memory for their slots alone; cut these with --slots, and memory is \
             asked for what is stopped",
            given.policy
        ),
        room => format!(
            "--policy {} stops no task: containers have memory for {room} tasks, as many as they have slots; leave \
             --slots-per-container out, or give more than {room}",
            given.policy
        ),
    })
}

/// How many slots containers have.
pub(super) struct ContainerSlots {
    pub(super) plain: NonZeroU32,
    /// On nodes with GPUs, as far as the memory of their containers reaches.
    pub(super) gpu: NonZeroU32,
    /// For which memory is asked.
    pub(super) room: NonZeroU32,
}

impl ContainerSlots {
    /// Where a node's GPUs are found only when its container is there, each container is to be large enough.
    pub(super) fn of(given: &SessionStart, by_cores: Option<CoreSlots>) -> Self {
        let parked = schedule::parks(&given.policy);
        let unsaid = match by_cores.map(|of| of.cut.room(parked)) {
            Some(Some(room)) => NonZeroU32::new(room).unwrap_or(NonZeroU32::MIN),
            // A fast core and a slow one.
            Some(None) => NonZeroU32::MIN.saturating_add(1),
            None => NonZeroU32::MIN,
        };
        let plain = given.slots_per_container.unwrap_or(unsaid);
        let gpu = given.gpu_slots.or(given.slots_per_container);
        Self {
            plain,
            gpu: gpu.unwrap_or(GPU_SLOTS),
            room: given.gpu_slots.map_or(plain, |gpu| gpu.max(plain)),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        given: SessionStart,
    }

    fn of(line: &str) -> (u32, Option<String>) {
        let words = std::iter::once("start").chain(line.split_whitespace());
        let given = Line::try_parse_from(words).unwrap().given;
        let by_cores = core_slots(&given);
        let slots = ContainerSlots::of(&given, by_cores);
        (slots.room.get(), without_room(&given, by_cores))
    }

    #[test]
    fn memory_is_asked_for_tasks_that_are_stopped() {
        let cut = "--slots fast=2:1,slow=3:3";
        assert_eq!(of(&format!("--policy dyscale {cut}")), (5, None));
        assert_eq!(of(&format!("--policy dyscale:park=1 {cut}")), (7, None));
        assert_eq!(of(&format!("--policy dyscale:park=0.25 {cut}")), (6, None));
        let given = "--slots-per-container";
        let enough = of(&format!("--policy dyscale:park=1 {cut} {given} 6"));
        assert_eq!(enough, (6, None));
        let (room, remark) = of(&format!("--policy dyscale:park=1 {cut} {given} 5"));
        assert_eq!(room, 5);
        let remark = remark.unwrap();
        assert!(
            remark.contains("dyscale:park=1 stops no task") && remark.contains("for 5 tasks"),
            "{remark}"
        );
        // How many cores are fast is known when the container is there.
        let (_, remark) = of("--policy dyscale:park=1 --slots-per-core 1:1");
        assert!(remark.unwrap().contains("cut these with --slots"));
        assert_eq!(of("--policy dyscale --slots-per-core 1:1").1, None);
    }
}
