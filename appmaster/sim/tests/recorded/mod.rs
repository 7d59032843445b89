//! Workloads that are made of records.

use policy::schedule::named;
use sim::recorded::RecordedSession;
use sim::{Workload, WorkloadRun, record};

use super::{TWO_JOBS, ends};

/// A run, and the run of what its record has.
fn again(policy: &str, workload: &str) -> (RecordedSession, [Vec<String>; 2]) {
    let workload: Workload = serde_json::from_str(workload).unwrap();
    let run = WorkloadRun::new(&workload, named(policy).unwrap()).recording();
    let first = run.play().unwrap();
    let mut text = Vec::new();
    record::write(&first.record, &mut text).unwrap();
    let session = RecordedSession::read(text.as_slice(), policy).unwrap();
    let second = session.play(policy).unwrap();
    let table = session.table(&second);
    assert!(table.contains("all done: recorded"), "{table}");
    (session, [ends(&first), ends(&second)])
}

#[test]
fn the_workload_of_a_record_ends_as_what_was_recorded() {
    let unlike = r#"{
        "nodes": [{ "slots": 2 }, { "slots": 1 }],
        "jobs": [
            { "name": "a", "maps": { "count": 5, "each_seconds": [1, 9, 2.5, 0.25, 4] }, "reduces": { "count": 1, "seconds": 3 } },
            { "name": "b", "submit_s": 1.5, "maps": { "count": 2, "each_seconds": [7, 0.5] } },
            { "name": "c", "submit_s": 2, "ranks": { "count": 2, "seconds": 2 } }
        ]
    }"#;
    for workload in [TWO_JOBS, unlike] {
        let (session, [first, second]) = again("fifo+gang", workload);
        assert_eq!(first, second);
        assert_eq!((session.without, session.later), (0, 0));
    }
    // Read again from where it was written.
    let (session, [first, _]) = again("fifo+gang", unlike);
    let text = serde_json::to_string(&session.workload).unwrap();
    let read: Workload = serde_json::from_str(&text).unwrap();
    let played = WorkloadRun::new(&read, named("fifo+gang").unwrap());
    assert_eq!(ends(&played.play().unwrap()), first);
}

#[test]
fn the_work_of_what_was_moved_is_that_of_all_its_slots() {
    let workload = r#"{
        "start_ms": 0,
        "nodes": [{ "map_slots": 1, "slow_map_slots": 2, "speed": "fast" }],
        "jobs": [
            { "name": "a", "queue": "batch", "maps": { "count": 9, "seconds": 10 } },
            { "name": "b", "queue": "interactive", "submit_s": 4, "maps": { "count": 2, "seconds": 3 } }
        ]
    }"#;
    let (session, [first, second]) = again("dyscale", workload);
    assert_eq!(session.workload.speeds.slow.map, 450);
    for (first, second) in first.iter().zip(&second) {
        let [first, second] = [first, second].map(|end| end.parse::<f64>().unwrap());
        assert!((first - second).abs() < 0.1, "{first} {second}");
    }
}

#[test]
fn a_stage_has_a_time_for_each_task_or_for_none() {
    let at = format!("{}/each", env!("CARGO_TARGET_TMPDIR"));
    let workload = r#"{ "nodes": [{ "slots": 1 }],
        "jobs": [{ "name": "a", "maps": { "count": 3, "each_seconds": [1, 2] } }] }"#;
    std::fs::write(&at, workload).unwrap();
    let error = format!("{:#}", Workload::read(at.as_ref()).unwrap_err());
    assert!(
        error.ends_with("job \"a\" has 3 tasks, and each_seconds of 2"),
        "{error}"
    );
}
