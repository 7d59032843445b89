//! Figures 7, 8 and 9 of Pamar as a session runs them, beside what the simulator says of the same.
//!
//! The clusters of the paper's Table 1 at half their size: four NodeManagers, which are loopback addresses of this
//! machine, of which all (E2), three (E3) or none (E1) have one `acc/gpu` by YARN's count. The jobs are those of
//! `gerbil-sim hpe` with half of their tasks and a tenth of their times; their tasks hold a slot, and the node's device
//! in turn, and compute nothing, so that two cores do for all. A queue is submitted job by job while something else
//! has all slots; then these come free at once. Counted from the first task's start by the clock of the
//! ApplicationMaster, and from time 0 in the simulator, which knows no heartbeat, no process and no file.

mod bench;
mod figures;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use it::results::{Setting, page};
use sim::hpe::HpeWorld;

use bench::Bench;
use figures::{Played, QueueRun, figure};

/// Plays Pamar's queues on real daemons.
#[derive(Debug, Parser)]
struct HpeOptions {
    /// Which figures; all of them without it.
    figures: Vec<Name>,
    /// What the times of `gerbil-sim hpe` are divided by.
    #[arg(long, default_value_t = 10)]
    time: u32,
    /// Slots of a node, for maps and reduces alike; Table 1 has 4 and 1.
    #[arg(long, default_value_t = 5)]
    slots: u32,
    /// Writes the figures and the page of all figures into this folder.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// A figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    Fig7,
    Fig8,
    /// Six orders of three jobs.
    Fig9,
    /// Each of them twice over: six jobs.
    Fig9b,
}

impl Name {
    /// The figure of `gerbil-sim hpe` that has it.
    const fn simulated(self) -> &'static str {
        match self {
            Self::Fig9b => "fig9",
            other => other.text(),
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Fig7 => "fig7",
            Self::Fig8 => "fig8",
            Self::Fig9 => "fig9",
            Self::Fig9b => "fig9b",
        }
    }
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hpe: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut options = HpeOptions::parse();
    if options.figures.is_empty() {
        options.figures = Name::value_variants().to_vec();
    }
    let mut world = HpeWorld::default();
    world.set("scale.nodes=2")?;
    world.set(&format!("scale.time={}", options.time))?;
    world.set(&format!("slots={}", options.slots))?;
    let runs: Vec<(Name, Vec<QueueRun>)> = (options.figures.iter())
        .map(|name| (*name, figures::runs(*name)))
        .collect();
    let mut setting: Option<Setting> = None;
    let mut played: Vec<Played> = Vec::new();
    // A cluster is up for all that runs on it, and a session for all that its policy chooses.
    for cluster in figures::CLUSTERS {
        let of_it = |run: &&QueueRun| run.cluster == cluster;
        let mut wanted: Vec<QueueRun> = Vec::new();
        for run in runs.iter().flat_map(|(_, runs)| runs).filter(of_it) {
            if !wanted.contains(run) {
                wanted.push(run.clone());
            }
        }
        if wanted.is_empty() {
            continue;
        }
        let bench = Bench::start(&world, cluster)?;
        if setting.is_none() {
            setting = Some(Setting::begin(&bench.version()?)?);
        }
        for policy in figures::POLICIES {
            let of_policy: Vec<&QueueRun> =
                wanted.iter().filter(|run| run.policy == policy).collect();
            if of_policy.is_empty() {
                continue;
            }
            bench.session(&world.policy(policy))?;
            for run in of_policy {
                let real = bench.play(&world, run)?;
                let one = Played::new(&world, run, real)?;
                writeln!(std::io::stderr(), "{}", one.row().join("  "))?;
                played.push(one);
            }
            bench.stop()?;
        }
    }
    let Some(setting) = setting else {
        return Ok(());
    };
    let setting = setting.finish()?;
    for (name, runs) in &runs {
        let figure = figure(*name, &options, setting.clone(), runs, &played)?;
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
