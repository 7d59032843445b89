use super::bed::{Bed, jobs, reloaded};
use crate::schedule::{
    AttemptOutcome, Bundle, ContainerIx, Decision, Event, JobIx, Nanos, Need, SlotIx, Stage, Task,
};

fn gang(job: u32, slots: &[u32]) -> Decision {
    Decision::Gang {
        job: JobIx(job),
        slots: slots.iter().map(|slot| SlotIx(*slot)).collect(),
    }
}

#[test]
fn a_gang_starts_whole_on_as_few_nodes_as_may_be() {
    let mut bed = Bed::new("fifo+gang", 2, 2);
    bed.submit("ann", Stage::Map, 1);
    assert_eq!(bed.submit("mpi", Stage::Gang, 3), [gang(1, &[2, 3, 1])]);
}

/// Small jobs come without end; the gang of all slots still has its turn.
#[test]
fn small_jobs_never_starve_a_wide_gang() {
    let mut bed = Bed::new("fifo+gang:hold=60s", 2, 2);
    bed.submit("ann", Stage::Map, 4);
    bed.begin_all();
    bed.submit("mpi", Stage::Gang, 4);
    for slot in 0..4 {
        bed.submit("bob", Stage::Map, 1);
        bed.now = bed.now.plus(Nanos::from_secs(1));
        let decisions = bed.end(slot, AttemptOutcome::Done);
        if slot < 3 {
            assert!(
                matches!(decisions[..], [Decision::Hold { .. }]),
                "{decisions:?}"
            );
        } else {
            assert_eq!(decisions, [gang(1, &[0, 1, 2, 3])]);
        }
    }
}

/// What is kept for a gang in a container that is wanted back is of no use to it.
#[test]
fn a_gang_waits_for_slots_that_stay() {
    let mut bed = Bed::new("fifo+gang:hold=60s", 3, 1);
    bed.submit("ann", Stage::Map, 3);
    bed.begin_all();
    bed.submit("mpi", Stage::Gang, 2);
    bed.submit("bob", Stage::Map, 1);
    assert!(matches!(
        bed.end(0, AttemptOutcome::Done)[..],
        [Decision::Hold { .. }]
    ));
    bed.tell(&Event::Preempt {
        containers: vec![ContainerIx(0)],
        by: Nanos::from_secs(15),
    });
    assert_eq!(bed.driver.session().held(JobIx(1)).count(), 0);
    assert!(matches!(
        bed.end(1, AttemptOutcome::Done)[..],
        [Decision::Hold { .. }]
    ));
    assert_eq!(bed.end(2, AttemptOutcome::Done), [gang(1, &[1, 2])]);
}

#[test]
fn a_hold_that_does_not_come_whole_is_given_up_for_a_while() {
    let mut bed = Bed::new("fifo+gang:hold=60s", 1, 2);
    bed.submit("ann", Stage::Map, 2);
    bed.begin_all();
    bed.submit("mpi", Stage::Gang, 2);
    bed.submit("bob", Stage::Map, 1);
    bed.end(0, AttemptOutcome::Done);
    assert_eq!(bed.driver.wakes_at(), Some(Nanos::from_secs(60)));
    assert_eq!(jobs(&bed.wait(Nanos::from_secs(60))), [2]);
}

/// A hold of 60 s for a gang of two slots, of which a task has one for longer.
fn held() -> Bed {
    let mut bed = Bed::new("fifo+gang:hold=60s", 1, 2);
    bed.submit("ann", Stage::Map, 1);
    bed.begin_all();
    bed.submit("mpi", Stage::Gang, 2);
    let held = bed.submit("bob", Stage::Map, 1);
    assert!(matches!(held[..], [Decision::Hold { .. }]), "{held:?}");
    bed
}

/// The slots that were held have another try after the rest, and then nothing is due.
#[test]
fn a_hold_that_came_to_nothing_wakes_nobody_any_more() {
    let mut bed = held();
    assert_eq!(jobs(&bed.wait(Nanos::from_secs(60))), [2]);
    assert_eq!(bed.driver.wakes_at(), Some(Nanos::from_secs(120)));
    assert_eq!(bed.wait(Nanos::from_secs(60)), []);
    assert_eq!(bed.driver.wakes_at(), None);
}

#[test]
fn a_hold_ends_with_its_gang() {
    let mut bed = held();
    bed.now = Nanos::from_secs(20);
    assert_eq!(jobs(&bed.tell(&Event::Left(JobIx(1)))), [2]);
    assert_eq!(bed.driver.wakes_at(), None);
    // Another gang's slots are held for as long as any.
    bed.begin_all();
    bed.submit("mpi", Stage::Gang, 2);
    bed.submit("cid", Stage::Map, 1);
    bed.now = Nanos::from_secs(30);
    let held = bed.end(1, AttemptOutcome::Done);
    let until = Nanos::from_secs(90);
    assert!(
        matches!(held[..], [Decision::Hold { until: to, .. }] if to == until),
        "{held:?}"
    );
    assert_eq!(bed.driver.wakes_at(), Some(until));
    assert_eq!(bed.end(0, AttemptOutcome::Done), [gang(3, &[0, 1])]);
    assert_eq!(bed.driver.wakes_at(), None);
}

