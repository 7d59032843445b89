//! The one DataNode is away for some seconds: no task fails as often as it may before it is back.

use std::time::Duration;

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::command::Running;
use it::daemon::Daemon;
use it::mapreduce::is_same;
use it::session::{start_with, stop, told};
use it::wait;

use crate::{files, mr, program, put, succeeds};

pub const CASES: &[(&str, Case)] = &[
    ("the DataNode is away when maps begin to read", reading),
    ("the DataNode is away when reduces begin to write", writing),
];

/// Four attempts that fail at once, one after the other, take less.
const AWAY: Duration = Duration::from_secs(6);

fn reading(given: &Given) -> Result<()> {
    put(given, "/away/in", &[("a", "a b a\n"), ("b", "b c\n")])?;
    start_with(given, "s", "512")?;
    let wordcount = program("wordcount")?;
    succeeds(given, &[&wordcount, "/away/in", "/away/first"])?;
    let job = [wordcount.as_str(), "/away/in", "/away/out"];
    outlives(given, || mr(given, &job)?.start())?;
    is_same(&files(given, "/away/out")?, &files(given, "/away/first")?)?;
    stop(given, "s")
}

fn writing(given: &Given) -> Result<()> {
    let slow = format!("{}last\n", "sleep\n".repeat(20));
    put(given, "/away/slow", &[("a", &slow)])?;
    start_with(given, "s", "512")?;
    let faulty = program("faulty")?;
    succeeds(given, &[&faulty, "/away/slow", "/away/whole"])?;
    let running = mr(given, &[&faulty, "/away/slow", "/away/late"])?.start()?;
    wait::until("a map that runs", DEADLINE, || {
        let shown = told(given, &["status", "s"], 0)?.stdout_text();
        let is_busy = ["1", "2"]
            .iter()
            .any(|used| shown.contains(&format!("{used} of them in use")));
        Ok(is_busy.then_some(()))
    })?;
    outlives(given, || Ok(running))?;
    is_same(&files(given, "/away/late")?, &files(given, "/away/whole")?)?;
    stop(given, "s")
}

/// The job comes to its end, and not while the DataNode is away.
fn outlives(given: &Given, job: impl FnOnce() -> Result<Running>) -> Result<()> {
    given.cluster.kill(Daemon::DataNode)?;
    let job = job();
    wait::pause(AWAY);
    given.cluster.start(Daemon::DataNode)?;
    given.cluster.wait_for_hdfs()?;
    let mut job = job?;
    ensure!(!job.is_over()?, "it has ended without its DataNode");
    job.finish()?
        .success("a job whose DataNode was away")
        .map(drop)
}
