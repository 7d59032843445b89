//! Figure 2: how much of the time the GPU computes.

use anyhow::Result;

use super::measures::active;
use super::singles::{CAPTION, SingleRuns, best, is_near, listed, most, rises};
use super::world::SpmarioWorld;
use crate::chart;
use crate::figure::{Claim, Drawing, PaperFigure};
use crate::run::in_seconds;

pub(super) fn figure(world: &SpmarioWorld) -> Result<PaperFigure> {
    let runs = SingleRuns::play(world)?;
    let time = runs.measure(|result| in_seconds(result.end));
    let busy = runs.measure(|result| active(&result.kernels));
    let reading = runs.measure(|result| active(&result.reads));
    let share = time.of_baseline(&time);
    let used = busy.over(&time).times(100.0);
    let disk_idle = time.less(&reading).over(&time).times(100.0);
    let [one, _, four] = time.baseline();
    let [.., three] = time.spmario();
    let faster = most(&one, &best(&time.spmario(), f64::min));
    let [used_one, used_two, used_four] = used.baseline();
    let more = most(&best(&used.spmario(), f64::max), &used_one);
    let inverse = |[a, b, c]: [[f64; 6]; 3]| [a, b, c].map(|row| row.map(|time| 1.0 / time));
    let ahead = [0, 1, 2, 3, 4, 5].map(|job| at(&four, job) / at(&three, job));
    let [base_one, base_two, base_four] = share.baseline();
    let [of_one, _, of_three] = share.spmario();
    let idle = disk_idle.baseline();
    let wasted = [used_one, used_two, used_four]
        .iter()
        .zip(&idle)
        .any(|(used, idle)| {
            let mut both = used.iter().zip(idle);
            both.any(|(used, idle)| *used < 20.0 && (40.0..=60.0).contains(idle))
        });
    let [idle_one, ..] = idle;
    let claims = vec![
        Claim::new(
            "a single job takes less time, up to (here: within a tenth)",
            "2.28 times",
            format!("{faster:.2} times"),
            is_near(faster, 2.28),
        ),
        Claim::new(
            "the GPU's utilization rises up to (here: within a tenth)",
            "2.12 times",
            format!("{more:.2} times"),
            is_near(more, 2.12),
        ),
        Claim::new(
            "the baseline's time falls from 1 to 2 to 4 processes, of each job",
            "yes",
            format!(
                "from {} to {} to {} %",
                listed(&base_one, 0),
                listed(&base_two, 0),
                listed(&base_four, 0)
            ),
            rises(&inverse(time.baseline())),
        ),
        Claim::new(
            "SPMario's falls from 1 to 2 to 3 tasks",
            "yes",
            format!(
                "from {} to {} %: one task is at its bound",
                listed(&of_one, 1),
                listed(&of_three, 1)
            ),
            rises(&inverse(time.spmario())),
        ),
        Claim::new(
            "SPMario with 3 tasks takes less time than the baseline with 4 processes, of each job",
            "yes",
            format!("{} times faster", listed(&ahead, 2)),
            ahead.iter().all(|times| *times > 1.005),
        ),
        Claim::new(
            "some job leaves the baseline's GPU used for less than 20 % and its disk idle for about 50 % (here: 40 to 60; I)",
            "yes",
            format!(
                "GPU {} %, disk idle {} % with one process",
                listed(&used_one, 0),
                listed(&idle_one, 0)
            ),
            wasted,
        ),
    ];
    let tables = vec![
        share.table("time of the baseline's single process", "%"),
        busy.of_baseline(&time)
            .table("of it with the GPU active", "%"),
        time.less(&busy)
            .of_baseline(&time)
            .table("of it with the GPU idle", "%"),
        used.table("GPU utilization: kernels' time of each run's own", "%"),
    ];
    let drawings = tables.first().map(|table| Drawing {
        name: "spmario-fig2".to_owned(),
        svg: chart::svg(table),
    });
    Ok(PaperFigure {
        name: "fig2",
        title: "GPU utilization of single jobs",
        caption: vec![
            world.caption(),
            CAPTION.to_owned(),
            "Everything is in percent of the baseline's time with one process. The paper compares 4 processes with 3 tasks, as \
             SPMario's scheduler has a core. Claims are of the first six rows: the baseline's processes share a GPU without MPS, \
             SPMario's tasks are streams of one process. More than (io + transfer + kernel) / the largest of them no \
             order can gain."
                .to_owned(),
        ],
        tables,
        claims,
        drawings: drawings.into_iter().collect(),
    })
}

fn at(values: &[f64; 6], job: usize) -> f64 {
    values.get(job).copied().unwrap_or(f64::NAN)
}
