//! What Algorithm 1 does to the letter, and `hpe` does not.

use std::collections::BTreeSet;

use super::bed::{Bed, started};
use super::hpe::{chosen, gpu, map_on_gpu};
use crate::schedule::{Bundle, Nanos, Need, NodeIx, Slot, Stage, Task};

#[test]
fn a_slot_stays_empty_unless_exactly_three_were_skipped() {
    for (queue, literal, clean) in [
        ("P", None, 0),
        ("PP", None, 0),
        ("PPP", Some(0), 0),
        ("PPPG", Some(0), 0),
        ("PPG", Some(2), 2),
    ] {
        assert_eq!(chosen("hpe-literal", gpu(), queue), literal, "{queue}");
        assert_eq!(chosen("hpe", gpu(), queue), Some(clean), "{queue}");
    }
    assert_eq!(chosen("hpe-literal", Bundle::new(), "GP"), Some(1));
}

#[test]
fn age_wakes_up_for_a_slot_that_was_left_empty() {
    let mut bed = Bed::new("hpe-literal+age:limit=60s", 0, 0);
    bed.join_cut(0, gpu(), vec![Slot::free(&[Stage::Map])]);
    assert_eq!(bed.submit("ann", Stage::Map, 1), []);
    let minute = Nanos::from_secs(60);
    assert_eq!(bed.driver.wakes_at(), Some(minute));
    assert_eq!(bed.wait(minute).len(), 1);
    assert_eq!(bed.driver.wakes_at(), None);
}

/// The first job has a task that runs, and none that waits.
fn behind_a_running_job(policy: &str) -> usize {
    let mut bed = Bed::new(policy, 0, 0);
    bed.join_cut(0, Bundle::new(), vec![Slot::free(&[Stage::Map])]);
    for _ in 0..3 {
        bed.submit("ann", Stage::Map, 1);
    }
    bed.join_cut(1, gpu(), vec![Slot::free(&[Stage::Map])])
        .len()
}

#[test]
fn the_first_job_in_the_queue_may_have_no_task() {
    assert_eq!(behind_a_running_job("hpe-literal"), 0);
    assert_eq!(behind_a_running_job("hpe"), 1);
}

#[test]
fn a_job_whose_maps_need_an_element_reduces_only_where_one_is() {
    let mut bed = Bed::new("hpe-literal", 0, 0);
    map_on_gpu(&mut bed);
    let reduces = vec![Slot::free(&[Stage::Reduce])];
    assert_eq!(bed.join_cut(0, Bundle::new(), reduces.clone()), []);
    let given = started(&bed.join_cut(1, gpu(), reduces));
    assert_eq!(given, [(0, Stage::Reduce, 0, 1)]);
}

/// The numbers of eight tasks in the order in which they start; the input of task 5 is on the node.
fn order(policy: &str) -> Vec<u32> {
    let mut bed = Bed::new(policy, 0, 0);
    let on = |node: u32| Task {
        nodes: vec![NodeIx(node)],
        bytes: 1,
    };
    bed.join_cut(9, Bundle::new(), Vec::new());
    let tasks = (0..8).map(|task| on(u32::from(task == 5))).collect();
    bed.submit_job("ann", 0, Stage::Map, tasks, Need::default());
    let decisions = bed.join_cut(0, Bundle::new(), vec![Slot::free(&[Stage::Map]); 8]);
    let tasks = started(&decisions).into_iter();
    tasks.map(|(_, _, task, _)| task).collect()
}

#[test]
fn tasks_whose_input_is_elsewhere_start_by_chance_of_the_seed() {
    assert_eq!(order("hpe")[0], 5);
    assert_eq!(order("hpe")[1..], [0, 1, 2, 3, 4, 6, 7]);
    let mut orders = BTreeSet::new();
    for seed in 0..20 {
        let policy = format!("hpe-literal:seed={seed}");
        let order = order(&policy);
        assert_eq!(order[0], 5);
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 8);
        orders.insert(order);
    }
    assert!(orders.len() > 10, "{orders:?}");
    assert_eq!(order("hpe-literal:seed=3"), order("hpe-literal:seed=3"));
}
