//! Files become results, or it is said why not.

use job::wire::mpi_event::Event as Said;
use job::{StageOut, wire};
use policy::lifecycle::KillReason;
use storage::Address;

use super::bed::{Bed, container};
use crate::files::{FilesDone, Undelivered};
use crate::mpi::Beginning;
use crate::mpi::commit::PendingFolder;
use crate::mpi::{MpiHeard, MpiJobEvent};
use crate::work::JobEvent;

const FIND: u32 = u32::MAX - 1;
const MOVE: u32 = u32::MAX;

/// One result, of which each node has a file.
fn out() -> StageOut {
    StageOut {
        local: "out".into(),
        address: Address::Shared,
        path: "/results/%h/run7".into(),
        option: "--stage-out".into(),
    }
}

fn delivers(beginning: &mut Beginning) {
    beginning.description.stage_out = vec![out()];
}

fn own(bed: &Bed) -> PendingFolder {
    PendingFolder::of(&out(), 0, &bed.mpi.attempt)
}

/// Both ranks have returned 0, and nothing of it was made before.
fn finding() -> Bed {
    let mut bed = Bed::running(delivers);
    assert_eq!(bed.succeeds(), ["what is undelivered"]);
    let outs = vec![(out(), own(&bed))];
    let find = bed.files(FilesDone::Undelivered(Ok(Undelivered {
        outs,
        ..Undelivered::default()
    })));
    assert_eq!(find, ["tell c0 find out", "tell c1 find out"]);
    bed
}

fn found(bed: &mut Bed, index: usize, trouble: &str) -> Vec<String> {
    let file = wire::FoundFile {
        inside: "a".into(),
        size: 3,
    };
    let found = wire::Found {
        id: FIND,
        trouble: trouble.into(),
        paths: vec![wire::FoundPath {
            exists: true,
            files: vec![file],
            ..wire::FoundPath::default()
        }],
    };
    bed.says(index, Said::Found(found))
}

fn moved(bed: &mut Bed, index: usize, trouble: &str) -> Vec<String> {
    let moved = wire::Moved {
        id: MOVE,
        trouble: trouble.into(),
        ..wire::Moved::default()
    };
    bed.says(index, Said::Moved(moved))
}

/// The launchers copy.
fn moving() -> Bed {
    let mut bed = finding();
    assert!(found(&mut bed, 0, "").is_empty());
    let free = found(&mut bed, 1, "");
    assert_eq!(free, ["are free: /results/n0/run7 /results/n1/run7"]);
    let copy = bed.files(FilesDone::AreFree(Ok(())));
    let folder = own(&bed).path;
    let copies = |host: &str| format!("copy to {folder}/{host}/run7/a");
    assert_eq!(
        copy,
        [
            format!("tell c0 {}", copies("n0")),
            format!("tell c1 {}", copies("n1"))
        ]
    );
    bed
}

#[test]
fn a_file_system_that_is_away_is_waited_for_and_the_user_is_told_once() {
    let mut bed = finding();
    found(&mut bed, 0, "");
    found(&mut bed, 1, "");
    let away = || FilesDone::Away("HDFS cannot be reached".into());
    assert!(bed.files(away()).is_empty());
    assert!(bed.files(away()).is_empty());
    assert_eq!(bed.files(FilesDone::AreFree(Ok(()))).len(), 2);
    let waits = wire::Moved {
        id: MOVE,
        trouble: "n0: HDFS cannot be reached".into(),
        waits: true,
        ..wire::Moved::default()
    };
    assert!(bed.says(0, Said::Moved(waits)).is_empty());
    assert!(moved(&mut bed, 1, "").is_empty());
    let folder = own(&bed).path;
    assert_eq!(moved(&mut bed, 0, ""), [format!("commit {folder}")]);
    assert_eq!(bed.files(FilesDone::Committed(Ok(()))), ["look at output"]);
    bed.drained();
    bed.unregistered(true);
    let told = bed.heard_by_the_client();
    let waits = "--stage-out: the results wait for the file system: HDFS cannot be reached";
    assert_eq!(told, [waits, "verdict 0 after 9 allocates: "]);
}

/// From the end of the delivery to what the client was told.
fn told(bed: &mut Bed, conclusion: &[String]) -> Vec<String> {
    assert_eq!(
        conclusion.last().map(String::as_str),
        Some("look at output")
    );
    bed.drained();
    bed.unregistered(true);
    bed.heard_by_the_client()
}

#[test]
fn results_are_there_before_the_verdict_and_their_lists_go_after_it() {
    let mut bed = moving();
    assert!(moved(&mut bed, 1, "").is_empty());
    let folder = own(&bed).path;
    assert_eq!(moved(&mut bed, 0, ""), [format!("commit {folder}")]);
    assert_eq!(bed.files(FilesDone::Committed(Ok(()))), ["look at output"]);
    bed.drained();
    assert_eq!(bed.unregistered(true), [format!("forget {folder}")]);
    assert_eq!(bed.heard_by_the_client(), ["verdict 0 after 9 allocates: "]);
    bed.files(FilesDone::Forgotten);
    assert_eq!(bed.heard_by_the_client(), ["unregistered"]);
}

