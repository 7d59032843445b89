//! How long a launch takes: `gerbil-run` against Hadoop's own DistributedShell, on one cluster.
//!
//! Both start the same small program once on each of the nodes, in containers of the cluster's minimum
//! size; each process notes the moment it began. Measured are the time from the start of the command to
//! the last such moment, and to the end of the command. A pair is one run of each, in turns of who goes
//! first; one pair before warms caches on both sides. Between two runs the cluster is left to settle.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail, ensure};
use it::resource_manager::ApplicationReport;
use it::{Cluster, Run, Version, gerbil, mpi, wait};
use serde::Serialize;

const USAGE: &str = "usage: against-distributed-shell [PAIRS] [--nodes N] [--version V] [--json]";
/// One run of either.
const DEADLINE: Duration = Duration::from_secs(120);
/// The daemons finish their own work after a job.
const SETTLE: Duration = Duration::from_secs(2);
/// A container's end makes its NodeManager heartbeat at once, so after a job all of them beat in step
/// with its end. Users start their commands at any time: the pairs begin at points spread over the
/// second between two beats, by the golden ratio, both of a pair at the same one.
const BEAT_MS: u64 = 1000;
const STEP_MS: u64 = 618;

/// One run, seconds since the start of the command.
#[derive(Debug, Clone, Copy, Serialize)]
struct Times {
    last_process: f64,
    whole_command: f64,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Pair {
    distributed_shell: Times,
    gerbil_run: Times,
}

/// Of one figure over all runs.
#[derive(Debug, Clone, Copy, Serialize)]
struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

#[derive(Debug, Serialize)]
struct Row {
    figure: &'static str,
    distributed_shell_s: Spread,
    gerbil_run_s: Spread,
    /// Of the medians.
    ratio: f64,
    /// Of the pairs' own ratios.
    pair_ratio: Spread,
}

#[derive(Debug, Serialize)]
struct Report {
    hadoop: String,
    nodes: usize,
    cores: usize,
    /// Runnable processes, mean of a minute, before the first and after the last pair: whether the
    /// machine was this command's alone.
    load: (f64, f64),
    pairs: Vec<Pair>,
    rows: Vec<Row>,
}

struct Bench {
    cluster: Cluster,
    nodes: usize,
    program: String,
    folder: tempfile::TempDir,
    runs: u32,
}

#[derive(Clone, Copy)]
enum Peer {
    DistributedShell,
    GerbilRun,
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("against-distributed-shell: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let (mut count, mut nodes, mut version, mut json) = (10_usize, 4_usize, Version::V3_4_2, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .with_context(|| format!("{argument} wants a value\n{USAGE}"))
        };
        match argument.as_str() {
            "--nodes" => nodes = value()?.parse().context("--nodes wants a number")?,
            "--version" => version = value()?.parse()?,
            "--json" => json = true,
            number if number.parse::<usize>().is_ok_and(|pairs| pairs > 0) => {
                count = number.parse()?
            }
            _ => bail!("{argument}: not known\n{USAGE}"),
        }
    }
    gerbil::binary()?;
    let folder = tempfile::tempdir()?;
    let program = mpi::plain_program("stamp", folder.path())?
        .display()
        .to_string();
    let cluster = Cluster::builder().version(version).nodes(nodes).start()?;
    let hadoop = cluster.version()?;
    let load_before = load()?;
    let mut bench = Bench {
        cluster,
        nodes,
        program,
        folder,
        runs: 0,
    };
    let mut stdout = std::io::stdout();
    bench.pair(false)?;
    let mut pairs = Vec::new();
    for number in 0..count {
        let pair = bench.pair(number % 2 == 1)?;
        if !json {
            writeln!(
                stdout,
                "pair {:2}: DistributedShell {:6.2} s to the last process, {:6.2} s in all; gerbil-run {:6.2} s, {:6.2} s",
                number + 1,
                pair.distributed_shell.last_process,
                pair.distributed_shell.whole_command,
                pair.gerbil_run.last_process,
                pair.gerbil_run.whole_command
            )?;
        }
        pairs.push(pair);
    }
    let cores = std::thread::available_parallelism()?.get();
    let report = Report {
        hadoop,
        nodes,
        cores,
        load: (load_before, load()?),
        rows: vec![
            row("last process started", &pairs, |times| times.last_process),
            row("whole command", &pairs, |times| times.whole_command),
        ],
        pairs,
    };
    if json {
        serde_json::to_writer_pretty(&mut stdout, &report)?;
        writeln!(stdout)?;
    } else {
        print(&mut stdout, &report)?;
    }
    Ok(())
}

fn load() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/loadavg")?;
    text.split(' ')
        .next()
        .context("/proc/loadavg is empty")?
        .parse()
        .context("/proc/loadavg")
}

