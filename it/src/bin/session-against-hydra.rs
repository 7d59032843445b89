//! How long a program takes to start in a session: `gerbil-run --session` against stock Hydra, and against
//! `gerbil-run` that has to ask YARN for containers.
//!
//! All start the same MPI program with as many ranks on each of four nodes, which are loopback addresses
//! of this machine; Hydra forks its proxies, and its ranks read a copy of the MPI library a node, as those
//! of `gerbil-run` do. Each rank notes the moments in which it begins, and is past `MPI_Init`. Measured from the start
//! of the command: the last such moments, and the command's end. A round is one run of each, in turns of who goes
//! first; one round before warms caches. Then as many jobs one after the other, with and without a session.

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Parser;
use it::cluster::Size;
use it::initialized::{Times, copies, timed};
use it::results::Spread;
use it::{Cluster, Mpich, Run, gerbil};

/// Times programs in a session against stock Hydra.
#[derive(Debug, Parser)]
struct SessionAgainstHydraOptions {
    /// Of each peer; one more before warms caches.
    #[arg(default_value = "10")]
    rounds: NonZeroUsize,
    #[arg(long, default_value = "8")]
    ranks: NonZeroUsize,
    /// Jobs one after the other; a tenth of them by themselves.
    #[arg(long, default_value = "100")]
    jobs: NonZeroUsize,
}

const NODES: usize = 4;
/// One run of any.
const DEADLINE: Duration = Duration::from_secs(120);
/// Of a rank, MiB.
const MEMORY_MIB: u64 = 256;
const PEERS: [&str; 2] = ["mpiexec.hydra", "gerbil-run --session"];

struct Bench {
    cluster: Cluster,
    mpich: Mpich,
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
            eprintln!("session-against-hydra: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let options = SessionAgainstHydraOptions::parse();
    let (rounds, ranks) = (options.rounds.get(), options.ranks.get());
    let each = ranks.div_ceil(NODES);
    let size = Size {
        memory_mib: 2 * each as u64 * MEMORY_MIB + 2048,
        vcores: u32::try_from(2 * each)? + 1,
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
    let memory = format!("{MEMORY_MIB}");
    let (containers, slots) = (NODES.to_string(), each.to_string());
    bench.session(&[
        "start",
        "bench",
        "--containers",
        &containers,
        "--slots-per-container",
        &slots,
        "--memory",
        &memory,
    ])?;
    let measured = measure(&mut bench, rounds, options.jobs.get());
    bench.session(&["stop", "bench", "--now"])?;
    measured
}

fn measure(bench: &mut Bench, rounds: usize, jobs: usize) -> Result<()> {
    let mut stdout = std::io::stdout();
    let mut all = Vec::new();
    for number in 0..=rounds {
        let mut times = [Times::default(); PEERS.len()];
        for step in 0..PEERS.len() {
            let place = (number + step) % PEERS.len();
            times[place] = bench.once(place)?;
        }
        if number > 0 {
            all.push(times);
        }
    }
    let cores = std::thread::available_parallelism()?.get();
    writeln!(
        stdout,
        "{} ranks on {NODES} nodes on one machine of {cores} cores, {rounds} rounds, median (min-max), ms",
        bench.ranks
    )?;
    for (place, peer) in PEERS.iter().enumerate() {
        let begun = spread(all.iter().map(|times| times[place].begun))?;
        let initialized = spread(all.iter().map(|times| times[place].initialized))?;
        let whole = spread(all.iter().map(|times| times[place].whole))?;
        writeln!(
            stdout,
            "{peer:22} last rank begun {begun:>16}, past MPI_Init {initialized:>16}, whole command {whole:>16}"
        )?;
    }
    let begun: fn(Times) -> f64 = |times| times.begun;
    for (what, of) in [
        ("last rank begun", begun),
        ("last rank past MPI_Init", |times: Times| times.initialized),
        ("whole command", |times: Times| times.whole),
    ] {
        let later = all.iter().map(|times| of(times[1]) - of(times[0]));
        let later = spread(later)?;
        writeln!(stdout, "{what}: {later} ms after Hydra's")?;
    }
    let alone = jobs.div_ceil(10);
    let shared = bench.many(jobs, true)?;
    let own = bench.many(alone, false)?;
    writeln!(
        stdout,
        "one after the other: {jobs} jobs in the session {:.0} ms each, {alone} by themselves {:.0} ms each: \
         ratio {:.3}",
        shared * 1e3,
        own * 1e3,
        shared / own
    )?;
    Ok(())
}

/// Milliseconds, of seconds.
fn spread(values: impl Iterator<Item = f64>) -> Result<String> {
    let values: Vec<f64> = values.map(|value| value * 1e3).collect();
    Ok(Spread::of(&values).context("no round")?.whole())
}

impl Bench {
    fn session(&self, words: &[&str]) -> Result<()> {
        let words = [&["session"], words].concat();
        let command = gerbil::gerbil(self.folder.path(), &self.cluster.conf_dir(), &words)?;
        let run = Run::new(self.at_home(command)).deadline(DEADLINE);
        run.finish()?.success("gerbil session")?;
        Ok(())
    }

    /// What the client keeps of sessions lies in a folder of this command.
    fn at_home(&self, mut command: Command) -> Command {
        command.env("XDG_STATE_HOME", self.folder.path().join("state"));
        command
    }

    /// One run of the peer at this place of the list.
    fn once(&mut self, place: usize) -> Result<Times> {
        self.runs += 1;
        let stamps = self.folder.path().join(format!("run-{}", self.runs));
        std::fs::create_dir(&stamps)?;
        let command = match place {
            0 => self.hydra(&stamps),
            _ => self.gerbil(&["--session", "bench"], &stamps)?,
        };
        timed(command, &stamps, self.ranks, DEADLINE)
    }

    /// Seconds of one of so many jobs of four ranks.
    fn many(&self, jobs: usize, in_session: bool) -> Result<f64> {
        let session: &[&str] = match in_session {
            true => &["--session", "bench"],
            false => &["--mem-per-proc", "256m"],
        };
        let line = [session, &["-n", "4", "/bin/true"]].concat();
        let begin = Instant::now();
        for _ in 0..jobs {
            let command = gerbil::command(&self.cluster.conf_dir(), line.iter().copied())?;
            let run = Run::new(self.at_home(command)).deadline(DEADLINE);
            run.finish()?.success("a job")?;
        }
        Ok(begin.elapsed().as_secs_f64() / jobs as f64)
    }

    fn hydra(&self, stamps: &Path) -> Command {
        let hosts: Vec<String> = (self.cluster.nodes().iter())
            .map(|node| node.host.to_string())
            .collect();
        let each = self.ranks.div_ceil(NODES);
        let mut command = Command::new(self.mpich.mpiexec());
        command
            .args(["-launcher", "fork", "-hosts", &hosts.join(",")])
            .args(["-ppn", &each.to_string()]);
        for (first, copy) in (0..self.ranks).step_by(each).zip(&self.copies) {
            command
                .args((first > 0).then_some(":"))
                .args(["-n", &each.min(self.ranks - first).to_string()])
                .args(["-env", "LD_LIBRARY_PATH"])
                .arg(copy)
                .args([self.program.as_ref(), stamps.as_os_str()]);
        }
        command
    }

    fn gerbil(&self, options: &[&str], stamps: &Path) -> Result<Command> {
        let (ranks, stamps) = (self.ranks.to_string(), stamps.display().to_string());
        let line = [options, &["-n", &ranks, &self.program, &stamps]].concat();
        let command = gerbil::command(&self.cluster.conf_dir(), line)?;
        Ok(self.at_home(command))
    }
}
