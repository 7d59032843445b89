//! Figures 12, 13 and 14: jobs come by chance, ever more often.

use anyhow::Result;

use super::clusters::{Cores, FAST, HETEROGENEOUS, SLOW};
use super::isolated::{CLASSES, of};
use super::world::{DyScaleWorld, Means, Point, mean};
use crate::figure::{Claim, FigureRow, FigureTable, PaperFigure};
use crate::interval::MeanWithin;

/// A line of a figure.
type Row = (&'static str, Cores, &'static str);

const DYSCALE: Row = (
    "heterogeneous, dyscale-basic",
    HETEROGENEOUS,
    "dyscale-basic",
);
/// Table 5's shares.
pub(super) const CAPACITY: &str = "capacity:by-stage=true,queue.interactive=18,queue.batch=82";

/// What was played: by number of nodes, row, gap.
struct Played<'a> {
    rows: &'a [Row],
    nodes: Vec<u32>,
    gaps: Vec<u32>,
    seeds: Vec<Vec<Means>>,
}

impl<'a> Played<'a> {
    fn new(world: &DyScaleWorld, rows: &'a [Row]) -> Result<Self> {
        let (sizes, gaps) = (world.nodes(), world.gaps());
        let cells: Vec<(Cores, &'static str)> = rows
            .iter()
            .map(|(_, cores, policy)| (*cores, *policy))
            .collect();
        let points = Point::of_cells(&sizes, &cells, &gaps);
        let seeds = world.play(&points)?;
        Ok(Self {
            rows,
            nodes: sizes,
            gaps,
            seeds,
        })
    }

    /// One row, at each gap.
    fn means(&self, nodes: usize, row: usize, class: fn(&Means) -> f64) -> Vec<MeanWithin> {
        let at = nodes.saturating_mul(self.rows.len()).saturating_add(row);
        let gaps = self
            .seeds
            .chunks(self.gaps.len())
            .nth(at)
            .unwrap_or_default();
        gaps.iter().map(|seeds| of(seeds, class)).collect()
    }

    fn series(&self, nodes: usize, row: usize, class: fn(&Means) -> f64) -> Vec<f64> {
        let means = self.means(nodes, row, class).into_iter();
        means.map(|of| of.mean).collect()
    }

    fn tables(&self) -> Vec<FigureTable> {
        let sizes = self.nodes.iter().enumerate();
        let each = sizes.flat_map(|size| CLASSES.map(|class| (size, class)));
        let tables = each.map(|((size, nodes), (title, class))| FigureTable {
            title: format!(
                "mean completion time of {title} on {nodes} nodes, by the mean seconds between jobs"
            ),
            unit: "s",
            columns: self.gaps.iter().map(u32::to_string).collect(),
            rows: (self.rows.iter().enumerate())
                .map(|(row, (name, ..))| FigureRow::of_means(*name, &self.means(size, row, class)))
                .collect(),
        });
        tables.collect()
    }

    /// What `row` takes beside `other`, at each gap and size.
    fn ratios(&self, row: usize, other: usize, class: fn(&Means) -> f64) -> Vec<f64> {
        let sizes = 0..self.nodes.len();
        let each = sizes.flat_map(|size| {
            let (row, other) = (
                self.series(size, row, class),
                self.series(size, other, class),
            );
            row.into_iter().zip(other)
        });
        each.map(|(row, other)| row / other).collect()
    }
}

/// The least and the most of some ratios, and of how many they are at most 1.
fn range(ratios: &[f64]) -> String {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let better = ratios.iter().filter(|ratio| **ratio <= 1.0).count();
    format!(
        "{least:.2} to {most:.2} times; at most 1 in {better} of {}",
        ratios.len()
    )
}

fn all_below(ratios: &[f64], most: f64) -> bool {
    ratios.iter().all(|ratio| *ratio <= most)
}

/// DyScale's mean times beside those of two clusters of alike nodes: in the rows of figures 12 and 13.
struct Beside {
    interactive_fast: Vec<f64>,
    interactive_slow: Vec<f64>,
    batch_fast: Vec<f64>,
    batch_slow: Vec<f64>,
}

/// "Slightly worse" is at most so many times as long.
const SLIGHTLY: f64 = 1.15;

/// DyScale on mixed nodes, and `policy` on fast and on slow ones.
fn beside(
    world: &DyScaleWorld,
    [fast, slow]: [&'static str; 2],
    policy: &'static str,
) -> Result<(Vec<FigureTable>, Beside)> {
    let rows = [DYSCALE, (fast, FAST, policy), (slow, SLOW, policy)];
    let played = Played::new(world, &rows)?;
    let [(_, interactive), (_, batch)] = CLASSES;
    let beside = Beside {
        interactive_fast: played.ratios(0, 1, interactive),
        interactive_slow: played.ratios(0, 2, interactive),
        batch_fast: played.ratios(0, 1, batch),
        batch_slow: played.ratios(0, 2, batch),
    };
    Ok((played.tables(), beside))
}

/// A claim that each of these is at most so many times what it is compared with.
fn at_most(text: &str, paper: &str, of: &[(&str, &[f64], f64)]) -> Claim {
    let one = |(name, ratios, _): &(&str, &[f64], f64)| match *name {
        "" => range(ratios),
        name => format!("of {name}: {}", range(ratios)),
    };
    let ours: Vec<String> = of.iter().map(one).collect();
    let holds = of.iter().all(|(_, ratios, most)| all_below(ratios, *most));
    Claim::new(text, paper, ours.join("; "), holds)
}

pub(super) fn figure_12(world: &DyScaleWorld) -> Result<PaperFigure> {
    let (tables, beside) = beside(world, ["fast, fifo", "slow, fifo"], "fifo")?;
    Ok(PaperFigure {
        name: "fig12",
        title: "DyScale beside first come, first served",
        caption: vec![world.caption()],
        tables,
        claims: vec![
            at_most(
                "interactive: DyScale is best everywhere",
                "everywhere",
                &[
                    ("fast", &beside.interactive_fast, 1.0),
                    ("slow", &beside.interactive_slow, 1.0),
                ],
            ),
            at_most(
                "batch: slightly worse than slow",
                "slightly",
                &[("", &beside.batch_slow, SLIGHTLY)],
            ),
            at_most(
                "batch: up to 30 % under fast",
                "up to 30 %, the abstract 40 %",
                &[("", &beside.batch_fast, 1.0)],
            ),
        ],
        drawings: Vec::new(),
    })
}

pub(super) fn figure_13(world: &DyScaleWorld) -> Result<PaperFigure> {
    let (tables, beside) = beside(world, ["fast, capacity", "slow, capacity"], CAPACITY)?;
    Ok(PaperFigure {
        name: "fig13",
        title: "DyScale beside queues with guaranteed shares",
        caption: vec![
            format!("{CAPACITY}, Table 5's shares, of map slots and of reduce slots."),
            world.caption(),
        ],
        tables,
        claims: vec![
            at_most(
                "interactive: slightly worse than fast",
                "slightly",
                &[("", &beside.interactive_fast, SLIGHTLY)],
            ),
            at_most(
                "interactive: up to 40 % under slow",
                "up to 40 %",
                &[("", &beside.interactive_slow, 1.0)],
            ),
            at_most(
                "batch: slightly worse than slow, up to 30 % under fast",
                "slightly; 30 %",
                &[
                    ("slow", &beside.batch_slow, SLIGHTLY),
                    ("fast", &beside.batch_fast, 1.0),
                ],
            ),
        ],
        drawings: Vec::new(),
    })
}

pub(super) fn figure_14(world: &DyScaleWorld) -> Result<PaperFigure> {
    let rows = [("dyscale", HETEROGENEOUS, "dyscale"), DYSCALE];
    let played = Played::new(world, &rows)?;
    let [(_, interactive), (_, batch)] = CLASSES;
    let gains = [played.ratios(0, 1, interactive), played.ratios(0, 1, batch)];
    let [interactive, batch] = &gains;
    Ok(PaperFigure {
        name: "fig14",
        title: "moves of attempts that run",
        caption: vec![world.caption()],
        tables: played.tables(),
        claims: vec![Claim::new(
            "moves always help",
            "always, interactive and batch",
            format!(
                "interactive: {}; batch: {}",
                range(interactive),
                range(batch)
            ),
            gains.iter().all(|ratios| all_below(ratios, 1.0)),
        )],
        drawings: Vec::new(),
    })
}

/// How often, on the average of all gaps and sizes, a row takes as long as another.
fn over_all(ratios: &[f64]) -> f64 {
    mean(ratios.iter().copied())
}

/// What targets of `park` are, beside DyScale without moves: interactive with moves, with a place a fast slot; batch.
const MOVES_ALONE: f64 = 1.0;
const WITH_A_PLACE: f64 = 0.85;
const BATCH: f64 = 1.02;

/// Batch attempts that are stopped for interactive ones: beyond the paper.
pub(super) fn figure_park(world: &DyScaleWorld) -> Result<PaperFigure> {
    let rows = [
        ("dyscale", HETEROGENEOUS, "dyscale"),
        ("dyscale:park=0.25", HETEROGENEOUS, "dyscale:park=0.25"),
        ("dyscale:park=1", HETEROGENEOUS, "dyscale:park=1"),
        DYSCALE,
    ];
    let played = Played::new(world, &rows)?;
    let [(_, interactive), (_, batch)] = CLASSES;
    let claim = |row: usize, what: &str, aim: f64| {
        let gains = [interactive, batch].map(|class| played.ratios(row, 3, class));
        let [of_interactive, of_batch] = gains.each_ref().map(|ratios| over_all(ratios));
        let [interactive, batch] = gains.each_ref().map(|ratios| range(ratios));
        Claim::new(
            what,
            &format!("interactive at most {aim:.2}, batch {BATCH:.2} (ours, no paper's)"),
            format!(
                "interactive {of_interactive:.3} ({interactive}); batch {of_batch:.3} ({batch})"
            ),
            of_interactive <= aim && of_batch <= BATCH,
        )
    };
    let claims = vec![
        claim(0, "moves, beside none, over all", MOVES_ALONE),
        claim(1, "0.25 places a fast slot", WITH_A_PLACE),
        claim(2, "a place a fast slot", WITH_A_PLACE),
    ];
    Ok(PaperFigure {
        name: "park",
        title: "batch attempts that are stopped while interactive ones want their slots",
        caption: vec![world.caption()],
        tables: played.tables(),
        claims,
        drawings: Vec::new(),
    })
}
