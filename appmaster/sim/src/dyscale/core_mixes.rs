//! Beyond the paper: all mixes of fast and slow cores that a node of 84 W can have.

use anyhow::Result;

use super::clusters::{BUDGET, Cores, FAST, HETEROGENEOUS, MIXES, SLOW};
use super::isolated::CLASSES;
use super::world::{DyScaleWorld, Means, Point};
use crate::figure::{Claim, FigureRow, FigureTable, PaperFigure};
use crate::interval::MeanWithin;

/// What every mix is played under, and what the ends without a scheduler of their own are.
const POLICY: &str = "dyscale";
const ENDS: [(&str, Cores); 2] = [("fast, fifo", FAST), ("slow, fifo", SLOW)];

/// Mixes at one size of a cluster: of each row and gap the seeds.
struct MixesOfSize<'a> {
    gaps: &'a [u32],
    seeds: &'a [Vec<Means>],
}

/// Of a seed of a row something that is compared, beside both ends.
type Compared = fn(&Means, [&Means; 2]) -> f64;

/// Per cent of what fast nodes take under fifo.
const INTERACTIVE: Compared = |row, [fast, _]| 100.0 * row.interactive / fast.interactive;
/// Per cent of what slow nodes take.
const BATCH: Compared = |row, [_, slow]| 100.0 * row.batch / slow.batch;
/// Both: their geometric mean.
const BOTH: Compared = |row, ends| (INTERACTIVE(row, ends) * BATCH(row, ends)).sqrt();

impl MixesOfSize<'_> {
    /// The seeds of a row at a gap: mixes come first, then both ends.
    fn at(&self, row: usize, gap: usize) -> &[Means] {
        let at = row.saturating_mul(self.gaps.len()).saturating_add(gap);
        self.seeds.get(at).map_or(&[], Vec::as_slice)
    }

    /// What is compared, seed by seed.
    fn compared(&self, row: usize, gap: usize, what: Compared) -> MeanWithin {
        let [fast, slow] = [0, 1].map(|end| self.at(MIXES.len().saturating_add(end), gap));
        let seeds = self.at(row, gap).iter().zip(fast.iter().zip(slow));
        let each: Vec<f64> = seeds
            .map(|(row, (fast, slow))| what(row, [fast, slow]))
            .collect();
        MeanWithin::of(&each)
    }

    fn table(&self, title: String, unit: &'static str, rows: usize, what: Compared) -> FigureTable {
        let names = MIXES.iter().map(|mix| mix.name);
        let names = names.chain(ENDS.iter().map(|(name, _)| *name)).take(rows);
        let rows = names.enumerate().map(|(row, name)| {
            let each = (0..self.gaps.len()).map(|gap| self.compared(row, gap, what));
            FigureRow::of_means(name, &each.collect::<Vec<_>>())
        });
        FigureTable {
            title,
            unit,
            columns: self.gaps.iter().map(u32::to_string).collect(),
            rows: rows.collect(),
        }
    }

    fn tables(&self, nodes: u32) -> Vec<FigureTable> {
        let by = format!("on {nodes} nodes, by the mean seconds between jobs");
        let (mixes, all) = (MIXES.len(), MIXES.len().saturating_add(ENDS.len()));
        let [(interactive, _), (batch, _)] = CLASSES;
        let seconds = |class: &str| format!("mean completion time of {class} {by}");
        let beside = |class: &str, end: &str| format!("{class} beside fifo on {end} nodes, {by}");
        let both = format!("both, the geometric mean of these two, {by}");
        let up = format!("energy of a job, nodes drawing all their watts to the end, {by}");
        let busy = format!("energy of a job, cores drawing theirs for each attempt, {by}");
        vec![
            self.table(seconds(interactive), "s", all, |row, _| row.interactive),
            self.table(seconds(batch), "s", all, |row, _| row.batch),
            self.table(beside(interactive, "fast"), "%", mixes, INTERACTIVE)
                .with_least_marked(),
            self.table(beside(batch, "slow"), "%", mixes, BATCH)
                .with_least_marked(),
            self.table(both, "%", mixes, BOTH).with_least_marked(),
            self.table(up, "kJ", all, |row, _| row.kilojoules_up),
            self.table(busy, "kJ", all, |row, _| row.kilojoules_busy),
        ]
    }

    /// The mix with the least of something, at a gap.
    fn best(&self, gap: usize, what: Compared) -> Option<&'static Cores> {
        let each = MIXES.iter().enumerate();
        let each = each.map(|(row, mix)| (self.compared(row, gap, what).mean, mix));
        let best = each.min_by(|(one, _), (other, _)| one.total_cmp(other));
        best.map(|(_, mix)| mix)
    }
}

