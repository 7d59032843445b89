//! DyScale on one node of fast and slow slots, and between nodes.

use super::bed::{Bed, started};
use crate::schedule::trace::TracedJob;
use crate::schedule::{
    AttemptIx, AttemptOutcome, Bundle, Decision, Event, JobProfile, Nanos, Slot, SlotIx, Speed,
    Stage, goes_by_speed, of_session,
};

/// A node of so many fast slots, and then so many slow ones, that run maps.
fn joined(policy: &str, nodes: u32, fast: usize, slow: usize) -> Bed {
    let mut bed = Bed::new(policy, 0, 0);
    for node in 0..nodes {
        let of = |speed| Slot {
            speed,
            ..Slot::free(&[Stage::Map])
        };
        let slots = [vec![of(Speed::Fast); fast], vec![of(Speed::Slow); slow]].concat();
        bed.join_cut(node, Bundle::new(), slots);
    }
    bed
}

/// The attempt on `slot` is done after twenty seconds. Of one on slots of the other speed nothing is known yet: it is taken to
/// have sixty seconds left.
fn done(bed: &mut Bed, slot: u32) -> Vec<Decision> {
    bed.now = bed.now.plus(Nanos::from_secs(20));
    bed.end(slot, AttemptOutcome::Done)
}

/// Which slots of which job start.
fn places(decisions: &[Decision]) -> Vec<(u32, u32)> {
    let started = started(decisions).into_iter();
    started.map(|(job, _, _, slot)| (job, slot)).collect()
}

fn moved(bed: &mut Bed, attempt: AttemptIx) -> Vec<Decision> {
    bed.tell(&Event::Moved { attempt, ok: true })
}

fn is_move(decision: &Decision, from: u32, to: u32, bed: &Bed) -> bool {
    let Decision::Move { attempt, to: there } = decision else {
        return false;
    };
    *there == SlotIx(to) && *attempt == bed.on(from)
}

#[test]
fn each_class_has_slots_of_its_own() {
    for policy in ["dyscale-basic", "dyscale"] {
        let mut bed = joined(policy, 1, 1, 2);
        assert_eq!(
            places(&bed.submit("batch", Stage::Map, 2)),
            [(0, 1), (0, 2)]
        );
        assert_eq!(places(&bed.submit("interactive", Stage::Map, 1)), [(1, 0)]);
        bed.begin_all();
        // All is taken. A slow slot goes to batch, however long the interactive job waits.
        assert!(bed.submit("interactive", Stage::Map, 1).is_empty());
        assert!(bed.submit("batch", Stage::Map, 1).is_empty());
        assert_eq!(places(&done(&mut bed, 2)), [(3, 2)]);
        assert_eq!(places(&done(&mut bed, 0)), [(2, 0)]);
    }
}

#[test]
fn what_one_class_leaves_the_other_has_once_its_own_are_taken() {
    for policy in ["dyscale-basic", "dyscale"] {
        let mut bed = joined(policy, 2, 1, 1);
        // Slots 0 and 2 are fast. The slow ones of both nodes come before any fast one.
        let batch = places(&bed.submit("batch", Stage::Map, 3));
        assert_eq!(batch, [(0, 1), (0, 3), (0, 0)], "{policy}");
        let mut bed = joined(policy, 2, 1, 1);
        let interactive = places(&bed.submit("interactive", Stage::Map, 3));
        assert_eq!(interactive, [(0, 0), (0, 2), (0, 1)], "{policy}");
    }
}

#[test]
fn the_size_tells_where_the_queue_does_not() {
    let mut bed = joined("dyscale:most=2", 1, 1, 1);
    assert_eq!(places(&bed.submit("anne", Stage::Map, 3))[..1], [(0, 1)]);
    let mut bed = joined("dyscale:most=2", 1, 1, 1);
    assert_eq!(places(&bed.submit("anne", Stage::Map, 2))[..1], [(0, 0)]);
    // The first large one is found behind small ones.
    let mut bed = joined("dyscale-basic:most=1", 1, 1, 0);
    bed.submit("anne", Stage::Map, 1);
    bed.submit("bert", Stage::Map, 1);
    bed.submit("carl", Stage::Map, 2);
    let slow = Slot {
        speed: Speed::Slow,
        ..Slot::free(&[Stage::Map])
    };
    assert_eq!(
        places(&bed.join_cut(1, Bundle::new(), vec![slow])),
        [(2, 1)]
    );
}

