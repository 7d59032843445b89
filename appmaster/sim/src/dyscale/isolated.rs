//! Figure 11: each job by itself; Figure 3: three ways at one load.

use anyhow::Result;

use super::clusters::{FAST, HETEROGENEOUS, SLOW};
use super::world::{DyScaleWorld, Means, Point};
use crate::figure::{Claim, FigureRow, FigureTable, PaperFigure};
use crate::interval::MeanWithin;

/// Between jobs of Figure 3, in seconds; at as many nodes. The paper does not say.
const GAP: u32 = 100;
const NODES: u32 = 120;

type OfClass = fn(&Means) -> f64;

/// Both classes, as tables are headed.
pub(super) const CLASSES: [(&str, OfClass); 2] = [
    ("interactive jobs", |means| means.interactive),
    ("batch jobs", |means| means.batch),
];

pub(super) fn of(seeds: &[Means], class: OfClass) -> MeanWithin {
    MeanWithin::of(&seeds.iter().map(class).collect::<Vec<_>>())
}

pub(super) fn figure_11(world: &DyScaleWorld) -> Result<PaperFigure> {
    let rows = [
        ("fast", FAST, "fifo"),
        ("slow", SLOW, "fifo"),
        ("heterogeneous", HETEROGENEOUS, "dyscale-basic"),
    ];
    let sizes = world.nodes();
    let points: Vec<Point> = rows
        .iter()
        .flat_map(|(_, cores, policy)| {
            sizes.iter().map(|nodes| Point {
                cores: *cores,
                nodes: *nodes,
                policy,
                gap: None,
                lost: None,
            })
        })
        .collect();
    let played = world.play(&points)?;
    let means = |row: usize, class: OfClass| -> Vec<MeanWithin> {
        let of_row = played.chunks(sizes.len()).nth(row).unwrap_or_default();
        of_row.iter().map(|seeds| of(seeds, class)).collect()
    };
    let series = |row: usize, class: OfClass| -> Vec<f64> {
        let means = means(row, class).into_iter();
        means.map(|of| of.mean).collect()
    };
    let tables = CLASSES.map(|(title, class)| FigureTable {
        title: format!("mean completion time of {title}, each by itself"),
        unit: "s",
        columns: sizes.iter().map(|nodes| format!("{nodes} nodes")).collect(),
        rows: rows
            .iter()
            .enumerate()
            .map(|(row, (name, ..))| FigureRow::of_means(*name, &means(row, class)))
            .collect(),
    });
    let [(_, interactive), (_, batch)] = CLASSES;
    let ratios = |one: usize, other: usize, class: OfClass| -> Vec<f64> {
        let (one, other) = (series(one, class), series(other, class));
        one.iter()
            .zip(&other)
            .map(|(one, other)| one / other)
            .collect()
    };
    let (fast, slow, mixed) = (0, 1, 2);
    let shown = |ratios: &[f64]| {
        let shown: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
        shown.join(", ")
    };
    let over_fast = ratios(mixed, fast, interactive);
    let slow_over_fast = ratios(slow, fast, interactive);
    let batch_fast = ratios(fast, slow, batch);
    let batch_mixed = ratios(mixed, slow, batch);
    Ok(PaperFigure {
        name: "fig11",
        title: "each job by itself on nodes of 84 W",
        caption: vec![world.caption()],
        tables: tables.to_vec(),
        claims: vec![
            Claim::new(
                "interactive: heterogeneous is very close to fast",
                "neck to neck",
                format!("{} times fast", shown(&over_fast)),
                over_fast.iter().all(|ratio| *ratio <= 1.1),
            ),
            Claim::new(
                "interactive: slow takes almost twice as long as fast",
                "nearly 2",
                format!("{} times fast", shown(&slow_over_fast)),
                slow_over_fast.iter().all(|ratio| *ratio >= 1.7),
            ),
            Claim::new(
                "batch: fast takes almost twice as long as slow where the cluster is small",
                "nearly 2 at 75 nodes",
                format!("{} times slow", shown(&batch_fast)),
                batch_fast.first().is_some_and(|ratio| *ratio >= 1.7),
            ),
            Claim::new(
                "batch: heterogeneous is almost neck to neck with slow",
                "neck to neck",
                format!("{} times slow", shown(&batch_mixed)),
                batch_mixed.iter().all(|ratio| *ratio <= 1.1),
            ),
        ],
        drawings: Vec::new(),
    })
}

pub(super) fn figure_3(world: &DyScaleWorld) -> Result<PaperFigure> {
    let rows = [
        ("heterogeneous, fifo", HETEROGENEOUS, "fifo"),
        ("fast, fifo", FAST, "fifo"),
        ("slow, fifo", SLOW, "fifo"),
        (
            "heterogeneous, dyscale-basic",
            HETEROGENEOUS,
            "dyscale-basic",
        ),
    ];
    let points = rows.map(|(_, cores, policy)| Point {
        cores,
        nodes: NODES,
        policy,
        gap: Some(GAP),
        lost: None,
    });
    let played = world.play(&points)?;
    let point = |row: usize, class: OfClass| {
        let seeds = played.get(row).map_or(&[][..], Vec::as_slice);
        of(seeds, class)
    };
    let [(_, interactive), (_, batch)] = CLASSES;
    let table = FigureTable {
        title: "mean completion time".to_owned(),
        unit: "s",
        columns: vec!["interactive".to_owned(), "batch".to_owned()],
        rows: rows
            .iter()
            .enumerate()
            .map(|(row, (name, ..))| {
                FigureRow::of_means(*name, &[point(row, interactive), point(row, batch)])
            })
            .collect(),
    };
    let best = point(3, interactive).mean;
    let others = (0..3).map(|row| point(row, interactive).mean);
    Ok(PaperFigure {
        name: "fig3",
        title: "why first come, first served does not do",
        caption: vec![
            format!(
                "{NODES} nodes, a job each {GAP} s; the paper states neither. fifo gives out fast slots first."
            ),
            world.caption(),
        ],
        tables: vec![table],
        claims: vec![Claim::new(
            "interactive jobs are done soonest with DyScale",
            "by far",
            format!("{best:.0} s; the others {}", {
                let shown: Vec<String> = others.clone().map(|time| format!("{time:.0}")).collect();
                shown.join(", ")
            }),
            others.into_iter().all(|time| best < time),
        )],
        drawings: Vec::new(),
    })
}
