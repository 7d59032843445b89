//! Workloads whose times are worked out by hand.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod devices;
mod duels;
mod dyscale;
mod hetero;
mod hpe;
mod mixes;
mod moves;
mod recorded;
mod sizes;
mod spmario;

use policy::schedule::{Decision, Speed, named};
use sim::{RunResult, Workload, WorkloadRun, bench, gantt, record};

fn play(policy: &str, workload: &str) -> RunResult {
    let workload: Workload = serde_json::from_str(workload).unwrap();
    WorkloadRun::new(&workload, named(policy).unwrap())
        .play()
        .unwrap()
}

fn ends(outcome: &RunResult) -> Vec<String> {
    let ends = outcome.jobs.iter().map(|job| format!("{:.3}", job.end_s));
    ends.collect()
}

const TWO_JOBS: &str = r#"{
    "start_ms": 0,
    "nodes": [{ "count": 2, "map_slots": 1, "reduce_slots": 1 }],
    "jobs": [
        { "name": "a", "user": "ann", "maps": { "count": 4, "seconds": 10 }, "reduces": { "count": 1, "seconds": 5 } },
        { "name": "b", "user": "bob", "maps": { "count": 2, "seconds": 10 }, "reduces": { "count": 2, "seconds": 5 } }
    ]
}"#;

#[test]
fn reduces_start_when_the_maps_are_done() {
    // a's maps end at 20, its reduce at 25; b's maps run meanwhile, to 30, its reduces to 35.
    assert_eq!(ends(&play("fifo", TWO_JOBS)), ["25.000", "35.000"]);
}

#[test]
fn fair_shares_slots_between_users() {
    // From 10 on one slot each, so both end their maps at 30, b first: its reduces have both slots.
    assert_eq!(ends(&play("fair", TWO_JOBS)), ["40.000", "35.000"]);
}

#[test]
fn tasks_with_a_device_take_turns_on_their_node_while_others_load() {
    let workload = r#"{
        "start_ms": 0,
        "nodes": [{ "map_slots": 3, "has": { "acc/gpu": 1 } }],
        "jobs": [{ "name": "m", "maps": { "count": 3, "seconds": 6, "device_seconds": 4, "devices": ["acc/gpu"] } }]
    }"#;
    // Loaded at 6, then 4 s each.
    assert_eq!(ends(&play("fifo", workload)), ["18.000"]);
}

#[test]
fn what_ran_on_a_lost_node_runs_again() {
    let workload = r#"{
        "start_ms": 0,
        "nodes": [{ "count": 2, "map_slots": 1 }],
        "jobs": [{ "name": "a", "maps": { "count": 2, "seconds": 10 } }],
        "losses": [{ "at_s": 4, "node": 0 }]
    }"#;
    let outcome = play("fifo", workload);
    assert_eq!(ends(&outcome), ["20.000"]);
    assert_eq!(
        outcome.bars.iter().filter(|bar| bar.how == "lost").count(),
        1
    );
}

/// A node of two fast cores and a slow one loses a fast one: what ran there is what its job starts next.
#[test]
fn what_ran_on_a_lost_core_runs_again_first() {
    let workload = r#"{
        "start_ms": 0,
        "nodes": [{ "map_slots": 2, "reduce_slots": 2, "slow_map_slots": 1, "speed": "fast" }],
        "jobs": [{ "name": "a", "maps": { "count": 4, "seconds": 10 }, "reduces": { "count": 2, "seconds": 5 } }],
        "losses": [{ "at_s": 4, "node": 0, "core": { "speed": "fast", "number": 0 } }]
    }"#;
    let outcome = play("fifo", workload);
    let on_fast: Vec<(u32, f64, &str)> = outcome
        .bars
        .iter()
        .filter(|bar| bar.stage == "map" && bar.slot < 2)
        .map(|bar| (bar.task, bar.end_s, bar.how))
        .collect();
    assert_eq!(
        on_fast,
        [
            (0, 4.0, "lost"),
            (1, 10.0, "done"),
            (0, 20.0, "done"),
            (3, 30.0, "done")
        ]
    );
    // The slow one has the third until 22.222; the reduces have one slot.
    assert_eq!(ends(&outcome), ["40.000"]);
    let busy = |speed| outcome.busy.of(speed).0;
    assert_eq!(
        (outcome.lost, busy(Speed::Fast), busy(Speed::Slow)),
        (1, 44_000_000_000, 22_222_222_222)
    );
}