#[test]
fn batch_goes_down_for_an_interactive_task_and_that_one_waits_for_it() {
    let mut bed = joined("dyscale", 1, 1, 1);
    bed.submit("batch", Stage::Map, 2);
    bed.begin_all();
    done(&mut bed, 1);
    // Batch has the fast slot, and the slow one is free.
    let decisions = bed.submit("interactive", Stage::Map, 1);
    assert!(is_move(&decisions[0], 0, 1, &bed), "{decisions:?}");
    assert_eq!(decisions.len(), 1);
    let attempt = bed.on(0);
    assert_eq!(places(&moved(&mut bed, attempt)), [(1, 0)]);
    // Without moves it starts on the slow slot.
    let mut bed = joined("dyscale-basic", 1, 1, 1);
    bed.submit("batch", Stage::Map, 2);
    bed.begin_all();
    done(&mut bed, 1);
    assert_eq!(places(&bed.submit("interactive", Stage::Map, 1)), [(1, 1)]);
}

#[test]
fn an_interactive_task_goes_up_when_none_waits() {
    let mut bed = joined("dyscale", 1, 1, 1);
    bed.submit("interactive", Stage::Map, 2);
    bed.begin_all();
    let decisions = done(&mut bed, 0);
    assert!(is_move(&decisions[0], 1, 0, &bed), "{decisions:?}");
    // A launcher that cannot leaves all as it was, and is asked again after a while.
    let attempt = bed.on(1);
    let at_once = bed.tell(&Event::Moved { attempt, ok: false });
    assert!(at_once.is_empty(), "{at_once:?}");
    bed.now = bed.now.plus(Nanos::from_secs(10));
    let again = bed.tell(&Event::Wake);
    assert!(is_move(&again[0], 1, 0, &bed), "{again:?}");
    // What waits goes first.
    let mut bed = joined("dyscale", 1, 1, 1);
    bed.submit("interactive", Stage::Map, 3);
    bed.begin_all();
    assert_eq!(places(&done(&mut bed, 0)), [(0, 0)]);
}

#[test]
fn batch_goes_up_as_it_is_told() {
    for (lift, idle, busy) in [
        ("idle", true, false),
        ("always", true, true),
        ("off", false, false),
    ] {
        let mut bed = joined(&format!("dyscale:lift-batch={lift}"), 1, 1, 1);
        bed.submit("batch", Stage::Map, 2);
        bed.begin_all();
        let up = done(&mut bed, 0);
        assert_eq!(up.len(), usize::from(idle), "{lift}: {up:?}");
        let mut bed = joined(&format!("dyscale:lift-batch={lift}"), 1, 2, 1);
        bed.submit("interactive", Stage::Map, 1);
        bed.submit("batch", Stage::Map, 2);
        bed.begin_all();
        let up = done(&mut bed, 1);
        assert_eq!(up.len(), usize::from(busy), "{lift}: {up:?}");
    }
}

#[test]
fn both_change_places_where_nothing_is_free() {
    let mut bed = joined("dyscale", 1, 1, 2);
    bed.submit("batch", Stage::Map, 3);
    bed.begin_all();
    // A twin of the slow slots is free for a moment: the interactive task has it while batch, young, stays.
    let batch = bed.on(0);
    done(&mut bed, 2);
    let down = bed.submit("interactive", Stage::Map, 1);
    assert!(is_move(&down[0], 0, 2, &bed), "{down:?}");
    // The launcher cannot, and slow slots are gone meanwhile.
    bed.submit("batch", Stage::Map, 1);
    let after = bed.tell(&Event::Moved {
        attempt: batch,
        ok: false,
    });
    assert_eq!(places(&after), [(2, 2)]);
    bed.begin_all();
    // On another slow slot it starts as a spare one, and changes with batch.
    let spare = done(&mut bed, 1);
    assert!(is_move(&spare[0], 0, 1, &bed), "{spare:?}");
}

#[test]
fn an_exchange_is_of_one_container_and_of_attempts_that_go_on() {
    // Interactive on both speeds of two nodes, then batch takes a fast slot of the first.
    let mut bed = joined("dyscale:lift-batch=off", 1, 1, 1);
    bed.submit("interactive", Stage::Map, 2);
    bed.begin_all();
    let interactive = bed.on(1);
    let up = done(&mut bed, 0);
    assert!(is_move(&up[0], 1, 0, &bed));
    // The move fails, and batch has taken the fast slot.
    bed.tell(&Event::Moved {
        attempt: interactive,
        ok: true,
    });
    assert_eq!(places(&bed.submit("batch", Stage::Map, 1)), [(1, 1)]);
    bed.begin_all();
    // Each is where it belongs: nothing changes.
    assert!(bed.wait(Nanos::from_secs(60)).is_empty());
}

