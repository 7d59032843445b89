//! Figures of the paper (Xu, Li, Butt: GERBIL, CCGrid 2015) that want real nodes: programs that compute,
//! beside native `mpiexec`, DistributedShell and Hadoop's MapReduce, on one cluster on this machine.
//!
//! The nodes share this machine's cores. So what is compared is what a launch costs, and jobs with the
//! same work on the same cores; not how fast nodes compute.

mod accounting;
mod figures_6_7;
mod long;
mod mapreduce;
mod one_node;
mod oversubscription;
mod phases;
mod programs;
mod small;
mod spans;
mod turns;
mod waves;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use it::{gerbil, results};

/// Figures of the paper that want real nodes: prints tables and writes JSON and SVG.
#[derive(Debug, Parser)]
struct PaperOptions {
    /// All, unless said.
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// For the files.
    #[arg(long, default_value_os_t = results::folder())]
    out: PathBuf,
    /// Short runs: whether it works, not what it gives.
    #[arg(long)]
    quick: bool,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Four small programs: native mpiexec, gerbil-run and its phases, DistributedShell.
    #[value(name = "figures-4-5")]
    Small,
    /// Long programs: native mpiexec and gerbil-run, `MPI_Init` to `MPI_Finalize`.
    #[value(name = "figures-6-7")]
    Long,
    /// Pi by Monte Carlo and by Bailey, Borwein and Plouffe, against Hadoop's MapReduce.
    #[value(name = "figures-8-9")]
    Pi,
    /// All processes on one node against all nodes, whose cores are slow; only as root.
    #[value(name = "figures-11-12")]
    Crowded,
    /// More processes than there is room for, against MapReduce's waves.
    #[value(name = "figure-13")]
    Waves,
    All,
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("paper: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let PaperOptions {
        mut parts,
        out,
        quick,
    } = PaperOptions::parse();
    if parts.is_empty() || parts.contains(&Part::All) {
        parts = Part::value_variants().to_vec();
    }
    gerbil::binary()?;
    for part in parts {
        let figures = match part {
            Part::All => continue,
            Part::Small => small::measure(quick)?,
            Part::Long => long::measure(quick)?,
            Part::Pi => mapreduce::figures_8_9(quick)?,
            Part::Crowded => oversubscription::measure(quick)?,
            Part::Waves => vec![waves::figure_13(quick)?],
        };
        for figure in figures {
            figure.save(&out)?;
            say(&figure.text())?;
        }
    }
    Ok(())
}

/// One line, or more, for who watches.
pub(crate) fn say(words: &str) -> Result<()> {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{words}")?;
    stdout.flush()?;
    Ok(())
}

/// How to get a figure again.
pub(crate) fn command(part: &str) -> String {
    format!(
        "cargo build --release -p client -p it && cargo run --release -p it --bin paper -- {part}"
    )
}
