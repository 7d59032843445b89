//! Which file of a program runs, the nodes' own or a copy.

use job::wire::file_compared::Is;
use job::wire::mpi_event::Event as Said;
use job::{InPlace, MpiProgram, wire};
use policy::lifecycle::KillReason;

use super::bed::{Bed, HOSTS};
use crate::mpi::{Beginning, MpiHeard};
use crate::work::JobEvent;

fn in_place(beginning: &mut Beginning) {
    beginning.description.programs = vec![MpiProgram {
        processes: 2,
        file: "p".into(),
        digest: "ab".into(),
        in_place: Some(InPlace {
            path: "/opt/p".into(),
            asked: true,
        }),
        ..MpiProgram::default()
    }];
}

/// A client, and two launchers that are asked what their nodes have.
fn asked() -> Bed {
    let mut bed = Bed::new(in_place);
    bed.begin();
    bed.hear(MpiHeard::Every(JobEvent::ClientAttached));
    let asked = bed.starts();
    assert_eq!(asked, ["tell c0 compare", "tell c1 compare"]);
    bed
}

fn has(bed: &mut Bed, index: usize, run: u32, is: Is) -> Vec<String> {
    let file = wire::FileCompared {
        is: is.into(),
        found: "its SHA-256 is 12".into(),
    };
    let files = vec![file];
    bed.says(index, Said::Compared(wire::FilesCompared { run, files }))
}

fn own_path(bed: &Bed) -> Option<&str> {
    bed.mpi.description.programs[0].own_path.as_deref()
}

#[test]
fn no_rank_starts_before_every_node_has_been_asked() {
    let mut bed = asked();
    assert!(has(&mut bed, 0, 1, Is::Same).is_empty());
    // Of another run, and a second time.
    assert!(has(&mut bed, 1, 0, Is::Same).is_empty());
    assert!(has(&mut bed, 0, 1, Is::Same).is_empty());
    let shares = has(&mut bed, 1, 1, Is::Same);
    assert_eq!(shares, ["tell c0 share", "tell c1 share"]);
    assert_eq!(own_path(&bed), Some("/opt/p"));
    assert_eq!(bed.heard_by_the_client().len(), 0);
    bed.succeeds();
}

#[test]
fn one_node_that_differs_is_named_and_all_run_the_copy() {
    let mut bed = asked();
    has(&mut bed, 0, 1, Is::Other);
    assert_eq!(has(&mut bed, 1, 1, Is::Same).len(), HOSTS.len());
    assert_eq!(own_path(&bed), None);
    let told = bed.heard_by_the_client();
    let wanted =
        "n0 has another /opt/p (its SHA-256 is 12), so a copy of the one here runs on all nodes";
    assert_eq!(told, [wanted]);
    bed.succeeds();
}

#[test]
fn a_node_that_does_not_answer_is_not_waited_for() {
    let mut bed = asked();
    has(&mut bed, 0, 1, Is::Same);
    let mut done = Vec::new();
    for _until_handed_out in 0..20 {
        if done.is_empty() {
            done = bed.wakes();
        }
    }
    assert_eq!(done, ["tell c0 share", "tell c1 share"]);
    assert_eq!(own_path(&bed), None);
    let told = bed.heard_by_the_client();
    assert!(
        told[0].starts_with("n1 cannot run /opt/p where it lies (no word of it within 30 s)"),
        "{told:?}"
    );
    // Too late.
    assert!(has(&mut bed, 1, 1, Is::Same).is_empty());
    bed.succeeds();
}

#[test]
fn a_job_that_is_ended_meanwhile_waits_for_no_rank() {
    let mut bed = asked();
    let at = bed.now();
    bed.killed(KillReason::Interrupted);
    assert!(bed.mpi.is_ending(), "there is nothing to wait for");
    assert_eq!(bed.now(), at);
    let late = has(&mut bed, 1, 1, Is::Same);
    assert!(!late.iter().any(|done| done.contains("share")), "{late:?}");
}
