//! Table 3: what limits a map.

use anyhow::{Context as _, Result};
use it::results::{Axis, Chart, Figure, Series, Table};
use sim::figure::FigureWorld as _;
use sim::hetero::HeteroWorld;

use crate::bench::Bench;
use crate::modules::{ModuleRates, Rate, TIME, in_series, measured};
use crate::shape::NODES;
use crate::{HeteroOptions, command, so, spread};

/// MB/s of the modelled link.
const LINK: f64 = 1000.0;

/// A row.
struct ModuleRow {
    name: &'static str,
    paper: Option<f64>,
    /// Of the simulator's table.
    simulated: Option<&'static str>,
    rate: Rate,
    /// What bounds it here.
    limit: Option<(&'static str, Rate)>,
}

pub(crate) fn figure(bench: &Bench, options: &HeteroOptions) -> Result<Figure> {
    let setting = bench.setting()?;
    let rounds = measured(bench, options.rounds)?;
    let line = bench.line();
    let memory: (&str, Rate) = ("copies of memory", |of| of.copies);
    let rows = [
        ModuleRow {
            name: "reading from HDFS",
            paper: Some(250.0),
            simulated: None,
            rate: |of| of.reading,
            limit: Some(("loopback", |of| of.loopback)),
        },
        ModuleRow {
            name: "parsing and normalising",
            paper: Some(89.6),
            simulated: None,
            rate: |of| of.benched[0],
            limit: Some(memory),
        },
        ModuleRow {
            name: "input acquisition: both, one after the other",
            paper: Some(89.6),
            simulated: Some("input acquisition"),
            rate: ModuleRates::acquisition,
            limit: Some(("loopback", |of| of.loopback)),
        },
        ModuleRow {
            name: "packets assembling",
            paper: Some(2660.0),
            simulated: Some("packets assembling"),
            rate: |of| of.benched[1],
            limit: Some(memory),
        },
        ModuleRow {
            name: "transmission and result, modelled link",
            paper: Some(1000.0),
            simulated: Some("transmission and result"),
            rate: |of| of.benched[2],
            limit: Some(("the model's link", |_| LINK)),
        },
        ModuleRow {
            name: "transmission and result, a link of no time",
            paper: None,
            simulated: None,
            rate: |of| of.benched[3],
            limit: Some(memory),
        },
        ModuleRow {
            name: "all three, one after the other",
            paper: Some(in_series(&[89.6, 2660.0, 1000.0])),
            simulated: Some("all three, one after the other"),
            rate: ModuleRates::all,
            limit: None,
        },
        ModuleRow {
            name: "a map on a board, acc.modules=serial",
            paper: None,
            simulated: None,
            rate: |of| of.serial,
            limit: None,
        },
        ModuleRow {
            name: "a map on a board, acc.modules=overlap",
            paper: None,
            simulated: None,
            rate: |of| of.overlap,
            limit: None,
        },
    ];
    let simulated = simulated()?;
    let mut table = Table::new(&[
        "module",
        "the paper, MB/s",
        "simulator, MB/s",
        "here, MB/s: median (range)",
        "of what the machine does, %",
        "which is",
    ]);
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |of| format!("{of:.1}"));
    let (mut here, mut paper) = (Vec::new(), Vec::new());
    for (place, row) in rows.iter().enumerate() {
        let of = spread(&rounds.iter().map(row.rate).collect::<Vec<_>>())?;
        let name = row.simulated;
        let simulated = name.and_then(|name| simulated.iter().find(|of| of.0 == name));
        let share = match row.limit {
            None => ["–".to_owned(), "–".to_owned()],
            Some((name, limit)) => {
                let most = spread(&rounds.iter().map(limit).collect::<Vec<_>>())?.median;
                [
                    format!("{:.0}", of.median / most * 100.0),
                    format!("{name}, {most:.0} MB/s"),
                ]
            }
        };
        let cells = [
            row.name.to_owned(),
            number(row.paper),
            number(simulated.map(|of| of.1)),
            of.whole(),
        ];
        table.row(cells.into_iter().chain(share));
        here.push((place as f64, of));
        paper.extend(row.paper.map(|rate| (place as f64, rate)));
    }
    Ok(Figure {
        name: "hetero-table-3".to_owned(),
        title: "HeteroYARN's Table 3: what limits a map".to_owned(),
        command: command("table3", options),
        method: format!(
            "*Reading*: the counter READ_MILLISECONDS of a job's maps, of a round of K-means with 16 centroids over {} MB of \
             text, one map at a time on each of {NODES} nodes that share the machine; {line:.0} bytes of text are a vector. \
             Parsing, assembling and transmission are `fpgad bench`'s, each for {:.1} s on one core, of the same functions \
             that the maps call: MB of text for parsing, MB of packets for the others; the board is modelled, with a link of \
             1000 MB/s in the paper's row. *A map*: the job's bytes by what all its maps took to read and to map, the \
             board's computing included, which these processors do. *Copies of memory*: one thread, blocks of 1 MiB in turn; \
             *loopback*: one thread reads from another over TCP. All of it in each round; of jobs all outputs are equal, \
             byte by byte.",
            options.mb,
            TIME.as_secs_f64()
        ),
        paper: "input acquisition 89.6, assembling 2660, transmission and result 1000 MB/s: acquisition is the bottleneck; \
                reading alone does 250 (HeteroYARN, Table 3 and 5.5)."
            .to_owned(),
        findings: findings(&rounds)?,
        setting: setting.finish()?,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::logarithmic("MB/s"),
            names: rows.iter().map(|row| row.name.to_owned()).collect(),
            stacked: false,
            series: vec![Series::spread("here", &here), Series::given("the paper", paper)],
        },
    })
}

fn findings(rounds: &[ModuleRates]) -> Result<Vec<String>> {
    let median = |of: Rate| -> Result<f64> {
        Ok(spread(&rounds.iter().map(of).collect::<Vec<_>>())?.median)
    };
    let share = median(|of| of.all() / of.acquisition())?;
    let (parsing, assembling) = (median(|of| of.benched[0])?, median(|of| of.benched[1])?);
    let met = |is_met: bool| if is_met { "met" } else { "not met" };
    Ok(vec![
        format!(
            "Acquiring the input is the bottleneck: {} ({:.0} % of the time of all three one after the other; in the paper \
             {:.0} %).",
            so(share > 0.5),
            share * 100.0,
            in_series(&[89.6, 2660.0, 1000.0]) / 89.6 * 100.0
        ),
        format!(
            "Parsing does {parsing:.0} MB/s on a core; at least 900 are wanted: {}. Assembling does {assembling:.0}; at least \
             2660 are wanted: {}.",
            met(parsing >= 900.0),
            met(assembling >= 2660.0)
        ),
        format!(
            "A map whose modules overlap is {:.2} times as fast as one whose modules run one after the other.",
            median(|of| of.overlap / of.serial)?
        ),
    ])
}

/// The simulator's rows: names and MB/s.
fn simulated() -> Result<Vec<(String, f64)>> {
    let figures = HeteroWorld::FIGURES.make("table3", &HeteroWorld::default())?;
    let tables = figures.into_iter().flat_map(|figure| figure.tables);
    let rows = tables.flat_map(|table| table.rows);
    let rows = rows.map(|row| {
        let first = row.values.first().copied();
        Ok((row.name, first.context("a row without a number")?))
    });
    rows.collect()
}