fn print(out: &mut impl std::io::Write, report: &Report) -> Result<()> {
    writeln!(
        out,
        "\nHadoop {}, {} nodes on one machine of {} cores (load {:.1} to {:.1}), {} pairs, seconds, median (min-max)",
        report.hadoop,
        report.nodes,
        report.cores,
        report.load.0,
        report.load.1,
        report.pairs.len()
    )?;
    writeln!(
        out,
        "{:22} {:>22} {:>22} {:>22}",
        "", "DistributedShell", "gerbil-run", "ratio"
    )?;
    for row in &report.rows {
        let text =
            |spread: Spread| format!("{:.2} ({:.2}-{:.2})", spread.median, spread.min, spread.max);
        writeln!(
            out,
            "{:22} {:>22} {:>22} {:>22}",
            row.figure,
            text(row.distributed_shell_s),
            text(row.gerbil_run_s),
            text(row.pair_ratio)
        )?;
    }
    Ok(())
}

fn row(figure: &'static str, pairs: &[Pair], of: impl Fn(&Times) -> f64) -> Row {
    let theirs = spread(
        pairs
            .iter()
            .map(|pair| of(&pair.distributed_shell))
            .collect(),
    );
    let ours = spread(pairs.iter().map(|pair| of(&pair.gerbil_run)).collect());
    let ratios = pairs
        .iter()
        .map(|pair| of(&pair.gerbil_run) / of(&pair.distributed_shell))
        .collect();
    Row {
        figure,
        distributed_shell_s: theirs,
        gerbil_run_s: ours,
        ratio: ours.median / theirs.median,
        pair_ratio: spread(ratios),
    }
}

/// Of at least one value.
fn spread(mut values: Vec<f64>) -> Spread {
    values.sort_by(f64::total_cmp);
    let (low, high) = ((values.len() - 1) / 2, values.len() / 2);
    Spread {
        median: f64::midpoint(values[low], values[high]),
        min: values[0],
        max: values[values.len() - 1],
    }
}

impl Bench {
    fn pair(&mut self, ours_first: bool) -> Result<Pair> {
        if ours_first {
            let gerbil_run = self.measure(Peer::GerbilRun)?;
            Ok(Pair {
                distributed_shell: self.measure(Peer::DistributedShell)?,
                gerbil_run,
            })
        } else {
            let distributed_shell = self.measure(Peer::DistributedShell)?;
            Ok(Pair {
                distributed_shell,
                gerbil_run: self.measure(Peer::GerbilRun)?,
            })
        }
    }

    fn measure(&mut self, peer: Peer) -> Result<Times> {
        self.settle()?;
        self.runs += 1;
        let stamps = self.folder.path().join(format!("run-{}", self.runs));
        std::fs::create_dir(&stamps)?;
        let command = match peer {
            Peer::DistributedShell => self.distributed_shell(&stamps),
            Peer::GerbilRun => {
                let arguments = [
                    "-n",
                    &self.nodes.to_string(),
                    &self.program,
                    &stamps.display().to_string(),
                ];
                gerbil::command(&self.cluster.conf_dir(), arguments)?
            }
        };
        let what = format!("{command:?}");
        let begin = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
        let finished = Run::new(command)
            .deadline(DEADLINE)
            .finish()?
            .success(&what)?;
        let mut started = Vec::new();
        for found in std::fs::read_dir(&stamps)? {
            let path = found?.path();
            let text = std::fs::read_to_string(&path)?;
            started.push(
                text.trim()
                    .parse::<f64>()
                    .with_context(|| path.display().to_string())?,
            );
        }
        ensure!(
            started.len() == self.nodes,
            "{} processes instead of {}: {what}",
            started.len(),
            self.nodes
        );
        let last = started.into_iter().fold(f64::MIN, f64::max);
        Ok(Times {
            last_process: last - begin,
            whole_command: finished.wall.as_secs_f64(),
        })
    }

    fn distributed_shell(&self, stamps: &Path) -> Command {
        let jar = self.cluster.distribution().distributed_shell_jar();
        self.cluster.tool(
            "org.apache.hadoop.yarn.applications.distributedshell.Client",
            &[
                "-jar",
                &jar.display().to_string(),
                "-shell_command",
                &format!("{} {}", self.program, stamps.display()),
                "-num_containers",
                &self.nodes.to_string(),
                "-container_memory",
                "1024",
            ],
        )
    }

    /// Waits until nothing of the run before is left, and a little longer.
    fn settle(&self) -> Result<()> {
        wait::until("every application to end", DEADLINE, || {
            let all = self.cluster.resource_manager().applications()?;
            Ok(all.iter().all(ApplicationReport::is_over).then_some(()))
        })?;
        wait::until("every container to end", DEADLINE, || {
            Ok(self.cluster.container_processes()?.is_empty().then_some(()))
        })?;
        let pair = u64::from(self.runs / 2);
        wait::pause(SETTLE + Duration::from_millis(pair * STEP_MS % BEAT_MS));
        Ok(())
    }
}
