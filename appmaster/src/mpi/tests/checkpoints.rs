//! Checkpoints: asked for, due, refused, cut off.

use job::wire;
use job::wire::mpi_event::Event as Said;
use policy::Rank;
use policy::lifecycle::KillReason;
use storage::Address;

use super::bed::{Bed, container};
use crate::files::FilesDone;
use crate::mpi::Beginning;
use crate::mpi::checkpoints::Checkpoints;
use crate::mpi::{MpiHeard, MpiJobEvent};
use crate::work::JobEvent;

/// Every minute, in a folder that all nodes see.
fn saved(beginning: &mut Beginning) {
    beginning.checkpoints = Checkpoints::fresh(
        job::Checkpoints {
            folder: "ck".into(),
            signal: 10,
            interval_ms: Some(60_000),
            address: Address::Shared,
            root: "/ck".into(),
            restore: None,
        },
        "application_1_0007",
        2,
    );
}

fn found(bed: &mut Bed, index: usize, id: u32, trouble: &str) -> Vec<String> {
    let file = wire::FoundFile {
        inside: "state".into(),
        size: 5,
    };
    let of_rank = wire::FoundPath {
        exists: true,
        files: vec![file],
        ..wire::FoundPath::default()
    };
    let found = wire::Found {
        id,
        trouble: trouble.into(),
        paths: vec![of_rank],
    };
    bed.says(index, Said::Found(found))
}

fn moved(bed: &mut Bed, index: usize, id: u32) -> Vec<String> {
    let moved = wire::Moved {
        id,
        ..wire::Moved::default()
    };
    bed.says(index, Said::Moved(moved))
}

/// Sleeps until the job wants something else than to know whether somebody asks, which nobody does.
fn sleeps(bed: &mut Bed) -> Vec<String> {
    for _look in 0..200 {
        let mut todo = bed.wakes();
        if todo
            .first()
            .is_some_and(|first| first == "was one asked for")
        {
            todo.remove(0);
            todo.extend(bed.files(FilesDone::Asked(false)));
        }
        if !todo.is_empty() {
            return todo;
        }
    }
    panic!("nothing is wanted for minutes");
}

/// All launchers copy.
fn growing(bed: &mut Bed, id: u32) {
    for index in [0, 1] {
        let copy = found(bed, index, id, "");
        let to = format!("/ck/application_1_0007/{id}.1.tmp/{index}/state");
        assert_eq!(copy, [format!("tell c{index} copy to {to}")]);
    }
}

#[test]
fn one_is_taken_when_it_is_due_and_the_next_an_interval_after_it() {
    let mut bed = Bed::running(saved);
    assert_eq!(sleeps(&mut bed), ["tell c0 save 1", "tell c1 save 1"]);
    assert_eq!(bed.now(), 61_000);
    bed.at(65_000);
    growing(&mut bed, 1);
    assert!(moved(&mut bed, 0, 1).is_empty());
    let complete = moved(&mut bed, 1, 1);
    assert_eq!(complete, ["complete /ck/application_1_0007/1"]);
    bed.at(66_000);
    assert!(bed.files(FilesDone::Closed(1, Ok(()))).is_empty());
    assert_eq!(
        bed.heard_by_the_client(),
        ["checkpoint 1 is complete: 10 bytes in file:/ck/application_1_0007/1"]
    );
    assert_eq!(sleeps(&mut bed), ["tell c0 save 2", "tell c1 save 2"]);
    assert_eq!(bed.now(), 126_000);
}

#[test]
fn somebody_asks_and_it_is_looked_for_every_two_seconds() {
    let mut bed = Bed::running(saved);
    for second in [3, 5, 7] {
        assert_eq!(bed.wakes(), ["was one asked for"]);
        assert_eq!(bed.now(), second * 1_000);
        if second < 7 {
            assert!(bed.files(FilesDone::Asked(false)).is_empty());
        }
    }
    let save = bed.files(FilesDone::Asked(true));
    assert_eq!(save, ["tell c0 save 1", "tell c1 save 1"]);
}

#[test]
fn one_that_a_rank_cannot_write_is_given_up_when_all_have_answered() {
    let mut bed = Bed::running(saved);
    bed.wakes();
    bed.files(FilesDone::Asked(true));
    assert!(found(&mut bed, 0, 1, "rank 0 has made no file \"done\"").is_empty());
    let given_up = found(&mut bed, 1, 1, "");
    let sentence = "checkpoint 1 was not taken: rank 0 has made no file \"done\"";
    let left = "/ck/application_1_0007/1.1.tmp";
    assert_eq!(given_up, [format!("give up {left}: {sentence}")]);
    assert_eq!(bed.heard_by_the_client(), [sentence]);
}

#[test]
fn a_program_that_has_spawned_others_cannot_be_saved_and_who_asked_is_told() {
    let mut bed = Bed::running(saved);
    bed.mpi.firsts.insert(2, 1);
    bed.wakes();
    let refused = bed.files(FilesDone::Asked(true));
    let sentence =
        "checkpoint 1 was not taken: the program has spawned processes, which cannot be saved";
    assert_eq!(
        refused,
        [format!(
            "give up /ck/application_1_0007/1.1.tmp: {sentence}"
        )]
    );
    assert_eq!(bed.heard_by_the_client(), [sentence]);
}

