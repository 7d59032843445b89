//! SPMario's Figures 2, 3 and 4 and its Table II in miniature, beside the simulator: true processes, threads, sockets and
//! files, and a disk and a GPU that take the time of a model.
//!
//! Each engine is a process, whose tasks are threads. They ask a broker for tokens over its socket and read a file in chunks
//! of 8 MiB (MM in pairs: of 4), at 200 MB/s in all. Copies take 0.275 of a read, and kernels of MM, KMC and LR 0.45, 1.02
//! and 0.05, as in `gerbil-sim spmario`: they are waits, so that two cores do for all. No Hadoop takes part.

mod alone;
mod broker;
mod disk;
mod engine;
mod pairs;
mod play;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use it::results::{Setting, page};

/// Plays SPMario's jobs with true engines, a modelled disk and a modelled GPU.
#[derive(Debug, Parser)]
struct SpmarioOptions {
    /// What is measured; all of it without it.
    what: Vec<What>,
    /// The shortest of so many runs counts: what else the machine does makes them longer, never shorter.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Where files are read from; the folder for temporary files without it. `disk` wants one on a disk.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Writes the figures and the page of all figures into this folder.
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Figures 2, 3 and 4: each job alone, by processes of the baseline and by tasks.
    Jobs,
    /// Table II: two jobs together.
    Pairs,
    /// How long a token takes, and what happens when its engine, or the broker, is killed.
    Broker,
    /// An engine's I/O thread beside dd.
    Disk,
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Processes that it starts itself.
    let ended = match words.as_slice() {
        ["engine", rest @ ..] => engine::run(rest),
        ["holder", folder] => broker::hold(folder.as_ref()),
        ["broker-process", folder, order] => broker::serve(folder.as_ref(), order),
        _ => run(),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spmario: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut options = SpmarioOptions::parse();
    if options.what.is_empty() {
        options.what = What::value_variants().to_vec();
    }
    let folder = match &options.folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    for what in &options.what {
        let setting = setting()?;
        let figure = measured(*what, folder.path(), options.rounds, setting)?;
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
    folder: &Path,
    rounds: u32,
    setting: Setting,
) -> Result<it::results::Figure> {
    match what {
        What::Jobs => alone::figure(folder, rounds, setting),
        What::Pairs => pairs::figure(folder, rounds, setting),
        What::Broker => broker::figure(folder, setting),
        What::Disk => disk::figure(folder, rounds, setting),
    }
}

/// The build is this command's: no `gerbil-run` takes part.
fn setting() -> Result<Setting> {
    let build = match cfg!(debug_assertions) {
        true => "debug",
        false => "release",
    };
    Ok(Setting {
        build: build.to_owned(),
        ..Setting::begin("")?
    })
}

/// How it is measured again.
fn command(what: &str, rounds: u32) -> String {
    format!("cargo run -p it --bin spmario -- {what} --rounds {rounds} --out it/results")
}
