//! Figure 9: K-means on boards and on processors, by centroids.

use std::io::Write as _;

use anyhow::Result;
use it::results::{Axis, Chart, Figure, Series, Spread, Table};

use crate::bench::Bench;
use crate::kmeans::{KmeansJob, KmeansRun, KmeansWay};
use crate::shape::{DEVICES, NODES};
use crate::{HeteroOptions, command, compare, so, spread};

/// The paper's, and twice and four times as many.
const CENTROIDS: [usize; 4] = [16, 32, 64, 128];
const WAYS: [KmeansWay; 2] = [KmeansWay::Board, KmeansWay::Processor];
/// At a time on a node, and of the job.
const TASKS: usize = 2;
const MAPS: u64 = 16;

/// Rounds of one number of centroids.
struct JobsRow {
    k: usize,
    /// In the order of [`WAYS`].
    runs: [Vec<KmeansRun>; 2],
}

impl JobsRow {
    fn spread(&self, way: usize, of: fn(&KmeansRun) -> f64) -> Result<Spread> {
        let runs = self.runs.get(way).into_iter().flatten();
        spread(&runs.map(of).collect::<Vec<_>>())
    }

    /// Medians: how many times faster on boards.
    fn faster(&self) -> Result<f64> {
        let [board, processor] = [0, 1].map(|way| self.spread(way, |run| run.seconds));
        Ok(processor?.median / board?.median)
    }
}

pub(crate) fn figure(bench: &Bench, options: &HeteroOptions) -> Result<Figure> {
    let setting = bench.setting()?;
    let rows = measured(bench, options.rounds)?;
    let mut table = Table::new(&[
        "centroids",
        "boards, s: median (range)",
        "processors, s: median (range)",
        "times faster",
        "boards, MB/s",
        "processors, MB/s",
    ]);
    let mut lines = [Vec::new(), Vec::new()];
    let mut faster = Vec::new();
    for row in &rows {
        let seconds = [0, 1].map(|way| row.spread(way, |run| run.seconds));
        let [board, processor] = seconds;
        let (board, processor) = (board?, processor?);
        let rate = |way| row.spread(way, KmeansRun::rate).map(Spread::whole);
        table.row([
            row.k.to_string(),
            board.words(),
            processor.words(),
            format!("{:.2}", row.faster()?),
            rate(0)?,
            rate(1)?,
        ]);
        for (line, of) in lines.iter_mut().zip([board, processor]) {
            line.push((row.k as f64, of));
        }
        faster.push(row.faster()?);
    }
    let [boards, processors] = &lines;
    let ends = |line: &[(f64, Spread)]| match line {
        [first, .., last] => last.1.median / first.1.median,
        _ => f64::NAN,
    };
    let [first, .., last] = CENTROIDS;
    let grows = faster.is_sorted_by(|one, next| one < next);
    Ok(Figure {
        name: "hetero-jobs".to_owned(),
        title: "HeteroYARN's Figure 9: K-means on boards and on processors".to_owned(),
        command: command("jobs", options),
        method: format!(
            "One round of K-means over {} MB of text, a vector of 128 numbers a line, {NODES} nodes with a board each, {TASKS} \
             tasks at a time on a node, {MAPS} maps; from when the session takes the job until its output is there. Boards are \
             of {DEVICES} devices and modelled: they answer no sooner than a card of 200 MHz with a link of 1000 MB/s would, \
             and what they answer is computed by the same processors that read and parse, one vector after the other as a \
             card's model does it. *Processors*: the program's version without a board, which stands where the paper has \
             Mahout's. In turns; all outputs of a number of centroids are equal, byte by byte.",
            options.mb
        ),
        paper: "with 16 centroids K-means is 7.5 times as fast on boards as Mahout's is without; with 32 the boards take as \
                long and Mahout's takes longer, so that the ratio is higher (HeteroYARN, Figures 7 and 9)."
            .to_owned(),
        findings: vec![
            format!(
                "Boards are faster the more centroids there are: {} ({} times).",
                so(grows),
                faster.iter().map(|of| format!("{of:.2}")).collect::<Vec<_>>().join(", ")
            ),
            format!(
                "From {first} to {last} centroids jobs take {:.2} times as long on modelled boards, whose answers these \
                 processors compute, and {:.2} times on processors.",
                ends(boards),
                ends(processors)
            ),
        ],
        setting: setting.finish()?,
        table,
        chart: Chart {
            x: Axis::logarithmic("centroids"),
            y: Axis::linear("the job, s"),
            names: Vec::new(),
            stacked: false,
            series: vec![
                Series::spread("boards", boards),
                Series::spread("processors", processors),
            ],
        },
    })
}

fn measured(bench: &Bench, rounds: u32) -> Result<Vec<JobsRow>> {
    let session = bench.session(TASKS)?;
    let mut rows: Vec<JobsRow> = CENTROIDS
        .map(|k| JobsRow {
            k,
            runs: [Vec::new(), Vec::new()],
        })
        .into();
    let mut wanted = CENTROIDS.map(|_| None);
    // Before all that counts, so that files are in caches.
    let first = KmeansJob {
        k: 16,
        maps: MAPS,
        way: KmeansWay::Board,
    };
    session.run(first)?;
    for _ in 0..rounds {
        for (row, wanted) in rows.iter_mut().zip(&mut wanted) {
            for (runs, way) in row.runs.iter_mut().zip(WAYS) {
                let job = KmeansJob {
                    k: row.k,
                    way,
                    ..first
                };
                let (run, files) = session.run(job)?;
                writeln!(std::io::stderr(), "{job:?}: {:.2} s", run.seconds)?;
                compare(wanted, files)?;
                runs.push(run);
            }
        }
    }
    session.stop()?;
    Ok(rows)
}
