//! How programs of Open MPI start and run under `gerbil-run`, beside the `mpirun` of the same installation.
//!
//! `mpirun` starts its daemons on four nodes of this machine ([`nodes`]), as large as those of the cluster that
//! `gerbil-run` uses: in a session, and as an application of its own, which has to ask YARN for containers. By turns all
//! launch the same program ([`launch`]), pass barriers and write a gigabyte ([`flow`]); then the resident memory of what
//! serves the ranks on a node is looked at ([`served`]).

mod figure;
mod flow;
mod launch;
mod nodes;
mod peers;
mod served;

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use it::results::Setting;

use figure::Comparison;
use launch::Told;
use nodes::NODES;
use peers::Bench;

/// How programs of Open MPI start and run under gerbil-run, beside stock mpirun: prints a table and writes JSON and
/// SVG.
#[derive(Debug, Parser)]
struct AgainstMpirunOptions {
    /// Of each peer; one more before warms caches.
    #[arg(default_value = "10")]
    rounds: NonZeroUsize,
    /// Of the launches, on four nodes. Ranks that wait give way to those of their own node alone: many times more than
    /// cores hold up the whole machine, whoever has started them.
    #[arg(long, value_delimiter = ',', default_value = "8,16")]
    ranks: Vec<NonZeroUsize>,
    /// That a rank writes.
    #[arg(long, default_value = "1024")]
    mib: NonZeroUsize,
    /// For the files; none are written unless it is given.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// One run of any.
pub(crate) const DEADLINE: Duration = Duration::from_secs(180);

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("against-mpirun: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let options = AgainstMpirunOptions::parse();
    let rounds = options.rounds.get();
    let sizes: Vec<usize> = options.ranks.iter().map(|ranks| ranks.get()).collect();
    let on_one_node = flow::RANKS * NODES;
    let most = sizes.iter().copied().max().unwrap_or(1).max(on_one_node);
    let bench = Bench::start(most)?;
    let setting = Setting::begin(&bench.cluster.version()?)?;
    let measured = measure(&bench, rounds, &sizes, options.mib.get())?;
    let figure = figure::of(&measured, rounds, setting.finish()?)?;
    if let Some(out) = options.out {
        figure.save(&out)?;
    }
    say(&figure.text())
}

fn measure(bench: &Bench, rounds: usize, sizes: &[usize], mib: usize) -> Result<Vec<Comparison>> {
    let mut all = Vec::new();
    let mut held = Vec::new();
    for &ranks in sizes {
        bench.in_session(ranks, NODES, || {
            for told in [Told::Nothing, Told::WithoutLibfabric] {
                all.extend(launch::measure(bench, rounds, ranks, told)?);
            }
            held.push(served::memory(bench, ranks)?);
            Ok(())
        })?;
    }
    bench.in_session(flow::RANKS, 1, || {
        all.push(flow::barriers(bench, rounds)?);
        all.push(flow::output(bench, rounds, mib)?);
        Ok(())
    })?;
    all.extend(held);
    Ok(all)
}

/// One line, or more, for who watches.
pub(crate) fn say(words: &str) -> Result<()> {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{words}")?;
    stdout.flush()?;
    Ok(())
}