#[test]
fn what_cannot_be_removed_is_waited_for_fifteen_seconds() {
    let mut bed = moving();
    moved(&mut bed, 0, "");
    moved(&mut bed, 1, "");
    bed.files(FilesDone::Committed(Ok(())));
    bed.drained();
    bed.unregistered(true);
    let began = bed.now();
    assert_eq!(bed.wakes(), ["drop files"]);
    assert_eq!(bed.now() - began, 15_000);
    assert_eq!(
        bed.heard_by_the_client().last().map(String::as_str),
        Some("unregistered")
    );
}

#[test]
fn the_lists_stay_where_another_attempt_may_come() {
    let mut bed = moving();
    moved(&mut bed, 0, "");
    moved(&mut bed, 1, "");
    bed.files(FilesDone::Committed(Ok(())));
    bed.drained();
    assert!(bed.unregistered(false).is_empty());
}

#[test]
fn what_an_attempt_before_has_made_stays_and_nobody_is_asked() {
    let mut bed = Bed::running(delivers);
    bed.succeeds();
    let made = own(&bed);
    let conclusion = bed.files(FilesDone::Undelivered(Ok(Undelivered {
        outs: Vec::new(),
        made: vec![made.clone()],
        notices: vec!["it was made before".into()],
    })));
    assert_eq!(conclusion, ["look at output"]);
    bed.drained();
    assert_eq!(bed.unregistered(true), [format!("forget {}", made.path)]);
    let told = bed.heard_by_the_client();
    assert_eq!(
        told,
        ["it was made before", "verdict 0 after 9 allocates: "]
    );
}

#[test]
fn trouble_of_one_launcher_is_the_job_s() {
    let mut bed = finding();
    let conclusion = found(&mut bed, 1, "cannot read out/a on n1");
    let told = told(&mut bed, &conclusion);
    let expected = "verdict 74 after 9 allocates: ";
    assert!(told[0].starts_with(expected), "{told:?}");
    assert!(told[0].contains("--stage-out: cannot read out/a on n1"));
    assert!(
        !told[0].contains("what was copied lies in"),
        "nothing is copied"
    );
}

#[test]
fn a_destination_that_somebody_has_made_meanwhile_is_left_alone() {
    let mut bed = finding();
    found(&mut bed, 0, "");
    found(&mut bed, 1, "");
    let exists = "file:/results/n0/run7 exists already".to_owned();
    let conclusion = bed.files(FilesDone::AreFree(Err(exists)));
    let told = told(&mut bed, &conclusion);
    assert!(told[0].contains("--stage-out: file:/results/n0/run7 exists already"));
}

#[test]
fn a_launcher_that_is_lost_while_it_copies_leaves_what_there_is() {
    let mut bed = moving();
    moved(&mut bed, 0, "");
    let conclusion = bed.hear(MpiHeard::Own(MpiJobEvent::Lost(container(1))));
    let folder = own(&bed).url();
    let told = told(&mut bed, &conclusion);
    assert!(told[0].contains(&format!(
        "--stage-out: the launcher on n1 was lost before it had handed over its files; not all of it \
         has its final name, and what was copied lies in {folder}"
    )));
}

#[test]
fn a_launcher_that_has_copied_may_be_lost() {
    let mut bed = moving();
    moved(&mut bed, 1, "");
    assert!(
        bed.hear(MpiHeard::Own(MpiJobEvent::Lost(container(1))))
            .is_empty()
    );
    let folder = own(&bed).path;
    assert_eq!(moved(&mut bed, 0, ""), [format!("commit {folder}")]);
}

#[test]
fn a_launcher_that_was_lost_before_is_not_asked_in_vain() {
    let mut bed = Bed::running(delivers);
    bed.succeeds();
    bed.hear(MpiHeard::Own(MpiJobEvent::Lost(container(1))));
    let outs = vec![(out(), own(&bed))];
    let conclusion = bed.files(FilesDone::Undelivered(Ok(Undelivered {
        outs,
        ..Undelivered::default()
    })));
    assert_eq!(conclusion, ["tell c0 find out", "look at output"]);
    let told = told(&mut bed, &conclusion);
    assert!(
        told[0].contains("the launcher on n1 was lost before"),
        "{told:?}"
    );
}

#[test]
fn whoever_interrupts_while_files_are_copied_ends_the_job_and_what_was_copied_goes() {
    let mut bed = moving();
    let stopped = bed.hear(MpiHeard::Every(JobEvent::ClientKill(
        KillReason::Interrupted,
    )));
    // The client would rather lose output than wait for it.
    let leave = [
        "drop files",
        "close output",
        "leave c0",
        "leave c1",
        "measure",
    ];
    assert_eq!(stopped, leave);
    bed.hear(MpiHeard::Own(MpiJobEvent::Memory(wire::Memory::default())));
    let folder = own(&bed).path;
    assert_eq!(bed.unregistered(false), [format!("forget {folder}")]);
    bed.files(FilesDone::Forgotten);
    let told = bed.heard_by_the_client();
    assert!(told[0].starts_with("verdict 130 "), "{told:?}");
}

#[test]
fn results_that_cannot_be_named_are_named_where_they_lie() {
    let mut bed = moving();
    moved(&mut bed, 0, "");
    moved(&mut bed, 1, "");
    let full = "the quota is used up".to_owned();
    let conclusion = bed.files(FilesDone::Committed(Err(full)));
    let folder = own(&bed).url();
    let told = told(&mut bed, &conclusion);
    assert!(told[0].contains(&format!(
        "--stage-out: the quota is used up; not all of it has its final name, and what was copied lies in {folder}"
    )));
}
