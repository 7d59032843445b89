//! Rounds that read packed vectors beside rounds that parse text.

use std::io::Write as _;

use anyhow::{Context as _, Result, ensure};
use it::mapreduce::{self, Files, is_same};
use it::results::{Axis, Chart, Figure, Series, Spread, Table};
use job::MapReduceReport;

use crate::bench::{Bench, BoardSession, INPUT, OUTPUT};
use crate::kmeans::{KmeansJob, KmeansWay};
use crate::shape::NODES;
use crate::{HeteroOptions, command, compare, spread};

const CENTROIDS: [usize; 2] = [16, 32];
const WAYS: [KmeansWay; 2] = [KmeansWay::Board, KmeansWay::Processor];
/// At a time on a node, and of a round.
const TASKS: usize = 2;
const MAPS: u64 = 16;
/// The first of them reads text, and is not counted.
const ROUNDS: usize = 4;
/// So many times as fast packed rounds are wanted.
const TARGET: f64 = 2.0;

/// Rounds after the first, of one number of centroids in one way.
struct PackedRow {
    k: usize,
    way: KmeansWay,
    /// Seconds.
    text: Vec<f64>,
    packed: Vec<f64>,
    /// Of those rounds, processor time of all tasks, ms.
    text_ms: Vec<f64>,
    packed_ms: Vec<f64>,
    wanted: Option<Files>,
}

impl PackedRow {
    /// Medians: how many times faster packed rounds are.
    fn faster(&self) -> Result<f64> {
        Ok(spread(&self.text)?.median / spread(&self.packed)?.median)
    }

    fn cheaper(&self) -> Result<f64> {
        Ok(spread(&self.text_ms)?.median / spread(&self.packed_ms)?.median)
    }
}

pub(crate) fn figure(bench: &Bench, options: &HeteroOptions) -> Result<Figure> {
    let setting = bench.setting()?;
    let rows = measured(bench, options.rounds)?;
    let mut table = Table::new(&[
        "centroids",
        "computed by",
        "round of text, s: median (range)",
        "round of packed vectors, s: median (range)",
        "times faster",
        "times less processor time",
    ]);
    let mut findings = Vec::new();
    let mut lines: [Vec<(f64, Spread)>; 2] = Default::default();
    let mut names = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let by = match row.way {
            KmeansWay::Processor => "processors",
            KmeansWay::Board | KmeansWay::Serial => "boards",
        };
        let (text, packed) = (spread(&row.text)?, spread(&row.packed)?);
        table.row([
            row.k.to_string(),
            by.to_owned(),
            text.words(),
            packed.words(),
            format!("{:.2}", row.faster()?),
            format!("{:.2}", row.cheaper()?),
        ]);
        let met = if row.faster()? >= TARGET {
            "met"
        } else {
            "not met"
        };
        findings.push(format!(
            "With {} centroids on {by} a round of packed vectors is {:.2} times as fast as one of text; {TARGET} times are wanted: \
             {met}.",
            row.k,
            row.faster()?
        ));
        names.push(format!("{} centroids, {by}", row.k));
        for (line, of) in lines.iter_mut().zip([text, packed]) {
            line.push((place as f64, of));
        }
    }
    let [text, packed] = &lines;
    Ok(Figure {
        name: "hetero-packed".to_owned(),
        title: "K-means that parses its text once".to_owned(),
        command: command("packed", options),
        method: format!(
            "K-means of {ROUNDS} rounds over {} MB of text, a vector of 128 numbers a line, with `--packed false` and with \
             `--packed true`, in turns; {NODES} nodes with a modelled board each, {TASKS} tasks at a time on a node, about \
             {MAPS} maps a round. Counted are the rounds behind the first, each from when the session takes it until its output \
             is there; processor time is that of all its tasks (CPU_MILLISECONDS). Centroids of all last rounds of a number of \
             centroids are equal, byte by byte.",
            options.mb
        ),
        paper: "reading and parsing is what limits a map (HeteroYARN, Table 3 and 5.5); its rounds parse the same text again."
            .to_owned(),
        findings,
        setting: setting.finish()?,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("a round, s"),
            names,
            stacked: false,
            series: vec![Series::spread("text", text), Series::spread("packed", packed)],
        },
    })
}

fn measured(bench: &Bench, rounds: u32) -> Result<Vec<PackedRow>> {
    let session = bench.session(TASKS)?;
    let mut rows: Vec<PackedRow> = Vec::new();
    for k in CENTROIDS {
        rows.extend(WAYS.map(|way| PackedRow {
            k,
            way,
            text: Vec::new(),
            packed: Vec::new(),
            text_ms: Vec::new(),
            packed_ms: Vec::new(),
            wanted: None,
        }));
    }
    for _ in 0..rounds {
        for row in &mut rows {
            run(bench, &session, row, false)?;
            run(bench, &session, row, true)?;
        }
        // Boards and processors write the same.
        for pair in rows.chunks(WAYS.len()) {
            if let [Some(one), Some(other)] = &pair
                .iter()
                .map(|row| row.wanted.as_ref())
                .collect::<Vec<_>>()[..]
            {
                is_same(one, other)?;
            }
        }
    }
    session.stop()?;
    Ok(rows)
}

/// One job, and what the rounds behind its first took.
fn run(bench: &Bench, session: &BoardSession<'_>, row: &mut PackedRow, packed: bool) -> Result<()> {
    let job = KmeansJob {
        k: row.k,
        maps: MAPS,
        way: row.way,
    };
    let (k, rounds, packs) = (row.k.to_string(), ROUNDS.to_string(), packed.to_string());
    let options = [
        "--k", &k, "--rounds", &rounds, "--packed", &packs, INPUT, OUTPUT,
    ];
    let run = session.kmeans(job, "packed", &options)?;
    run.finish()?.success("K-means")?;
    let report: MapReduceReport = serde_json::from_slice(&session.report("packed")?)?;
    let name = if packed { "packed" } else { "round" };
    // Of text the first round has the same name.
    let later = report.jobs.iter().filter(|of| of.name == name);
    let later: Vec<_> = later.skip(usize::from(!packed)).collect();
    ensure!(later.len() == ROUNDS - 1, "{ROUNDS} rounds: {report:?}");
    let (seconds, millis) = match packed {
        true => (&mut row.packed, &mut row.packed_ms),
        false => (&mut row.text, &mut row.text_ms),
    };
    for of in later {
        seconds.push(of.ended_us.saturating_sub(of.submitted_us) as f64 / 1e6);
        let tasks = of.tasks.as_ref().context("no task was run")?;
        let groups = tasks.counters.values();
        let spent: i64 = groups
            .filter_map(|group| group.get("CPU_MILLISECONDS"))
            .sum();
        millis.push(spent as f64);
    }
    let last = seconds.last().copied().unwrap_or_default();
    writeln!(std::io::stderr(), "{job:?}, packed {packed}: {last:.2} s")?;
    let cluster = &bench.given().cluster;
    let files = mapreduce::files(cluster, &format!("{OUTPUT}/round-{}", ROUNDS - 1))?;
    compare(&mut row.wanted, files)?;
    cluster.hdfs().remove(OUTPUT)
}
