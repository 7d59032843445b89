//! Table II: two jobs together, two processes without MPS of a task each, whose buffers are free by the kernel.

use std::path::Path;

use anyhow::Result;
use it::results::{Axis, Chart, Figure, Series, Setting, Table};
use sim::spmario::{PredictedJob, PredictedSetting};

use crate::alone::{PROGRAMS, world};
use crate::command;
use crate::engine::EngineWords;
use crate::play::{at_best, input};

/// Program, chunks and MiB of a chunk.
type PairedJob = (&'static str, u64, u64);

/// A quarter of the paper's chunks, a sixteenth of their bytes. The last is what the paper gained, in percent.
const PAIRS: [(&str, [PairedJob; 2], f64); 4] = [
    ("MM16K, KMC2K", [("MM", 64, 4), ("KMC", 64, 8)], 7.92),
    ("MM16K, LR2K", [("MM", 64, 4), ("LR", 32, 8)], 12.59),
    ("MM16K, KMC4K", [("MM", 64, 4), ("KMC", 128, 8)], 6.53),
    ("KMC2K, LR4K", [("KMC", 64, 8), ("LR", 64, 8)], 13.54),
];
/// The first is what others are compared with.
const ORDERS: [&str; 4] = [
    "rr:turn=16,wait=true",
    "rr:turn=1,wait=true",
    "spmario-literal",
    "spmario",
];

const COLUMNS: [&str; 7] = [
    "jobs",
    "order",
    "engines, s",
    "simulator, s",
    "bound/time",
    "less than rr:turn=16, %",
    "simulator",
];

pub(crate) fn figure(folder: &Path, rounds: u32, setting: Setting) -> Result<Figure> {
    input(folder, 128 * 8)?;
    let world = world()?;
    let mut table = Table::new(&COLUMNS);
    let (mut gains, mut names, mut ratios) = (vec![Vec::new(); 2], Vec::new(), Vec::new());
    let mut findings = Vec::new();
    for (name, pair, papers) in PAIRS {
        let (mut first, mut by_spmario) = (None, (f64::NAN, f64::NAN));
        for order in ORDERS {
            let kernel = |program: &str| {
                let mut known = PROGRAMS.iter();
                let known = known.find(|(known, _)| *known == program);
                known.map_or(1, |of| of.1)
            };
            let engines = pair.map(|(program, chunks, mib)| EngineWords {
                folder: folder.to_owned(),
                job: program.to_owned(),
                mib,
                first: 0,
                chunks,
                tasks: 1,
                overlap: false,
                by_copy: false,
                kernel: kernel(program),
            });
            let found = at_best(folder, order, &engines, rounds)?;
            let setting = PredictedSetting {
                order,
                tasks: 1,
                overlap: false,
                by_copy: false,
            };
            let jobs = pair.map(|(program, chunks, mib)| PredictedJob {
                program,
                chunks,
                mib,
            });
            let said = world.predict(setting, &jobs)?;
            let (base, base_said) = *first.get_or_insert((found.time, said.time));
            let less = |base: f64, time: f64| (1.0 - time / base) * 100.0;
            let gained = (less(base, found.time), less(base_said, said.time));
            by_spmario = gained;
            ratios.push(found.time / said.time);
            let place = names.len() as f64;
            for (series, time) in gains.iter_mut().zip([found.time, said.time]) {
                series.push((place, time));
            }
            names.push(format!("{name} {order}"));
            table.row([
                name.to_owned(),
                order.to_owned(),
                format!("{:.3}", found.time),
                format!("{:.3}", said.time),
                format!("{:.3}", said.bound / found.time),
                format!("{:.1}", gained.0),
                format!("{:.1}", gained.1),
            ]);
        }
        findings.push(format!(
            "{name}: spmario takes {:.1} % less time than rr:turn=16; simulator {:.1}, the paper {papers}.",
            by_spmario.0, by_spmario.1
        ));
    }
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    findings.push(format!(
        "Engines take {least:.3} to {most:.3} times what the simulator says."
    ));
    let series = |at: usize| gains.get(at).cloned().unwrap_or_default();
    Ok(Figure {
        name: "spmario-pairs".to_owned(),
        title: "SPMario's Table II: two jobs' engines beside the simulator".to_owned(),
        command: command("pairs", rounds),
        method: format!(
            "Two jobs at once, an engine with one task each, with a quarter of the paper's chunks and a sixteenth of their \
             bytes, on the disk and the GPU of the figure before, which copies or computes (processes without MPS); a host \
             buffer is free when its chunk is computed. `rr` gives each job so many chunks in turn, and waits for a buffer \
             within a turn; that and 16 chunks a turn is the setting in which the simulator comes near the paper's gains, \
             which tells neither. Of {rounds} runs the shortest counts. *bound/time*: the longer of all reads, and all copies \
             and kernels, of the time."
        ),
        paper: "less time than with round robin: 7.92, 12.59, 6.53 and 13.54 % (SPMario, Table II). The second pair is bound \
                by its I/O in every order here, and cannot gain."
            .to_owned(),
        findings,
        setting: setting.finish()?,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("both jobs, s"),
            names,
            stacked: false,
            series: vec![
                Series::measured("engines", series(0)),
                Series::given("simulator", series(1)),
            ],
        },
    })
}
