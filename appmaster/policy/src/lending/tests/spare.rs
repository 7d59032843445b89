//! Jobs whose queue has no slots of its own speed.

use super::*;
use crate::schedule::Speed;

fn of_speed(stages: &[Stage], speed: Speed) -> OfferedSlot {
    OfferedSlot {
        stages: stages.to_vec(),
        speed,
        cpus: Vec::new(),
    }
}

/// A container with these slots, and a policy.
fn with(policy: &str, slots: Vec<OfferedSlot>) -> Lending {
    let mut lending = lending(policy);
    let offer = Offer {
        slots,
        ..offer(1, 1)
    };
    lending.joined(NOW, offer);
    lending
}

#[test]
fn a_queue_without_slots_of_its_own_speed_has_spare_ones_alone() {
    use Speed::{Fast, Plain, Slow};
    use Stage::{Map, Reduce};
    let alone = |slots: &[(Stage, Speed)], queue: &str, maps, reduces| {
        let slots = slots
            .iter()
            .map(|(stage, speed)| of_speed(&[*stage], *speed));
        with("dyscale", slots.collect()).spare_alone(queue, maps, reduces)
    };
    let maps_alone = [(Map, Fast), (Map, Slow), (Reduce, Slow)];
    let reduces = Some((Fast, vec![Reduce]));
    assert_eq!(alone(&maps_alone, "interactive", 3, 1), reduces);
    assert_eq!(alone(&maps_alone, "default", 3, 1), reduces);
    assert_eq!(alone(&maps_alone, "interactive", 3, 0), None);
    assert_eq!(alone(&maps_alone, "batch", 3, 1), None);
    assert_eq!(alone(&maps_alone, "default", 301, 1), None);
    let fast = [(Map, Fast), (Reduce, Fast)];
    assert_eq!(alone(&fast, "batch", 1, 1), Some((Slow, vec![Map, Reduce])));
    // What is not known to be fast or slow is for all, and nothing can be said of no slot.
    assert_eq!(alone(&[(Map, Fast), (Map, Plain)], "batch", 1, 1), None);
    assert_eq!(alone(&[], "batch", 1, 1), None);
    let slots = vec![of_speed(&[Map], Slow)];
    assert_eq!(with("fifo", slots).spare_alone("interactive", 1, 0), None);
}
