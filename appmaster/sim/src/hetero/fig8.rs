//! Figure 8: K-means by how many tasks a node runs at a time.

use anyhow::Result;

use super::world::{HeteroWorld, Program, SIZES};
use crate::chart;
use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};

const TASKS: [u32; 11] = [1, 2, 4, 8, 12, 16, 18, 20, 24, 28, 32];
/// So near to the best it is flat.
const FLAT: f64 = 1.05;

pub(super) fn figure(world: &HeteroWorld) -> Result<PaperFigure> {
    let [.., size] = SIZES;
    let mut times = Vec::new();
    for tasks in TASKS {
        let world = HeteroWorld {
            tasks,
            ..world.clone()
        };
        times.push(world.alone(world.accelerated(Program::KMeans, size))?);
    }
    let best = times.iter().copied().fold(f64::INFINITY, f64::min);
    let knee = times.iter().position(|time| *time <= best * FLAT);
    let steps = times.iter().zip(times.iter().skip(1));
    let falls = steps.take(knee.unwrap_or(0)).all(|(one, next)| next < one);
    let flat = times
        .iter()
        .skip(knee.unwrap_or(0))
        .all(|time| *time <= best * FLAT);
    let knee = knee.and_then(|at| TASKS.get(at)).copied().unwrap_or(0);
    let table = FigureTable {
        title: format!("K-means of {size} GB, by tasks at a time on a node"),
        unit: "s",
        columns: TASKS.iter().map(u32::to_string).collect(),
        rows: vec![FigureRow::new("boards", times)],
    };
    Ok(PaperFigure {
        name: "fig8",
        title: "how many tasks at a time",
        caption: vec![
            world.caption(),
            "Tasks beyond the 16 threads of a node share them: nothing of what they wait for overlaps here, so the knee is \
             where the threads end."
                .to_owned(),
        ],
        claims: vec![Claim::new(
            "the time falls until about 20 tasks a node, then it is flat (here: between 16 and 24)",
            "around 20",
            format!("within 5 % of the best from {knee} on"),
            falls && flat && (16..=24).contains(&knee),
        )],
        drawings: vec![Drawing {
            name: "hetero-fig8".to_owned(),
            svg: chart::svg(&table),
        }],
        tables: vec![table],
    })
}
