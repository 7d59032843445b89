//! `mapreduce-kills`: word count and terasort of 20 maps and 8 reduces on four nodes, again and again, each with one
//! process killed -9 at a moment that a seed decides.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Parser;
use it::bed::{Given, on_small_nodes};
use it::mapreduce_kills::{Blow, HEADINGS, KilledJob, start};
use it::session;

/// Kills a task's process or a launcher in each round, and compares what the job has written with what an
/// undisturbed one writes. Prints a row a round; the seed of a row does that round again.
#[derive(Debug, Parser)]
struct MapReduceKillsOptions {
    /// Rounds in which the kill is to hit; others are done besides.
    #[arg(long, default_value_t = 200)]
    rounds: u64,
    /// Of the first round.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Of text, and of rows to sort: MB.
    #[arg(long, default_value_t = 256)]
    megabytes: u64,
    /// One of wordcount, terasort; in turns without it.
    #[arg(long)]
    only: Option<String>,
    /// Launchers stand still (SIGSTOP), and nobody is killed.
    #[arg(long)]
    freeze: bool,
    /// No round begins after so many seconds.
    #[arg(long)]
    seconds: Option<u64>,
}

const NODES: usize = 4;

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    let options = MapReduceKillsOptions::parse();
    match on_small_nodes(NODES, |given| run(given, &options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mapreduce-kills: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all was as it should be.
fn run(given: &Given, options: &MapReduceKillsOptions) -> Result<bool> {
    start(given)?;
    let only = |name: &str| options.only.as_deref().is_none_or(|only| only == name);
    let mut all = Vec::new();
    if only("wordcount") {
        all.push(KilledJob::word_count(given, options.megabytes)?);
    }
    if only("terasort") {
        all.push(KilledJob::tera_sort(given, options.megabytes)?);
    }
    let began = Instant::now();
    let limit = options.seconds.map(Duration::from_secs);
    let (mut hits, mut right, mut rounds) = (0, 0, 0);
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{HEADINGS}")?;
    for seed in options.seed.. {
        // The same job for the same seed, wherever a series began.
        let turn = usize::try_from(seed).unwrap_or(0) % all.len().max(1);
        let Some(work) = all.get(turn) else {
            bail!("--only is neither wordcount nor terasort");
        };
        if hits >= options.rounds || limit.is_some_and(|limit| began.elapsed() > limit) {
            break;
        }
        let blow = match options.freeze {
            true => Blow::FreezeLauncher,
            false => Blow::killing(seed),
        };
        let outcome = work.round(given, blow, seed)?;
        writeln!(stdout, "{}", outcome.row())?;
        rounds += 1;
        hits += u64::from(outcome.has_hit);
        right += u64::from(outcome.is_right());
        if !outcome.is_right() {
            writeln!(stdout, "\n```text\n{}\n```\n", outcome.said)?;
        }
    }
    writeln!(
        stdout,
        "\n{} MB: {rounds} rounds in {:.0} s, {hits} hit, {right} with the output of an undisturbed run.",
        options.megabytes,
        began.elapsed().as_secs_f32()
    )?;
    session::told(given, &["stop", "s", "--now"], 0)?;
    Ok(right == rounds)
}
