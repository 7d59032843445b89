//! How long a launch takes: `gerbil-run` against Hadoop's own DistributedShell, on one cluster.
//!
//! All start the same small program as often as asked for (once on each of the nodes, if nothing is
//! said): DistributedShell one process in a container of the cluster's minimum size, `gerbil-run` one
//! container of as many such sizes as there are processes on a node. Each process notes the moment it
//! began. Measured are the time from the start of the command to the last such moment, and to the end
//! of the command. A round is one run of each, in turns of who goes first; one round before warms
//! caches on all sides. Between two runs the cluster is left to settle.

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use clap::{Parser, ValueEnum};
use it::resource_manager::ApplicationReport;
use it::{Cluster, Run, Version, gerbil, mpi, wait};
use serde::Serialize;

/// Times launches: `gerbil-run` against Hadoop's own DistributedShell.
#[derive(Debug, Parser)]
struct AgainstDistributedShellOptions {
    /// Of each peer; one more before warms caches.
    #[arg(default_value = "10")]
    rounds: NonZeroUsize,
    #[arg(long, default_value = "4")]
    nodes: NonZeroUsize,
    /// One a node, unless said.
    #[arg(long)]
    processes: Option<NonZeroUsize>,
    /// Where gerbil-run's ApplicationMaster is.
    #[arg(long, value_enum, default_value_t = DeployMode::Cluster)]
    deploy_mode: DeployMode,
    /// Hadoop's release.
    #[arg(long, default_value = "3.4.2")]
    version: Version,
    /// Prints every run as JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DeployMode {
    Cluster,
    Client,
    Both,
}
/// One run of either.
const DEADLINE: Duration = Duration::from_secs(120);
/// The daemons finish their own work after a job.
const SETTLE: Duration = Duration::from_secs(2);
/// A container's end makes its NodeManager heartbeat at once, so after a job all of them beat in step
/// with its end. Users start their commands at any time: the rounds begin at points spread over the
/// second between two beats, by the golden ratio, all of a round at the same one.
const BEAT_MS: u64 = 1000;
const STEP_MS: u64 = 618;

/// One run, seconds since the start of the command.
#[derive(Debug, Clone, Copy, Serialize)]
struct Times {
    last_process: f64,
    whole_command: f64,
}

/// What is measured, in the order of a round's runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Contender {
    DistributedShell,
    GerbilRunCluster,
    GerbilRunClient,
}

/// One run of each peer.
type ShellRound = Vec<Times>;

/// Of one figure over all runs.
#[derive(Debug, Clone, Copy, Serialize)]
struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

/// One figure of one peer.
#[derive(Debug, Serialize)]
struct PeerRow {
    figure: &'static str,
    peer: Contender,
    seconds: Spread,
    /// Of the medians, to DistributedShell's.
    ratio: f64,
    /// Of each round's own ratio.
    round_ratio: Spread,
    /// The ratio that the project wants at most, where it has said one.
    target: Option<f64>,
}

#[derive(Debug, Serialize)]
struct ShellReport {
    hadoop: String,
    nodes: usize,
    processes: usize,
    cores: usize,
    /// Runnable processes, mean of a minute, before the first and after the last round: whether the
    /// machine was this command's alone.
    load: (f64, f64),
    peers: Vec<Contender>,
    rounds: Vec<ShellRound>,
    rows: Vec<PeerRow>,
}

struct Bench {
    cluster: Cluster,
    processes: usize,
    peers: Vec<Contender>,
    program: String,
    folder: tempfile::TempDir,
    runs: u32,
}

