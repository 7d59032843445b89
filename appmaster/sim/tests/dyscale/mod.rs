//! DyScale's figures, of few jobs: what is exact is so, and all play to their end.

use policy::schedule::trace::HEADER;
use policy::schedule::{Decision, named};
use sim::dyscale::{DyScaleWorld, PaperFigure};
use sim::figure::FigureWorld;
use sim::{Workload, WorkloadRun, trace};

fn figure(name: &str, settings: &[&str]) -> PaperFigure {
    let mut world = DyScaleWorld::default();
    settings
        .iter()
        .for_each(|setting| world.set(setting).unwrap());
    DyScaleWorld::FIGURES.make(name, &world).unwrap().remove(0)
}

#[test]
fn the_example_is_exact() {
    for name in ["fig2", "simple"] {
        let figure = figure(name, &[]);
        for claim in &figure.claims {
            assert!(claim.holds, "{name}: {claim:?}");
        }
    }
    let ends = &figure("fig2", &[]).tables[0].rows[0];
    assert_eq!(ends.values, [480.0, 192.0, 96.0, 48.0, 24.0]);
}

/// Small enough for a build that is not optimized.
const FEW: [&str; 6] = [
    "jobs=20",
    "maps.scale=1",
    "reduces.scale=1",
    "nodes=3+5",
    "gaps=20+400",
    "seeds=1",
];

#[test]
fn every_figure_is_played() {
    for name in DyScaleWorld::FIGURES
        .names()
        .filter(|name| name.starts_with("fig1") || *name == "park")
    {
        let figure = figure(name, &FEW);
        let mut values = figure.tables.iter().flat_map(|table| &table.rows);
        assert!(
            values.all(|row| row.values.iter().all(|value| *value > 0.0)),
            "{figure:?}"
        );
        assert!(!figure.claims.is_empty() && figure.markdown().contains("| claim |"));
    }
}

#[test]
fn mixes_of_cores_are_compared_seed_by_seed_and_the_best_is_marked() {
    let few = [FEW.as_slice(), &["jobs=5", "nodes=3", "gaps=20", "seeds=2"]].concat();
    let figure = figure("mix", &few);
    let of = |title: &str| {
        let mut tables = figure.tables.iter();
        tables.find(|table| table.title.starts_with(title)).unwrap()
    };
    let seconds = of("mean completion time of interactive jobs");
    assert_eq!(seconds.rows.len(), 12);
    let values = figure.tables.iter().flat_map(|table| &table.rows);
    assert!(
        values
            .into_iter()
            .all(|row| row.values.iter().all(|value| *value > 0.0))
    );
    let beside = of("interactive jobs beside fifo");
    assert!(beside.rows.iter().all(|row| row.within.len() == 1));
    let best: Vec<f64> = (beside.rows.iter())
        .filter(|row| row.best == [0])
        .map(|row| row.values[0])
        .collect();
    assert!(!best.is_empty() && beside.rows.iter().all(|row| row.values[0] >= best[0]));
    assert!(figure.markdown().contains("** |") && figure.markdown().contains(" ± "));
    // Nodes of 84 W cost no less than their busy cores would, were each busy for maps alone.
    let (up, busy) = (of("energy of a job, nodes"), of("energy of a job, cores"));
    let pairs = up.rows.iter().zip(&busy.rows);
    assert!(
        pairs
            .into_iter()
            .all(|(up, busy)| 2.0 * up.values[0] >= busy.values[0])
    );
}

#[test]
fn what_is_lost_costs_time_under_each_policy() {
    let few = [FEW.as_slice(), &["jobs=8", "nodes=3", "gaps=20", "lost=60"]].concat();
    let figure = figure("losses", &few);
    let lost = figure.tables.last().unwrap();
    assert_eq!(
        lost.columns,
        ["60 % of fast cores", "60 % of slow cores", "60 % of nodes"]
    );
    let sums: Vec<f64> = lost
        .rows
        .iter()
        .map(|row| row.values.iter().sum())
        .collect();
    assert!(
        sums.len() == 4 && sums.iter().all(|sum| *sum > 0.0),
        "{lost:?}"
    );
    let batch = figure
        .tables
        .iter()
        .find(|table| table.title.starts_with("batch jobs beside"));
    // Of three nodes two are gone in the end.
    assert!(
        batch.unwrap().rows.iter().all(|row| row.values[2] > 100.0),
        "{batch:?}"
    );
}

