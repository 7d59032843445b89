//! How long a launch takes from containers that are there: `gerbil-run` against stock Hydra.
//!
//! Both start the same MPI program with as many ranks on each of four nodes, which are loopback
//! addresses of this machine; Hydra forks its proxies. Each rank notes the moment it was past `MPI_Init`.
//! Measured is the time to the last such moment: for Hydra from the start of the command, for
//! `gerbil-run` from the moment when all launchers were connected, as the job's report tells it.
//!
//! Nodes that share a machine share its memory too, which makes a difference to ranks: those that all read
//! one copy of the MPI library find it in the caches of the processors, those with a copy a node less
//! often. `gerbil-run` brings a copy to each node, so it is compared with a Hydra whose ranks read a copy
//! of their node's own, as they do on nodes with a memory each; and with `--no-ship-libs`, where all read the
//! one that is installed, with a Hydra whose ranks do the same. A round is one run of each, in turns of who
//! goes first; one round before warms caches.

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;
use it::cluster::Size;
use it::initialized::{copies, timed};
use it::results::Ratio;
use it::results::Spread;
use it::{Cluster, Mpich, gerbil, wait};

/// Times launches from containers that are there: `gerbil-run` against stock Hydra.
#[derive(Debug, Parser)]
struct AgainstHydraOptions {
    /// Of each peer; one more before warms caches.
    #[arg(default_value = "5")]
    rounds: NonZeroUsize,
    #[arg(long, default_value = "64")]
    ranks: NonZeroUsize,
}
const NODES: usize = 4;
/// One run of either.
const DEADLINE: Duration = Duration::from_secs(300);
/// The daemons finish their own work after a job.
const SETTLE: Duration = Duration::from_secs(1);
/// Of a rank, MiB: as much as the check of virtual memory wants for 16 of them in a container.
const MEMORY_MIB: u64 = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contender {
    Hydra,
    GerbilRun,
    HydraInstalled,
    GerbilRunInstalled,
}

const PEERS: [Contender; 4] = [
    Contender::Hydra,
    Contender::GerbilRun,
    Contender::HydraInstalled,
    Contender::GerbilRunInstalled,
];

impl Contender {
    const fn name(self) -> &'static str {
        match self {
            Self::Hydra => "mpiexec.hydra, a copy of the library a node",
            Self::GerbilRun => "gerbil-run",
            Self::HydraInstalled => "mpiexec.hydra, one copy for all",
            Self::GerbilRunInstalled => "gerbil-run --no-ship-libs",
        }
    }

    /// Place in [`PEERS`] of the Hydra whose ranks read as many copies.
    const fn hydra(self) -> usize {
        match self {
            Self::Hydra | Self::GerbilRun => 0,
            Self::HydraInstalled | Self::GerbilRunInstalled => 2,
        }
    }
}

struct Bench {
    cluster: Cluster,
    mpich: Mpich,
    /// Of the MPI library, a folder a node.
    copies: Vec<PathBuf>,
    program: String,
    ranks: usize,
    folder: tempfile::TempDir,
    runs: u32,
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("against-hydra: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let options = AgainstHydraOptions::parse();
    let (rounds, ranks) = (options.rounds.get(), options.ranks.get());
    gerbil::binary()?;
    let each = ranks.div_ceil(NODES) as u64;
    let size = Size {
        // The ApplicationMaster's container is on one of them.
        memory_mib: each * MEMORY_MIB + 2048,
        vcores: u32::try_from(each)? + 1,
    };
    let folder = tempfile::tempdir()?;
    let mpich = Mpich::install()?;
    let program = mpich.program("initialized", folder.path())?;
    let mut bench = Bench {
        cluster: Cluster::builder().sizes(&[size; NODES]).start()?,
        copies: copies(&mpich.libraries()?, folder.path(), NODES)?,
        mpich,
        program: program.display().to_string(),
        ranks,
        folder,
        runs: 0,
    };
    let mut stdout = std::io::stdout();
    bench.round(0)?;
    let mut all = Vec::new();
    for number in 0..rounds {
        let times = bench.round(number)?;
        let texts = PEERS.iter().zip(times);
        let texts: Vec<String> = texts
            .map(|(peer, seconds)| format!("{} {seconds:.2} s", peer.name()))
            .collect();
        writeln!(stdout, "round {:2}: {}", number + 1, texts.join(", "))?;
        all.push(times);
    }
    let cores = std::thread::available_parallelism()?.get();
    writeln!(
        stdout,
        "\n{ranks} ranks on {NODES} nodes on one machine of {cores} cores, {rounds} rounds; seconds to the last \
         rank past MPI_Init, and each round's ratio to the mpiexec.hydra with as many copies, median (min-max); \
         and that ratio's geometric mean with its 95 % bound"
    )?;
    for (place, peer) in PEERS.iter().enumerate() {
        let hydra = peer.hydra();
        let seconds: Vec<f64> = all.iter().map(|times| times[place]).collect();
        let seconds = spread(&seconds)?;
        let ratios: Vec<f64> = all
            .iter()
            .map(|times| times[place] / times[hydra])
            .collect();
        let mean = if place == hydra || rounds == 1 {
            String::new()
        } else {
            let Ratio { mean, low, high } = Ratio::of(&ratios)?;
            format!("{mean:.3} ({low:.3}-{high:.3})")
        };
        let ratio = spread(&ratios)?;
        writeln!(
            stdout,
            "{:44} {seconds:>20} {ratio:>20} {mean:>20}",
            peer.name()
        )?;
    }
    Ok(())
}

fn spread(values: &[f64]) -> Result<String> {
    Ok(Spread::of(values).context("no round")?.words())
}

impl Bench {
    /// One run of each, `first` of them (round the list) going first; in the order of the list.
    fn round(&mut self, first: usize) -> Result<[f64; PEERS.len()]> {
        let mut times = [0.0; PEERS.len()];
        for step in 0..PEERS.len() {
            let place = (first + step) % PEERS.len();
            times[place] = self.measure(PEERS[place])?;
        }
        Ok(times)
    }

