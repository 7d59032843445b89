//! How the time to get containers, and the ApplicationMaster, grow with the job: on hollow nodes under
//! a real ResourceManager.

mod allocation;
mod links;
mod nodes;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use it::results::{self, Figure};

const USAGE: &str =
    "usage: scale [all|figure-14|allocation|links|nodes]... [--out FOLDER] [--quick]
  figure-14   8 to 143 processes on 18 nodes of 8, against a container for each process
  allocation  8 to 10,000 processes on 100 nodes, against the same
  links       memory and processor of the ApplicationMaster with 100 to 2000 launchers
  nodes       500 nodes and more, until this machine does not carry them: what they and one job on all cost
Each prints a table and writes JSON and SVG to FOLDER (it/results).";

/// One job.
pub(crate) const DEADLINE: Duration = Duration::from_secs(180);

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Figure14,
    Allocation,
    Links,
    Nodes,
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
    let all = [Part::Figure14, Part::Allocation, Part::Links, Part::Nodes];
    let (mut parts, mut out, mut quick) = (Vec::new(), results::folder(), false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "all" => parts.extend(all),
            "figure-14" => parts.push(Part::Figure14),
            "allocation" => parts.push(Part::Allocation),
            "links" => parts.push(Part::Links),
            "nodes" => parts.push(Part::Nodes),
            "--out" => out = PathBuf::from(arguments.next().context("--out wants a folder")?),
            "--quick" => quick = true,
            _ => bail!("{argument}: not known\n{USAGE}"),
        }
    }
    if parts.is_empty() {
        parts.extend(all);
    }
    for part in parts {
        let figure = match part {
            Part::Figure14 => allocation::figure_14(quick)?,
            Part::Allocation => allocation::to_ten_thousand(quick)?,
            Part::Links => links::measure(quick)?,
            Part::Nodes => nodes::measure(quick)?,
        };
        figure.save(&out)?;
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
pub(crate) type Answer = Result<Figure>;
