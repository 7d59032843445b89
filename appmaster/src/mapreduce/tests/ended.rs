//! How a job ends before its tasks have: killed, without an output, without files; and what is kept of it.

use job::history::HistoryFolder;

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
    bed.tell(MapReduceHeard::Every(JobEvent::ClientLeft));
    bed.wanted();
    bed.lost(1);
    bed.lost(2);
    bed.folder(FolderDone::GivenUp(Ok(())));
    let kept = format!("/home/me/history: {JOB} Killed: Map 0 Failed, Map 0 Killed");
    assert_eq!(bed.wanted(), ["give up".to_owned(), kept]);
    bed.now = Millis(60_000);
    bed.tell(MapReduceHeard::Every(JobEvent::Tick));
    assert_eq!(bed.wanted(), Vec::<String>::new());
    let trouble = Err("no room".to_owned());
    bed.tell(MapReduceHeard::Own(MapReduceEvent::Kept(trouble)));
    assert_eq!(bed.wanted(), ["Killed"]);
}

#[test]
fn a_job_without_input_has_the_result_of_every_reduce() {
    let mut bed = Bed::new(0, 2);
    for partition in 0..2 {
        let reduce = bed.place(Stage::Reduce, partition, 1);
        if partition == 0 {
            bed.joined(1);
        }
        let (_, order) = bed.started(1, reduce);
        let ToTask::Reduce(ReduceOrder { task: of, .. }) = order else {
            panic!("{order:?}");
        };
        assert_eq!(of, partition);
        bed.done(1, reduce, None);
    }
    let wanted = bed.wanted();
    let commit = wanted.iter().filter(|wanted| wanted.starts_with("commit"));
    assert_eq!(commit.count(), 1, "{wanted:?}");
}

#[test]
fn a_job_without_input_and_reduces_needs_no_slot() {
    let mut bed = Bed::begun(0, 0);
    bed.folder(FolderDone::SetUp(Ok(())));
    assert!(!bed.wanted().contains(&"slots".to_owned()));
}

#[test]
fn a_job_that_ends_early_has_committed_nothing() {
    let mut bed = Bed::new(2, 0);
    let quick = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.started(1, quick);
    bed.now = Millis(40);
    bed.done(1, quick, None);
    let slow = bed.place(Stage::Map, 1, 1);
    bed.started(1, slow);
    bed.now = Millis(12_000);
    bed.tell(MapReduceHeard::Every(JobEvent::ClientLeft));
    let report = bed.job.report();
    assert_eq!((report.tasks_ms, report.commit_ms), (12_000, 0));
}

#[test]
fn files_that_cannot_be_brought_are_a_failure_of_who_waits_for_them() {
    let mut bed = Bed::new(2, 0);
    bed.place(Stage::Map, 0, 1);
    bed.place(Stage::Map, 1, 1);
    bed.fetched(1, "no room");
    // Its tasks go elsewhere, where there is another node.
    let failed = ["start c1", "avoid c1", "over 0 Failed", "over 1 Failed"];
    assert_eq!(bed.wanted(), failed);
    bed.place(Stage::Map, 0, 1);
    bed.fetched(1, "no room");
    let wanted = [
        "start c1",
        "avoid c1",
        "no more",
        "leave c1",
        "over 2 Failed",
    ];
    assert_eq!(bed.wanted(), wanted);
    let (code, sentence, _) = bed.over(&[1]);
    assert_eq!(code, 1);
    let words =
        "map 0 failed 2 times, the last time: the job's files could not be brought to n1: no room";
    assert_eq!(sentence, words);
}

/// What was brought too late is of use to others.
#[test]
fn files_that_are_brought_after_all_are_there() {
    let mut bed = Bed::new(1, 0);
    bed.place(Stage::Map, 0, 1);
    bed.fetched(1, "no room");
    // A word that comes twice is heard once.
    bed.fetched(1, "no room");
    let second = bed.place(Stage::Map, 0, 1);
    bed.wanted();
    bed.joined(1);
    bed.started(1, second);
    bed.done(1, second, None);
    assert_eq!(bed.job.failed_attempts, 1);
}

