//! `hpe-conserve`, worked by hand.

use super::bed::{Bed, jobs};
use super::hpe::{chosen, gpu, need};
use crate::schedule::{AttemptOutcome, Bundle, Nanos, Slot, Stage, Task, named};

/// Jobs of `queue`, one letter each and of so many maps, that a node of so many map slots takes.
fn taken(policy: &str, has: Bundle, slots: usize, queue: &[(char, usize)]) -> (Bed, Vec<u32>) {
    let mut bed = Bed::new(policy, 0, 0);
    for (kind, maps) in queue {
        bed.submit_job(
            "ann",
            0,
            Stage::Map,
            vec![Task::default(); *maps],
            need(*kind),
        );
    }
    let decisions = bed.join_cut(0, has, vec![Slot::free(&[Stage::Map]); slots]);
    (bed, jobs(&decisions))
}

#[test]
fn however_many_plain_jobs_are_first_the_one_that_needs_the_element_has_it() {
    for queue in ["G", "PG", "PPPPPG"] {
        let wanted = u32::try_from(queue.len()).unwrap() - 1;
        assert_eq!(
            chosen("hpe-conserve", gpu(), queue),
            Some(wanted),
            "{queue}"
        );
    }
    assert_eq!(chosen("hpe-conserve", Bundle::new(), "GP"), Some(1));
    assert_eq!(chosen("hpe-conserve", Bundle::new(), "G"), None);
}

#[test]
fn two_a_device_go_first_and_the_rest_of_the_slots_is_for_plain_tasks() {
    let (mut bed, order) = taken("hpe-conserve", gpu(), 4, &[('G', 9), ('P', 9)]);
    assert_eq!(order, [0, 0, 1, 1]);
    bed.begin_all();
    // What ends is followed by its like, before and after the launcher's word.
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [0]);
    assert_eq!(jobs(&bed.end(2, AttemptOutcome::Done)), [1]);
    let (_, order) = taken("hpe-conserve:per=3", gpu(), 4, &[('G', 9), ('P', 9)]);
    assert_eq!(order, [0, 0, 0, 1]);
    let two = Bundle::new().with("acc/gpu", 2);
    let (_, order) = taken("hpe-conserve", two, 6, &[('G', 9), ('P', 9)]);
    assert_eq!(order, [0, 0, 0, 0, 1, 1]);
}

#[test]
fn no_slot_is_left_empty_for_that() {
    let (_, order) = taken("hpe-conserve", gpu(), 4, &[('G', 9)]);
    assert_eq!(order, [0; 4]);
    let (_, order) = taken("hpe-conserve", gpu(), 4, &[('G', 9), ('P', 1)]);
    assert_eq!(order, [0, 0, 1, 0]);
    let (_, order) = taken("hpe-conserve", gpu(), 4, &[('P', 9), ('G', 1)]);
    assert_eq!(order, [1, 0, 0, 0]);
}

#[test]
fn what_is_counted_has_its_limit_in_the_count() {
    let has = Bundle::new().with("acc/kmeans-map", 3);
    let (_, order) = taken("hpe-conserve", has, 4, &[('P', 9), ('K', 9)]);
    assert_eq!(order, [1, 1, 1, 0]);
}

#[test]
fn plain_jobs_that_have_waited_for_too_long_go_first() {
    let (mut bed, order) = taken("hpe-conserve:age=60s", gpu(), 1, &[('G', 9), ('P', 1)]);
    assert_eq!(order, [0]);
    bed.begin_all();
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [0]);
    bed.begin_all();
    bed.wait(Nanos::from_secs(61));
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [1]);
    let odd = named("hpe-conserve:per=0").unwrap_err().to_string();
    assert_eq!(odd, "hpe-conserve: per=0: a whole number above 0 is wanted");
}
