//! Jobs that have to wait, and jobs beside each other.

use anyhow::{Result, ensure};
use it::expect;

use it::bed::{Case, Given};

/// A queue with room for one ApplicationMaster.
pub const NARROW: &str = "narrow";

pub const CASES: &[(&str, Case)] = &[
    ("two jobs at the same time", two_jobs),
    (
        "the queue takes no further ApplicationMaster",
        queue_is_full,
    ),
    ("no node has room", no_room),
    ("a waiting job is killed", killed_while_waiting),
];

fn two_jobs(given: &Given) -> Result<()> {
    let (first, _) = given.held("first", &["-n", "4"])?;
    let (second, _) = given.held("second", &["-n", "4"])?;
    first.let_go()?;
    second.let_go()?;
    given.is_clean()?;
    let reports = given.applications()?;
    ensure!(
        reports
            .iter()
            .rev()
            .take(2)
            .all(|report| report.final_status == "SUCCEEDED"),
        "{reports:?}"
    );
    Ok(())
}

fn queue_is_full(given: &Given) -> Result<()> {
    let (first, _) = given.held("first", &["--queue", NARROW, "-n", "1"])?;
    let mut second = given.start_held("second", &["--queue", NARROW, "-n", "1"])?;
    second.running.wait_for_stderr("waiting: ")?;
    let waiting = given.newest()?;
    ensure!(
        waiting.name == "second" && waiting.state == "ACCEPTED",
        "{waiting:?}"
    );
    first.let_go()?;
    second.running.wait_for_stdout("ready")?;
    let finished = second.let_go()?;
    // The ResourceManager's own words, as it shows them to everybody.
    expect::sentence(&finished, 0, &["waiting: ", "AM resource limit exceeded"])?;
    given.is_clean()
}

fn no_room(given: &Given) -> Result<()> {
    let (first, _) = given.held("first", &["--mem-per-proc", "6g", "-n", "4"])?;
    let mut second = given.start_held("second", &["--mem-per-proc", "4g", "-n", "1"])?;
    second.running.wait_for_stderr("waiting: ")?;
    first.let_go()?;
    second.running.wait_for_stdout("ready")?;
    let finished = second.let_go()?;
    expect::sentence(&finished, 0, &["waiting: ", "4096"])?;
    given.is_clean()
}

fn killed_while_waiting(given: &Given) -> Result<()> {
    let (first, _) = given.held("first", &["--queue", NARROW, "-n", "1"])?;
    let mut second = given.start_held("second", &["--queue", NARROW, "-n", "1"])?;
    second.running.wait_for_stderr("waiting: ")?;
    let waiting = given.newest()?;
    let killer = given.gerbil(&["-k", &waiting.id])?.finish()?;
    expect::sentence(&killer, 0, &[&waiting.id, "KILLED"])?;
    let finished = second.running.finish()?;
    expect::sentence(&finished, 143, &["killed", &waiting.id])?;
    first.let_go()?;
    given.is_clean()
}
