//! Figures 4 and 5: small programs, and where the time of a launch goes.

use std::time::Duration;

use anyhow::{Context as _, Result};
use it::results::{Axis, Chart, Figure, Series, Setting, Spread, Table};
use it::{Cluster, wait};

use crate::programs::{Programs, READY, hadoop};
use crate::{command, phases, say};

/// With arguments that take about a tenth of a second natively, launch aside.
const PROGRAMS: [(&str, &str, &str); 4] = [
    ("CPI", "cpi", "20000000"),
    ("MatrixMultiply", "matmul", "700"),
    ("2D-FFT", "fft2d", "1024"),
    ("PrimeCount", "primecount", "1000000"),
];
/// One process on each of two nodes: this machine's cores must not be shared, since MPI's processes
/// wait by looking.
const PROCESSES: u32 = 2;
/// The end of a container makes its NodeManager beat at once, so after a job all beat in step with its end.
/// Users start their commands at any time: the rounds begin at points spread over the second between two
/// beats, by the golden ratio.
const BEAT_MS: u64 = 1000;
const STEP_MS: u64 = 618;
/// What the paper adds to each program.
const PAPER_OVERHEAD: f64 = 9.0;

struct SmallRow {
    name: &'static str,
    native: Spread,
    ours: Spread,
    /// Medians, seconds.
    phases: Vec<f64>,
}

pub(crate) fn measure(quick: bool) -> Result<Vec<Figure>> {
    let rounds = if quick { 1 } else { 7 };
    let programs = Programs::compile(&PROGRAMS.map(|(_, program, _)| program))?;
    let cluster = Cluster::builder().nodes(4).deadline(READY).start()?;
    let setting = Setting::begin(&cluster.version()?)?;
    let options = ["-n", &PROCESSES.to_string()];
    let shell = distributed_shell(&cluster, rounds.min(3))?;
    let mut rows = Vec::new();
    for (name, program, argument) in PROGRAMS {
        // The first stages the program.
        programs.gerbil(&cluster, &options, program, &[argument])?;
        let (mut native, mut ours, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for round in 1..=rounds {
            native.push(programs.native(PROCESSES, program, &[argument])?);
            wait::pause(Duration::from_millis(round * STEP_MS % BEAT_MS));
            let (wall, report) = programs.gerbil(&cluster, &options, program, &[argument])?;
            ours.push(wall);
            parts.push(phases::of(&report));
        }
        let row = SmallRow {
            name,
            native: Spread::of(&native).context("no round")?,
            ours: Spread::of(&ours).context("no round")?,
            phases: phases::medians(&parts),
        };
        say(&format!(
            "{name}: native {} s, gerbil-run {} s",
            row.native.words(),
            row.ours.words()
        ))?;
        rows.push(row);
    }
    let setting = setting.finish()?;
    Ok(vec![
        figure_4(&rows, shell, setting.clone()),
        figure_5(&rows, setting),
    ])
}

/// Seconds of Hadoop's own way to start as many processes, which do nothing.
fn distributed_shell(cluster: &Cluster, rounds: u64) -> Result<Spread> {
    let jar = cluster.distribution().distributed_shell_jar();
    let arguments = [
        "-jar",
        &jar.display().to_string(),
        "-shell_command",
        "true",
        "-num_containers",
        &PROCESSES.to_string(),
        "-container_memory",
        "1024",
    ];
    let class = "org.apache.hadoop.yarn.applications.distributedshell.Client";
    let times = (0..rounds).map(|_| hadoop(cluster, class, &arguments));
    let times: Vec<f64> = times.collect::<Result<_>>()?;
    Spread::of(&times).context("no round")
}

fn names(rows: &[SmallRow]) -> Vec<String> {
    rows.iter().map(|row| row.name.to_owned()).collect()
}

fn bars<T>(rows: &[SmallRow], value: impl Fn(&SmallRow) -> T) -> Vec<(f64, T)> {
    let points = rows.iter().enumerate();
    points
        .map(|(place, row)| (place as f64, value(row)))
        .collect()
}

fn figure_4(rows: &[SmallRow], shell: Spread, setting: Setting) -> Figure {
    let mut table = Table::new(&[
        "program",
        "native mpiexec, s",
        "gerbil-run, s",
        "more than native, s",
        "the paper's more, s",
    ]);
    for row in rows {
        table.row([
            row.name.to_owned(),
            row.native.words(),
            row.ours.words(),
            format!("{:.2}", row.ours.median - row.native.median),
            format!("about {PAPER_OVERHEAD:.0}"),
        ]);
    }
    let overheads: Vec<f64> = rows
        .iter()
        .map(|row| row.ours.median - row.native.median)
        .collect();
    let overhead = Spread::of(&overheads);
    Figure {
        name: "figure-04".to_owned(),
        title: "Figure 4: small programs, native and under YARN".to_owned(),
        command: command("figures-4-5"),
        method: format!(
            "{PROCESSES} processes, one on each of two nodes of a cluster of four NodeManagers with HDFS, \
             against MPICH's own `mpiexec` on the same machine, in turns; the whole command, second and later \
             runs, begun at points spread over the second between two heartbeats. Beside them \
             DistributedShell, which starts as many processes that do nothing ({} s).",
            shell.words()
        ),
        paper: "GERBIL takes about 9 s more than native MPI for each of the four programs (18 processes on 18 \
                nodes)."
            .to_owned(),
        findings: vec![format!(
            "`gerbil-run` takes {:.2} to {:.2} s more than native.",
            overhead.map_or(0.0, |spread| spread.min),
            overhead.map_or(0.0, |spread| spread.max)
        )],
        setting,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("seconds, whole command"),
            names: names(rows),
            stacked: false,
            series: vec![
                Series::spread("native mpiexec", &bars(rows, |row| row.native)),
                Series::spread("gerbil-run", &bars(rows, |row| row.ours)),
                Series::spread(
                    "DistributedShell, processes that do nothing",
                    &bars(rows, |_| shell),
                ),
                Series::given(
                    "native and the paper's 9 s",
                    bars(rows, |row| row.native.median + PAPER_OVERHEAD),
                ),
            ],
        },
    }
}

