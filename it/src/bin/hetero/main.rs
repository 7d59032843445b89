//! HeteroYARN for real on this machine: its Table 3, its Figures 8 and 9, from how many centroids on a board pays, and jobs of
//! several functions at the same time.
//!
//! Two NodeManagers are loopback addresses of this machine, each with a board that YARN counts as `acc/kmeans-map` and so
//! on. Boards are modelled: what they answer is computed by the processors that all nodes share, and they
//! answer no sooner than a card of 200 MHz with a link of 1000 MB/s. Jobs are one round of the example `spherical`, in
//! sessions; whatever computes, the output is compared byte by byte. Only `pays` leaves the board's computing out, and says
//! how.

mod bench;
mod beside;
mod beside_job;
mod figure8;
mod jobs;
mod kmeans;
mod limits;
mod modules;
mod packed;
mod pays;
mod rtl;
mod shape;
mod table3;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::{Parser, ValueEnum};
use it::accelerators::Programs;
use it::mapreduce::{Files, is_same};
use it::results::{Figure, Spread, page};

use bench::Bench;
use shape::BenchShape;

/// Runs K-means on boards and on processors.
#[derive(Debug, Parser)]
struct HeteroOptions {
    /// What is measured; all of it without it.
    what: Vec<What>,
    /// Each job is run so often.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Of vectors as text, about.
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u64).range(8..=4096))]
    mb: u64,
    /// Writes the figures and the page of all figures into this folder.
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Figure 9: jobs on boards beside jobs on processors, by centroids.
    Jobs,
    /// Table 3: what limits a map.
    Table3,
    /// Figure 8: tasks at a time on a node.
    Figure8,
    /// The number of centroids from which on a board pays.
    K,
    /// Rounds of packed vectors beside rounds of text.
    Packed,
    /// K-means, Bayes, a plain job and Hadoop's own at the same time.
    Beside,
    /// Boards that are the Verilog, simulated.
    Rtl,
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hetero: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut options = HeteroOptions::parse();
    if options.what.is_empty() {
        options.what = What::value_variants().to_vec();
    }
    let programs = Arc::new(Programs::release()?);
    let mut bench = None;
    for what in &options.what {
        let figure = measured(*what, &programs, &mut bench, &options)?;
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

fn measured(
    what: What,
    programs: &Arc<Programs>,
    bench: &mut Option<Bench>,
    options: &HeteroOptions,
) -> Result<Figure> {
    let start = |megabytes, shape| Bench::start(Arc::clone(programs), megabytes, shape);
    let figure = match what {
        What::Jobs => jobs::figure,
        What::Table3 => table3::figure,
        What::Figure8 => figure8::figure,
        What::Packed => packed::figure,
        // No daemon takes part in this one.
        What::K => return pays::figure(programs, options),
        // These have clusters of their own, one at a time.
        What::Beside => {
            drop(bench.take());
            return beside::figure(&start(options.mb, BenchShape::UNLIKE)?, options);
        }
        What::Rtl => {
            drop(bench.take());
            return rtl::figure(&start(rtl::MEGABYTES, BenchShape::ALIKE)?, options);
        }
    };
    if bench.is_none() {
        *bench = Some(start(options.mb, BenchShape::ALIKE)?);
    }
    figure(bench.as_ref().context("no cluster was started")?, options)
}

/// How it is measured again.
fn command(what: &str, options: &HeteroOptions) -> String {
    format!(
        "cargo build --release -p client && cargo run -p it --bin hetero -- {what} --rounds {} --mb {} --out it/results",
        options.rounds, options.mb
    )
}

/// What a round left is what those before left.
fn compare(wanted: &mut Option<Files>, files: Files) -> Result<()> {
    match wanted {
        Some(wanted) => is_same(&files, wanted),
        None => {
            *wanted = Some(files);
            Ok(())
        }
    }
}

fn spread(values: &[f64]) -> Result<Spread> {
    Spread::of(values).context("nothing was measured")
}

/// In words.
const fn so(holds: bool) -> &'static str {
    if holds { "true" } else { "false" }
}
