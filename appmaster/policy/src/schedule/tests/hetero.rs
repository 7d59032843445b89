//! `hetero`, worked by hand.

use super::bed::{Bed, jobs};
use crate::schedule::{
    AttemptOutcome, Bundle, Decision, Event, Nanos, Need, ResourceName, Slot, Stage, Task,
};

/// A letter a kind: `P` plain, `k`, `b`, `r` take one function of k-means, Bayes, k-means' reduce; `G` waits for a GPU.
pub(super) fn need(kind: char) -> Need {
    let bundle = |name: &str| Bundle::new().with(name, 1);
    let (bundle, locks) = match kind {
        'k' => (bundle("acc/kmeans-map"), Vec::new()),
        'K' => (Bundle::new().with("acc/kmeans-map", 2), Vec::new()),
        'b' => (bundle("acc/bayes-map"), Vec::new()),
        'r' => (bundle("acc/kmeans-reduce"), Vec::new()),
        'G' => (Bundle::new(), vec![ResourceName::from("acc/gpu")]),
        _ => (Bundle::new(), Vec::new()),
    };
    Need {
        bundle,
        locks,
        ..Need::default()
    }
}

fn submit(bed: &mut Bed, user: &str, priority: i32, kind: char, tasks: usize) -> Vec<Decision> {
    let tasks = vec![Task::default(); tasks];
    bed.submit_job(user, priority, Stage::Map, tasks, need(kind))
}

/// Jobs that wait for a node of so many slots, in the order in which it takes them.
fn taken(policy: &str, has: Bundle, slots: usize, kinds: &[(&str, i32, char, usize)]) -> Vec<u32> {
    let mut bed = Bed::new(policy, 0, 0);
    for (user, priority, kind, tasks) in kinds {
        submit(&mut bed, user, *priority, *kind, *tasks);
    }
    let slots = vec![Slot::free(&[Stage::Map]); slots];
    jobs(&bed.join_cut(0, has, slots))
}

fn functions(kmeans: u64, bayes: u64) -> Bundle {
    Bundle::new()
        .with("acc/kmeans-map", kmeans)
        .with("acc/bayes-map", bayes)
}

#[test]
fn groups_take_turns_by_their_dominant_shares() {
    // Of 4 k-means functions an attempt takes a quarter, of 2 Bayes ones a half, of 8 slots and their memory an eighth.
    let kinds = [("ann", 0, 'k', 9), ("ann", 0, 'b', 9), ("ann", 0, 'P', 9)];
    let order = taken("hetero", functions(4, 2), 8, &kinds);
    // Shares of k-means, Bayes, plain, in eighths; all jobs came at 0, so equals go by name, and none is before all.
    // P: 0 0 0 > 0 0 1; b: > 0 4 1 (acc/bayes-map is before acc/kmeans-map); k: > 2 4 1; P: > 2 4 2; k and P are equal:
    // P > 2 4 3; k: > 4 4 3; P: > 4 4 4; then P by name.
    assert_eq!(order, [2, 1, 0, 2, 2, 0, 2, 2]);
}

#[test]
fn equals_go_by_submission_before_they_go_by_name() {
    let mut bed = Bed::new("hetero", 0, 0);
    submit(&mut bed, "ann", 0, 'k', 1);
    bed.wait(Nanos::from_secs(1));
    submit(&mut bed, "ann", 0, 'P', 1);
    let decisions = bed.join_cut(0, functions(1, 0), vec![Slot::free(&[Stage::Map])]);
    assert_eq!(jobs(&decisions), [0]);
}

#[test]
fn a_head_that_fits_nowhere_blocks_its_group_and_no_other() {
    // The first of the k-means jobs takes two functions, of which one is there.
    let kinds = [
        ("ann", 0, 'K', 1),
        ("ann", 0, 'k', 1),
        ("ann", 0, 'P', 1),
        ("ann", 0, 'b', 1),
    ];
    assert_eq!(taken("hetero", functions(1, 1), 4, &kinds), [2, 3]);
    // With two it runs, and then the next of the group has none.
    assert_eq!(taken("hetero", functions(2, 1), 4, &kinds), [2, 3, 0]);
    assert_eq!(taken("hetero", functions(3, 1), 4, &kinds), [2, 3, 0, 1]);
}