#[test]
fn the_same_seeds_are_the_same_figure() {
    let two = |jobs| [FEW.as_slice(), &["nodes=3", "gaps=50", "seeds=2", jobs]].concat();
    let [first, again, other] =
        ["jobs=12", "jobs=12", "jobs=13"].map(|jobs| figure("fig14", &two(jobs)).markdown());
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut world = DyScaleWorld::default();
    let mut said = |setting: &str| world.set(setting).unwrap_err().to_string();
    let wanted = |most: u32| format!("a whole number from 1 to {most} is wanted");
    assert_eq!(said("jobs=0"), format!("jobs=0: {}", wanted(1_000)));
    assert_eq!(said("nodes=75+x"), format!("nodes=x: {}", wanted(10_000)));
    assert_eq!(said("lost=20+100"), format!("lost=100: {}", wanted(99)));
    assert_eq!(said("jobs=1001"), format!("jobs=1001: {}", wanted(1_000)));
    assert!(said("job=3").contains("there are jobs, maps.scale"));
    assert!(
        DyScaleWorld::FIGURES
            .make("fig9", &world)
            .unwrap_err()
            .to_string()
            .contains("losses or all")
    );
}

#[test]
fn a_trace_of_a_mix_makes_the_figure_of_the_mix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mix.csv");
    let mut world = DyScaleWorld::default();
    FEW.iter().for_each(|setting| world.set(setting).unwrap());
    let jobs = trace::traced(&world.drawn(1, 20)).unwrap();
    std::fs::write(&path, trace::text(&jobs)).unwrap();
    let of_trace = format!("trace={}", path.display());
    let settings = [FEW.as_slice(), &[of_trace.as_str()]].concat();
    let rows = |figure: PaperFigure| -> Vec<Vec<f64>> {
        let rows = figure.tables.into_iter().flat_map(|table| table.rows);
        rows.map(|row| row.values).collect()
    };
    let (drawn, traced) = (figure("fig11", &FEW), figure("fig11", &settings));
    assert!(traced.markdown().contains("20 jobs of a trace"));
    let (drawn, traced) = (rows(drawn), rows(traced));
    assert_eq!(drawn.len(), traced.len());
    for (drawn, traced) in drawn.iter().flatten().zip(traced.iter().flatten()) {
        assert!((drawn - traced).abs() < 1e-6, "{drawn} {traced}");
    }
    // Ever denser.
    let dense = rows(figure("fig12", &settings));
    assert!(
        dense.iter().all(|row| row.iter().all(|value| *value > 0.0)),
        "{dense:?}"
    );
}

/// No memory has room for it.
#[test]
fn a_trace_of_too_many_tasks_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.csv");
    let job = |class: &str, maps: u32| format!("a,0,{class},{maps},0,1,0,0");
    let lines = [HEADER, &job("interactive", 1), &job("batch", u32::MAX)];
    std::fs::write(&path, lines.join("\n")).unwrap();
    let mut world = DyScaleWorld::default();
    world.set(&format!("trace={}", path.display())).unwrap();
    let why = DyScaleWorld::FIGURES.make("fig11", &world).unwrap_err();
    let said = "4294967296 tasks in all: a workload may have 10000000";
    assert!(format!("{why:#}").contains(said), "{why:#}");
}

/// A mean of no jobs is no number, and nothing is claimed of it.
#[test]
fn a_mix_without_batch_jobs_is_refused() {
    let mut world = DyScaleWorld::default();
    for setting in [FEW.as_slice(), &["jobs=1"]].concat() {
        world.set(setting).unwrap();
    }
    for name in ["fig11", "fig12", "park", "mix", "losses"] {
        let made = DyScaleWorld::FIGURES.make(name, &world);
        let why = format!("{:#}", made.unwrap_err());
        let said = "no batch job is in the mix of seed 1, which has 1 in all";
        assert!(why.contains(said), "{name}: {why}");
    }
}

/// When the jobs of a workload end under a policy, seconds, and how many moves there were.
fn ends(workload: &str, policy: &str) -> (Vec<String>, usize) {
    let workload: Workload = serde_json::from_str(workload).unwrap();
    let result = WorkloadRun::new(&workload, named(policy).unwrap())
        .play()
        .unwrap();
    let moves = result.decisions.iter();
    let moves = moves.filter(|(_, decision)| matches!(decision, Decision::Move { .. }));
    let ends = result.jobs.iter().map(|job| format!("{:.2}", job.end_s));
    (ends.collect(), moves.count())
}

