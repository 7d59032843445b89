//! DyScale for real: a batch job and interactive ones in one session, under five policies, beside the simulator.
//!
//! Four NodeManagers are loopback addresses of this machine. `--cores fast=0,slow=1` says that each of them has a fast and
//! a slow core, with one map slot and three: all nodes share the two cores, and tasks are bound to one of them. Tasks are
//! those of the example `hold`, which rest at the speed of the core that they are bound to, and compute nothing. Each
//! session is recorded. *Beside*: the same jobs in the simulator, told how long tasks rest and when jobs came. *Replayed*:
//! the record's own times as a workload (`gerbil-sim compare`), which is how the paper's simulator was checked.
//!
//! `dyscale applications` runs what the paper measured for real: its thirteen applications on fast and on slow cores.

mod applications;
mod bench;
mod plan;
mod policies;
mod recorded;
mod replays;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand, ValueEnum};
use it::results::{Figure, Setting, page};

use bench::Bench;
use plan::Plan;
use recorded::SessionRun;

/// Plays a batch job and interactive jobs in sessions on fast and slow cores.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct DyScaleOptions {
    #[command(subcommand)]
    alone: Option<Alone>,
    /// What is shown of the sessions; both without it.
    what: Vec<What>,
    /// Each policy's session is run so often, with other jobs each time.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    rounds: u64,
    /// Draws the jobs of the first round.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Interactive jobs.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    jobs: u32,
    /// Maps of the batch job.
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    maps: u32,
    /// Keeps the record of each session in this folder, for `gerbil-sim compare`.
    #[arg(long)]
    records: Option<PathBuf>,
    /// Plays nothing, and shows what such records have.
    #[arg(long, conflicts_with = "records")]
    from: Option<PathBuf>,
    /// Writes the figures and the page of all figures into this folder.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// What plays no queue.
#[derive(Debug, Subcommand)]
enum Alone {
    Applications(applications::ApplicationsOptions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Mean completion times under each policy, beside the simulator's.
    Policies,
    /// Records of the sessions, replayed.
    Replays,
}

/// In the order in which they are played; the first is what the others are compared with.
const POLICIES: [&str; 5] = [
    "fifo",
    "capacity:queue.interactive=25,queue.batch=75",
    "dyscale-basic",
    "dyscale",
    "dyscale:park=1",
];

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dyscale: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut options = DyScaleOptions::parse();
    if let Some(Alone::Applications(options)) = &options.alone {
        return applications::run(options);
    }
    if options.what.is_empty() {
        options.what = What::value_variants().to_vec();
    }
    let bench = match options.from {
        None => Some(Bench::start()?),
        Some(_) => None,
    };
    let version = bench.as_ref().map(Bench::version).transpose()?;
    let setting = Setting::begin(&version.unwrap_or_default())?;
    let mut runs: Vec<SessionRun> = Vec::new();
    for round in 0..options.rounds {
        let seed = options.seed.saturating_add(round);
        let plan = Plan::drawn(seed, options.maps, options.jobs);
        for policy in POLICIES {
            let name = format!("{}-{seed}.jsonl", policies::short(policy));
            let record = match &bench {
                Some(bench) => bench.play(policy, &plan)?,
                None => {
                    let path = options.from.clone().unwrap_or_default().join(&name);
                    std::fs::read(&path).with_context(|| path.display().to_string())?
                }
            };
            if let Some(folder) = &options.records {
                std::fs::create_dir_all(folder)?;
                std::fs::write(folder.join(&name), &record)?;
            }
            let run = SessionRun::new(policy, seed, &plan, &record)?;
            writeln!(std::io::stderr(), "{}", run.line())?;
            runs.push(run);
        }
    }
    let setting = setting.finish()?;
    for what in &options.what {
        let figure: Figure = match what {
            What::Policies => policies::figure(&options, setting.clone(), &runs)?,
            What::Replays => replays::figure(&options, setting.clone(), &runs),
        };
        writeln!(std::io::stdout(), "{}", figure.text())?;
        if let Some(out) = &options.out {
            figure.save(out)?;
        }
    }
    if let Some(out) = &options.out {
        page::write(out)?;
    }
    Ok(())
}

/// The command that measures a figure again.
fn command(what: &str, options: &DyScaleOptions) -> String {
    format!(
        "cargo build --release -p client && cargo run -p it --bin dyscale -- {what} --rounds {} --seed {} --jobs {} --maps {} \
         --out it/results",
        options.rounds, options.seed, options.jobs, options.maps
    )
}
