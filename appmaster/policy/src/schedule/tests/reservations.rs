//! Orders are not facts.

use super::bed::{Bed, jobs};
use crate::schedule::legal::legal;
use crate::schedule::{
    AttemptIx, AttemptOutcome, Bundle, ContainerIx, Decision, Event, JobIx, Nanos, Reservation,
    Slot, SlotIx, SlotUse, Speed, Stage, Task, TaskIx, Why,
};

fn taken(bed: &Bed, slot: u32) -> &SlotUse {
    &bed.driver.session().slot(SlotIx(slot)).unwrap().taken
}

#[test]
fn a_slot_is_reserved_until_the_launcher_says_that_the_attempt_runs() {
    let mut bed = Bed::new("fifo", 1, 1);
    bed.submit("ann", Stage::Map, 1);
    let start = Reservation::Start(AttemptIx(0));
    assert_eq!(*taken(&bed, 0), SlotUse::Reserved(start));
    let attempt = bed.begin(0);
    assert_eq!(attempt, AttemptIx(0));
    assert_eq!(*taken(&bed, 0), SlotUse::Busy(attempt));
    bed.end(0, AttemptOutcome::Done);
    assert_eq!(*taken(&bed, 0), SlotUse::Free);
}

#[test]
fn a_failed_task_is_tried_again() {
    let mut bed = Bed::new("fifo", 1, 1);
    bed.submit("ann", Stage::Map, 1);
    bed.begin(0);
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Failed)), [0]);
    assert_eq!(
        bed.driver
            .session()
            .stage(JobIx(0), Stage::Map)
            .unwrap()
            .done,
        0
    );
}

#[test]
fn a_move_that_fails_restores_what_was() {
    let mut bed = Bed::new("fifo", 1, 2);
    bed.submit("ann", Stage::Map, 1);
    let attempt = bed.begin(0);
    let order = Decision::Move {
        attempt,
        to: SlotIx(1),
    };
    bed.tell(&Event::Ordered(order.clone()));
    assert_eq!(
        (taken(&bed, 0), taken(&bed, 1)),
        (
            &SlotUse::Moving(attempt),
            &SlotUse::Reserved(Reservation::Arrival(attempt))
        )
    );
    bed.tell(&Event::Moved { attempt, ok: false });
    assert_eq!(
        (taken(&bed, 0), taken(&bed, 1)),
        (&SlotUse::Busy(attempt), &SlotUse::Free)
    );
    bed.tell(&Event::Ordered(order));
    bed.tell(&Event::Moved { attempt, ok: true });
    assert_eq!(
        (taken(&bed, 0), taken(&bed, 1)),
        (&SlotUse::Free, &SlotUse::Busy(attempt))
    );
}

#[test]
fn an_attempt_that_ends_while_it_moves_frees_both_slots() {
    let mut bed = Bed::new("fifo", 1, 2);
    bed.submit("ann", Stage::Map, 1);
    let attempt = bed.begin(0);
    bed.tell(&Event::Ordered(Decision::Move {
        attempt,
        to: SlotIx(1),
    }));
    bed.end(0, AttemptOutcome::Done);
    assert_eq!(
        (taken(&bed, 0), taken(&bed, 1)),
        (&SlotUse::Free, &SlotUse::Free)
    );
    // Its word comes late.
    bed.tell(&Event::Moved { attempt, ok: true });
    assert_eq!(
        (taken(&bed, 0), taken(&bed, 1)),
        (&SlotUse::Free, &SlotUse::Free)
    );
}

#[test]
fn two_attempts_change_places() {
    let mut bed = Bed::new("fifo", 1, 2);
    bed.submit("ann", Stage::Map, 2);
    let (one, other) = (bed.begin(0), bed.begin(1));
    bed.tell(&Event::Ordered(Decision::Swap { one, other }));
    bed.tell(&Event::Moved {
        attempt: one,
        ok: true,
    });
    assert_eq!(
        (taken(&bed, 0), taken(&bed, 1)),
        (&SlotUse::Busy(other), &SlotUse::Busy(one))
    );
}

/// One of two ends in the middle: the other goes on to its slot, or stays where it is, as its launcher says.
#[test]
fn of_two_that_change_places_one_ends() {
    for ok in [true, false] {
        let mut bed = Bed::new("fifo", 1, 2);
        bed.submit("ann", Stage::Map, 2);
        let (one, other) = (bed.begin(0), bed.begin(1));
        bed.tell(&Event::Ordered(Decision::Swap { one, other }));
        bed.end(0, AttemptOutcome::Done);
        let ordered = SlotUse::Reserved(Reservation::Arrival(other));
        assert_eq!(
            (taken(&bed, 0), taken(&bed, 1)),
            (&ordered, &SlotUse::Moving(other))
        );
        bed.tell(&Event::Moved { attempt: other, ok });
        let (free, busy) = (&SlotUse::Free, &SlotUse::Busy(other));
        let expected = if ok { (busy, free) } else { (free, busy) };
        assert_eq!((taken(&bed, 0), taken(&bed, 1)), expected);
    }
}

