//! SPMario's figures: what the model gives, and what the paper claims of it.

use sim::figure::{FigureTable, FigureWorld};
use sim::spmario::{PaperFigure, SpmarioWorld};

fn figure(name: &str) -> PaperFigure {
    let mut made = SpmarioWorld::FIGURES
        .make(name, &SpmarioWorld::default())
        .unwrap();
    made.pop().unwrap()
}

fn row<'a>(table: &'a FigureTable, name: &str) -> &'a [f64] {
    let found = table.rows.iter().find(|row| row.name == name);
    &found.unwrap().values
}

/// Each within so much of what is wanted.
fn assert_near(name: &str, values: &[f64], wanted: &[f64], within: f64) {
    assert_eq!(values.len(), wanted.len(), "{name}");
    for (value, wanted) in values.iter().zip(wanted) {
        assert!(
            (value - wanted).abs() <= within,
            "{name}: {values:?} against {wanted}"
        );
    }
}

/// Names of the claims that do not hold.
fn refuted(figure: &PaperFigure) -> Vec<&str> {
    let refuted = figure.claims.iter().filter(|claim| !claim.holds);
    refuted.map(|claim| claim.text.as_str()).collect()
}

#[test]
fn the_gains_over_a_round_robin_that_waits_are_those_of_table_ii_but_for_the_second_pair() {
    let figure = figure("table2");
    let [improved, ends, readings] = figure.tables.as_slice() else {
        panic!("{figure:?}")
    };
    assert_near(
        "paper's setting",
        row(improved, "less time"),
        &[8.7, 0.0, 5.1, 11.4],
        0.3,
    );
    let wanted: [(&str, [f64; 4]); 6] = [
        (
            "rr:turn=16,wait=true; serial, 1 task a job, buffer=copy",
            [8.1, 0.0, 4.7, 11.0],
        ),
        (
            "rr:turn=16,wait=true; serial, 3 tasks a job, buffer=kernel",
            [2.4, 0.0, 1.4, 0.1],
        ),
        (
            "rr:turn=16,wait=true; serial, 3 tasks a job, buffer=copy",
            [1.7, 0.0, 1.0, 0.0],
        ),
        (
            "rr:turn=16,wait=true; overlap, 1 task a job, buffer=kernel",
            [9.7, 0.0, 5.8, 6.1],
        ),
        (
            "rr:turn=16,wait=true; overlap, 1 task a job, buffer=copy",
            [0.0; 4],
        ),
        (
            "rr:turn=1,wait=true; serial, 1 task a job, buffer=kernel",
            [0.0; 4],
        ),
    ];
    for (name, wanted) in wanted {
        assert_near(name, row(readings, name), &wanted, 0.3);
    }
    let passing = row(
        readings,
        "rr:turn=16,wait=false; serial, 1 task a job, buffer=copy",
    );
    assert!(passing.iter().all(|gain| *gain <= 0.6), "{passing:?}");
    // A row is never above the rows that it must not be slower than.
    let of = |name| row(ends, name);
    for other in ["rr:1", "spmario-literal"] {
        for (ours, other) in of("spmario").iter().zip(of(other)) {
            assert!(*ours <= other * 1.01, "{ends:?}");
        }
    }
    for (ours, bound) in of("spmario").iter().zip(of("bound")) {
        assert!(ours >= bound, "{ends:?}");
    }
    let refuted = refuted(&figure);
    assert_eq!(refuted.len(), 3, "{refuted:?}");
    assert!(
        refuted
            .iter()
            .all(|claim| claim.starts_with("[MM16K, LR2K]")),
        "{refuted:?}"
    );
    assert_eq!(figure.drawings.len(), 3);
    assert!(figure.drawings[2].svg.contains("kernel slot 2"));
}

#[test]
fn more_jobs_on_one_gpu_end_at_the_bound() {
    let figure = figure("many");
    let [ends, gains] = figure.tables.as_slice() else {
        panic!("{figure:?}")
    };
    assert_near("gain", &row(gains, "gain")[..3], &[9.3, 7.9, 15.5], 0.3);
    let of = |name| row(ends, name).iter().take(3);
    for other in ["rr:1", "spmario-literal", "bound"] {
        for (ours, other) in of("spmario").zip(of(other)) {
            assert!(*ours <= other * 1.01, "{other}: {ends:?}");
        }
    }
}

#[test]
fn single_jobs_are_as_fast_as_their_bound_and_no_faster() {
    let figure = figure("fig2");
    let share = &figure.tables[0];
    // (io + transfer + kernel) / the largest of them.
    let fastest = [1.725, 1.725, 2.295 / 1.02, 2.295 / 1.02, 1.325, 1.325];
    for tasks in ["1 task", "2 tasks", "3 tasks"] {
        let values = row(share, &format!("spmario, {tasks}, overlap"));
        let times: Vec<f64> = values.iter().map(|share| 100.0 / share).collect();
        for (times, fastest) in times.iter().zip(fastest) {
            assert!(
                *times <= fastest + 1e-9 && *times >= fastest * 0.97,
                "{values:?}"
            );
        }
    }
    let two = row(share, "gpmr, 2p, serial");
    assert_near(
        "baseline, 2 processes",
        two,
        &[58.0, 58.0, 57.0, 57.0, 76.0, 76.0],
        1.0,
    );
    assert!(!figure.claims.is_empty() && figure.markdown().contains("| claim | paper |"));
    let held = |part: &str| {
        figure
            .claims
            .iter()
            .find(|claim| claim.text.contains(part))
            .unwrap()
            .holds
    };
    assert!(held("takes less time, up to") && held("GPU's utilization rises"));
    assert!(!held("from 1 to 2 to 3 tasks") && !held("less than 20 %"));
}

#[test]
fn a_chunk_is_read_at_the_disks_speed_however_many_tasks_there_are() {
    let figure = figure("fig4");
    let times = &figure.tables[0];
    for tasks in ["1 task", "3 tasks"] {
        let read = row(times, &format!("spmario, {tasks}, overlap"));
        assert_near(tasks, read, &[30.5, 61.0, 61.0, 61.0, 61.0, 61.0], 0.1);
    }
    let rise =
        |job: usize| row(times, "gpmr, 4p, serial")[job] / row(times, "gpmr, 1p, serial")[job];
    assert!(rise(0) > 3.0 && rise(4) > 3.3, "{times:?}");
}

#[test]
fn a_disk_is_idle_for_none_of_the_time_where_it_is_the_bound() {
    let figure = figure("fig3");
    let used = row(&figure.tables[2], "spmario, 1 task, overlap");
    assert!(used.iter().all(|used| *used > 96.0), "{used:?}");
    assert_eq!(figure.drawings.len(), 1);
}

#[test]
fn large_chunks_saturate_the_disk() {
    let figure = figure("chunk");
    assert_eq!(refuted(&figure), Vec::<&str>::new());
    let rates = row(&figure.tables[0], "LR");
    assert!(rates[0] < 90.0 && rates.is_sorted(), "{rates:?}");
}

#[test]
fn what_cannot_be_set_is_refused_with_what_can() {
    let mut world = SpmarioWorld::default();
    world.set("contention=15").unwrap();
    let said = |refused: Result<(), _>| format!("{:#}", refused.unwrap_err());
    assert_eq!(said(world.set("disk=0")), "disk=0: 1 to 1000000 is wanted");
    assert!(said(world.set("x=1")).starts_with("\"x\" cannot be set; there are disk, pcie, "));
}