#[test]
fn what_is_nearly_done_stays() {
    let mut bed = joined("dyscale", 1, 1, 1);
    bed.submit("interactive", Stage::Map, 3);
    bed.begin_all();
    bed.now = bed.now.plus(Nanos::from_secs(10));
    // The mean on slow slots is taken as at most four times the ten seconds: thirty are left.
    let first = done(&mut bed, 0);
    assert_eq!(places(&first), [(0, 0)]);
    bed.begin_all();
    let slow = bed.on(1);
    let progress = |done| Event::Progress {
        attempt: slow,
        phase: crate::schedule::AttemptPhase::Map,
        done,
        of: 1000,
    };
    bed.now = bed.now.plus(Nanos::from_secs(10));
    bed.tell(&progress(990));
    let none = done(&mut bed, 0);
    assert!(none.is_empty(), "{none:?}");
}

/// One fast slot, and a slow one on which a batch task ends: six maps of 10 s are wanted 25 s later.
#[test]
fn an_earlier_run_tells_who_would_be_late_before_a_task_has_ended() {
    let next_on_slow = |profile: JobProfile| {
        let mut bed = joined("dyscale-basic:order=deadline", 1, 1, 1);
        bed.submit("batch", Stage::Map, 3);
        bed.begin_all();
        bed.deadline = Some(Nanos::from_secs(45));
        bed.profile = profile;
        bed.submit("interactive", Stage::Map, 6);
        places(&done(&mut bed, 1))
    };
    assert_eq!(next_on_slow(JobProfile::default()), [(0, 1)]);
    let traced: TracedJob = "sort,0,,6,0,10000,0,0".parse().unwrap();
    assert_eq!(next_on_slow(JobProfile::from(&traced)), [(1, 1)]);
    // Quick ones are done in time.
    let traced: TracedJob = "sort,0,,6,0,1000,0,0".parse().unwrap();
    assert_eq!(next_on_slow(JobProfile::from(&traced)), [(0, 1)]);
}

#[test]
fn what_goes_by_speed_is_told_from_what_does_not() {
    for name in ["dyscale", "dyscale-basic:most=3", "maps-fast+delay"] {
        assert!(goes_by_speed(name) && of_session(name).is_ok(), "{name}");
    }
    assert!(!goes_by_speed("fifo+age"));
}

#[test]
fn an_attempt_that_could_not_be_moved_is_not_waited_for() {
    let mut bed = Bed::new("dyscale:move-least=0", 0, 0);
    let of = |speed| Slot {
        speed,
        ..Slot::free(&[Stage::Map])
    };
    bed.join_cut(
        0,
        Bundle::new(),
        [Speed::Fast, Speed::Slow].map(of).to_vec(),
    );
    // The fast slot is spare, once the slow one is taken; the slow one ends first.
    assert_eq!(places(&bed.submit("batch", Stage::Map, 2)).len(), 2);
    bed.begin_all();
    let slow = bed.on(1);
    let ended = bed.tell(&Event::Ended {
        attempt: slow,
        how: AttemptOutcome::Done,
        phases: Vec::new(),
    });
    assert_eq!(ended, []);
    // An interactive task waits for the fast slot: what runs there is to go down.
    let moves = bed.submit("interactive", Stage::Map, 1);
    let [Decision::Move { attempt, .. }] = moves[..] else {
        panic!("{moves:?}")
    };
    let then = bed.tell(&Event::Moved { attempt, ok: false });
    assert!(matches!(then[..], [Decision::Start { .. }]), "{then:?}");
}

#[test]
fn maps_are_on_fast_slots_and_reduces_on_slow_ones() {
    let mut bed = Bed::new("maps-fast", 0, 0);
    let of = |speed| Slot {
        speed,
        ..Slot::free(&[Stage::Map, Stage::Reduce])
    };
    let slots = [Speed::Fast, Speed::Slow, Speed::Plain].map(of);
    bed.join_cut(0, Bundle::new(), slots.to_vec());
    assert_eq!(places(&bed.submit("u", Stage::Map, 3)), [(0, 0), (0, 2)]);
    assert_eq!(places(&bed.submit("u", Stage::Reduce, 3)), [(1, 1)]);
}
