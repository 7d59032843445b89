//! `soak`: everything that may happen to a job, again and again, at moments that chance decides.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Parser;
use it::bed::{self, Given};
use it::chaos::{self, CASES, Case, SESSION_CASES, TrialResult, trial};
use it::results::{Setting, page};

/// Tries each case again and again, one after the other on one cluster, and prints what became of it: a line
/// a run on stderr, a table at the end on stdout. Needs root, iptables and mount.
#[derive(Debug, Parser)]
struct SoakOptions {
    /// Of each case.
    #[arg(long, default_value_t = 20)]
    times: u64,
    /// Of the first run; without it one is drawn, and printed.
    #[arg(long)]
    seed: Option<u64>,
    /// Cases whose names hold these words alone; may be given again.
    #[arg(long = "case", value_name = "WORDS")]
    words: Vec<String>,
    /// What may happen to the job of a session instead.
    #[arg(long)]
    session: bool,
    /// Also as a figure of the page of results in this folder.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// What is to be done.
struct SoakPlan {
    times: u64,
    seed: u64,
    cases: Vec<Case>,
    session: bool,
    out: Option<PathBuf>,
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("soak: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn wanted() -> Result<SoakPlan> {
    let SoakOptions {
        times,
        seed,
        words,
        session,
        out,
    } = SoakOptions::parse();
    let all = match session {
        true => &SESSION_CASES[..],
        false => &CASES[..],
    };
    let is_wanted = |case: &&Case| {
        words.is_empty() || words.iter().any(|words| case.name.contains(words.as_str()))
    };
    let cases: Vec<Case> = all.iter().filter(is_wanted).copied().collect();
    ensure!(!cases.is_empty(), "no case has such a name");
    let seed = match seed {
        Some(seed) => seed,
        // Six digits are typed again with ease.
        None => {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
            since.as_secs() % 1_000_000
        }
    };
    Ok(SoakPlan {
        times,
        seed,
        cases,
        session,
        out,
    })
}

fn run() -> Result<bool> {
    let wanted = wanted()?;
    let SoakPlan {
        times,
        seed,
        cases,
        session,
        out,
    } = &wanted;
    let mut stderr = std::io::stderr();
    writeln!(
        stderr,
        "{} cases, {times} times, --seed {seed}",
        cases.len()
    )?;

    let folder = bed::folder()?;
    let mut outcomes: Vec<TrialResult> = Vec::new();
    let mut untried = 0;
    let mut given: Option<Given> = None;
    let mut setting = None;
    let began = Instant::now();
    for round in 0..*times {
        for case in cases {
            let seed = seed.wrapping_add(round);
            // One that could not be repaired is replaced.
            let here = match given.take() {
                Some(here) => here,
                None => Given {
                    cluster: Arc::new(chaos::cluster().start()?),
                    folder: folder.path().to_owned(),
                },
            };
            if setting.is_none() {
                setting = Some(Setting::begin(&here.cluster.version()?)?);
            }
            match trial::run(&here, case, seed) {
                Ok(outcome) => {
                    writeln!(stderr, "{}", outcome.line())?;
                    if outcome.leftovers.is_empty() {
                        given = Some(here);
                    }
                    outcomes.push(outcome);
                }
                Err(error) => {
                    untried += 1;
                    writeln!(stderr, "{}, seed {seed}: not tried: {error:#}", case.name)?;
                }
            }
        }
    }
    drop(given);
    let right = outcomes.iter().filter(|run| run.is_right()).count();
    let summary = format!(
        "{} runs in {:.0} s from --seed {seed}: {right} right, {untried} that could not be tried.",
        outcomes.len(),
        began.elapsed().as_secs_f32()
    );
    let mut stdout = std::io::stdout();
    match (out, setting) {
        (Some(out), Some(setting)) => {
            let of = if *session { "--session " } else { "" };
            let command = format!(
                "cargo build --release -p client -p it && cargo run --release -p it --bin soak -- \
                 {of}--times {times} --seed {seed} --out it/results"
            );
            let setting = setting.finish()?;
            let figure = chaos::figure(cases, &outcomes, setting, command, vec![summary]);
            figure.save(out)?;
            page::write(out)?;
            write!(stdout, "{}", figure.text())?;
        }
        _ => {
            let table = chaos::table(cases, &outcomes);
            writeln!(stdout, "{}\n{summary}", table.text())?;
        }
    }
    Ok(right == outcomes.len() && untried == 0)
}