/// An attempt stays with its launcher, in a slot for its stage, and goes nowhere before it has begun.
#[test]
fn an_attempt_is_moved_only_where_it_can_go_on() {
    let mut bed = Bed::new("fifo", 1, 2);
    // 2 is for reduces, in a second container of the host, as are 3 and 4.
    let reduce = Slot::free(&[Stage::Reduce]);
    let any = Slot::free(&[Stage::Map, Stage::Reduce]);
    let slots = vec![reduce.clone(), any.clone(), any];
    bed.join_cut(0, Bundle::new(), slots);
    bed.submit("ann", Stage::Map, 3);
    let (one, other, third) = (bed.on(0), bed.on(1), bed.on(3));
    let session = |bed: &Bed| bed.driver.session().clone();
    let moved = |bed: &Bed, attempt, to| {
        let to = SlotIx(to);
        legal(&session(bed), &Decision::Move { attempt, to }, false)
    };
    let swapped =
        |bed: &Bed, one, other| legal(&session(bed), &Decision::Swap { one, other }, false);
    let not_begun = Err("the attempt does not run, or moves or ends already".to_owned());
    assert_eq!(moved(&bed, one, 4), not_begun);
    bed.begin(0);
    assert_eq!(swapped(&bed, one, other), not_begun);
    assert_eq!(swapped(&bed, other, one), not_begun);
    bed.begin(1);
    bed.begin(3);
    let apart = Err("the slots are of two containers".to_owned());
    assert_eq!(moved(&bed, one, 4), apart);
    assert_eq!(swapped(&bed, one, third), apart);
    assert_eq!(moved(&bed, third, 4), Ok(()));
    assert_eq!(swapped(&bed, one, other), Ok(()));
    assert_eq!(
        moved(&bed, third, 2),
        Err("the slot runs no Map".to_owned())
    );
    assert!(moved(&bed, one, 1).is_err() && swapped(&bed, one, one).is_err());
    // A reduce goes to any slot there, and a map not to its.
    bed.submit("bob", Stage::Reduce, 1);
    let reduce = bed.begin(2);
    assert_eq!(moved(&bed, reduce, 4), Ok(()));
    assert!(swapped(&bed, reduce, third).is_err() && swapped(&bed, third, reduce).is_err());
    // What ends goes nowhere any more.
    bed.tell(&Event::Ordered(Decision::Stop {
        attempt: one,
        why: Why::Preempted,
    }));
    assert_eq!(swapped(&bed, one, other), not_begun);
}

#[test]
fn a_lost_container_takes_its_slots_and_its_attempts_are_tried_elsewhere() {
    let mut bed = Bed::new("fifo", 2, 1);
    bed.submit("ann", Stage::Map, 2);
    bed.begin_all();
    assert_eq!(bed.tell(&Event::Lost(ContainerIx(0))), []);
    assert_eq!(
        bed.driver
            .session()
            .stage(JobIx(0), Stage::Map)
            .unwrap()
            .pending,
        1
    );
    let again = bed.end(1, AttemptOutcome::Done);
    let task = Decision::Start {
        job: JobIx(0),
        stage: Stage::Map,
        task: TaskIx(0),
        slot: SlotIx(1),
    };
    assert_eq!(again, [task]);
}

#[test]
fn lost_output_is_made_again() {
    let mut bed = Bed::new("fifo", 1, 1);
    bed.submit("ann", Stage::Map, 1);
    bed.begin(0);
    bed.end(0, AttemptOutcome::Done);
    assert_eq!(
        jobs(&bed.tell(&Event::OutputLost {
            job: JobIx(0),
            maps: vec![TaskIx(0)]
        })),
        [0]
    );
}

#[test]
fn nothing_new_starts_in_a_container_that_is_wanted_back() {
    let mut bed = Bed::new("fifo", 1, 2);
    bed.submit("ann", Stage::Map, 1);
    bed.begin(0);
    bed.tell(&Event::Preempt {
        containers: vec![ContainerIx(0)],
        by: Nanos::from_secs(15),
    });
    assert_eq!(bed.submit("bob", Stage::Map, 2), []);
    assert_eq!(bed.end(0, AttemptOutcome::Done), []);
}

#[test]
fn a_job_that_left_is_forgotten_when_its_last_attempt_ends() {
    let mut bed = Bed::new("fifo", 1, 1);
    bed.submit("ann", Stage::Map, 3);
    bed.begin(0);
    assert_eq!(bed.tell(&Event::Left(JobIx(0))), []);
    assert!(bed.driver.session().job(JobIx(0)).is_some());
    assert_eq!(bed.end(0, AttemptOutcome::Killed), []);
    assert!(bed.driver.session().job(JobIx(0)).is_none());
    assert_eq!(bed.driver.session().attempts().count(), 0);
    // Words about what is gone change nothing.
    assert_eq!(bed.tell(&Event::Began(AttemptIx(0))), []);
    assert_eq!(bed.tell(&Event::Left(JobIx(0))), []);
}

