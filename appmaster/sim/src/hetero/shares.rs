//! Beyond the paper: jobs of unlike needs, of two users, on boards of unlike functions and a GPU.

use std::collections::BTreeMap;

use anyhow::Result;

use super::world::{HeteroWorld, job, node, play};
use crate::chart;
use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};
use crate::run::{RunResult, in_seconds};
use crate::workload::{AlikeNodes, AlikeTasks, WorkloadJob};

const POLICIES: [&str; 4] = ["fifo", "fair", "hetero", "hetero:tenants=true"];
/// Slots of a node.
const SLOTS: u32 = 16;
/// Moments of which shares are shown.
const MOMENTS: u32 = 12;

/// Four nodes: boards for K-means, for Bayes, for both, and a GPU.
fn nodes() -> Vec<AlikeNodes> {
    let all: [&[(&str, u64)]; 4] = [
        &[("acc/kmeans-map", 8)],
        &[("acc/bayes-map", 8)],
        &[("acc/kmeans-map", 4), ("acc/bayes-map", 4)],
        &[("acc/gpu", 1)],
    ];
    let slots = usize::try_from(SLOTS).unwrap_or(usize::MAX);
    let nodes = all.map(|has| AlikeNodes {
        has: has
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect(),
        ..node(1, slots)
    });
    nodes.to_vec()
}

/// Name, user, and what its maps take.
fn jobs() -> Vec<WorkloadJob> {
    let takes = |name: &str, maps: AlikeTasks| AlikeTasks {
        takes: BTreeMap::from([(name.to_owned(), 1)]),
        ..maps
    };
    let on_gpu = AlikeTasks {
        device_seconds: 2.0,
        devices: vec!["acc/gpu".to_owned()],
        ..AlikeTasks::of(60, 3.0)
    };
    vec![
        job("plain a", "ann", AlikeTasks::of(480, 20.0)),
        job(
            "kmeans a",
            "ann",
            takes("acc/kmeans-map", AlikeTasks::of(120, 12.0)),
        ),
        job("gpu a", "ann", on_gpu),
        job("plain b", "bob", AlikeTasks::of(160, 20.0)),
        job(
            "bayes b",
            "bob",
            takes("acc/bayes-map", AlikeTasks::of(120, 12.0)),
        ),
        job(
            "kmeans b",
            "bob",
            takes("acc/kmeans-map", AlikeTasks::of(60, 12.0)),
        ),
    ]
}

/// What came out under one policy.
struct Shared {
    policy: &'static str,
    result: RunResult,
    /// End of each job, in times of what it takes alone.
    slower: Vec<f64>,
}

impl Shared {
    fn worst(&self) -> f64 {
        self.slower.iter().copied().fold(0.0, f64::max)
    }

    fn end(&self) -> f64 {
        in_seconds(self.result.end)
    }

    /// Percent of all slots that each job has, at moments until `end`.
    fn table(&self, end: f64) -> FigureTable {
        let moments: Vec<f64> = (0..MOMENTS)
            .map(|moment| (f64::from(moment) + 0.5) / f64::from(MOMENTS) * end)
            .collect();
        let has = |job: &str, at: f64| {
            let bars = self.result.bars.iter().filter(|bar| bar.job == job);
            let there = bars
                .filter(|bar| bar.begin_s <= at && at < bar.end_s)
                .count();
            u32::try_from(there).map_or(f64::NAN, f64::from) / f64::from(SLOTS * 4) * 100.0
        };
        let rows = self.result.jobs.iter().map(|job| {
            let shares = moments.iter().map(|at| has(&job.name, *at));
            FigureRow::new(job.name.clone(), shares.collect())
        });
        FigureTable {
            title: format!("{}: slots of each job over time", self.policy),
            unit: "%",
            columns: moments.iter().map(|at| format!("{at:.0} s")).collect(),
            rows: rows.collect(),
        }
    }
}

pub(super) fn figure(_: &HeteroWorld) -> Result<PaperFigure> {
    let jobs = jobs();
    let mut alone = Vec::new();
    for one in &jobs {
        alone.push(in_seconds(play("fifo", nodes(), vec![one.clone()])?.end));
    }
    let mut all = Vec::new();
    for policy in POLICIES {
        let result = play(policy, nodes(), jobs.clone())?;
        let ends = result.jobs.iter().map(|job| job.end_s);
        let slower = ends.zip(&alone).map(|(end, alone)| end / alone).collect();
        all.push(Shared {
            policy,
            result,
            slower,
        });
    }
    let last = all.iter().map(Shared::end).fold(0.0, f64::max);
    let mut tables = vec![FigureTable {
        title: "end of a job, in times of what it takes alone".to_owned(),
        unit: "times",
        columns: jobs.iter().map(|job| job.name.clone()).collect(),
        rows: all
            .iter()
            .map(|of| FigureRow::new(of.policy, of.slower.clone()))
            .collect(),
    }];
    tables.push(FigureTable {
        title: "all jobs done".to_owned(),
        unit: "s",
        columns: vec!["end".to_owned()],
        rows: all
            .iter()
            .map(|of| FigureRow::new(of.policy, vec![of.end()]))
            .collect(),
    });
    let of_time: Vec<FigureTable> = all.iter().map(|of| of.table(last)).collect();
    let drawings = of_time
        .iter()
        .zip(["fifo", "fair", "hetero", "hetero-tenants"]);
    let drawings = drawings.map(|(table, name)| Drawing {
        name: format!("shares-{name}"),
        svg: chart::svg(table),
    });
    let drawings = drawings.collect();
    tables.extend(of_time);
    let of = |policy: &str, what: fn(&Shared) -> f64| {
        let found = all.iter().find(|of| of.policy == policy);
        found.map_or(f64::NAN, what)
    };
    let (fifo, hetero) = (of("fifo", Shared::worst), of("hetero", Shared::worst));
    let (end_fifo, end_hetero) = (of("fifo", Shared::end), of("hetero", Shared::end));
    Ok(PaperFigure {
        name: "shares",
        title: "jobs of unlike needs on one cluster",
        caption: vec![
            "Four nodes of 16 slots: 8 functions for K-means, 8 for Bayes, 4 of each, one GPU. Ann has a plain job of 480 maps of \
             20 s, K-means of 120 maps of 12 s, and 60 maps of 3 s and 2 s more on the GPU, by turn; Bob a plain job of 160, \
             Bayes of 120, K-means of 60. All are submitted at 0, in this order: ann's first."
                .to_owned(),
        ],
        tables,
        claims: vec![
            Claim::new(
                "the worst slow-down of a job is less under hetero than under fifo",
                "(ours)",
                format!("{hetero:.1} against {fifo:.1} times"),
                hetero < fifo,
            ),
            Claim::new(
                "and all jobs are done at most 5 % later",
                "(ours)",
                format!("{end_hetero:.0} against {end_fifo:.0} s"),
                end_hetero <= end_fifo * 1.05,
            ),
        ],
        drawings,
    })
}
