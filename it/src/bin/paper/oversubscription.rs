//! Figures 11 and 12: what it costs when all processes of a job are forced onto one node.

use anyhow::{Context as _, Result};
use it::results::{Axis, Chart, Figure, Series, Setting, Table};

use crate::command;
use crate::one_node::{Bench, CORES, NODES, OneNodeRow, THOUSANDTHS, TakenTime};

/// The paper's slowdown, and the processes and the cores of the one node that it is of.
const PAPER: (f64, f64, f64) = (8.8, 70.0, 8.0);
/// What is measured.
struct Sizes {
    /// Of Figure 11; the last one is Figure 12's.
    processes: &'static [u32],
    /// Samples of each process; of Figure 12.
    samples: &'static [u64],
    /// Of Figure 11, one of those.
    usual: u64,
}

const FULL: Sizes = Sizes {
    processes: &[2, 4, 8, 16],
    samples: &[20_000_000, 40_000_000, 80_000_000],
    usual: 40_000_000,
};
const QUICK: Sizes = Sizes {
    processes: &[4, 16],
    samples: &[5_000_000, 10_000_000],
    usual: 5_000_000,
};

/// What the paper's slowdown would be with so many processes to a core of the one node.
fn paper(processes_per_core: f64) -> f64 {
    let (slowdown, processes, cores) = PAPER;
    slowdown * processes_per_core / (processes / cores)
}

pub(crate) fn measure(quick: bool) -> Result<Vec<Figure>> {
    let sizes = if quick { QUICK } else { FULL };
    let bench = Bench::new()?;
    let setting = Setting::begin(&bench.cluster.version()?)?;
    let mut crowds = Vec::new();
    for &processes in sizes.processes {
        crowds.push(bench.both(processes, sizes.usual)?);
    }
    let most = *crowds.last().context("no size")?;
    let mut lengths = Vec::new();
    for &samples in sizes.samples {
        lengths.push(match samples == sizes.usual {
            true => most,
            false => bench.both(most.processes, samples)?,
        });
    }
    let setting = setting.finish()?;
    Ok(vec![
        figure_11(&crowds, setting.clone()),
        figure_12(&lengths, setting),
    ])
}

fn table(first: &str, rows: &[OneNodeRow], name: impl Fn(&OneNodeRow) -> String) -> Table {
    let mut table = Table::new(&[
        first,
        "all: computing, s",
        "none: computing, s",
        "slowdown",
        "processes to a core of the one node",
        "all, none: MPI execution, s",
        "slowdown of that",
        "all, none: whole command, s",
        "none: nodes degraded",
    ]);
    for row in rows {
        let both = |value: fn(&TakenTime) -> f64| {
            format!("{:.2}, {:.2}", value(&row.all), value(&row.none))
        };
        table.row([
            name(row),
            format!("{:.2}", row.all.computing),
            format!("{:.2}", row.none.computing),
            format!("{:.2}", row.slowdown()),
            format!("{:.1}", row.processes_per_core()),
            both(|taken| taken.execution),
            format!("{:.2}", row.slowdown_of_execution()),
            both(|taken| taken.whole),
            row.none.degraded.to_string(),
        ]);
    }
    table
}

/// Least and greatest slowdown, each in processes to a core of the one node.
fn shares(rows: &[OneNodeRow]) -> (f64, f64) {
    let shares = rows
        .iter()
        .map(|row| row.slowdown() / row.processes_per_core());
    shares.fold((f64::INFINITY, 0.0), |(least, greatest), share| {
        (least.min(share), greatest.max(share))
    })
}