#[test]
fn slots_cut_anew_keep_what_runs_on_them() {
    let mut bed = Bed::new("fifo", 1, 2);
    bed.submit("ann", Stage::Map, 2);
    bed.begin_all();
    // One is left: the second goes when its attempt does.
    bed.tell(&Event::Slots {
        container: ContainerIx(0),
        now: vec![Slot::free(&[Stage::Map])],
    });
    assert_eq!(bed.submit("bob", Stage::Map, 2), []);
    assert_eq!(bed.end(1, AttemptOutcome::Done), []);
    assert!(bed.driver.session().slot(SlotIx(1)).is_none());
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [1]);
}

/// A map stays on a slot for maps, and one that is free goes before one where something runs.
#[test]
fn slots_cut_anew_are_matched_by_what_runs_on_them() {
    let of = |stage, speed| Slot {
        speed,
        ..Slot::free(&[stage])
    };
    let (map, reduce) = (Stage::Map, Stage::Reduce);
    let (fast, slow) = (Speed::Fast, Speed::Slow);
    let mut bed = Bed::new("fifo", 0, 0);
    let all = [
        (map, fast),
        (map, fast),
        (reduce, fast),
        (map, slow),
        (map, slow),
    ];
    let all = all.map(|(stage, speed)| of(stage, speed)).to_vec();
    bed.join_cut(0, Bundle::new(), all);
    bed.submit("ann", map, 4);
    let attempts = [0, 1, 3, 4].map(|slot| bed.begin(slot));
    bed.end(0, AttemptOutcome::Done);
    bed.end(3, AttemptOutcome::Done);
    let now = [(map, fast), (reduce, fast), (map, slow), (reduce, slow)];
    bed.tell(&Event::Slots {
        container: ContainerIx(0),
        now: now.map(|(stage, speed)| of(stage, speed)).to_vec(),
    });
    let session = bed.driver.session();
    let there: Vec<(u32, Speed)> = session
        .slots()
        .map(|(ix, slot)| (ix.0, slot.speed))
        .collect();
    assert_eq!(there, [(1, fast), (2, fast), (4, slow), (5, slow)]);
    assert_eq!(taken(&bed, 1), &SlotUse::Busy(attempts[1]));
    assert_eq!(taken(&bed, 4), &SlotUse::Busy(attempts[3]));
}

#[test]
fn a_device_that_is_back_makes_its_node_fit_for_those_who_wait_for_it() {
    use crate::schedule::Need;
    let mut bed = Bed::new("hpe", 1, 2);
    let need = Need {
        bundle: Bundle::new(),
        locks: vec!["gpu".into()],
        ..Need::default()
    };
    assert_eq!(
        bed.submit_job("ann", 0, Stage::Map, vec![Task::default(); 2], need),
        []
    );
    let has = |count| Event::Pool {
        container: ContainerIx(0),
        pool: Bundle::new().with("gpu", count),
    };
    assert_eq!(jobs(&bed.tell(&has(1))), [0, 0]);
    bed.begin_all();
    // Broken again: what runs goes on, what fails of it waits.
    assert_eq!(bed.tell(&has(0)), []);
    assert_eq!(bed.end(0, AttemptOutcome::Failed), []);
    assert_eq!(jobs(&bed.tell(&has(1))), [0]);
}

/// What is given back is not lent while others still have what is there.
#[test]
fn a_pool_that_shrinks_is_not_lent_twice() {
    use crate::schedule::Need;
    let mut bed = Bed::new("fifo", 0, 0);
    let kernels = |count| Bundle::new().with("kernel", count);
    bed.join(0, 4, kernels(4));
    let need = Need {
        bundle: kernels(1),
        locks: Vec::new(),
        ..Need::default()
    };
    let tasks = vec![Task::default(); 6];
    assert_eq!(bed.submit_job("ann", 0, Stage::Map, tasks, need).len(), 4);
    bed.begin_all();
    let has = |count| Event::Pool {
        container: ContainerIx(0),
        pool: kernels(count),
    };
    // Three have what is one: the next starts when the last of them ends.
    assert_eq!(bed.tell(&has(1)), []);
    for slot in 0..3 {
        assert_eq!(bed.end(slot, AttemptOutcome::Done), [], "{slot}");
    }
    assert_eq!(jobs(&bed.end(3, AttemptOutcome::Done)), [0]);
    // It is there no more, and again.
    assert_eq!(
        bed.tell(&Event::Pool {
            container: ContainerIx(0),
            pool: Bundle::new()
        }),
        []
    );
    assert_eq!(jobs(&bed.tell(&has(2))), [0]);
}
