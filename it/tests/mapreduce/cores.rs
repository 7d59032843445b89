//! Slots on fast and on slow cores: tasks run on them, and are moved while they run.

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::session::{stop, told};
use it::{mapreduce, wait};
use policy::schedule::Decision;
use policy::schedule::record::What;
use sim::record;
use sim::recorded::RecordedSession;

use crate::{files, is_same, local, mr, program, put, succeeds, text};

pub const CASES: &[(&str, Case)] = &[(
    "batch tasks make room on the fast core, and come back",
    moved,
)];

/// The cores of the attempts that run, as `gerbil mr status` tells them.
fn cores(given: &Given, job: &str) -> Result<Vec<String>> {
    let run = mapreduce::mr(&given.cluster, &given.folder, &["status", job])?;
    let said = run.deadline(DEADLINE).finish()?.stdout_text();
    let rows = said.lines().skip_while(|line| !line.contains(" pid "));
    let cores = rows.skip(1).filter_map(|row| {
        let mut words = row.split_whitespace();
        // `map 0.0 4711 0 1 host`
        let pid = words.nth(2)?;
        words.next().filter(|_| pid != "-").map(ToOwned::to_owned)
    });
    let mut cores: Vec<String> = cores.collect();
    cores.sort_unstable();
    Ok(cores)
}

/// One container with a map slot on the fast core and two on the slow one.
fn moved(given: &Given) -> Result<()> {
    let words = text(9);
    let input = put(given, "/cores/in", &[("a", &words)])?;
    given.cluster.hdfs().make_folder("/cores/records", "777")?;
    let line = [
        "start",
        "s",
        "--containers",
        "1",
        "--memory",
        "768",
        "--policy",
        "dyscale:move-least=0",
        "--cores",
        "fast=0,slow=1",
        "--slots",
        "fast=1:1,slow=2:1",
        "--record",
        "/cores/records/s.jsonl",
    ];
    told(given, &line, 0)?;
    let session = given.newest()?.id;
    let (hold, wordcount) = (program("hold")?, program("wordcount")?);
    // Both begin on the slow core; nothing interactive is there, and one goes up.
    let long = ["--load", "8", "--by-mask", "0", "2", "/cores/hold"];
    let batch = mr(given, &[&["--queue", "batch", &hold], &long[..]].concat())?.start()?;
    let job = format!("{session}.1");
    wait::until("a batch task on each core", DEADLINE, || {
        Ok((cores(given, &job)? == ["0", "1"]).then_some(()))
    })?;
    let short = [wordcount.as_str(), "/cores/in", "/cores/out"];
    succeeds(given, &[&["--queue", "interactive"], &short[..]].concat())?;
    batch.finish()?.success("the batch job")?;
    let here = local(given, &wordcount, &[&input], "cores")?;
    is_same(&files(given, "/cores/out")?, &here)?;

    let history = |job: &str| -> Result<String> {
        let run = mapreduce::mr(&given.cluster, &given.folder, &["history", job])?;
        let told = run.deadline(DEADLINE).finish()?.success("history")?;
        Ok(told.stdout_text())
    };
    let told_of = history(&job)?;
    let moved = told_of.lines().find(|line| line.contains(" had slot "));
    let moved = moved.with_context(|| told_of.clone())?;
    // From the slow core to the fast one, and back to make room.
    ensure!(moved.matches("slot ").count() >= 3, "{moved}");
    let of_short = history(&format!("{session}.2"))?;
    ensure!(of_short.contains("state SUCCEEDED"), "{of_short}");
    stop(given, "s")?;
    replays(given)
}

/// The session's record, told to its policy again, has the same decisions, and its workload is played to its end.
fn replays(given: &Given) -> Result<()> {
    let records = files(given, "/cores/records")?;
    let record = records.get("s.jsonl").context("no record")?;
    let session = RecordedSession::read(record.as_slice(), "")?;
    let jobs = session.workload.jobs.len();
    ensure!(jobs == 2, "{jobs} jobs came to an end");
    let moved = record::lines(record.as_slice()).filter(|line| {
        let line = line.as_ref().map(|line| &line.what);
        matches!(line, Ok(What::Decision(Decision::Move { .. })))
    });
    ensure!(moved.count() >= 2, "two moves, and the record has fewer");
    session.play(&session.policy).map(drop)
}