    /// Seconds to the last rank past `MPI_Init`.
    fn measure(&mut self, peer: Contender) -> Result<f64> {
        wait::until("every container to end", DEADLINE, || {
            Ok(self.cluster.container_processes()?.is_empty().then_some(()))
        })?;
        wait::pause(SETTLE);
        self.runs += 1;
        let stamps = self.folder.path().join(format!("run-{}", self.runs));
        std::fs::create_dir(&stamps)?;
        let report = self.folder.path().join("report.json");
        let command = match peer {
            Contender::Hydra => self.hydra(&stamps, &self.copies),
            Contender::HydraInstalled => self.hydra(&stamps, &[]),
            Contender::GerbilRun => self.gerbil(&[], &stamps, &report)?,
            Contender::GerbilRunInstalled => self.gerbil(&["--no-ship-libs"], &stamps, &report)?,
        };
        let times = timed(command, &stamps, self.ranks, DEADLINE)?;
        match peer {
            Contender::Hydra | Contender::HydraInstalled => Ok(times.initialized),
            Contender::GerbilRun | Contender::GerbilRunInstalled => times.since_joined(&report),
        }
    }

    fn each(&self) -> String {
        self.ranks.div_ceil(NODES).to_string()
    }

    /// With a folder of libraries for each node, or with the installed ones.
    fn hydra(&self, stamps: &Path, copies: &[PathBuf]) -> Command {
        let hosts: Vec<String> = (self.cluster.nodes().iter())
            .map(|node| node.host.to_string())
            .collect();
        let mut command = Command::new(self.mpich.mpiexec());
        command
            .args(["-launcher", "fork", "-hosts", &hosts.join(",")])
            .args(["-ppn", &self.each()]);
        let program = [self.program.as_ref(), stamps.as_os_str()];
        if copies.is_empty() {
            command.args(["-n", &self.ranks.to_string()]).args(program);
        }
        // As many as `-ppn` puts there, node by node.
        let firsts = (0..self.ranks).step_by(self.ranks.div_ceil(NODES));
        for (first, copy) in firsts.zip(copies) {
            let here = self.ranks.div_ceil(NODES).min(self.ranks - first);
            command
                .args((first > 0).then_some(":"))
                .args(["-n", &here.to_string(), "-env", "LD_LIBRARY_PATH"])
                .arg(copy)
                .args(program);
        }
        command
    }

    fn gerbil(&self, options: &[&str], stamps: &Path, report: &Path) -> Result<Command> {
        let (ranks, each) = (self.ranks.to_string(), self.each());
        let memory = format!("{MEMORY_MIB}m");
        let (stamps, report) = (stamps.display().to_string(), report.display().to_string());
        let mut line = vec!["--report", &report];
        line.extend(options);
        line.extend(["--mem-per-proc", &memory, "-ppn", &each, "-n", &ranks]);
        line.extend([self.program.as_str(), &stamps]);
        gerbil::command(&self.cluster.conf_dir(), line)
    }
}
