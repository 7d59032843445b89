//! How the time to get containers, and the ApplicationMaster, grow with the job: on hollow nodes under
//! a real ResourceManager.

mod allocation;
mod links;
mod nodes;
mod waiting;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use it::results::{self, Figure};

/// How the time to get containers, and the ApplicationMaster, grow with the job: prints tables and writes
/// JSON and SVG.
#[derive(Debug, Parser)]
struct ScaleOptions {
    /// All, unless said.
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// For the files.
    #[arg(long, default_value_os_t = results::folder())]
    out: PathBuf,
    /// Short runs: whether it works, not what it gives.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    waiting: waiting::Smaller,
}

/// For one job, its waiting included.
pub(crate) const DEADLINE: Duration = Duration::from_secs(180);

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// 8 to 143 processes on 18 nodes of 8, against a container for each process.
    #[value(name = "figure-14")]
    Figure14,
    /// 8 to 10,000 processes on 100 nodes, against the same.
    #[value(name = "allocation")]
    Allocation,
    /// Memory and processor of the ApplicationMaster with 100 to 2000 launchers.
    #[value(name = "links")]
    Links,
    /// 500 nodes and more, until this machine does not carry them: what they and one job on all cost.
    #[value(name = "nodes")]
    Nodes,
    /// 1 to 100 jobs that wait on 5000 nodes: their calls, and who else feels them.
    #[value(name = "waiting")]
    Waiting,
    All,
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scale: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let ScaleOptions {
        mut parts,
        out,
        quick,
        waiting,
    } = ScaleOptions::parse();
    if parts.is_empty() || parts.contains(&Part::All) {
        parts = Part::value_variants().to_vec();
    }
    for part in parts {
        let figure = match part {
            Part::All => continue,
            Part::Figure14 => allocation::figure_14(quick)?,
            Part::Allocation => allocation::to_ten_thousand(quick)?,
            Part::Links => links::measure(quick)?,
            Part::Nodes => nodes::measure(quick)?,
            Part::Waiting => waiting::measure(quick, &waiting)?,
        };
        // What was made smaller is no result.
        if part != Part::Waiting || waiting.is_whole() {
            figure.save(&out)?;
        }
        say(&figure.text())?;
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
        "cargo build --release -p client -p it && cargo run --release -p it --bin scale -- {part}"
    )
}

/// Kept as it was saved.
pub(crate) type FigureResult = Result<Figure>;
