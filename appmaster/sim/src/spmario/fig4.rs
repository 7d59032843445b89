//! Figure 4: how long a chunk is read.

use anyhow::Result;

use super::measures::mean;
use super::singles::{CAPTION, SingleRuns, listed};
use super::world::SpmarioWorld;
use crate::chart;
use crate::figure::{Claim, Drawing, PaperFigure};

/// So much longer is rapidly.
const RAPIDLY: f64 = 1.5;

pub(super) fn figure(world: &SpmarioWorld) -> Result<PaperFigure> {
    let runs = SingleRuns::play(world)?;
    let times = runs.measure(|result| mean(&result.reads) * 1000.0);
    let rise = |[one, _, last]: [[f64; 6]; 3]| {
        let mut rise = last;
        for (rise, one) in rise.iter_mut().zip(one) {
            *rise /= one;
        }
        rise
    };
    let (baseline, ours) = (rise(times.baseline()), rise(times.spmario()));
    let table = times.table("mean time in which a chunk is read", "ms");
    Ok(PaperFigure {
        name: "fig4",
        title: "I/O time of a chunk",
        caption: vec![world.caption(), CAPTION.to_owned()],
        claims: vec![
            Claim::new(
                "SPMario's stays as it is from 1 to 3 tasks (here: at most 1.05 times)",
                "almost unchanged",
                format!("{} times", listed(&ours, 2)),
                ours.iter().all(|times| *times <= 1.05),
            ),
            Claim::new(
                "the baseline's rises from 1 to 4 processes, of each job (here: at least 1.5 times)",
                "drastically",
                format!("{} times", listed(&baseline, 2)),
                baseline.iter().all(|times| *times >= RAPIDLY),
            ),
        ],
        drawings: vec![Drawing {
            name: "spmario-fig4".to_owned(),
            svg: chart::svg(&table),
        }],
        tables: vec![table],
    })
}
