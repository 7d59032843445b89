//! Figure 10: a cluster with boards beside one without, from one block on; and mixed jobs under two policies.

use anyhow::Result;

use super::fig7::grows;
use super::world::{HeteroWorld, Program, job, play};
use crate::chart;
use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};
use crate::run::in_seconds;
use crate::workload::AlikeTasks;

/// Input, in GB: from one block on.
const SIZES: [f64; 6] = [0.064, 0.256, 1.024, 4.096, 16.384, 65.536];

pub(super) fn figure(world: &HeteroWorld) -> Result<PaperFigure> {
    let program = Program::KMeans;
    let rate = world.without(program)?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for size in SIZES {
        with.push(world.alone(world.accelerated(program, size))?);
        without.push(world.alone(world.maps(size, rate))?);
    }
    let gaps: Vec<f64> = with
        .iter()
        .zip(&without)
        .map(|(with, without)| without - with)
        .collect();
    let ahead = gaps.iter().all(|gap| *gap > 0.0);
    let (first, last) = (gaps.first(), gaps.last());
    let table = FigureTable {
        title: "K-means, from submission to end".to_owned(),
        unit: "s",
        columns: SIZES
            .iter()
            .map(|size| format!("{} MB", size * 1000.0))
            .collect(),
        rows: vec![
            FigureRow::new("without boards", without),
            FigureRow::new("boards, hetero", with),
        ],
    };
    let policies = ["fifo", "hetero"];
    let mut mixed = Vec::new();
    for policy in policies {
        mixed.push((policy, mix(world, policy)?));
    }
    let of = |at: usize| {
        mixed
            .get(at)
            .map_or((f64::NAN, f64::NAN), |(_, times)| *times)
    };
    let ((_, fifo), (_, hetero)) = (of(0), of(1));
    let rows = mixed.iter();
    let rows = rows.map(|(policy, (queue, job))| FigureRow::new(*policy, vec![*queue, *job]));
    Ok(PaperFigure {
        name: "fig10",
        title: "a cluster with boards beside one without",
        caption: vec![
            world.caption(),
            "That an accelerated task waits for the heartbeat of a node with a board (the paper's 5.4) has no place here: in a \
             session a free slot is known at once. Mixed: a plain job of 400 maps of 20 s, then K-means and Naive Bayes of \
             3.2 GB each, all at 0."
                .to_owned(),
        ],
        claims: vec![
            Claim::new(
                "the cluster with boards is ahead, from one block on",
                "less execution time",
                format!("by {:.0} to {:.0} s", first.unwrap_or(&f64::NAN), last.unwrap_or(&f64::NAN)),
                ahead,
            ),
            Claim::new(
                "the gap grows with the data",
                "increasing",
                "where there is more than one wave of tasks".to_owned(),
                grows(&gaps),
            ),
            Claim::new(
                "mixed jobs take less under hetero than under fifo, on the mean",
                "(ours)",
                format!("{hetero:.0} against {fifo:.0} s"),
                hetero < fifo,
            ),
        ],
        drawings: vec![Drawing {
            name: "hetero-fig10".to_owned(),
            svg: chart::svg(&table),
        }],
        tables: vec![
            table,
            FigureTable {
                title: "mixed jobs".to_owned(),
                unit: "s",
                columns: ["all done", "a job, mean"].map(String::from).to_vec(),
                rows: rows.collect(),
            },
        ],
    })
}

/// When all are done, and the mean of their times.
fn mix(world: &HeteroWorld, policy: &str) -> Result<(f64, f64)> {
    let jobs = vec![
        job("plain", "ann", AlikeTasks::of(400, 20.0)),
        job("kmeans", "ann", world.accelerated(Program::KMeans, 3.2)),
        job("bayes", "ann", world.accelerated(Program::Bayes, 3.2)),
    ];
    let result = play(policy, vec![world.boards()], jobs)?;
    let ends: Vec<f64> = result.jobs.iter().map(|job| job.end_s).collect();
    let count = u32::try_from(ends.len()).map_or(f64::NAN, f64::from);
    Ok((in_seconds(result.end), ends.iter().sum::<f64>() / count))
}
