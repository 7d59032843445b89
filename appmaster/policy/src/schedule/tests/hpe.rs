//! Algorithm 1 on one free slot, job by job; then what its differences from the paper are good for.

use super::bed::{Bed, jobs, started};
use crate::schedule::{
    AttemptOutcome, Bundle, Event, JobIx, Nanos, Need, NodeIx, Slot, Stage, Task, named,
};

pub(super) fn gpu() -> Bundle {
    Bundle::new().with("acc/gpu", 1)
}

pub(super) fn fpga() -> Bundle {
    Bundle::new().with("acc/fpga", 1)
}

/// `P`: plain; `G`, `F`: waits for a GPU, an FPGA in turn; `K`: takes one of a node's k-means functions.
pub(super) fn need(kind: char) -> Need {
    let (bundle, locks) = match kind {
        'G' => (Bundle::new(), vec!["acc/gpu".into()]),
        'F' => (Bundle::new(), vec!["acc/fpga".into()]),
        'K' => (Bundle::new().with("acc/kmeans-map", 1), Vec::new()),
        _ => (Bundle::new(), Vec::new()),
    };
    Need {
        bundle,
        locks,
        ..Need::default()
    }
}

/// Which job of `queue`, one letter each, has the one map slot of a node that has `has`.
pub(super) fn chosen(policy: &str, has: Bundle, queue: &str) -> Option<u32> {
    let mut bed = Bed::new(policy, 0, 0);
    for kind in queue.chars() {
        bed.submit_job("ann", 0, Stage::Map, vec![Task::default()], need(kind));
    }
    let decisions = bed.join_cut(0, has, vec![Slot::free(&[Stage::Map])]);
    jobs(&decisions).first().copied()
}

#[test]
fn a_node_with_a_gpu_looks_past_two_plain_jobs_and_not_past_three() {
    for (queue, wanted) in [
        ("G", 0),
        ("PG", 1),
        ("PPG", 2),
        ("PPPG", 0),
        ("GPPP", 0),
        // Fewer than three, and none that needs it: the slot does not stay empty.
        ("P", 0),
        ("PP", 0),
    ] {
        assert_eq!(chosen("hpe", gpu(), queue), Some(wanted), "{queue}");
    }
}

#[test]
fn how_many_are_skipped_can_be_told() {
    assert_eq!(chosen("hpe:skip=1", gpu(), "PG"), Some(0));
    assert_eq!(chosen("hpe:skip=2", gpu(), "PG"), Some(1));
    assert_eq!(chosen("hpe:skip=4", gpu(), "PPPG"), Some(3));
}

#[test]
fn a_node_without_one_passes_over_whoever_needs_it() {
    assert_eq!(chosen("hpe", Bundle::new(), "GGGGP"), Some(4));
    assert_eq!(chosen("hpe", Bundle::new(), "PG"), Some(0));
    assert_eq!(chosen("hpe", Bundle::new(), "G"), None);
}

#[test]
fn other_elements_work_alike_and_do_not_count_where_they_are_not() {
    assert_eq!(chosen("hpe", fpga(), "PGF"), Some(2));
    assert_eq!(chosen("hpe", gpu(), "FPPG"), Some(3));
    assert_eq!(chosen("hpe", gpu(), "F"), None);
    let counted = Bundle::new().with("acc/kmeans-map", 1);
    assert_eq!(chosen("hpe", counted, "PK"), Some(1));
}

#[test]
fn the_next_three_jobs_of_the_text_are_of_any_kind() {
    let text = "hpe:window=jobs";
    assert_eq!(chosen(text, gpu(), "PPG"), Some(2));
    assert_eq!(chosen(text, gpu(), "FPPG"), Some(1));
    // None of three, but the only one that can run here.
    assert_eq!(chosen(text, gpu(), "FFFG"), Some(3));
}

#[test]
fn map_slots_are_filled_first() {
    let mut bed = Bed::new("hpe", 0, 0);
    bed.submit("ann", Stage::Reduce, 1);
    bed.submit("bob", Stage::Map, 1);
    let slots = [Stage::Reduce, Stage::Map].map(|stage| Slot::free(&[stage]));
    let given = started(&bed.join_cut(0, gpu(), slots.to_vec()));
    assert_eq!(given, [(1, Stage::Map, 0, 1), (0, Stage::Reduce, 0, 0)]);
}

/// A job whose maps need a GPU, and whose reduces do not.
pub(super) fn map_on_gpu(bed: &mut Bed) {
    let stages = [(Stage::Map, need('G')), (Stage::Reduce, need('P'))];
    bed.arrive("ann", 0, &stages);
    let job = JobIx(0);
    for stage in [Stage::Map, Stage::Reduce] {
        let tasks = vec![Task::default()];
        bed.tell(&Event::Runnable { job, stage, tasks });
    }
}

