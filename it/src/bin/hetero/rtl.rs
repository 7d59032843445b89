//! Boards that are the Verilog, simulated cycle by cycle, beside modelled ones and processors.

use std::io::Write as _;

use anyhow::Result;
use it::results::{Axis, Chart, Figure, Series, Table};

use crate::bench::Bench;
use crate::kmeans::{KmeansJob, KmeansRun, KmeansWay};
use crate::shape::NODES;
use crate::{HeteroOptions, command, compare, spread};

/// Of vectors as text: a simulated board computes some hundred thousand vectors a second.
pub(crate) const MEGABYTES: u64 = 8;
/// At a time on a node, and of the job.
const TASKS: usize = 2;
const MAPS: u64 = 4;
/// The most that the Verilog has lanes for, and half as many.
const CENTROIDS: [usize; 2] = [16, 32];
/// What is in the table: the kind of the boards, and who computes.
const ROWS: [(&str, &str, KmeansWay); 3] = [
    ("the Verilog, simulated", "rtl", KmeansWay::Board),
    ("modelled boards", "model", KmeansWay::Board),
    ("processors", "model", KmeansWay::Processor),
];

pub(crate) fn figure(bench: &Bench, options: &HeteroOptions) -> Result<Figure> {
    let setting = bench.setting()?;
    let mut times: [[Vec<f64>; 2]; 3] = Default::default();
    let mut wanted = CENTROIDS.map(|_| None);
    for _ in 0..options.rounds {
        for ((name, kind, way), times) in ROWS.iter().zip(&mut times) {
            let session = bench.session_on(kind, TASKS, &[])?;
            for ((k, times), wanted) in CENTROIDS.iter().zip(times).zip(&mut wanted) {
                let job = KmeansJob {
                    k: *k,
                    maps: MAPS,
                    way: *way,
                };
                let (KmeansRun { seconds, .. }, files) = session.run(job)?;
                writeln!(std::io::stderr(), "{name}, {k} centroids: {seconds:.2} s")?;
                compare(wanted, files)?;
                times.push(seconds);
            }
            session.stop()?;
        }
    }
    let mut table = Table::new(&[
        "computed by",
        "16 centroids, s: median (range)",
        "32, s: median (range)",
    ]);
    let mut series = Vec::new();
    for ((name, ..), times) in ROWS.iter().zip(&times) {
        let [few, many] = times;
        let (few, many) = (spread(few)?, spread(many)?);
        table.row([(*name).to_owned(), few.words(), many.words()]);
        series.push(Series::spread(name, &[(16.0, few), (32.0, many)]));
    }
    Ok(Figure {
        name: "hetero-rtl".to_owned(),
        title: "K-means on boards that are the Verilog, simulated".to_owned(),
        command: command("rtl", options),
        method: format!(
            "One round of K-means over {MEGABYTES} MB of text, {NODES} nodes with a board each, {TASKS} tasks at a time on a \
             node, {MAPS} maps, a session for each row, in turns; from when the session takes the job until its output is \
             there. Boards of the first row are the cores of `fpga-driver/rtl` under Verilator, behind the same `fpgad`, whose \
             every cycle these processors compute: what is shown is that jobs go through the Verilog, and not how fast a card \
             is. All outputs of a number of centroids are equal, byte by byte."
        ),
        paper: String::new(),
        findings: vec![
            "Jobs whose maps and reduces run through the Verilog write what modelled boards and processors write, byte by byte: \
             true."
                .to_owned(),
        ],
        setting: setting.finish()?,
        table,
        chart: Chart {
            x: Axis::linear("centroids"),
            y: Axis::linear("the job, s"),
            names: Vec::new(),
            stacked: false,
            series,
        },
    })
}