pub(super) fn figure_mix(world: &DyScaleWorld) -> Result<PaperFigure> {
    let (sizes, gaps) = (world.few_nodes(), world.few_gaps());
    let mixes = MIXES.iter().map(|mix| (*mix, POLICY));
    let rows: Vec<(Cores, &'static str)> = mixes
        .chain(ENDS.map(|(_, cores)| (cores, "fifo")))
        .collect();
    let points = Point::of_cells(&sizes, &rows, &gaps);
    let played = world.play(&points)?;
    let by_size: Vec<MixesOfSize<'_>> = played
        .chunks(rows.len().saturating_mul(gaps.len()))
        .map(|seeds| MixesOfSize { gaps: &gaps, seeds })
        .collect();
    let tables = sizes.iter().zip(&by_size);
    Ok(PaperFigure {
        name: "mix",
        title: "all mixes of cores within 84 W a node",
        caption: vec![
            format!(
                "T1, T2 and T3 are Table 3's cores, of 21, 16 and 4 W. Mixes are played under {POLICY}; of T2 and T3, and both ends, \
                 a node has {BUDGET} W, and with 1, 2 and 3 T1 it has 81, 82 and 83. Both ends are also played under fifo, which is \
                 what the others are compared with, mix of jobs by mix of jobs. After ± stands half of the 95 % interval (Student's t). \
                 The least of a column is bold."
            ),
            "Energy of nodes that draw all their watts is that from the first submission to the last job's end; of cores that \
             draw theirs for each attempt, a core with a map and a reduce counts twice, since each has its full speed here, \
             and one without draws nothing. Memory, disks and networks draw nothing in either."
                .to_owned(),
            world.caption(),
        ],
        tables: tables.flat_map(|(nodes, of_size)| of_size.tables(*nodes)).collect(),
        claims: claims(&sizes, &gaps, &by_size),
        drawings: Vec::new(),
    })
}

/// Which mixes are best where, and whether the paper's is.
fn claims(sizes: &[u32], gaps: &[u32], by_size: &[MixesOfSize<'_>]) -> Vec<Claim> {
    let best = |what: Compared| -> Vec<(String, &'static Cores)> {
        let cells = sizes.iter().zip(by_size).flat_map(|(nodes, of_size)| {
            let gaps = gaps.iter().enumerate();
            gaps.filter_map(move |(at, gap)| {
                Some((format!("{nodes}/{gap}"), of_size.best(at, what)?))
            })
        });
        cells.collect()
    };
    let claim = |text: &str, what: Compared| {
        let best = best(what);
        let is_paper_s =
            |mix: &Cores| (mix.fast, mix.watts) == (HETEROGENEOUS.fast, HETEROGENEOUS.watts);
        let shown: Vec<String> = best
            .iter()
            .map(|(cell, mix)| format!("{cell}: {}", mix.name))
            .collect();
        Claim::new(
            text,
            "not compared with other mixes",
            format!("nodes/gap: {}", shown.join(", ")),
            best.iter().all(|(_, mix)| is_paper_s(mix)),
        )
    };
    vec![
        claim(
            "3 T2 + 9 T3 is the best mix for interactive jobs",
            INTERACTIVE,
        ),
        claim("3 T2 + 9 T3 is the best mix for batch jobs", BATCH),
        claim("3 T2 + 9 T3 is the best mix for both", BOTH),
    ]
}