#[test]
fn a_job_that_no_slot_can_run_is_said() {
    let workload = r#"{ "nodes": [{ "map_slots": 1 }], "jobs": [{ "name": "big", "maps": { "count": 1, "seconds": 1, "memory_mb": 9000 } }] }"#;
    let workload: Workload = serde_json::from_str(workload).unwrap();
    let error = WorkloadRun::new(&workload, named("fifo").unwrap())
        .play()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "job \"big\" never ends: no slot can run what is left of it"
    );
}

#[test]
fn a_wide_gang_among_small_jobs_and_the_picture_of_it() {
    let workload = include_str!("../workloads/gang-among-small-jobs.json");
    for policy in ["fifo+gang", "fair+gang", "fifo+delay+speculate+gang"] {
        let outcome = play(policy, workload);
        assert_eq!(outcome.jobs.len(), 5);
        // Nothing that was submitted after the wide one holds it up for longer than it drains.
        let wide = &outcome.jobs[1];
        assert!(wide.begin_s < 9.0, "{policy}: {wide:?}");
        assert_eq!(outcome.digest, play(policy, workload).digest);
        assert!(gantt::svg(&outcome).contains("mpi-wide gang 7"));
    }
}

/// In a queue the earliest deadline is first, and a job without one comes last; between queues nothing changes.
#[test]
fn jobs_of_a_queue_are_served_by_their_deadlines() {
    let workload = r#"{
        "start_ms": 0,
        "nodes": [{ "map_slots": 2 }],
        "jobs": [
            { "name": "running", "queue": "prod", "maps": { "count": 2, "seconds": 1 } },
            { "name": "whenever", "queue": "prod", "submit_s": 0.1, "maps": { "count": 1, "seconds": 10 } },
            { "name": "late", "queue": "prod", "submit_s": 0.2, "deadline_s": 90, "maps": { "count": 1, "seconds": 10 } },
            { "name": "soon", "queue": "prod", "submit_s": 0.3, "deadline_s": 20, "maps": { "count": 1, "seconds": 10 } },
            { "name": "other", "queue": "test", "submit_s": 0.4, "maps": { "count": 1, "seconds": 10 } }
        ]
    }"#;
    let of = |policy| ends(&play(policy, workload));
    let by_turn = ["1.000", "11.000", "11.000", "21.000", "21.000"];
    assert_eq!(of("fifo"), by_turn);
    assert_eq!(of("fifo:order=fifo"), by_turn);
    // By the deadlines: soon, late, then the others as they came.
    let by_deadline = ["1.000", "21.000", "11.000", "11.000", "21.000"];
    assert_eq!(of("fifo:order=deadline"), by_deadline);
    // The other queue has its half.
    let halves = "capacity:queue.prod=50,queue.test=50";
    let other = of(halves).pop();
    let by_deadline = of(&format!("{halves},order=deadline+delay+gang"));
    assert_eq!(by_deadline.last(), other.as_ref());
    assert_eq!(by_deadline[3], "11.000");
    let why = named("fifo:order=fast").unwrap_err().to_string();
    assert!(why.contains("fifo or deadline"), "{why}");
}

/// What takes longer because its core is slow has no copy, which would win nothing.
#[test]
fn an_attempt_on_a_slow_core_is_as_fast_as_others_there() {
    let workload = r#"{
        "start_ms": 0,
        "nodes": [{ "count": 4, "map_slots": 1, "slow_map_slots": 2 }],
        "jobs": [{ "name": "a", "maps": { "count": 12, "seconds": 10 } }]
    }"#;
    let outcome = play("fifo+speculate", workload);
    let is_copy = |of: &Decision| matches!(of, Decision::Copy { .. });
    let copies = outcome.decisions.iter().filter(|(_, of)| is_copy(of));
    assert_eq!(copies.count(), 0);
    assert_eq!(ends(&outcome), ["22.222"]);
}

