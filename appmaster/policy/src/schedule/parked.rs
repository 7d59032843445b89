//! Places for attempts that are stopped, beside the slots of a container.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::{Event, Slot, Speed, Stage};

/// The event with `share` hundredths of a place for each fast slot that it tells of, unless it has places already: one of a
/// record does.
pub(super) fn with_places(event: &Event, share: u64) -> Cow<'_, Event> {
    let mut event = Cow::Borrowed(event);
    let (Event::Joined(_, _, slots) | Event::Slots { now: slots, .. }) = &*event else {
        return event;
    };
    let places = match slots.iter().all(Slot::starts_tasks) {
        true => places(slots, share),
        false => Vec::new(),
    };
    if !places.is_empty()
        && let Event::Joined(_, _, slots) | Event::Slots { now: slots, .. } = event.to_mut()
    {
        slots.extend(places);
    }
    event
}

/// For the fast slots of each kind together, rounded up.
fn places(slots: &[Slot], share: u64) -> Vec<Slot> {
    let mut fast: BTreeMap<BTreeSet<Stage>, u64> = BTreeMap::new();
    for slot in slots.iter().filter(|slot| slot.speed == Speed::Fast) {
        let one_by_one = slot.stages.iter().copied();
        let one_by_one = one_by_one.filter(|stage| *stage != Stage::Gang).collect();
        let count = fast.entry(one_by_one).or_default();
        *count = count.saturating_add(1);
    }
    fast.remove(&BTreeSet::new());
    let each = fast.into_iter().flat_map(|(stages, count)| {
        let count = count.saturating_mul(share).div_ceil(100);
        let place = Slot {
            stages,
            speed: Speed::Parked,
            ..Slot::free(&[])
        };
        std::iter::repeat_n(place, usize::try_from(count).unwrap_or(usize::MAX))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_of_the_kinds_of_fast_slots_and_rounded_up() {
        let of = |speed, stages: &[Stage]| Slot {
            speed,
            ..Slot::free(stages)
        };
        let map = of(Speed::Fast, &[Stage::Map, Stage::Gang]);
        let reduce = of(Speed::Fast, &[Stage::Reduce]);
        let slow = of(Speed::Slow, &[Stage::Map]);
        let slots = vec![map.clone(), map.clone(), map, reduce, slow];
        let counts = |share| {
            let places = places(&slots, share);
            let of = |stage: Stage| {
                let of = places.iter();
                of.filter(|place| place.stages == [stage].into()).count()
            };
            assert!(places.iter().all(|place| !place.starts_tasks()));
            (of(Stage::Map), of(Stage::Reduce))
        };
        assert_eq!(counts(0), (0, 0));
        assert_eq!(counts(25), (1, 1));
        assert_eq!(counts(50), (2, 1));
        assert_eq!(counts(100), (3, 1));
        assert_eq!(counts(150), (5, 2));
    }
}
