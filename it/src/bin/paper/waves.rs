//! Figure 13: more processes than there is room for. `gerbil-run` gives them less room each and starts
//! them all; MapReduce starts as many as there is room for, and the rest as those end.

use anyhow::{Context as _, Result};
use it::results::{Axis, Chart, Figure, Series, Setting, Table};

use crate::mapreduce::{Bench, MONTE_CARLO};
use crate::programs::{hadoop_watched, settle};
use crate::{command, say};

/// Of all processes together.
const ALL: u64 = 100_000_000;
const PROCESSES: [u32; 4] = [8, 16, 32, 48];
const QUICK: [u32; 2] = [8, 20];
/// Room of the whole cluster, the ApplicationMaster's included.
const ROOM: u32 = 16;
/// What one process wants, MiB.
const UNIT_MIB: u64 = 1024;

/// One number of processes, both ways.
struct WaveRow {
    processes: u32,
    /// Seconds.
    ours: f64,
    theirs: f64,
    /// For all processes, MiB.
    granted: u64,
    /// Nodes that are said to be degraded.
    degraded: usize,
    /// The most containers of MapReduce at once, its ApplicationMaster left out.
    at_once: u32,
}

impl WaveRow {
    /// As many as mappers need at least that are never more at once.
    fn waves(&self) -> u32 {
        self.processes.div_ceil(self.at_once.max(1))
    }
}

fn row(bench: &Bench, processes: u32) -> Result<WaveRow> {
    let count = processes.to_string();
    let samples = (ALL / u64::from(processes)).to_string();
    let options = ["-n", &count];
    settle(&bench.cluster)?;
    let (ours, report) = bench
        .programs
        .gerbil(&bench.cluster, &options, "pi_mc", &[&samples])?;
    settle(&bench.cluster)?;
    let (theirs, most) = hadoop_watched(&bench.cluster, MONTE_CARLO, &[&count, &samples])?;
    let row = WaveRow {
        processes,
        ours,
        theirs,
        granted: report.granted().memory_mib,
        degraded: report.degraded.len(),
        at_once: most.saturating_sub(1),
    };
    say(&format!(
        "{processes}: gerbil-run {ours:.2} s, nodes degraded: {}; MapReduce {theirs:.2} s, waves: {}",
        row.degraded,
        row.waves()
    ))?;
    Ok(row)
}

pub(crate) fn figure_13(quick: bool) -> Result<Figure> {
    let sizes: &[u32] = if quick { &QUICK } else { &PROCESSES };
    let bench = Bench::new()?;
    let setting = Setting::begin(&bench.cluster.version()?)?;
    let rows = sizes.iter().map(|&processes| row(&bench, processes));
    let rows: Vec<WaveRow> = rows.collect::<Result<_>>()?;
    figure(&rows, setting.finish()?)
}

fn table(rows: &[WaveRow]) -> Table {
    let mut table = Table::new(&[
        "processes",
        "gerbil-run, s",
        "MapReduce, s",
        "times faster",
        "gerbil-run: MiB granted of wanted",
        "gerbil-run: nodes degraded",
        "MapReduce: most containers at once",
        "MapReduce: waves, at least",
    ]);
    for row in rows {
        table.row([
            row.processes.to_string(),
            format!("{:.2}", row.ours),
            format!("{:.2}", row.theirs),
            format!("{:.1}", row.theirs / row.ours),
            format!("{} of {}", row.granted, u64::from(row.processes) * UNIT_MIB),
            row.degraded.to_string(),
            row.at_once.to_string(),
            row.waves().to_string(),
        ]);
    }
    table
}

fn figure(rows: &[WaveRow], setting: Setting) -> Result<Figure> {
    let (first, last) = (
        rows.first().context("no row")?,
        rows.last().context("no row")?,
    );
    let over = |value: fn(&WaveRow) -> f64| {
        let points = rows
            .iter()
            .map(|row| (f64::from(row.processes), value(row)));
        points.collect::<Vec<_>>()
    };
    Ok(Figure {
        name: "figure-13".to_owned(),
        title: "Figure 13: more processes than room, against MapReduce's waves".to_owned(),
        command: command("figure-13"),
        method: format!(
            "Pi-MC with {ALL} samples in all, dealt out to more and more processes or mappers, on four \
             NodeManagers with room for {ROOM} containers, the ApplicationMaster's included; the whole \
             command, one run each. `gerbil-run` in its default mode, `all`: one container a node, each as \
             large as there is room; a node is degraded when that is less than was wanted, or when it has \
             more ranks than this machine has cores. MapReduce: Hadoop's example `pi`, looked at four times \
             a second; its one reducer takes the room of a mapper when the first mappers have ended. The \
             nodes share one machine, so more processes are not faster, and each JVM that is started slows \
             all."
        ),
        paper: "with 10^8 iterations and up to 70 processes: MapReduce's mappers run in waves and its time \
                grows linearly, GERBIL starts all at once by oversubscription and its time is effectively \
                constant."
            .to_owned(),
        findings: vec![
            format!(
                "From {} to {} processes MapReduce's time grows {:.1} times, by {:.1} s, that of `gerbil-run` \
                 {:.1} times, by {:.1} s.",
                first.processes,
                last.processes,
                last.theirs / first.theirs,
                last.theirs - first.theirs,
                last.ours / first.ours,
                last.ours - first.ours
            ),
            format!(
                "With {} processes `gerbil-run` started all at once in {} MiB instead of {}, and said so of {} \
                 nodes; of as many mappers never more than {} ran at once, in {} waves or more.",
                last.processes,
                last.granted,
                u64::from(last.processes) * UNIT_MIB,
                last.degraded,
                last.at_once,
                last.waves()
            ),
        ],
        setting,
        table: table(rows),
        chart: Chart {
            x: Axis::linear("processes or mappers"),
            y: Axis::linear("seconds, whole command"),
            series: vec![
                Series::measured("gerbil-run", over(|row| row.ours)),
                Series::measured("MapReduce", over(|row| row.theirs)),
            ],
            ..Chart::default()
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(processes: u32, at_once: u32) -> WaveRow {
        WaveRow {
            processes,
            ours: 2.0,
            theirs: 4.0 * f64::from(processes),
            granted: 15 * UNIT_MIB,
            degraded: 4,
            at_once,
        }
    }

    #[test]
    fn mappers_that_do_not_fit_come_in_waves() {
        assert_eq!(row(15, 15).waves(), 1);
        assert_eq!(row(48, 15).waves(), 4);
        // Never seen at all.
        assert_eq!(row(8, 0).waves(), 8);
    }

    #[test]
    fn the_finding_says_how_both_grow() {
        let figure = figure(&[row(8, 8), row(48, 15)], Setting::default()).unwrap();
        let first = &figure.findings[0];
        assert!(first.contains("grows 6.0 times, by 160.0 s"), "{first}");
        assert!(first.contains("1.0 times, by 0.0 s"), "{first}");
        assert!(figure.table.text().contains("15360 of 49152"));
    }
}
