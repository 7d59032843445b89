//! The recipes of Hadoop Streaming's documentation and tests under Hadoop Streaming 3.4.2 and under `gerbil mr streaming`.
//!
//! Both run on this machine alone, Hadoop by its local runner, with the same words. Compared is part file by part file: what
//! is to be equal, and what Hadoop leaves open, stands with each recipe, and one that is less than that fails the run.
//! `--write` puts the table into the README of the crate.

mod compare;
mod forms;
mod input;
mod peers;
mod recipes;
mod sequence;
mod table;
mod variables;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use it::readme;

use compare::Equality;
use forms::FORMS;
use peers::{Peer, Peers};
use recipes::{RECIPES, Recipe};

/// Runs recipes of Hadoop Streaming under Hadoop Streaming and under gerbil, and compares what they write.
#[derive(Debug, Parser)]
struct AgainstHadoopStreamingOptions {
    /// Only recipes whose words contain this.
    #[arg(default_value = "")]
    only: String,
    /// Puts the table into container-launcher/mapreduce/streaming/README.md.
    #[arg(long, conflicts_with = "only")]
    write: bool,
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run(&AgainstHadoopStreamingOptions::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("against-hadoop-streaming: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &AgainstHadoopStreamingOptions) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let peers = Peers::new(folder.path())?;
    input::write(folder.path())?;
    sequence::write(&folder.path().join("sequences"))?;
    let mut rows = Vec::new();
    let mut worse = Vec::new();
    for recipe in RECIPES.iter().chain(FORMS) {
        if !recipe.line().contains(&options.only) {
            continue;
        }
        let (found, why) = match both(&peers, folder.path(), recipe) {
            Ok(compared) => compared,
            Err(error) => (Equality::Different, format!("{error:#}")),
        };
        say(&format!("{}: {}", recipe.line(), found.words()))?;
        if found < recipe.wanted {
            worse.push(format!(
                "{}: {} instead of {}: {why}",
                recipe.line(),
                found.words(),
                recipe.wanted.words()
            ));
        }
        rows.push((recipe, found));
    }
    ensure!(!rows.is_empty(), "no recipe contains {:?}", options.only);
    let variables = variables::compare(&peers, folder.path())?;
    say(&variables)?;
    ensure!(worse.is_empty(), "{}", worse.join("\n"));
    let text = table::text(&rows, &variables);
    if options.write {
        let path = readme::repository().join("container-launcher/mapreduce/streaming/README.md");
        let page = fs::read_to_string(&path)?;
        fs::write(path, table::put(&page, &text)?)?;
    }
    say(&text)
}

/// One recipe under both, compared.
fn both(peers: &Peers, folder: &Path, recipe: &Recipe) -> Result<(Equality, String)> {
    let mut written = Vec::new();
    for peer in [Peer::Hadoop, Peer::Gerbil] {
        let ran = peers.run(peer, folder, recipe.words);
        written.push(ran.with_context(|| format!("{}: {}", peer.name(), recipe.line()))?);
    }
    let [hadoop, gerbil] = written.as_slice() else {
        anyhow::bail!("one of two is missing");
    };
    ensure!(!hadoop.is_empty(), "{}: no part files", recipe.line());
    Ok(compare::files(hadoop, gerbil))
}

fn say(line: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{line}")?)
}