/// Whatever becomes of a container, no attempt there waits for ever: it runs, or it is over.
#[test]
fn no_word_of_a_container_leaves_an_attempt_waiting() {
    let container = || id(1);
    let of_container = [
        ContainerEvent::Lost(container()),
        ContainerEvent::Ended {
            container: container(),
            status: 143,
            diagnostics: String::new(),
        },
        ContainerEvent::StartFailed {
            container: container(),
            why: "no".into(),
        },
        ContainerEvent::Misbehaved {
            container: container(),
            what: "said hello twice".into(),
        },
    ];
    let of_container = of_container.iter().filter_map(LentEvent::of);
    let of_files = ["", "no room"].map(|trouble| {
        let trouble = trouble.to_owned();
        let fetched = wire::FilesFetched {
            trouble,
            ..wire::FilesFetched::default()
        };
        LentEvent::of_files(container(), wire::NodeFacts::default(), &fetched)
    });
    let left = LentEvent::Left(container());
    let all: Vec<LentEvent> = of_container.chain(of_files).chain([left]).collect();
    assert_eq!(all.len(), 7);
    for heard in all {
        let mut bed = Bed::new(1, 0);
        let attempt = bed.place(Stage::Map, 0, 1);
        let of = format!("{heard:?}");
        bed.tell(MapReduceHeard::Container(heard));
        let waits = bed.job.attempts.get(attempt);
        assert!(waits.is_none_or(|of| of.is_ordered), "{of}");
    }
}

#[test]
fn a_job_is_killed_at_any_time() {
    let mut bed = Bed::begun(1, 0);
    bed.tell(MapReduceHeard::Every(JobEvent::ClientKill(
        KillReason::Interrupted,
    )));
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
    bed.tell(MapReduceHeard::Every(JobEvent::ClientKill(
        KillReason::Interrupted,
    )));
    assert_eq!(bed.wanted(), ["no more", "leave c1"]);
    // A launcher that says nothing is not waited for for ever.
    while bed.wanted.is_empty() {
        bed.now = bed.job.wakes_at().unwrap();
        bed.tell(MapReduceHeard::Every(JobEvent::Tick));
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
    bed.tell(MapReduceHeard::Every(JobEvent::ResourceManagerLost {
        silent,
    }));
    assert_eq!(bed.wanted(), ["no more", "leave c1"]);
    while bed.wanted.is_empty() {
        bed.now = bed.job.wakes_at().unwrap();
        bed.tell(MapReduceHeard::Every(JobEvent::Tick));
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
        bed.tell(MapReduceHeard::Own(MapReduceEvent::FolderWaits(
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

/// Policies are told how long an attempt was in each phase, of what it has counted; of one that failed nothing.
#[test]
fn an_attempt_s_phases_are_told_with_its_end() {
    let mut bed = Bed::new(1, 0);
    let first = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.failed(1, first, "no");
    let again = bed.place(Stage::Map, 0, 1);
    let counted = ["READ", "WRITE", "CPU"].map(|name| format!("{name}_MILLISECONDS"));
    let said = FromTask::MapDone {
        counters: Counters::from([("gerbil".to_owned(), counted.map(|name| (name, 3)).into())]),
        partitions: Vec::new(),
    };
    bed.ended(
        1,
        wire::TaskEnded {
            process: again.0,
            said: serde_json::to_string(&said).unwrap(),
            has_files: true,
            ..wire::TaskEnded::default()
        },
    );
    let wanted = bed.wanted();
    let over: Vec<&String> = wanted.iter().filter(|it| it.starts_with("over")).collect();
    assert_eq!(
        over,
        ["over 0 Failed", "over 1 Done Read 3000000 Write 3000000"]
    );
}