#[test]
fn who_is_next_behind_a_head_that_ran_elsewhere_has_the_node_that_was_too_small_for_it() {
    let mut bed = Bed::new("hetero", 0, 0);
    bed.join(0, 1, functions(1, 0));
    bed.join(1, 1, functions(2, 0));
    submit(&mut bed, "ann", 0, 'P', 2);
    bed.begin_all();
    submit(&mut bed, "ann", 0, 'K', 1);
    submit(&mut bed, "ann", 0, 'k', 1);
    bed.end(0, AttemptOutcome::Done);
    // The first node has a slot and one function, the job that is next takes two.
    assert_eq!(jobs(&bed.end(1, AttemptOutcome::Done)), [1, 2]);
}

#[test]
fn in_a_group_the_higher_priority_is_first_unless_it_is_literal() {
    let kinds = [("ann", 0, 'k', 1), ("ann", 1, 'k', 1)];
    assert_eq!(taken("hetero", functions(2, 0), 2, &kinds), [1, 0]);
    assert_eq!(taken("hetero-literal", functions(2, 0), 2, &kinds), [0, 1]);
}

#[test]
fn users_share_before_groups_do() {
    let kinds = [("ann", 0, 'P', 9), ("ann", 0, 'k', 9), ("bob", 0, 'P', 9)];
    let count = |order: &[u32], job| order.iter().filter(|other| **other == job).count();
    // One group of both users' plain jobs, the first of which is ann's.
    let order = taken("hetero", functions(8, 0), 8, &kinds);
    assert_eq!([0, 1, 2].map(|job| count(&order, job)), [4, 4, 0]);
    // Half of it is bob's.
    let order = taken("hetero:tenants=true", functions(8, 0), 8, &kinds);
    assert_eq!([0, 1, 2].map(|job| count(&order, job)), [2, 2, 4]);
}

#[test]
fn devices_that_are_waited_for_count_as_used() {
    let has = Bundle::new().with("acc/gpu", 2);
    // A GPU of two is a half, a slot of eight an eighth: four plain ones come before the second on the GPUs.
    let kinds = [("ann", 0, 'G', 9), ("ann", 0, 'P', 9)];
    assert_eq!(taken("hetero", has, 8, &kinds), [1, 0, 1, 1, 1, 1, 0, 1]);
}

#[test]
fn what_is_over_or_lost_is_not_used() {
    let mut bed = Bed::new("hetero", 0, 0);
    submit(&mut bed, "ann", 0, 'k', 9);
    submit(&mut bed, "bob", 0, 'b', 9);
    bed.join_cut(0, functions(2, 2), vec![Slot::free(&[Stage::Map]); 2]);
    let session = bed.driver.session();
    let total = Bundle::new()
        .with("memory-mb", 2048)
        .with("acc/kmeans-map", 2);
    assert_eq!(*session.total(), total.with("acc/bayes-map", 2));
    bed.begin_all();
    // Whose task ends has less.
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [1]);
    bed.begin_all();
    assert_eq!(jobs(&bed.end(1, AttemptOutcome::Done)), [0]);
    bed.tell(&Event::Lost(crate::schedule::ContainerIx(0)));
    let session = bed.driver.session();
    assert!(
        session.total().iter().all(|(_, amount)| amount == 0),
        "{:?}",
        session.total()
    );
    assert_eq!(session.used_classes().count(), 0);
    for user in ["ann", "bob"] {
        assert_eq!(session.used_classes_of(user).count(), 0);
    }
}

#[test]
fn a_pool_that_changes_changes_the_total() {
    let mut bed = Bed::new("hetero", 0, 0);
    bed.join(0, 2, functions(4, 1));
    bed.join(1, 2, functions(4, 0));
    bed.join(1, 2, functions(4, 0));
    let amount = |bed: &Bed, name: &str| bed.driver.session().total().amount(&name.into());
    // A node's own count once, however many containers it has.
    assert_eq!(amount(&bed, "acc/kmeans-map"), 8);
    assert_eq!(amount(&bed, "memory-mb"), 3 * 2048);
    let container = crate::schedule::ContainerIx(0);
    bed.tell(&Event::Pool {
        container,
        pool: functions(1, 1),
    });
    assert_eq!(amount(&bed, "acc/kmeans-map"), 5);
    for container in [1, 2] {
        bed.tell(&Event::Lost(crate::schedule::ContainerIx(container)));
    }
    assert_eq!(amount(&bed, "acc/kmeans-map"), 1);
}