/// Nothing is held for no time, and nobody is woken for it again and again.
#[test]
fn a_hold_of_no_time_holds_nothing() {
    let mut bed = Bed::new("fifo+gang:hold=0", 1, 2);
    bed.submit("ann", Stage::Map, 1);
    bed.begin_all();
    bed.submit("mpi", Stage::Gang, 2);
    assert_eq!(jobs(&bed.submit("bob", Stage::Map, 1)), [2]);
    assert_eq!(bed.driver.wakes_at(), None);
}

/// Also before tasks that came earlier: what is free is held for it.
#[test]
fn a_gang_of_a_higher_priority_goes_first() {
    let mut bed = Bed::new("fifo+gang:hold=60s", 1, 2);
    bed.submit("ann", Stage::Map, 4);
    bed.begin_all();
    bed.submit("low", Stage::Gang, 2);
    let need = Need::default();
    bed.submit_job("high", 5, Stage::Gang, vec![Task::default(); 2], need);
    let whose = |decisions: Vec<Decision>| match decisions[..] {
        [Decision::Hold { job, .. } | Decision::Gang { job, .. }] => job,
        _ => panic!("{decisions:?}"),
    };
    assert_eq!(whose(bed.end(0, AttemptOutcome::Done)), JobIx(2));
    assert_eq!(bed.end(1, AttemptOutcome::Done), [gang(2, &[0, 1])]);
}

/// How long is held, and how long nothing is after that, is on file, too.
#[test]
fn a_hold_and_its_rest_are_kept_by_who_is_loaded() {
    let mut bed = Bed::new("fifo+gang:hold=60s", 1, 3);
    bed.submit("ann", Stage::Map, 3);
    bed.begin_all();
    bed.submit("mpi", Stage::Gang, 3);
    bed.submit("bob", Stage::Map, 9);
    bed.end(0, AttemptOutcome::Done);
    bed.now = Nanos::from_secs(50);
    bed.driver = reloaded(&bed.driver);
    let until = Nanos::from_secs(60);
    assert!(matches!(
        bed.end(1, AttemptOutcome::Done)[..],
        [Decision::Hold { until: same, .. }] if same == until
    ));
    assert_eq!(jobs(&bed.wait(Nanos::from_secs(10))), [2, 2]);
    bed.now = Nanos::from_secs(119);
    bed.driver = reloaded(&bed.driver);
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [2]);
    bed.now = Nanos::from_secs(120);
    assert!(matches!(
        bed.end(1, AttemptOutcome::Done)[..],
        [Decision::Hold { .. }]
    ));
}

/// Two gangs of which each needs more than half: the first holds alone, the second never does.
#[test]
fn two_gangs_never_block_each_other() {
    let mut bed = Bed::new("fifo+gang", 1, 4);
    bed.submit("ann", Stage::Map, 4);
    bed.begin_all();
    bed.submit("one", Stage::Gang, 3);
    bed.submit("two", Stage::Gang, 3);
    // As long as the first waits, only the first holds.
    for slot in 0..3 {
        bed.submit("bob", Stage::Map, 1);
        let decisions = bed.end(slot, AttemptOutcome::Done);
        let [Decision::Hold { job: whose, .. } | Decision::Gang { job: whose, .. }] = decisions[..]
        else {
            panic!("{decisions:?}");
        };
        assert_eq!(whose, JobIx(1));
    }
    let ranks = bed
        .driver
        .session()
        .attempts()
        .filter(|(_, attempt)| attempt.stage == Stage::Gang);
    assert_eq!(ranks.count(), 3);
}

#[test]
fn a_gang_that_could_never_be_holds_nothing() {
    let mut bed = Bed::new("fifo+gang", 1, 2);
    bed.submit("mpi", Stage::Gang, 3);
    assert_eq!(jobs(&bed.submit("bob", Stage::Map, 2)), [1, 1]);
}

#[test]
fn ranks_count_against_the_memory_of_their_containers() {
    let mut bed = Bed::new("fifo+gang", 1, 2);
    bed.submit("ann", Stage::Map, 1);
    bed.begin_all();
    // Two slots, 2048 MiB, of which the map has 1024.
    assert_eq!(bed.submit("mpi", Stage::Gang, 1), [gang(1, &[1])]);
    assert_eq!(bed.join(1, 2, Bundle::new()), []);
    assert_eq!(bed.submit("mpi", Stage::Gang, 2), [gang(2, &[2, 3])]);
}
