//! Figures 8 and 9: the same work by MPI under `gerbil-run` and by Hadoop's own MapReduce examples.

use anyhow::{Context as _, Result};
use it::cluster::Size;
use it::results::{Axis, Chart, Figure, Series, Setting, Spread, Table};
use it::{Cluster, Version};

use crate::programs::{Programs, READY, hadoop};
use crate::{command, say};

/// Processes, or mappers; the paper has 18 on 18 nodes of 8 cores.
const PROCESSES: u32 = 4;
/// Samples of each.
const SAMPLES: u64 = 10_000_000;
/// Hexadecimal digits, from the first on.
const DIGITS: u64 = 4000;
/// The paper's, at its largest.
const PAPER_SPEEDUP: f64 = 2.3;
/// Room for sixteen of the smallest containers.
const NODE: Size = Size {
    memory_mib: 4096,
    vcores: 4,
};

/// Four nodes that MapReduce can shuffle on.
fn cluster() -> Result<Cluster> {
    let builder = Cluster::builder()
        .version(Version::V3_4_2)
        .sizes(&[NODE; 4]);
    it::mapreduce::with_hadoop(builder).deadline(READY).start()
}

/// Mappers and samples of each are its arguments.
pub(crate) const MONTE_CARLO: &str = "org.apache.hadoop.examples.QuasiMonteCarlo";
const BBP: &str = "org.apache.hadoop.examples.BaileyBorweinPlouffe";

/// Files are staged on both sides.
pub(crate) struct Bench {
    pub(crate) cluster: Cluster,
    pub(crate) programs: Programs,
    runs: u32,
}

impl Bench {
    pub(crate) fn new() -> Result<Self> {
        let mut bench = Self {
            programs: Programs::compile(&["pi_mc", "pi_bbp"])?,
            cluster: cluster()?,
            runs: 0,
        };
        bench.monte_carlo(PROCESSES, 1000)?;
        Ok(bench)
    }

    /// Seconds of `gerbil-run` and of MapReduce.
    fn monte_carlo(&mut self, processes: u32, samples: u64) -> Result<(f64, f64)> {
        let (processes, samples) = (processes.to_string(), samples.to_string());
        let options = ["-n", &processes];
        let (ours, _) = self
            .programs
            .gerbil(&self.cluster, &options, "pi_mc", &[&samples])?;
        let theirs = hadoop(&self.cluster, MONTE_CARLO, &[&processes, &samples])?;
        Ok((ours, theirs))
    }

    fn bbp(&mut self, digits: u64) -> Result<(f64, f64)> {
        self.runs += 1;
        let (processes, digits) = (PROCESSES.to_string(), digits.to_string());
        let options = ["-n", &processes];
        let line = ["1", &digits];
        let (ours, _) = self
            .programs
            .gerbil(&self.cluster, &options, "pi_bbp", &line)?;
        let folder = format!("bbp-{}", self.runs);
        let line = ["1", &digits, &processes, &folder];
        let theirs = hadoop(&self.cluster, BBP, &line)?;
        Ok((ours, theirs))
    }
}

/// One program or size, both ways.
struct MapReduceRow {
    name: String,
    at: f64,
    ours: Spread,
    theirs: Spread,
}

fn row(name: String, at: f64, pairs: &[(f64, f64)]) -> Result<MapReduceRow> {
    let side = |of: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = pairs.iter().map(of).collect();
        Spread::of(&values).context("no round")
    };
    let row = MapReduceRow {
        name,
        at,
        ours: side(|pair| pair.0)?,
        theirs: side(|pair| pair.1)?,
    };
    say(&format!(
        "{}: gerbil-run {} s, MapReduce {} s",
        row.name,
        row.ours.words(),
        row.theirs.words()
    ))?;
    Ok(row)
}

fn table(first: &str, rows: &[MapReduceRow], paper: &[&str]) -> Table {
    let mut table = Table::new(&[first, "gerbil-run, s", "MapReduce, s", "times faster"]);
    if !paper.is_empty() {
        table.columns.push("the paper's".to_owned());
    }
    for (place, row) in rows.iter().enumerate() {
        let cells = [
            row.name.clone(),
            row.ours.words(),
            row.theirs.words(),
            format!("{:.1}", row.theirs.median / row.ours.median),
        ];
        let said = paper.get(place).map(ToString::to_string);
        table.row(cells.into_iter().chain(said));
    }
    table
}

