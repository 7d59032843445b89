//! Devices that tasks of a node wait for in turn, and nodes that have none.

use super::{ends, play};

/// Three tasks on one node that load for 6 s and want the GPU for 4.
fn three(node: &str, task: &str) -> Vec<String> {
    let workload = format!(
        r#"{{
            "start_ms": 0,
            "nodes": [{{ "map_slots": 3, {node} }}],
            "jobs": [{{ "name": "m", "maps":
                {{ "count": 3, "seconds": 6, "device_seconds": 4, "devices": ["acc/gpu"], {task} }} }}]
        }}"#
    );
    ends(&play("fifo", &workload))
}

#[test]
fn a_device_runs_as_many_tasks_as_it_has_ways() {
    let memory = r#""memory_mb": 1024"#;
    assert_eq!(three(r#""has": { "acc/gpu": 1 }"#, memory), ["18.000"]);
    // Two from 6 to 10, the third to 14; two devices do the same.
    let both = r#""has": { "acc/gpu": 1 }, "ways": 2"#;
    assert_eq!(three(both, memory), ["14.000"]);
    assert_eq!(three(r#""has": { "acc/gpu": 2 }"#, memory), ["14.000"]);
}

#[test]
fn a_task_stores_its_results_while_the_next_has_the_device() {
    // The last has it from 14 to 18, and stores until 23.
    let stored = three(r#""has": { "acc/gpu": 1 }"#, r#""store_seconds": 5"#);
    assert_eq!(stored, ["23.000"]);
}

#[test]
fn who_holds_a_device_and_is_lost_holds_it_no_more() {
    let workload = r#"{
        "start_ms": 0,
        "nodes": [{ "count": 2, "map_slots": 2, "has": { "acc/gpu": 1 } }],
        "jobs": [{ "name": "m", "maps": { "count": 3, "seconds": 1, "device_seconds": 10, "devices": ["acc/gpu"] } }],
        "losses": [{ "at_s": 5, "node": 0 }]
    }"#;
    // Of three tasks two were on the node that is lost: one holding, one waiting. Node 1's ends at 11; there the first
    // of them loads from 5 to 6, waits, and has the device to 21, the other to 31.
    assert_eq!(ends(&play("fifo", workload)), ["31.000"]);
}

const WITH_AND_WITHOUT: &str = r#"{
    "start_ms": 0,
    "nodes": [{ "map_slots": 1 }, { "map_slots": 1, "has": { "acc/gpu": 1 } }],
    "jobs": [
        { "name": "m", "maps": { "count": 9, "seconds": 1, "device_seconds": 9, "devices": ["acc/gpu"] } },
        { "name": "w", "maps": { "count": 1, "seconds": 2 } }
    ]
}"#;

#[test]
fn a_job_fails_when_one_of_its_tasks_failed_four_times_for_want_of_a_device() {
    let blind = play("fifo-blind", WITH_AND_WITHOUT);
    let how: Vec<(&str, bool)> = blind
        .jobs
        .iter()
        .map(|job| (job.name.as_str(), job.failed))
        .collect();
    assert_eq!(how, [("m", true), ("w", false)]);
    // On the node without, eight tasks load for a second each and fail; a task that has failed there comes after those that
    // have not, so the first comes again at 8, and fails the fourth time at 11. Then w has that slot.
    assert_eq!(ends(&blind), ["11.000", "13.000"]);
    let failed = blind.bars.iter().filter(|bar| bar.how == "failed");
    assert_eq!(failed.count(), 11);
    // What still ran of it was ended.
    assert!(blind.bars.iter().any(|bar| bar.how == "killed"));
    let table = sim::report::table(&blind);
    assert!(table.contains("| 11.00, failed |"), "{table}");
    for policy in ["fifo", "hpe", "hpe-literal"] {
        let sees = play(policy, WITH_AND_WITHOUT);
        assert_eq!(ends(&sees), ["90.000", "2.000"], "{policy}");
    }
}
