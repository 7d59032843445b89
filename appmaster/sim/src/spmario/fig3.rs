//! Figure 3: how much of the time the disk reads.

use anyhow::Result;

use super::jobs::JOBS;
use super::measures::{active, extent};
use super::singles::{CAPTION, SingleRuns, best, is_near, listed, most};
use super::world::SpmarioWorld;
use crate::chart;
use crate::figure::{Claim, Drawing, PaperFigure};
use crate::run::in_seconds;

pub(super) fn figure(world: &SpmarioWorld) -> Result<PaperFigure> {
    let runs = SingleRuns::play(world)?;
    let time = runs.measure(|result| in_seconds(result.end));
    let span = runs.measure(|result| extent(&result.reads));
    let busy = runs.measure(|result| active(&result.reads));
    let of_time = busy.over(&time).times(100.0);
    let of_span = busy.over(&span).times(100.0);
    let gain = |values: &super::singles::SingleValues| {
        let [one, ..] = values.baseline();
        most(&best(&values.spmario(), f64::max), &one)
    };
    let (more, more_of_span) = (gain(&of_time), gain(&of_span));
    let ([.., four], [.., three]) = (of_time.baseline(), of_time.spmario());
    let mut ahead = three;
    for (ahead, four) in ahead.iter_mut().zip(four) {
        *ahead /= four;
    }
    let mut others = JOBS.iter().zip(ahead).filter(|(job, _)| job.name != "LR2K");
    let claims = vec![
        Claim::new(
            "the disk's utilization rises up to, of the total time (here: within a tenth)",
            "2.51 times",
            format!("{more:.2} times"),
            is_near(more, 2.51),
        ),
        Claim::new(
            "the same of the I/O span (here: within a tenth)",
            "2.51 times",
            format!("{more_of_span:.2} times"),
            is_near(more_of_span, 2.51),
        ),
        Claim::new(
            "SPMario with 3 tasks is ahead of the baseline with 4 processes, of each job but LR2K",
            "yes",
            format!("{} times", listed(&ahead, 2)),
            others.all(|(_, times)| times > 1.005),
        ),
    ];
    let tables = vec![
        busy.of_baseline(&span).table(
            "disk active, of the baseline's I/O span with one process",
            "%",
        ),
        span.less(&busy)
            .of_baseline(&span)
            .table("disk idle, of the same", "%"),
        of_span.table("I/O utilization: of each run's own I/O span", "%"),
        of_time.table("I/O utilization: of each run's own total time", "%"),
    ];
    let drawings = tables.get(3).map(|table| Drawing {
        name: "spmario-fig3".to_owned(),
        svg: chart::svg(table),
    });
    Ok(PaperFigure {
        name: "fig3",
        title: "I/O utilization of single jobs",
        caption: vec![
            world.caption(),
            CAPTION.to_owned(),
            "The paper normalizes to the I/O span of the baseline's single process and does not say what that is: here from the \
             first read's begin to the last one's end. Both are printed. A disk that reads the same bytes in less time cannot gain \
             more than the time does: the paper's 2.51 is above its own 2.28, so there its active time grew."
                .to_owned(),
        ],
        tables,
        claims,
        drawings: drawings.into_iter().collect(),
    })
}
