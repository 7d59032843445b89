//! Attempts at tasks: started, repeated, failed too often, and what the others wait for.

use gerbil_task::{MapOrder, TASK_COUNTERS_MAX};
use policy::schedule::Why;

use super::*;

#[test]
fn maps_alone_make_the_output() {
    let mut bed = Bed::new(2, 0);
    let first = bed.place(Stage::Map, 0, 1);
    let second = bed.place(Stage::Map, 1, 2);
    assert_eq!(bed.wanted(), ["start c1", "start c2"]);
    bed.joined(1);
    let (start, task) = bed.started(1, first);
    let output = start.output.unwrap();
    assert_eq!([output.job, output.attempt], [JOB, "attempt_m_000000_0"]);
    assert_eq!((output.path.as_str(), start.inputs.len()), ("/out", 1));
    let ToTask::Map(MapOrder { partitions: 0, .. }) = task else {
        panic!("{task:?}");
    };
    bed.joined(2);
    bed.started(2, second);
    bed.done(1, first, None);
    bed.done(2, second, None);
    assert_eq!(
        bed.wanted(),
        [
            "over 0 Done",
            "over 1 Done",
            "commit attempt_m_000000_0 attempt_m_000001_0",
            "no more",
            "leave c1",
            "leave c2"
        ]
    );
    bed.folder(FolderDone::Committed(Ok(())));
    assert_eq!(bed.wanted(), Vec::<String>::new());
    let (code, sentence, report) = bed.over(&[1, 2]);
    assert_eq!((code, sentence.as_str()), (0, ""));
    assert_eq!(bed.wanted(), ["Succeeded"]);
    assert_eq!((report.maps, report.counters["g"]["n"]), (2, 2));
}

/// What its first attempt has left would be taken for its result.
#[test]
fn of_a_repeated_task_it_is_said_that_it_has_no_files_too() {
    let mut bed = Bed::new(2, 0);
    let first = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.failed(1, first, "no");
    let other = bed.place(Stage::Map, 1, 1);
    bed.done(1, other, Some(3));
    let again = bed.place(Stage::Map, 0, 1);
    bed.done(1, again, Some(3));
    let wanted = bed.wanted();
    let commit = wanted.iter().find(|it| it.starts_with("commit"));
    assert_eq!(commit.unwrap(), "commit attempt_m_000000_1: ", "{wanted:?}");
}