#[test]
fn one_that_cannot_be_made_complete_is_given_up() {
    let mut bed = Bed::running(saved);
    sleeps(&mut bed);
    growing(&mut bed, 1);
    moved(&mut bed, 0, 1);
    moved(&mut bed, 1, 1);
    let closed = bed.files(FilesDone::Closed(1, Err("no room".into())));
    assert_eq!(
        closed,
        ["give up /ck/application_1_0007/1.1.tmp: nobody asked"]
    );
}

#[test]
fn of_a_job_that_has_succeeded_none_stays() {
    let mut bed = Bed::running(saved);
    assert_eq!(bed.succeeds(), ["look at output"]);
    let todo = bed.drained();
    assert_eq!(
        todo,
        [
            "close output",
            "leave c0",
            "leave c1",
            "clear, keeps: false"
        ]
    );
    assert_eq!(bed.files(FilesDone::Cleared), ["measure"]);
}

#[test]
fn a_file_system_that_hangs_keeps_the_verdict_for_fifteen_seconds() {
    let mut bed = Bed::running(saved);
    bed.succeeds();
    bed.drained();
    let began = bed.now();
    assert_eq!(bed.wakes(), ["drop files", "measure"]);
    assert_eq!(bed.now() - began, 15_000);
}

#[test]
fn the_newest_stays_of_a_job_that_was_interrupted_and_launchers_that_copy_leave_first() {
    let mut bed = Bed::running(saved);
    sleeps(&mut bed);
    growing(&mut bed, 1);
    moved(&mut bed, 0, 1);
    moved(&mut bed, 1, 1);
    bed.files(FilesDone::Closed(1, Ok(())));
    sleeps(&mut bed);
    growing(&mut bed, 2);
    bed.hear(MpiHeard::Every(JobEvent::ClientKill(
        KillReason::Interrupted,
    )));
    bed.ends(0, Some(15));
    assert_eq!(bed.ends(1, Some(15)), ["look at output"]);
    let todo = bed.drained();
    assert_eq!(todo, ["close output", "leave c0", "leave c1"]);
    assert!(
        bed.hear(MpiHeard::Own(MpiJobEvent::Lost(container(0))))
            .is_empty()
    );
    let left = bed.hear(MpiHeard::Own(MpiJobEvent::Lost(container(1))));
    assert_eq!(left, ["clear, keeps: true"]);
    bed.files(FilesDone::Cleared);
    bed.hear(MpiHeard::Own(MpiJobEvent::Memory(wire::Memory::default())));
    bed.unregistered(true);
    let told = bed.heard_by_the_client();
    assert_eq!(
        told[1],
        "checkpoint 1 stays: a job with --restore application_1_0007 goes on from it"
    );
}

#[test]
fn launchers_that_do_not_leave_are_waited_for_two_seconds() {
    let mut bed = Bed::running(saved);
    sleeps(&mut bed);
    growing(&mut bed, 1);
    bed.succeeds();
    bed.drained();
    let began = bed.now();
    assert_eq!(bed.wakes(), ["clear, keeps: false"]);
    assert_eq!(bed.now() - began, 2_000);
}

#[test]
fn one_that_a_repeat_cuts_off_is_taken_again_for_whoever_asked() {
    let mut bed = Bed::running(|beginning| {
        saved(beginning);
        beginning.description.limits.run.restarts = 1;
    });
    bed.wakes();
    bed.files(FilesDone::Asked(true));
    growing(&mut bed, 1);
    super::repeat::loses_n1(&mut bed);
    // What the launchers say of it now is of no use.
    assert!(moved(&mut bed, 0, 1).is_empty());
    super::repeat::begins_again(&mut bed);
    assert!(bed.mpi.seats.runs(&container(2), Rank(1)));
    bed.wakes();
    let save = bed.files(FilesDone::Asked(false));
    assert_eq!(save, ["tell c0 save 2", "tell c2 save 2"]);
}

#[test]
fn one_that_was_cut_off_while_it_was_made_complete_is_not_taken_for_the_next() {
    let mut bed = Bed::running(|beginning| {
        saved(beginning);
        beginning.description.limits.run.restarts = 1;
    });
    bed.wakes();
    bed.files(FilesDone::Asked(true));
    growing(&mut bed, 1);
    moved(&mut bed, 0, 1);
    moved(&mut bed, 1, 1);
    super::repeat::loses_n1(&mut bed);
    super::repeat::begins_again(&mut bed);
    bed.wakes();
    let save = bed.files(FilesDone::Asked(false));
    assert_eq!(save, ["tell c0 save 2", "tell c2 save 2"]);
    bed.heard_by_the_client();
    assert!(bed.files(FilesDone::Closed(1, Ok(()))).is_empty());
    assert!(
        bed.heard_by_the_client().is_empty(),
        "the second still grows"
    );
}
