//! The five modes beside a job that fills the first node, as the paper's Table III sets them side by
//! side: who waits for it, and where the others go.

use std::fs;

use anyhow::{Result, ensure};
use it::bed::{Case, Given, HeldJob, text_of};

use crate::UNITS;
use it::reported::{self, Shares, hosts};

pub const CASES: &[(&str, Case)] = &[
    ("modes: none waits for its nodes", none_waits),
    ("modes: loc moves to the freest node", loc_moves),
    ("modes: dist waits, and spreads by room", dist_waits),
    ("modes: loc+dist takes two free nodes", loc_dist_moves),
    ("modes: all takes what has room", all_takes_room),
    ("modes: all fills unequal nodes evenly", all_is_even),
    ("modes: -r auto leaves the full node", auto_leaves),
    (
        "modes: -r auto keeps the nodes of a program that communicates",
        auto_remembers,
    ),
];

/// Fills the first node for as long as the test wants; the ApplicationMaster is in the client, so that
/// every node's room is known.
fn background(given: &Given) -> Result<HeldJob> {
    let hosts = hosts(given);
    let entry = format!("{}:{}", hosts[0], UNITS[0]);
    let line = ["--deploy-mode", "client", "-r", "none", "-hosts", &entry];
    let (held, _) = given.held("background", &line)?;
    Ok(held)
}

/// A host file with three processes on the first node and two on the third.
fn host_file(given: &Given) -> Result<String> {
    let hosts = hosts(given);
    let path = given.folder.join("hosts");
    fs::write(&path, format!("{}:3\n{}:2\n", hosts[0], hosts[2]))?;
    text_of(&path)
}

/// Runs five processes in `mode` beside the background job, which ends only afterwards.
fn beside(given: &Given, mode: &[&str]) -> Result<Shares> {
    let background = background(given)?;
    let program = given.script("short", "hostname >/dev/null")?;
    let mut line = vec!["--deploy-mode", "client"];
    line.extend(mode);
    line.push(&program);
    let (finished, report) = reported::reported(given, &line)?;
    background.let_go()?;
    // The nodes share this machine's few cores; of memory each process has all that it wants.
    let short = |sentence: &String| sentence.contains("MiB");
    ensure!(!report.degraded.iter().any(short), "{:?}", report.degraded);
    ensure!(report.asking_allocates == 1, "{finished:?}");
    given.is_clean()?;
    reported::shares(given, &report)
}

/// Starts five processes in `mode` while the background job runs, and lets that go once they wait.
fn after(given: &Given, mode: &str) -> Result<Shares> {
    let background = background(given)?;
    let file = host_file(given)?;
    let program = given.script("short", "hostname >/dev/null")?;
    let path = text_of(&given.folder.join("report.json"))?;
    let line = ["--deploy-mode", "client", "-r", mode, "-f", &file];
    let line = [&line[..], &["--report", &path, &program]].concat();
    let mut waiting = given.gerbil(&line)?.start()?;
    waiting.wait_for_stderr("waiting: ")?;
    background.let_go()?;
    waiting.finish()?.success("the job that waited")?;
    given.is_clean()?;
    reported::shares(given, &reported::read(&path)?)
}

fn none_waits(given: &Given) -> Result<()> {
    let shares = after(given, "none")?;
    ensure!(shares == [(0, 3), (2, 2)], "{shares:?}");
    Ok(())
}

fn dist_waits(given: &Given) -> Result<()> {
    // One each, and the rest where there was room when they were dealt: on the third node, whose
    // container is held while the first node's is waited for.
    let shares = after(given, "dist")?;
    ensure!(shares == [(0, 1), (2, 4)], "{shares:?}");
    Ok(())
}

fn loc_moves(given: &Given) -> Result<()> {
    let file = host_file(given)?;
    let shares = beside(given, &["-r", "loc", "-f", &file])?;
    ensure!(shares == [(1, 3), (2, 2)], "{shares:?}");
    Ok(())
}

fn loc_dist_moves(given: &Given) -> Result<()> {
    let file = host_file(given)?;
    let shares = beside(given, &["-r", "loc+dist", "-f", &file])?;
    ensure!(shares == [(1, 4), (2, 1)], "{shares:?}");
    Ok(())
}

fn all_takes_room(given: &Given) -> Result<()> {
    let shares = beside(given, &["-n", "5"])?;
    // When the second node has as much memory left as the third, the third has more cores left.
    ensure!(shares == [(1, 4), (2, 1)], "{shares:?}");
    Ok(())
}

fn auto_leaves(given: &Given) -> Result<()> {
    let file = host_file(given)?;
    let background = background(given)?;
    let program = given.script("short", "hostname >/dev/null")?;
    let line = [
        "--deploy-mode",
        "client",
        "-r",
        "auto",
        "-f",
        &file,
        &program,
    ];
    let (finished, report) = reported::reported(given, &line)?;
    background.let_go()?;
    ensure!(report.mode == "loc", "{report:?}");
    let stderr = finished.stderr_text();
    ensure!(stderr.contains("auto: loc"), "{stderr}");
    given.is_clean()
}

/// A run in which the ranks were made to yield tells how long they waited for each other.
fn auto_remembers(given: &Given) -> Result<()> {
    let program = given.program("late")?;
    let measured = ["--yield", "always", "-n", "4", &program];
    let (_, first) = reported::reported(given, &measured)?;
    let shares: Vec<f64> = first
        .ranks
        .iter()
        .filter_map(|rank| rank.waiting_share)
        .collect();
    ensure!(shares.len() == 4, "{:?}", first.ranks);
    given.is_clean()?;

    // Two units are left on the first node: too few for its three processes, enough for one.
    let entry = format!("{}:{}", hosts(given)[0], UNITS[0] - 2);
    let line = ["--deploy-mode", "client", "-r", "none", "-hosts", &entry];
    let (background, _) = given.held("background", &line)?;
    let file = host_file(given)?;
    let line = ["--deploy-mode", "client", "-r", "auto", "-f", &file];
    let line = [&line[..], &[&program]].concat();
    let (finished, report) = reported::reported(given, &line)?;
    background.let_go()?;
    ensure!(report.mode == "dist", "{}", finished.stderr_text());
    let placed = reported::shares(given, &report)?;
    ensure!(placed == [(0, 2), (2, 3)], "{placed:?}");
    let stderr = finished.stderr_text();
    ensure!(stderr.contains("% of an earlier run"), "{stderr}");
    given.is_clean()
}

fn all_is_even(given: &Given) -> Result<()> {
    let program = given.script("short", "hostname >/dev/null")?;
    // Of 22 units two stay free. Where as much memory is left, more cores decide: the smaller nodes
    // have fewer processes on as many.
    let line = ["--deploy-mode", "client", "-n", "20", &program];
    let (_, report) = reported::reported(given, &line)?;
    let shares = reported::shares(given, &report)?;
    ensure!(shares == [(0, 7), (1, 7), (2, 4), (3, 2)], "{shares:?}");
    ensure!(report.asking_allocates == 1, "{report:?}");
    given.is_clean()
}
