//! The one DataNode, or all of HDFS, is away for some seconds: no task fails as often as it may before it is back.

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
    ("all of HDFS is away when maps begin to read", whole),
];

/// Four attempts that fail at once, one after the other, take less.
const AWAY: Duration = Duration::from_secs(6);

fn reading(given: &Given) -> Result<()> {
    put(given, "/away/in", &[("a", "a b a\n"), ("b", "b c\n")])?;
    start_with(given, "s", "512")?;
    let wordcount = program("wordcount")?;
    succeeds(given, &[&wordcount, "/away/in", "/away/first"])?;
    let job = [wordcount.as_str(), "/away/in", "/away/out"];
    outlives(given, &[Daemon::DataNode], || mr(given, &job)?.start())?;
    is_same(&files(given, "/away/out")?, &files(given, "/away/first")?)?;
    stop(given, "s")
}

fn writing(given: &Given) -> Result<()> {
    let slow = format!("{}last\n", "sleep\n".repeat(20));
    put(given, "/away/slow", &[("a", &slow)])?;
    start_with(given, "s", "512")?;
    let faulty = program("faulty")?;
    succeeds(given, &[&faulty, "/away/slow", "/away/whole"])?;
    let running = begun(given, &[&faulty, "/away/slow", "/away/late"])?;
    outlives(given, &[Daemon::DataNode], || Ok(running))?;
    is_same(&files(given, "/away/late")?, &files(given, "/away/whole")?)?;
    stop(given, "s")
}

/// One slot: the second map begins when the first has slept for six seconds.
fn whole(given: &Given) -> Result<()> {
    let slow = format!("{}last\n", "sleep\n".repeat(20));
    put(given, "/whole/in", &[("a", &slow), ("b", "last\n")])?;
    let one = ["--containers", "1", "--slots-per-container", "1"];
    let start = [&["start", "s"], &one[..], &["--memory", "768"]].concat();
    told(given, &start, 0)?;
    let fixed = ["-D", "gerbil.split.pack=1"];
    let faulty = program("faulty")?;
    let job = |out| [&fixed[..], &[&faulty, "/whole/in", out]].concat();
    let running = begun(given, &job("/whole/out"))?;
    outlives(given, &[Daemon::NameNode, Daemon::DataNode], || Ok(running))?;
    succeeds(given, &job("/whole/again"))?;
    is_same(&files(given, "/whole/out")?, &files(given, "/whole/again")?)?;
    stop(given, "s")
}

/// The job, as soon as a task of it runs.
fn begun(given: &Given, job: &[&str]) -> Result<Running> {
    let running = mr(given, job)?.start()?;
    wait::until("a map that runs", DEADLINE, || {
        let shown = told(given, &["status", "s"], 0)?.stdout_text();
        let is_busy = ["1", "2"]
            .iter()
            .any(|used| shown.contains(&format!("{used} of them in use")));
        Ok(is_busy.then_some(()))
    })?;
    Ok(running)
}

/// The job comes to its end, and not while these daemons are away.
fn outlives(given: &Given, away: &[Daemon], job: impl FnOnce() -> Result<Running>) -> Result<()> {
    for daemon in away {
        given.cluster.kill(*daemon)?;
    }
    let job = job();
    wait::pause(AWAY);
    for daemon in away {
        given.cluster.start(*daemon)?;
    }
    given.cluster.wait_for_hdfs()?;
    let mut job = job?;
    ensure!(!job.is_over()?, "it has ended while {away:?} was away");
    job.finish()?.success("a job whose HDFS was away").map(drop)
}
