//! Figure 7: each job and the queue on each cluster.

use anyhow::Result;

use super::clusters::{E1, E2, E3, HpeCluster};
use super::jobs::Version;
use super::world::{HpeWorld, Policy, gain};
use crate::chart;
use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};

const QUEUE: &str = "MDW";

/// A small gain, in percent, is less than this.
const SMALL: f64 = 10.0;

/// Ends of M, D, W and the queue.
type Ends = [f64; 4];

fn ends(world: &HpeWorld, cluster: HpeCluster, policy: Policy, version: Version) -> Result<Ends> {
    let outcome = world.play(cluster, policy, version, QUEUE)?;
    let mut jobs = outcome.jobs.iter().map(|job| job.end_s);
    let mut next = || jobs.next().unwrap_or(f64::NAN);
    let (m, d, w) = (next(), next(), next());
    Ok([m, d, w, m.max(d).max(w)])
}

pub(super) fn figure(world: &HpeWorld) -> Result<PaperFigure> {
    let cpu_e1 = ends(world, E1, Policy::Barrier, Version::Cpu)?;
    let cpu_e2 = ends(world, E2, Policy::Barrier, Version::Cpu)?;
    let cpu_e3 = ends(world, E3, Policy::Hpe, Version::Cpu)?;
    let e2 = ends(world, E2, Policy::Barrier, Version::Gpu)?;
    let e3 = ends(world, E3, Policy::Hpe, Version::Gpu)?;
    let rows = [
        ("E1, CPU version, fifo-barrier", cpu_e1),
        ("E2, CPU version, fifo-barrier", cpu_e2),
        ("E3, CPU version, hpe", cpu_e3),
        ("E2, fifo-barrier", e2),
        ("E3, hpe", e3),
    ];
    let table = FigureTable {
        title: "from submission to end".to_owned(),
        unit: "s",
        columns: ["M", "D", "W", "queue"].map(String::from).to_vec(),
        rows: rows
            .map(|(name, ends)| FigureRow::new(name, ends.to_vec()))
            .to_vec(),
    };
    Ok(PaperFigure {
        name: "fig7",
        title: "each job, and the queue, on each cluster",
        caption: vec![
            world.caption(),
            "The queue is M, D, W, all submitted at 0. E1 has 8 nodes without a GPU, E2 8 with one, E3 6 with one and 2 \
             without. fifo-barrier is the default as the paper draws it (Figure 4b)."
                .to_owned(),
        ],
        claims: claims([cpu_e1, cpu_e2, cpu_e3], e2, e3),
        drawings: vec![Drawing {
            name: "fig7".to_owned(),
            svg: chart::svg(&table),
        }],
        tables: vec![table],
    })
}

fn claims(cpu: [Ends; 3], [_, d2, w2, e2]: Ends, [_, d3, w3, e3]: Ends) -> Vec<Claim> {
    let [e1, ..] = cpu.map(|[.., queue]| queue);
    let least = cpu
        .map(|[.., queue]| queue)
        .into_iter()
        .fold(f64::INFINITY, f64::min);
    let w1 = cpu[0][2];
    let differ = |one: f64, other: f64| (one - other).abs() > 1e-6;
    let better = gain(e2, e3);
    vec![
        Claim::new(
            "E3 with HPE ends the queue before E2",
            "first of three",
            format!("{e3:.0} against {e2:.0} s"),
            e3 < e2,
        ),
        Claim::new(
            "and before E1 with the CPU version",
            "first of three",
            format!("{e3:.0} against {e1:.0} s"),
            e3 < e1,
        ),
        Claim::new(
            "and before the CPU version on any cluster",
            "a baseline",
            format!("{e3:.0} against {least:.0} s"),
            e3 < least,
        ),
        Claim::new(
            "the gain is small at 3 jobs",
            "small",
            format!("{better:.1} %"),
            better > 0.0 && better < SMALL,
        ),
        Claim::new(
            "D ends slightly earlier on E2",
            "marginally",
            format!("{d2:.0} against {d3:.0} s"),
            d2 < d3,
        ),
        Claim::new(
            "W takes another time on each cluster",
            "different",
            format!("E1 {w1:.0}, E2 {w2:.0}, E3 {w3:.0} s"),
            differ(w1, w2) && differ(w2, w3) && differ(w1, w3),
        ),
    ]
}