fn figure_5(rows: &[SmallRow], setting: Setting) -> Figure {
    let programs: Vec<(String, &[f64])> = rows
        .iter()
        .map(|row| (row.name.to_owned(), row.phases.as_slice()))
        .collect();
    let heartbeats = rows
        .iter()
        .map(|row| row.phases[phases::AM_START] + row.phases[phases::ALLOCATION]);
    let heartbeats = Spread::of(&heartbeats.collect::<Vec<_>>());
    let whole = rows.iter().map(|row| row.phases.iter().sum());
    let whole = Spread::of(&whole.collect::<Vec<_>>());
    Figure {
        name: "figure-05".to_owned(),
        title: "Figure 5: where the time of a small job goes".to_owned(),
        command: command("figures-4-5"),
        method: "The phases of the jobs of Figure 4, from the job reports, medians. The paper's names; staging \
                 and submit is the client's part, which it does not show."
            .to_owned(),
        paper: "AM start, container allocation and container ready, all YARN's, make up the 9 s; MPI execution \
                is as native."
            .to_owned(),
        findings: vec![format!(
            "AM start and container allocation, in which YARN waits for the NodeManagers' heartbeats, take \
             {:.2} to {:.2} s of {:.2} to {:.2} s.",
            heartbeats.map_or(0.0, |spread| spread.min),
            heartbeats.map_or(0.0, |spread| spread.max),
            whole.map_or(0.0, |spread| spread.min),
            whole.map_or(0.0, |spread| spread.max)
        )],
        setting,
        table: phases::table(&programs),
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("seconds"),
            names: names(rows),
            stacked: true,
            series: phases::series(&programs),
        },
    }
}