#[test]
fn a_map_is_ordered_again_without_the_record_that_it_failed_on() {
    let mut bed = Bed::new(1, 0);
    let failed_on = |bed: &mut Bed, attempt: AttemptIx, record| {
        let ended = wire::TaskEnded {
            process: attempt.0,
            trouble: "no".to_owned(),
            record: Some(record),
            ..wire::TaskEnded::default()
        };
        bed.ended(1, ended);
    };
    let skips = |bed: &Bed| match bed.orders.last() {
        Some((_, Order::Start(start))) => match serde_json::from_str(&start.task) {
            Ok(ToTask::Map(order)) => order.skip,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let first = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    assert_eq!(skips(&bed), [0; 0]);
    failed_on(&mut bed, first, 4);
    // Neither the node nor the task is to blame.
    assert_eq!(bed.wanted(), ["start c1", "over 0 Killed"]);
    let second = bed.place(Stage::Map, 0, 1);
    assert_eq!(skips(&bed), [4]);
    // It was told to leave that one out, and another is one too many: both count.
    failed_on(&mut bed, second, 4);
    assert_eq!(bed.wanted(), ["over 1 Failed"]);
    let third = bed.place(Stage::Map, 0, 1);
    failed_on(&mut bed, third, 5);
    let (code, sentence, report) = bed.over(&[1]);
    assert_eq!((code, report.failed_attempts), (1, 3));
    assert!(
        sentence.starts_with("map 0 failed 2 times") && sentence.contains("left out before: 1"),
        "{sentence}"
    );
}

#[test]
fn a_task_that_fails_too_often_ends_the_job_and_nothing_is_left() {
    let mut bed = Bed::new(1, 0);
    let first = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.started(1, first);
    bed.failed(1, first, "no");
    assert_eq!(bed.wanted(), ["start c1", "over 0 Failed"]);
    let second = bed.place(Stage::Map, 0, 1);
    let (start, _) = bed.started(1, second);
    assert_eq!(start.output.unwrap().attempt, "attempt_m_000000_1");
    bed.failed(1, second, "no again");
    assert_eq!(bed.wanted(), ["no more", "leave c1", "over 1 Failed"]);
    // What was decided before is given back.
    let late = bed.place(Stage::Map, 0, 1);
    assert_eq!(bed.wanted(), [format!("over {} Killed", late.0)]);
    let (code, sentence, report) = bed.over(&[1]);
    assert_eq!(
        (code, sentence.as_str(), report.failed_attempts),
        (1, "map 0 failed 2 times, the last time: no again", 2)
    );
    assert_eq!(bed.wanted(), ["give up", "Failed"]);
}

/// Each of them counts under less names than a task may, and none of these is another's.
#[test]
fn a_task_that_counts_under_more_names_than_a_job_may_have_fails_and_nothing_of_it_is_kept() {
    let each = TASK_COUNTERS_MAX - 100;
    let mut bed = Bed::new(4, 0);
    let counts = |bed: &mut Bed, attempt: AttemptIx, from: usize| {
        let names = (from..from + each).map(|number| format!("n{number}"));
        let ended = wire::TaskEnded {
            process: attempt.0,
            said: counted(names),
            has_files: true,
            ..wire::TaskEnded::default()
        };
        bed.ended(1, ended);
    };
    for map in [0, 1] {
        let attempt = bed.place(Stage::Map, map, 1);
        if map == 0 {
            bed.joined(1);
        }
        counts(&mut bed, attempt, usize::try_from(map).unwrap() * each);
    }
    let same = bed.place(Stage::Map, 2, 1);
    counts(&mut bed, same, each / 2);
    assert_eq!(
        bed.wanted(),
        ["start c1", "over 0 Done", "over 1 Done", "over 2 Done"]
    );
    let other = bed.place(Stage::Map, 3, 1);
    counts(&mut bed, other, 2 * each);
    assert_eq!(bed.wanted(), ["over 3 Failed"]);
    // What the job has is left as it is.
    assert_eq!(bed.job.report().counters["g"].len(), 2 * each);
    let again = bed.place(Stage::Map, 3, 1);
    counts(&mut bed, again, 2 * each);
    let (code, sentence, report) = bed.over(&[1]);
    assert_eq!((code, report.counters["g"].len()), (1, 2 * each));
    assert!(
        sentence.starts_with("map 3 failed 2 times, the last time: it counts under \"n")
            && sentence.ends_with("is to be emitted, not counted"),
        "{sentence}"
    );
}

#[test]
fn of_two_attempts_at_a_map_the_first_to_end_counts_once() {
    let mut bed = Bed::new(1, 1);
    let slow = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.started(1, slow);
    let twin = bed.place(Stage::Map, 0, 2);
    bed.joined(2);
    bed.started(2, twin);
    bed.wanted();
    seen(&mut bed, 1, slow, 4, 10);
    seen(&mut bed, 1, slow, 4, 10);
    seen(&mut bed, 2, twin, 6, 10);
    // Told once, and the bytes of one of them are those of the map.
    assert_eq!(bed.wanted().len(), 2);
    assert_eq!(bed.job.attempts.bytes_done(), 6);
    bed.done(2, twin, Some(5));
    assert!(
        matches!(&bed.orders[..], [(to, Order::End(end))] if *to == id(1) && end.process == slow.0)
    );
    bed.orders.clear();
    assert_eq!(
        bed.wanted(),
        [
            format!("over {} Done", twin.0),
            "runnable Reduce 1".to_owned()
        ]
    );
    // It had ended before it heard; a third that was decided on meanwhile is not begun.
    bed.done(1, slow, Some(5));
    let third = bed.place(Stage::Map, 0, 2);
    let killed = |attempt: AttemptIx| format!("over {} Killed", attempt.0);
    assert_eq!(bed.wanted(), [killed(slow), killed(third)]);
    assert!(bed.orders.is_empty());
    let reduce = bed.place(Stage::Reduce, 0, 2);
    bed.done(2, reduce, None);
    bed.folder(FolderDone::Committed(Ok(())));
    let (code, _, report) = bed.over(&[1, 2]);
    assert_eq!(
        (code, report.counters["g"]["n"], report.failed_attempts),
        (0, 2, 0)
    );
}

/// A task of higher priority wants the slot.
fn preempt(bed: &mut Bed, attempt: AttemptIx) {
    let why = Why::Preempted;
    bed.tell(MapReduceHeard::Own(MapReduceEvent::Stop { attempt, why }));
}

#[test]
fn a_map_that_had_ended_well_when_it_was_told_to_make_room_is_done() {
    let mut bed = Bed::new(1, 1);
    let map = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.started(1, map);
    bed.wanted();
    preempt(&mut bed, map);
    bed.done(1, map, Some(5));
    assert_eq!(bed.wanted(), ["over 0 Done", "runnable Reduce 1"]);
    bed.orders.clear();
    // A reduce, too.
    let reduce = bed.place(Stage::Reduce, 0, 1);
    assert_eq!(sources(bed.started(1, reduce)), [(0, None)]);
    preempt(&mut bed, reduce);
    bed.done(1, reduce, None);
    let wanted = bed.wanted();
    let commit = "commit attempt_r_000000_0".to_owned();
    assert_eq!(wanted[..2], ["over 1 Done".to_owned(), commit]);
    bed.folder(FolderDone::Committed(Ok(())));
    let (code, _, report) = bed.over(&[1]);
    assert_eq!((code, report.counters["g"]["n"]), (0, 2));
}

/// The files of its first attempt are not the task's: that one has failed.
#[test]
fn files_of_a_second_attempt_that_had_ended_well_when_it_was_told_to_make_room_are_in_the_output() {
    let mut bed = Bed::new(1, 0);
    let first = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.failed(1, first, "no");
    let second = bed.place(Stage::Map, 0, 1);
    bed.wanted();
    preempt(&mut bed, second);
    bed.done(1, second, None);
    let commit = "commit attempt_m_000000_1".to_owned();
    assert_eq!(bed.wanted()[..2], ["over 1 Done".to_owned(), commit]);
}

/// And one that has not ended well begins anew.
#[test]
fn a_map_that_makes_room_runs_again_and_has_not_failed() {
    let mut bed = Bed::new(1, 1);
    let map = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.wanted();
    preempt(&mut bed, map);
    bed.failed(1, map, "killed");
    assert_eq!(bed.wanted(), ["over 0 Killed"]);
    let again = bed.place(Stage::Map, 0, 1);
    bed.done(1, again, Some(5));
    assert_eq!(bed.wanted(), ["over 1 Done", "runnable Reduce 1"]);
    assert_eq!(bed.job.failed_attempts, 0);
}

#[test]
fn a_slow_map_counts_where_what_its_twin_has_left_is_lost() {
    let mut bed = Bed::new(1, 1);
    let slow = bed.place(Stage::Map, 0, 1);
    let twin = bed.place(Stage::Map, 0, 2);
    bed.joined(1);
    bed.joined(2);
    bed.done(2, twin, Some(5));
    bed.lost(2);
    bed.wanted();
    bed.orders.clear();
    bed.done(1, slow, Some(5));
    assert_eq!(bed.wanted(), ["over 0 Done"]);
    let reduce = bed.place(Stage::Reduce, 0, 1);
    assert_eq!(sources(bed.started(1, reduce)), [(0, None)]);
}

/// What it has read is not what is there now.
#[test]
fn a_reduce_that_has_read_what_a_map_gives_no_more_does_not_count() {
    let mut bed = Bed::new(1, 2);
    let map = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.done(1, map, Some(5));
    let reduce = bed.place(Stage::Reduce, 0, 2);
    bed.joined(2);
    bed.lost(1);
    let again = bed.place(Stage::Map, 0, 2);
    bed.done(2, again, Some(6));
    bed.wanted();
    bed.done(2, reduce, None);
    assert_eq!(bed.wanted(), [format!("over {} Killed", reduce.0)]);
    let mut results = bed.job.results.keys();
    assert!(results.all(|(stage, _)| *stage == Stage::Map));
}

#[test]
fn what_the_rest_waits_for_is_said() {
    let mut bed = Bed::new(3, 1);
    let maps: Vec<AttemptIx> = (0..3).map(|map| bed.place(Stage::Map, map, 1)).collect();
    bed.joined(1);
    bed.orders.clear();
    assert_eq!(bed.job.waits(), "");
    bed.done(1, maps[0], Some(1));
    seen(&mut bed, 1, maps[1], 9, 10);
    seen(&mut bed, 1, maps[2], 41, 100);
    let words = "reduces wait for map 2, attempt 0, node n1, 41 %, and 1 more";
    assert_eq!(bed.job.waits(), words);
    bed.done(1, maps[2], Some(1));
    assert_eq!(
        bed.job.waits(),
        "reduces wait for map 1, attempt 0, node n1, 90 %"
    );
    bed.done(1, maps[1], Some(1));
    assert_eq!(bed.job.waits(), "");
}