#[test]
fn needs_are_those_of_a_stage() {
    let mut bed = Bed::new("hpe", 0, 0);
    map_on_gpu(&mut bed);
    let anything = Slot::free(&[Stage::Map, Stage::Reduce]);
    let plain = started(&bed.join_cut(0, Bundle::new(), vec![anything.clone()]));
    assert_eq!(plain, [(0, Stage::Reduce, 0, 0)]);
    let with_gpu = started(&bed.join_cut(1, gpu(), vec![anything]));
    assert_eq!(with_gpu, [(0, Stage::Map, 0, 1)]);
}

#[test]
fn what_needs_no_element_goes_where_there_is_none_while_there_is_room() {
    for policy in ["hpe", "fifo", "fair"] {
        let mut bed = Bed::new(policy, 0, 0);
        bed.join(0, 2, gpu());
        bed.join(1, 2, Bundle::new());
        let places = |decisions: &[_]| -> Vec<u32> {
            let started = started(decisions).into_iter();
            started.map(|(.., slot)| slot).collect()
        };
        let plain = bed.submit("ann", Stage::Map, 3);
        assert_eq!(places(&plain), [2, 3, 0], "{policy}");
        let needing = vec![Task::default()];
        let needing = bed.submit_job("bob", 0, Stage::Map, needing, need('G'));
        assert_eq!(places(&needing), [1], "{policy}");
    }
}

/// One slot and one plain job, while jobs for its GPU never run out: after how many seconds the plain one starts.
fn patience(policy: &str) -> Option<u64> {
    let mut bed = Bed::new(policy, 0, 0);
    bed.join_cut(0, gpu(), vec![Slot::free(&[Stage::Map])]);
    let on_gpu = |bed: &mut Bed| {
        bed.submit_job("ann", 0, Stage::Map, vec![Task::default()], need('G'));
    };
    on_gpu(&mut bed);
    bed.submit("bob", Stage::Map, 1);
    for _ in 0..100 {
        on_gpu(&mut bed);
        bed.begin(0);
        bed.now = bed.now.plus(Nanos::from_secs(10));
        if jobs(&bed.end(0, AttemptOutcome::Done)) == [1] {
            return Some(bed.now.0 / 1_000_000_000);
        }
    }
    None
}

#[test]
fn skipping_three_starves_a_plain_job_and_age_does_not() {
    assert_eq!(patience("hpe:age=0"), None);
    assert_eq!(patience("hpe+age:limit=0"), None);
    assert_eq!(patience("hpe"), Some(300));
    assert_eq!(patience("hpe:age=60s"), Some(60));
    assert_eq!(patience("hpe+age:limit=50s"), Some(50));
}

#[test]
fn plain_partitions_are_gathered_where_there_is_no_element() {
    let mut bed = Bed::new("hpe", 0, 0);
    let slots = || vec![Slot::free(&[Stage::Map]), Slot::free(&[Stage::Reduce])];
    bed.join_cut(0, gpu(), slots());
    bed.join_cut(1, Bundle::new(), slots());
    bed.join_cut(2, fpga(), slots());
    bed.arrive("ann", 0, &[(Stage::Reduce, need('P'))]);
    bed.arrive("ann", 0, &[(Stage::Reduce, need('F'))]);
    bed.arrive("ann", 0, &[(Stage::Reduce, need('K'))]);
    let home = |policy, job| {
        let mut policy = named(policy).unwrap();
        policy.home(Nanos(0), bed.driver.session(), JobIx(job), 0, 0)
    };
    assert_eq!(home("hpe", 0), Some(NodeIx(1)));
    assert_eq!(home("hpe-literal", 0), Some(NodeIx(1)));
    assert_eq!(home("hpe", 1), Some(NodeIx(2)));
    // Nobody has it: as without.
    assert_eq!(home("hpe", 2), Some(NodeIx(0)));
    assert_eq!(home("fifo", 0), Some(NodeIx(0)));
}

#[test]
fn who_is_blind_starts_a_task_where_its_element_is_not() {
    assert_eq!(chosen("fifo", Bundle::new(), "GP"), Some(1));
    for queue in ["GP", "KP"] {
        assert_eq!(chosen("fifo-blind", Bundle::new(), queue), Some(0));
    }
    // What it took of nothing it does not give back.
    let mut bed = Bed::new("fifo-blind", 0, 0);
    let one = Bundle::new().with("acc/kmeans-map", 1);
    bed.join(0, 2, one.clone());
    bed.submit_job("ann", 0, Stage::Map, vec![Task::default(); 2], need('K'));
    bed.begin_all();
    bed.end(0, AttemptOutcome::Done);
    bed.end(1, AttemptOutcome::Done);
    assert_eq!(bed.driver.session().node(NodeIx(0)).unwrap().free, one);
}
