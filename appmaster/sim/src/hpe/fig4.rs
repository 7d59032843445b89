//! Figure 4: when which task ran, in three ways.

use anyhow::Result;

use super::clusters::{E1, E2, E3, HpeCluster};
use super::jobs::Version;
use super::world::{HpeWorld, Policy};
use crate::figure::{Drawing, FigureRow, FigureTable, PaperFigure};
use crate::{gantt, report};

const QUEUE: &str = "MDW";

/// Letter, cluster, policy, version.
const PARTS: [(char, HpeCluster, Policy, Version); 3] = [
    ('a', E1, Policy::Fifo, Version::Cpu),
    ('b', E2, Policy::Barrier, Version::Gpu),
    ('c', E3, Policy::Hpe, Version::Gpu),
];

pub(super) fn figure(world: &HpeWorld) -> Result<PaperFigure> {
    let mut caption = vec![
        world.caption(),
        "a: first come, first served, on nodes that are alike (E1, CPU version). b: on nodes that all have a GPU \
         (E2, fifo-barrier): maps of a job wait for those of the job before, its reduces for that job's end, and maps \
         overlap the reduces of the job before. So the paper draws Hadoop's default; Hadoop's own FIFO does not wait, \
         and gives a slot to the next job as soon as the first has no task for it. c: HPE where 6 of 8 nodes have one \
         (E3). A row is a slot, a colour a job; reduces are lighter."
            .to_owned(),
    ];
    let (mut rows, mut drawings) = (Vec::new(), Vec::new());
    for (letter, cluster, policy, version) in PARTS {
        let outcome = world.play(cluster, policy, version, QUEUE)?;
        let ends = outcome.jobs.iter().map(|job| job.end_s);
        rows.push(FigureRow::new(
            format!("{letter}: {}", cluster.name),
            ends.collect(),
        ));
        drawings.push(Drawing {
            name: format!("fig4{letter}"),
            svg: gantt::svg(&outcome),
        });
        let last = report::table(&outcome);
        let last = last.lines().last().unwrap_or_default();
        caption.push(format!("{letter}: {last}."));
    }
    Ok(PaperFigure {
        name: "fig4",
        title: "a queue of three jobs, slot by slot",
        caption,
        tables: vec![FigureTable {
            title: "ends of the jobs".to_owned(),
            unit: "s",
            columns: QUEUE.chars().map(String::from).collect(),
            rows,
        }],
        claims: Vec::new(),
        drawings,
    })
}