/// One node of a fast and a slow slot: batch has both, an interactive job comes.
#[test]
fn a_batch_task_makes_room_by_a_move_and_ends_by_the_speed_of_both_slots() {
    let text = r#"{
        "start_ms": 0,
        "nodes": [{ "map_slots": 1, "slow_map_slots": 1, "speed": "fast" }],
        "jobs": [
            { "name": "short", "queue": "batch", "maps": { "count": 1, "seconds": 9 } },
            { "name": "long", "queue": "batch", "maps": { "count": 1, "seconds": 100 } },
            { "name": "asked", "queue": "interactive", "submit_s": 30, "maps": { "count": 1, "seconds": 5 } }
        ]
    }"#;
    let ends = |policy: &str| ends(text, policy);
    // The short one has the slow slot until 20 s; asked starts there.
    assert_eq!(
        ends("dyscale-basic"),
        (vec!["20.00".into(), "100.00".into(), "41.11".into()], 0)
    );
    // The long one goes down at 30.02 s, up again at 35.04 s: 64.94 s of work are left of it then, and 2.26 are done.
    let (ends, moves) = ends("dyscale");
    assert_eq!((ends[2].as_str(), moves), ("35.02", 2));
    assert!(ends[1].starts_with("102.7"), "{ends:?}");
}

/// One node of a fast and a slow slot: batch has both for long, an interactive job comes.
#[test]
fn a_batch_task_that_is_stopped_does_nothing_and_loses_nothing() {
    let text = r#"{
        "start_ms": 0,
        "nodes": [{ "map_slots": 1, "slow_map_slots": 1, "speed": "fast" }],
        "jobs": [
            { "name": "long", "queue": "batch", "maps": { "count": 2, "seconds": 90 } },
            { "name": "asked", "queue": "interactive", "submit_s": 30, "maps": { "count": 1, "seconds": 5 } }
        ]
    }"#;
    let ends = |policy: &str| ends(text, policy);
    // The fast slot is free at 90 s; then what is left in the slow one comes up.
    let (alone, moves) = ends("dyscale");
    assert_eq!((alone[1].as_str(), moves), ("95.00", 1));
    // Stopped at 30.02, on again at 35.04: it ends at 95.02, and what is in the slow slot then comes up.
    let (parked, moves) = ends("dyscale:park=1");
    assert_eq!((parked[1].as_str(), moves), ("35.02", 3));
    let seconds = |text: &str| text.parse::<f64>().unwrap();
    let later = seconds(&parked[0]) - seconds(&alone[0]);
    assert!((-3.0..3.0).contains(&later), "{alone:?} {parked:?}");
}

/// One node of a fast and a slow slot; the core that a task is on its way to is lost.
#[test]
fn a_task_that_moves_to_a_core_that_is_lost_runs_again() {
    let text = r#"{
        "start_ms": 0,
        "nodes": [{ "map_slots": 1, "slow_map_slots": 1, "speed": "fast" }],
        "jobs": [
            { "name": "short", "queue": "batch", "maps": { "count": 1, "seconds": 9 } },
            { "name": "long", "queue": "batch", "maps": { "count": 1, "seconds": 100 } },
            { "name": "asked", "queue": "interactive", "submit_s": 30, "maps": { "count": 1, "seconds": 5 } }
        ],
        "losses": [{ "at_s": 30.01, "node": 0, "core": { "speed": "slow", "number": 7 } }]
    }"#;
    // The long one is ordered down at 30 s, and lost with the slot that it would have had.
    let (ends, moves) = ends(text, "dyscale");
    assert_eq!(
        (ends, moves),
        (vec!["20.00".into(), "135.01".into(), "35.01".into()], 1)
    );
}

/// One node of a fast and two slow slots, which batch keeps busy. Six maps of 10 s are wanted by 45 s, or by 100 s.
#[test]
fn an_interactive_job_that_would_be_late_has_slow_slots_before_batch() {
    let by = |deadline: u32| {
        format!(
            r#"{{
            "start_ms": 0,
            "nodes": [{{ "map_slots": 1, "slow_map_slots": 2, "speed": "fast" }}],
            "jobs": [
                {{ "name": "batch", "queue": "batch", "maps": {{ "count": 20, "seconds": 4 }} }},
                {{ "name": "asked", "queue": "interactive", "deadline_s": {deadline}, "submit_s": 0.5, "maps": {{ "count": 6, "seconds": 10 }} }}
            ]
        }}"#
        )
    };
    let asked = |policy: &str, deadline| ends(&by(deadline), policy).0.pop().unwrap();
    // The fast slot is batch's until 4 s; six times 10 s follow.
    for policy in ["dyscale-basic", "dyscale"] {
        assert_eq!(asked(policy, 45), "64.00", "{policy}");
        let by_deadline = format!("{policy}:order=deadline");
        // One is done at 14 s: five are left, 50 s. The slow slots take two of them at 17.78, until 40.
        assert_eq!(asked(&by_deadline, 45), "44.00", "{policy}");
        assert_eq!(asked(&by_deadline, 100), "64.00", "{policy}");
        // Too late on any slot.
        assert_eq!(asked(&by_deadline, 12), "64.00", "{policy}");
    }
}