fn least(rows: &[MapReduceRow]) -> f64 {
    let ratios = rows.iter().map(|row| row.theirs.median / row.ours.median);
    ratios.fold(f64::INFINITY, f64::min)
}

fn over<T>(rows: &[MapReduceRow], value: impl Fn(&MapReduceRow) -> T) -> Vec<(f64, T)> {
    rows.iter().map(|row| (row.at, value(row))).collect()
}

pub(crate) fn figures_8_9(quick: bool) -> Result<Vec<Figure>> {
    let mut bench = Bench::new()?;
    let setting = Setting::begin(&bench.cluster.version()?)?;
    let rounds = if quick { 1 } else { 3 };
    let mut pairs = Vec::new();
    for _ in 0..rounds {
        pairs.push(bench.monte_carlo(PROCESSES, SAMPLES)?);
    }
    let monte_carlo = row("Pi-MC".to_owned(), 0.0, &pairs)?;
    let mut pairs = Vec::new();
    for _ in 0..rounds {
        pairs.push(bench.bbp(DIGITS)?);
    }
    let both = [monte_carlo, row("Pi-BBP".to_owned(), 1.0, &pairs)?];
    let figure_8 = Figure {
        name: "figure-08".to_owned(),
        title: "Figure 8: Pi by MPI and by MapReduce".to_owned(),
        command: command("figures-8-9"),
        method: format!(
            "{PROCESSES} processes or mappers on four NodeManagers with HDFS, in turns; the whole command. \
             Pi-MC: Hadoop's example `pi` and the same sequence of points in C, {SAMPLES} samples each. \
             Pi-BBP: its example `bbp` and the same formula in C, {DIGITS} hexadecimal digits."
        ),
        paper: "133 % and 121 % faster (2.33 and 2.21 times), with 18 processes or mappers."
            .to_owned(),
        findings: vec![format!(
            "At least {:.1} times faster (target: {PAPER_SPEEDUP}).",
            least(&both)
        )],
        setting: setting.clone().finish()?,
        table: table("program", &both, &["2.33", "2.21"]),
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("seconds, whole command"),
            names: both.iter().map(|row| row.name.clone()).collect(),
            stacked: false,
            series: vec![
                Series::spread("gerbil-run", &over(&both, |row| row.ours)),
                Series::spread("MapReduce", &over(&both, |row| row.theirs)),
            ],
        },
    };
    let sizes: &[u64] = match quick {
        true => &[100_000],
        false => &[100_000, 1_000_000, 10_000_000, 100_000_000],
    };
    let mut rows = Vec::new();
    for &samples in sizes {
        let pair = bench.monte_carlo(PROCESSES, samples)?;
        rows.push(row(format!("{samples}"), samples as f64, &[pair])?);
    }
    let figure_9 = Figure {
        name: "figure-09".to_owned(),
        title: "Figure 9: Pi-MC against MapReduce, by the number of samples".to_owned(),
        command: command("figures-8-9"),
        method: format!(
            "Pi-MC as in Figure 8, with more and more samples for each of {PROCESSES}."
        ),
        paper: "up to 2.3 times faster.".to_owned(),
        findings: vec![format!(
            "At least {:.1} times faster at every size (target: {PAPER_SPEEDUP}). With little to compute it \
             is the start that counts; with much, C against Java as well.",
            least(&rows)
        )],
        setting: setting.finish()?,
        table: table("samples of each", &rows, &[]),
        chart: Chart {
            x: Axis::logarithmic("samples of each process"),
            y: Axis::linear("MapReduce's time to ours"),
            series: vec![
                Series::measured(
                    "gerbil-run",
                    over(&rows, |row| row.theirs.median / row.ours.median),
                ),
                Series::given(
                    "the paper's, at its largest",
                    over(&rows, |_| PAPER_SPEEDUP),
                ),
            ],
            ..Chart::default()
        },
    };
    Ok(vec![figure_8, figure_9])
}
