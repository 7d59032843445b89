//! Stages whose job lets so many of their tasks run on a node at a time.

use std::num::NonZeroU32;

use super::bed::{Bed, reloaded, started};
use crate::schedule::{AttemptOutcome, Bundle, Decision, JobIx, Need, NodeLimit, Stage, Task};

/// Slots of a node.
const SLOTS: usize = 4;

/// Tasks of the job with this number take a function, and run two at a time on a node.
fn two_at_a_time(job: u32) -> Need {
    Need {
        bundle: Bundle::new().with("acc/kmeans-map", 1),
        limit: Some(NodeLimit::Most {
            job: JobIx(job),
            stage: Stage::Map,
            most: NonZeroU32::new(2).unwrap(),
        }),
        ..Need::default()
    }
}

fn submit(bed: &mut Bed, need: Need) -> Vec<Decision> {
    bed.submit_job("ann", 0, Stage::Map, vec![Task::default(); 9], need)
}

/// Two nodes with more slots and devices than tasks may run there.
fn nodes(policy: &str) -> Bed {
    let mut bed = Bed::new(policy, 0, 0);
    for node in 0..2 {
        bed.join(node, SLOTS, Bundle::new().with("acc/kmeans-map", 8));
    }
    bed
}

/// Tasks that were started of a job on each of the nodes.
fn on_nodes(decisions: &[Decision], job: u32) -> [usize; 2] {
    let started = started(decisions);
    let slots = |node: usize| {
        let node = u32::try_from(node * SLOTS).unwrap();
        let of = started.iter().filter(move |of| of.0 == job);
        of.filter(move |of| (node..node + 4).contains(&of.3))
    };
    [0, 1].map(|node| slots(node).count())
}

#[test]
fn so_many_run_on_a_node_and_another_job_has_the_other_slots() {
    for policy in [
        "fifo",
        "fair",
        "capacity",
        "hpe",
        "dyscale",
        "hetero",
        "hetero-literal",
        "hetero:tenants=true",
    ] {
        let mut bed = nodes(policy);
        let first = submit(&mut bed, two_at_a_time(0));
        assert_eq!(on_nodes(&first, 0), [2, 2], "{policy}");
        bed.begin_all();
        // A limit is a job's own.
        let second = submit(&mut bed, two_at_a_time(1));
        assert_eq!(on_nodes(&second, 1), [2, 2], "{policy}");
        bed.begin_all();
        // Of the first job's tasks one ends on each node, and one begins there.
        for node in [0, 1] {
            let slots = bed.driver.session().attempts();
            let slots = slots.map(|(_, attempt)| (attempt.job.0, attempt.slot.0));
            let mut own = slots.filter(|(job, slot)| *job == 0 && slot / 4 == node);
            let (_, slot) = own.next().unwrap();
            drop(own);
            bed.driver = reloaded(&bed.driver);
            let next = bed.end(slot, AttemptOutcome::Done);
            assert_eq!(started(&next).len(), 1, "{policy}: {next:?}");
            bed.begin_all();
        }
    }
}

#[test]
fn where_no_function_is_taken_there_is_no_limit() {
    let mut bed = nodes("fifo");
    let need = Need {
        bundle: Bundle::new(),
        ..two_at_a_time(0)
    };
    assert_eq!(on_nodes(&submit(&mut bed, need), 0), [4, 4]);
}