impl Contender {
    const fn name(self) -> &'static str {
        match self {
            Self::DistributedShell => "DistributedShell",
            Self::GerbilRunCluster => "gerbil-run",
            Self::GerbilRunClient => "gerbil-run client mode",
        }
    }

    /// Of the time to the last of 16 processes on four nodes.
    const fn target(self) -> Option<f64> {
        match self {
            Self::DistributedShell => None,
            Self::GerbilRunCluster => Some(0.2),
            Self::GerbilRunClient => Some(0.12),
        }
    }
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
    let options = AgainstDistributedShellOptions::parse();
    let (count, nodes) = (options.rounds.get(), options.nodes.get());
    let (version, json) = (options.version, options.json);
    let ours: &[Contender] = match options.deploy_mode {
        DeployMode::Cluster => &[Contender::GerbilRunCluster],
        DeployMode::Client => &[Contender::GerbilRunClient],
        DeployMode::Both => &[Contender::GerbilRunCluster, Contender::GerbilRunClient],
    };
    let peers = [&[Contender::DistributedShell], ours].concat();
    gerbil::binary()?;
    let folder = tempfile::tempdir()?;
    let program = mpi::plain_program("stamp", folder.path())?
        .display()
        .to_string();
    let cluster = Cluster::builder().version(version).nodes(nodes).start()?;
    let hadoop = cluster.version()?;
    let load_before = load()?;
    let processes = options.processes.map_or(nodes, NonZeroUsize::get);
    let mut bench = Bench {
        cluster,
        processes,
        peers: peers.clone(),
        program,
        folder,
        runs: 0,
    };
    let mut stdout = std::io::stdout();
    bench.round(0)?;
    let mut rounds = Vec::new();
    for number in 0..count {
        let round = bench.round(number)?;
        if !json {
            let texts = peers.iter().zip(&round).map(|(peer, times)| {
                format!(
                    "{} {:.2} s to the last process, {:.2} s in all",
                    peer.name(),
                    times.last_process,
                    times.whole_command
                )
            });
            let texts: Vec<_> = texts.collect();
            writeln!(stdout, "round {:2}: {}", number + 1, texts.join("; "))?;
        }
        rounds.push(round);
    }
    let cores = std::thread::available_parallelism()?.get();
    let report = ShellReport {
        hadoop,
        nodes,
        processes,
        cores,
        load: (load_before, load()?),
        rows: rows(&peers, processes == 16 && nodes == 4, &rounds),
        peers,
        rounds,
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

fn print(out: &mut impl std::io::Write, report: &ShellReport) -> Result<()> {
    writeln!(
        out,
        "\nHadoop {}, {} processes on {} nodes on one machine of {} cores (load {:.1} to {:.1}), {} rounds, \
         seconds, median (min-max)",
        report.hadoop,
        report.processes,
        report.nodes,
        report.cores,
        report.load.0,
        report.load.1,
        report.rounds.len()
    )?;
    writeln!(
        out,
        "{:22} {:22} {:>22} {:>22} {:>8}",
        "", "", "seconds", "ratio", "target"
    )?;
    for row in &report.rows {
        let text =
            |spread: Spread| format!("{:.2} ({:.2}-{:.2})", spread.median, spread.min, spread.max);
        let (ratio, target) = match row.peer {
            Contender::DistributedShell => (String::new(), String::new()),
            _ => {
                let spread = row.round_ratio;
                let ratio = format!("{:.3} ({:.3}-{:.3})", row.ratio, spread.min, spread.max);
                let target = row.target.map(|target| format!("{target:.2}"));
                (ratio, target.unwrap_or_default())
            }
        };
        writeln!(
            out,
            "{:22} {:22} {:>22} {ratio:>22} {target:>8}",
            row.figure,
            row.peer.name(),
            text(row.seconds),
        )?;
    }
    Ok(())
}

fn rows(peers: &[Contender], has_target: bool, rounds: &[ShellRound]) -> Vec<PeerRow> {
    type TimesFigure = (&'static str, fn(&Times) -> f64, bool);
    let figures: [TimesFigure; 2] = [
        ("last process started", |times| times.last_process, true),
        ("whole command", |times| times.whole_command, false),
    ];
    let mut rows = Vec::new();
    for (figure, of, is_target) in figures {
        // DistributedShell comes first in each round.
        let theirs = spread(rounds.iter().map(|round| of(&round[0])).collect());
        for (place, peer) in peers.iter().copied().enumerate() {
            let own = spread(rounds.iter().map(|round| of(&round[place])).collect());
            let ratios = rounds.iter().map(|round| of(&round[place]) / of(&round[0]));
            rows.push(PeerRow {
                figure,
                peer,
                seconds: own,
                ratio: own.median / theirs.median,
                round_ratio: spread(ratios.collect()),
                target: peer.target().filter(|_| is_target && has_target),
            });
        }
    }
    rows
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
    /// One run of each, `first` of them (round the list) going first; in the order of the list.
    fn round(&mut self, first: usize) -> Result<ShellRound> {
        let count = self.peers.len();
        let mut times = vec![None; count];
        for step in 0..count {
            let place = (first + step) % count;
            times[place] = Some(self.measure(self.peers[place])?);
        }
        Ok(times.into_iter().flatten().collect())
    }

    fn measure(&mut self, peer: Contender) -> Result<Times> {
        self.settle()?;
        self.runs += 1;
        let stamps = self.folder.path().join(format!("run-{}", self.runs));
        std::fs::create_dir(&stamps)?;
        let command = match peer {
            Contender::DistributedShell => self.distributed_shell(&stamps),
            Contender::GerbilRunCluster | Contender::GerbilRunClient => {
                let mode = match peer {
                    Contender::GerbilRunClient => "client",
                    _ => "cluster",
                };
                let arguments = [
                    "--deploy-mode",
                    mode,
                    "-n",
                    &self.processes.to_string(),
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
            started.len() == self.processes,
            "{} processes instead of {}: {what}",
            started.len(),
            self.processes
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
                &self.processes.to_string(),
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
        let round = u64::from(self.runs) / self.peers.len() as u64;
        wait::pause(SETTLE + Duration::from_millis(round * STEP_MS % BEAT_MS));
        Ok(())
    }
}