/// What `gerbil-sim run` prints, without the line that says how long it took, and the charts that it writes.
fn run_of_the_command(name: &str) -> (String, serde_json::Value, String) {
    let at = |ending: &str| format!("{}/{name}.{ending}", env!("CARGO_TARGET_TMPDIR"));
    let workload = at("workload");
    std::fs::write(&workload, TWO_JOBS).unwrap();
    let (json, svg) = (at("json"), at("svg"));
    let words = [
        "run", &workload, "--policy", "fair", "--json", &json, "--svg", &svg,
    ];
    let done = std::process::Command::new(env!("CARGO_BIN_EXE_gerbil-sim"))
        .args(words)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let said = String::from_utf8(done.stdout).unwrap();
    let (table, timing) = said.trim_end().rsplit_once('\n').unwrap();
    assert!(timing.contains(" events in "), "{timing}");
    let bars = std::fs::read_to_string(json).unwrap();
    (
        table.to_owned(),
        serde_json::from_str(&bars).unwrap(),
        std::fs::read_to_string(svg).unwrap(),
    )
}

#[test]
fn the_command_writes_charts_and_says_by_which_trace_two_runs_are_the_same() {
    let (table, bars, svg) = run_of_the_command("first");
    let bars = bars.as_array().unwrap();
    assert_eq!(bars.len(), 9);
    let keys: Vec<&String> = bars[0].as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "begin_s", "end_s", "how", "job", "node", "slot", "stage", "task"
        ]
    );
    assert_eq!(svg.matches("<rect").count(), bars.len());
    let (_, trace) = table.rsplit_once(", trace ").unwrap();
    assert!(trace.len() == 16 && trace.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(trace, &play("fair", TWO_JOBS).digest[..16]);
    assert_eq!(run_of_the_command("second").0, table);
}

#[test]
fn decisions_are_timed() {
    let figures = bench::decisions("fifo+delay+gang", 4, 20, 10, 100).unwrap();
    assert_eq!((figures.events, figures.decisions), (200, 132));
}

#[test]
fn the_simulator_s_own_time_is_told_apart() {
    let speed = bench::simulator("fifo", 4, 20, 10).unwrap();
    // Submitted, began, loaded and done.
    assert_eq!(speed.events, 20 + 3 * 200);
    assert!(speed.total > std::time::Duration::ZERO && speed.deciding > std::time::Duration::ZERO);
}

#[test]
fn a_recorded_run_replays_to_the_same_decisions_and_another_policy_does_not() {
    let workload: Workload = serde_json::from_str(TWO_JOBS).unwrap();
    let policy = "fair+delay+speculate+priority:preempt=true+gang";
    let run = WorkloadRun::new(&workload, named(policy).unwrap()).recording();
    let outcome = run.play().unwrap();
    let mut text = Vec::new();
    record::write(&outcome.record, &mut text).unwrap();
    let replay = |policy, text: &[u8]| record::replay(named(policy).unwrap(), text);
    let decisions = u64::try_from(outcome.decisions.len()).unwrap();
    assert_eq!(replay(policy, &text).unwrap(), decisions);
    let other = replay("fifo", &text).unwrap_err().to_string();
    assert!(
        other.contains("recorded Start") && other.contains("now Some(Start"),
        "{other}"
    );
    let nothing = replay(policy, &[]).unwrap_err().to_string();
    assert!(
        nothing.starts_with("the record has no decision"),
        "{nothing}"
    );
    let cut = &text[..text.len() - 3];
    let broken = replay(policy, cut).unwrap_err().to_string();
    assert!(
        broken.starts_with("line ") && broken.ends_with(" of the record"),
        "{broken}"
    );
}
