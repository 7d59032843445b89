//! Attempts that go on on another slot: how long they still take there, and how long they took.

use super::bed::Bed;
use crate::schedule::{
    AttemptIx, AttemptOutcome, AttemptPhase, Bundle, Decision, Event, JobIx, Nanos, Slot, SlotIx,
    Speed, Stage, remaining,
};

/// One node of a slow slot and fast ones, and as many maps.
fn bed(fast: usize) -> Bed {
    let slots = [vec![Speed::Slow], vec![Speed::Fast; fast]].concat();
    let slots = slots.into_iter().map(|speed| Slot {
        speed,
        ..Slot::free(&[Stage::Map])
    });
    let mut bed = Bed::new("fifo", 0, 0);
    bed.join_cut(0, Bundle::new(), slots.collect());
    bed
}

fn told(bed: &mut Bed, at: u64, attempt: AttemptIx, done: u64) {
    bed.now = Nanos::from_secs(at);
    bed.tell(&Event::Progress {
        attempt,
        phase: AttemptPhase::Map,
        done,
        of: 100,
    });
}

/// It is ordered to a slot, and is there.
fn moves(bed: &mut Bed, at: u64, attempt: AttemptIx, to: u32) {
    bed.now = Nanos::from_secs(at);
    let to = SlotIx(to);
    bed.tell(&Event::Ordered(Decision::Move { attempt, to }));
    bed.tell(&Event::Moved { attempt, ok: true });
}

/// Seconds left, and whether that is sure.
fn left(bed: &Bed, attempt: AttemptIx) -> Option<(u64, bool)> {
    let (left, sure) = remaining(bed.driver.session(), attempt)?;
    Some((left.0 / 1_000_000_000, sure))
}

fn mean(bed: &Bed, speed: Speed) -> Option<u64> {
    let stage = bed.driver.session().stage(JobIx(0), Stage::Map)?;
    let measured = stage.measured.get(&speed)?;
    Some(measured.mean.0 / 1_000_000_000)
}

#[test]
fn time_left_goes_by_what_was_done_since_the_last_move() {
    let mut bed = bed(1);
    bed.submit("ann", Stage::Map, 1);
    let attempt = bed.begin(0);
    told(&mut bed, 100, attempt, 40);
    assert_eq!(left(&bed, attempt), Some((150, false)));
    moves(&mut bed, 100, attempt, 1);
    // How fast it is here it has not said.
    assert_eq!(left(&bed, attempt), None);
    told(&mut bed, 110, attempt, 60);
    assert_eq!(left(&bed, attempt), Some((20, false)));
    // One that could not be moved goes on as before.
    bed.tell(&Event::Ordered(Decision::Move {
        attempt,
        to: SlotIx(0),
    }));
    bed.tell(&Event::Moved { attempt, ok: false });
    assert_eq!(left(&bed, attempt), Some((20, false)));
    // Back again: 80 of 100 in 20 s here, the rest at a quarter of that.
    told(&mut bed, 120, attempt, 80);
    moves(&mut bed, 120, attempt, 0);
    told(&mut bed, 130, attempt, 85);
    assert_eq!(left(&bed, attempt), Some((30, false)));
}

#[test]
fn what_is_left_after_a_move_takes_its_part_of_the_mean_there() {
    let mut bed = bed(2);
    bed.submit("ann", Stage::Map, 3);
    bed.begin_all();
    let attempt = bed.on(0);
    for (at, slot) in [(40, 1), (60, 2)] {
        bed.now = Nanos::from_secs(at);
        bed.end(slot, AttemptOutcome::Done);
    }
    assert_eq!(mean(&bed, Speed::Fast), Some(50));
    told(&mut bed, 100, attempt, 40);
    moves(&mut bed, 100, attempt, 1);
    assert_eq!(left(&bed, attempt), Some((30, true)));
    bed.wait(Nanos::from_secs(10));
    assert_eq!(left(&bed, attempt), Some((20, true)));
    // It ends at 130: 30 s for six tenths, as the others' 50 s for all.
    bed.wait(Nanos::from_secs(20));
    bed.end(1, AttemptOutcome::Done);
    assert_eq!(mean(&bed, Speed::Fast), Some(50));
    assert_eq!(mean(&bed, Speed::Slow), None);
}

/// Nothing is told of the one that comes late: of how long all of it takes there it says nothing either.
#[test]
fn an_attempt_that_has_done_most_elsewhere_is_not_measured() {
    let mut bed = bed(2);
    bed.submit("ann", Stage::Map, 3);
    bed.begin_all();
    let attempt = bed.on(0);
    for slot in [1, 2] {
        bed.now = Nanos::from_secs(50);
        bed.end(slot, AttemptOutcome::Done);
    }
    told(&mut bed, 90, attempt, 90);
    moves(&mut bed, 90, attempt, 1);
    assert_eq!(left(&bed, attempt), Some((5, true)));
    bed.wait(Nanos::from_secs(30));
    bed.end(1, AttemptOutcome::Done);
    assert_eq!(mean(&bed, Speed::Fast), Some(50));
}

/// Both count from then on.
#[test]
fn attempts_that_are_swapped_have_each_a_new_pace() {
    let mut bed = bed(1);
    bed.submit("ann", Stage::Map, 2);
    bed.begin_all();
    let (slow, fast) = (bed.on(0), bed.on(1));
    told(&mut bed, 100, slow, 20);
    told(&mut bed, 100, fast, 50);
    let swap = Decision::Swap {
        one: slow,
        other: fast,
    };
    bed.tell(&Event::Ordered(swap));
    bed.tell(&Event::Moved {
        attempt: slow,
        ok: true,
    });
    assert_eq!((bed.on(1), bed.on(0)), (slow, fast));
    told(&mut bed, 110, slow, 25);
    told(&mut bed, 110, fast, 52);
    assert_eq!(left(&bed, slow), Some((150, false)));
    assert_eq!(left(&bed, fast), Some((240, false)));
}