fn chart(x: Axis, rows: &[OneNodeRow], at: impl Fn(&OneNodeRow) -> f64) -> Chart {
    let over =
        |value: fn(&OneNodeRow) -> f64| rows.iter().map(|row| (at(row), value(row))).collect();
    Chart {
        x,
        y: Axis::linear("time in mode none to that in mode all"),
        series: vec![
            Series::measured("computing", over(OneNodeRow::slowdown)),
            Series::measured("MPI execution", over(OneNodeRow::slowdown_of_execution)),
            Series::given(
                "the paper's 8.8 for 70 on 8 cores, at as many to a core",
                over(|row| paper(row.processes_per_core())),
            ),
        ],
        ..Chart::default()
    }
}

fn figure_11(rows: &[OneNodeRow], setting: Setting) -> Figure {
    let (least, greatest) = shares(rows);
    let last = rows.last();
    Figure {
        name: "figure-11".to_owned(),
        title: "Figure 11: all processes on one node, by their number".to_owned(),
        command: command("figures-11-12"),
        method: format!(
            "Pi-MC, {} samples for each process, in mode `none` with a list of one node, and in mode `all`, \
             on {NODES} NodeManagers with room for {CORES} processes each; one run of each. Each node has \
             {CORES} slow cores: control groups with {:.1} % of one processor each, {:.1} \
            processors in all, so that nodes are the limit and this machine is not. Each process goes onto \
             a core of its node, by turns, at the end of `MPI_Init`, where all wait for each other; nothing else is slowed. Computing \
             is from there to the result, as the program tells; MPI execution from the start of the last \
             process to the end of the last one, with `MPI_Init`, which is as fast as this machine, and \
             `MPI_Finalize`. The ApplicationMaster runs in `gerbil-run` (`--deploy-mode client`), so that \
             all room is the processes'. Where ranks outnumber processors, `gerbil-run` of itself lets those \
             that wait for others yield.",
            rows.first().map_or(0, |row| row.samples),
            THOUSANDTHS as f64 / 10.0,
            f64::from(NODES * CORES) * THOUSANDTHS as f64 / 1000.0
        ),
        paper: "the slowdown grows linearly with the number of processes on the one node, to about 8.8 times \
                at 70, which is as many as there are to each of the node's 8 cores."
            .to_owned(),
        findings: vec![format!(
            "{} processes compute {:.2} times as long on one node as on all. The slowdown is {least:.2} to \
             {greatest:.2} times the number of processes to a core of that node.",
            last.map_or(0, |row| row.processes),
            last.map_or(0.0, OneNodeRow::slowdown)
        )],
        setting,
        table: table("processes", rows, |row| row.processes.to_string()),
        chart: chart(Axis::linear("processes"), rows, |row| {
            f64::from(row.processes)
        }),
    }
}

fn figure_12(rows: &[OneNodeRow], setting: Setting) -> Figure {
    let slowdowns: Vec<f64> = rows.iter().map(OneNodeRow::slowdown).collect();
    let least = slowdowns.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = slowdowns.iter().copied().fold(0.0, f64::max);
    let processes = rows.first().map_or(0, |row| row.processes);
    Figure {
        name: "figure-12".to_owned(),
        title: "Figure 12: all processes on one node, by what each computes".to_owned(),
        command: command("figures-11-12"),
        method: format!(
            "As Figure 11, with {processes} processes and more and more samples for each."
        ),
        paper:
            "the slowdown at 70 processes stays at about 8.8, whatever the number of iterations."
                .to_owned(),
        findings: vec![format!(
            "From {} to {} samples the slowdown is {least:.2} to {greatest:.2}; {} processes share a core.",
            rows.first().map_or(0, |row| row.samples),
            rows.last().map_or(0, |row| row.samples),
            rows.first().map_or(0.0, OneNodeRow::processes_per_core)
        )],
        setting,
        table: table("samples of each", rows, |row| row.samples.to_string()),
        chart: chart(Axis::logarithmic("samples of each process"), rows, |row| {
            row.samples as f64
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_slowdown_is_scaled_by_processes_per_core() {
        assert!((paper(70.0 / 8.0) - 8.8).abs() < 1e-9);
        assert!((paper(1.0) - 1.0).abs() < 0.01);
    }
}
