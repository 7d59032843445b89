//! How a job ends before its tasks have: killed, without an output, without files; and what is kept of it.

use job::history::HistoryFolder;
use policy::lifecycle::LifecycleEvent as OfContainer;

use super::*;

#[test]
fn what_became_of_a_job_is_kept_before_its_verdict_is_told() {
    let mut bed = Bed::new(2, 0);
    bed.job.description.history = Some(HistoryFolder {
        address: Address::Shared,
        path: "/home/me/history".into(),
    });
    let first = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.started(1, first);
    bed.now = Millis(500);
    bed.failed(1, first, "it is broken");
    let again = bed.place(Stage::Map, 0, 1);
    bed.started(1, again);
    // Never started, and so no attempt.
    bed.place(Stage::Map, 1, 2);
    bed.tell(WorkEvent::ClientLeft);
    bed.wanted();
    bed.tell(WorkEvent::Lost(id(1)));
    bed.tell(WorkEvent::Lost(id(2)));
    bed.folder(FolderDone::GivenUp(Ok(())));
    let kept = format!("/home/me/history: {JOB} Killed: Map 0 Failed, Map 0 Killed");
    assert_eq!(bed.wanted(), ["give up".to_owned(), kept]);
    bed.now = Millis(60_000);
    bed.tell(WorkEvent::Tick);
    assert_eq!(bed.wanted(), Vec::<String>::new());
    let trouble = Err("no room".to_owned());
    bed.tell(WorkEvent::OfTasks(MapReduceEvent::Kept(trouble)));
    assert_eq!(bed.wanted(), ["Killed"]);
}

#[test]
fn files_that_cannot_be_brought_are_a_failure_of_who_waits_for_them() {
    let mut bed = Bed::new(1, 0);
    for attempt in 0..2 {
        bed.place(Stage::Map, 0, 1);
        let failed = OfContainer::StartFailed {
            container: id(1),
            why: "no room".into(),
        };
        bed.tell(WorkEvent::Machine(failed));
        let first = bed.wanted.first().map(String::as_str);
        assert_eq!(first, Some("start c1"), "attempt {attempt}");
        if attempt == 0 {
            bed.wanted();
        }
    }
    let (code, sentence, _) = bed.over(&[]);
    assert_eq!(code, 1);
    assert!(sentence.ends_with("no room"), "{sentence}");
}

#[test]
fn a_job_is_killed_at_any_time() {
    let mut bed = Bed::begun(1, 0);
    bed.tell(WorkEvent::ClientKill(KillReason::Interrupted));
    assert_eq!(bed.wanted(), ["set up", "admit", "no more"]);
    bed.folder(FolderDone::SetUp(Ok(())));
    assert_eq!(bed.wanted(), ["give up"]);
    bed.folder(FolderDone::GivenUp(Ok(())));
    assert_eq!(bed.over(&[]).0, 130);
    let mut bed = Bed::new(1, 0);
    let map = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.started(1, map);
    bed.wanted();
    bed.tell(WorkEvent::ClientKill(KillReason::Interrupted));
    assert_eq!(bed.wanted(), ["no more", "leave c1"]);
    // A launcher that says nothing is not waited for for ever.
    while bed.wanted.is_empty() {
        bed.now = bed.job.wakes_at().unwrap();
        bed.tell(WorkEvent::Tick);
    }
    assert_eq!(bed.wanted(), ["give up"]);
    bed.folder(FolderDone::GivenUp(Err("safe mode".into())));
    assert_eq!(bed.over(&[]).0, 130);
}

#[test]
fn a_job_whose_resource_manager_is_silent_fails_and_says_so() {
    let mut bed = Bed::new(1, 0);
    let map = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.started(1, map);
    bed.wanted();
    let silent = Millis(20_000);
    bed.tell(WorkEvent::Machine(OfContainer::ResourceManagerLost {
        silent,
    }));
    assert_eq!(bed.wanted(), ["no more", "leave c1"]);
    while bed.wanted.is_empty() {
        bed.now = bed.job.wakes_at().unwrap();
        bed.tell(WorkEvent::Tick);
    }
    assert_eq!(bed.wanted(), ["give up"]);
    bed.folder(FolderDone::GivenUp(Ok(())));
    let (code, sentence, _) = bed.over(&[]);
    assert_eq!(code, 70);
    assert!(sentence.contains("for 20 s"), "{sentence}");
}

#[test]
fn that_its_output_folder_has_to_wait_is_said_once() {
    let mut bed = Bed::begun(1, 0);
    for sentence in ["in safe mode", "still in safe mode"] {
        bed.tell(WorkEvent::OfTasks(MapReduceEvent::FolderWaits(
            sentence.into(),
        )));
    }
    let mut said = Vec::new();
    while let Some(event) = bed.job.outbox().next() {
        if let Some(ToClient::Notice(notice)) = event.event {
            said.push(notice.sentence);
        }
    }
    assert_eq!(said, ["in safe mode"]);
}

#[test]
fn an_output_that_cannot_be_had_ends_it_before_anything_runs() {
    let mut bed = Bed::begun(1, 0);
    bed.folder(FolderDone::SetUp(Err("it exists".into())));
    let (code, sentence, _) = bed.over(&[]);
    assert_eq!((code, sentence.as_str()), (74, "it exists"));
    assert_eq!(bed.wanted(), ["set up", "admit", "no more", "Failed"]);
}
