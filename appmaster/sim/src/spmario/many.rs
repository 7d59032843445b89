//! Beyond the paper, whose GPU had memory for two jobs: more jobs together, and two GPUs that are fed by one disk.

use anyhow::Result;

use super::device::{DeviceSetting, play};
use super::jobs::{GpuJob, KMC2K, LR2K, LR4K, MM16K};
use super::table2::words;
use super::world::{PAPERS, SpmarioWorld};
use crate::at_once;
use crate::chart;
use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};
use crate::run::in_seconds;

/// Jobs and the GPU of each.
const MIXES: [(&str, &[(GpuJob, usize)]); 4] = [
    ("KMC2K, LR4K, MM16K", &[(KMC2K, 0), (LR4K, 0), (MM16K, 0)]),
    (
        "KMC2K, LR4K, MM16K, LR2K",
        &[(KMC2K, 0), (LR4K, 0), (MM16K, 0), (LR2K, 0)],
    ),
    ("2 KMC2K, LR4K", &[(KMC2K, 0), (KMC2K, 0), (LR4K, 0)]),
    (
        "2 GPUs: KMC2K, LR4K and KMC2K, MM16K",
        &[(KMC2K, 0), (LR4K, 0), (KMC2K, 1), (MM16K, 1)],
    ),
];
const ORDERS: [(&str, &str); 5] = [
    ("rr:16 waiting", "rr:turn=16,wait=true"),
    ("rr:1", "rr:turn=1,wait=true"),
    ("spmario-literal", "spmario-literal"),
    ("spmario, backlog=unit", "spmario:backlog=unit"),
    ("spmario", "spmario"),
];

pub(super) fn figure(world: &SpmarioWorld) -> Result<PaperFigure> {
    let mut rows = Vec::new();
    for (name, order) in ORDERS {
        let setting = DeviceSetting { order, ..PAPERS };
        let ends = at_once::each(&MIXES, |(_, jobs)| {
            play(world, setting, jobs).map(|result| in_seconds(result.end))
        })?;
        rows.push(FigureRow::new(name, ends));
    }
    let bounds = MIXES.map(|(_, jobs)| world.bound(PAPERS.gpu, jobs));
    let of = |name: &str| -> Vec<f64> {
        let row = rows.iter().find(|row| row.name == name);
        row.map(|row| row.values.clone()).unwrap_or_default()
    };
    let (rr16, ours) = (of("rr:16 waiting"), of("spmario"));
    let gains: Vec<f64> = rr16
        .iter()
        .zip(&ours)
        .map(|(base, ours)| (1.0 - ours / base) * 100.0)
        .collect();
    let mut claims = vec![Claim::new(
        "spmario takes less time than a round robin of 16 chunks, of each mix",
        "(ours)",
        format!("{} %", listed(&gains, 1)),
        gains.iter().all(|gain| *gain > 0.0),
    )];
    for (name, other) in [
        ("rr:1", of("rr:1")),
        ("spmario-literal", of("spmario-literal")),
        ("the bound", bounds.to_vec()),
    ] {
        let times: Vec<f64> = ours
            .iter()
            .zip(&other)
            .map(|(ours, other)| ours / other)
            .collect();
        claims.push(Claim::new(
            &format!("spmario takes at most 1.01 times as long as {name}, of each mix"),
            "(ours)",
            listed(&times, 3),
            times.iter().all(|times| *times <= 1.01),
        ));
    }
    rows.push(FigureRow::new("bound", bounds.to_vec()));
    let columns: Vec<String> = MIXES.map(|(name, _)| name.to_owned()).to_vec();
    let table = FigureTable {
        title: format!("from begin to end of all jobs, {}", words(PAPERS)),
        unit: "s",
        columns: columns.clone(),
        rows,
    };
    Ok(PaperFigure {
        name: "many",
        title: "more than two jobs, more than one GPU",
        caption: vec![
            world.caption(),
            "Tasks of one GPU are one container, so two GPUs take turns of 16 chunks at the disk, and within its turn each \
             waits for a buffer of its own."
                .to_owned(),
        ],
        drawings: vec![Drawing {
            name: "spmario-many".to_owned(),
            svg: chart::svg(&table),
        }],
        tables: vec![
            table,
            FigureTable {
                title: "spmario: less time than rr:16 waiting".to_owned(),
                unit: "%",
                columns,
                rows: vec![FigureRow::new("gain", gains)],
            },
        ],
        claims,
    })
}

fn listed(values: &[f64], digits: usize) -> String {
    let shown: Vec<String> = values
        .iter()
        .map(|value| format!("{value:.digits$}"))
        .collect();
    shown.join(", ")
}
