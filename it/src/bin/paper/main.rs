//! Figures of the paper (Xu, Li, Butt: GERBIL, CCGrid 2015) that want real nodes: programs that compute,
//! beside native `mpiexec`, DistributedShell and Hadoop's MapReduce, on one cluster on this machine.
//!
//! The nodes share this machine's cores. So what is compared is what a launch costs, and jobs with the
//! same work on the same cores; not how fast nodes compute.

mod accounting;
mod cores;
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

use anyhow::{Context as _, Result, bail};
use it::{gerbil, results};

const USAGE: &str =
    "usage: paper [all|figures-4-5|figures-6-7|figures-8-9|figures-11-12|figure-13]... [--out FOLDER] \
     [--quick]
  figures-4-5    four small programs: native mpiexec, gerbil-run and its phases, DistributedShell
  figures-6-7    long programs: native mpiexec and gerbil-run, MPI_Init to MPI_Finalize
  figures-8-9    pi by Monte Carlo and by Bailey, Borwein and Plouffe, against Hadoop's MapReduce
  figures-11-12  all processes on one node against all nodes, whose cores are slow; only as root
  figure-13      more processes than there is room for, against MapReduce's waves
Each prints tables and writes JSON and SVG to FOLDER (it/results).";

/// What is measured.
#[derive(Debug, Clone, Copy)]
enum Part {
    Small,
    Long,
    Pi,
    Crowded,
    Waves,
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
    let all = [
        Part::Small,
        Part::Long,
        Part::Pi,
        Part::Crowded,
        Part::Waves,
    ];
    let (mut parts, mut out, mut quick) = (Vec::new(), results::folder(), false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "all" => parts.extend(all),
            "figures-4-5" => parts.push(Part::Small),
            "figures-6-7" => parts.push(Part::Long),
            "figures-8-9" => parts.push(Part::Pi),
            "figures-11-12" => parts.push(Part::Crowded),
            "figure-13" => parts.push(Part::Waves),
            "--out" => out = PathBuf::from(arguments.next().context("--out wants a folder")?),
            "--quick" => quick = true,
            _ => bail!("{argument}: not known\n{USAGE}"),
        }
    }
    if parts.is_empty() {
        parts.extend(all);
    }
    gerbil::binary()?;
    for part in parts {
        let figures = match part {
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
