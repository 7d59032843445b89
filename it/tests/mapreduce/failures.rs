//! Programs that fail or stand still, and processes that are killed.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use it::bed::{Case, Given};
use it::command::Running;
use it::mapreduce_kills::{self, Blow, KilledJob};
use it::session::{command, shows, stop, told};
use it::victims::kill_launcher;
use it::{Run, expect, wait};
use nix::sys::signal::Signal;

use crate::{files, is_gone, is_same, local, mr, program, put, start, succeeds};

pub const CASES: &[(&str, Case)] = &[
    ("a program that fails", fails),
    ("Ctrl-C ends a job, and the session goes on", interrupted),
    ("the client is killed -9", client_killed),
    ("what a task prints is read while it runs", printed),
    ("a launcher is killed in the middle", launcher_killed),
    ("a task and a launcher are killed at seeded moments", killed),
    (
        "of two attempts at a straggler the faster one counts",
        straggler,
    ),
];

fn fails(given: &Given) -> Result<()> {
    put(
        given,
        "/fails/in",
        &[("a", "good\nerror\n"), ("b", "good\npanic\n")],
    )?;
    start(given)?;
    let faulty = program("faulty")?;
    let once = ["-D", "mapreduce.map.maxattempts=1"];
    for (name, words) in [
        ("a", "this line is refused"),
        ("b", "this line is not empty"),
    ] {
        let (input, out) = (format!("/fails/in/{name}"), format!("/fails/out/{name}"));
        let line = [&once[..], &[&faulty, &input, &out]].concat();
        let finished = mr(given, &line)?.finish()?;
        let said = finished.stderr_text();
        ensure!(
            finished.code() == 1 && said.contains(words),
            "{}: {said}",
            finished.code()
        );
        is_gone(given, &out)?;
    }
    // The fourth attempt is as good as the first.
    let finished = mr(given, &[&faulty, "/fails/in/a", "/fails/out/four"])?.finish()?;
    expect::sentence(&finished, 1, &["failed 4 times", "this line is refused"])?;
    put(given, "/fails/again", &[("a", "good\nattempt\n")])?;
    let finished = succeeds(given, &[&faulty, "/fails/again", "/fails/out/again"])?;
    ensure!(
        finished.stderr_text().contains("1 attempt failed"),
        "{}",
        finished.stderr_text()
    );
    // Two records that nobody can do are left out; of three that is one too many.
    put(given, "/fails/bad", &[("a", "good\nerror\nabort\nlast\n")])?;
    let skipping = ["--skip-bad", "2"];
    let line = [&skipping[..], &[&faulty, "/fails/bad", "/fails/out/bad"]].concat();
    let finished = succeeds(given, &line)?;
    let said = finished.stderr_text();
    ensure!(
        said.contains("2 records left out")
            && said.contains("leaves out record 1 of its split, 1 of at most 2"),
        "{said}"
    );
    put(
        given,
        "/fails/words",
        &[("a", "good\nreduce error\nreduce abort\nlast\n")],
    )?;
    let line = [
        &skipping[..],
        &[&faulty, "/fails/words", "/fails/out/words"],
    ]
    .concat();
    let said = succeeds(given, &line)?.stderr_text();
    ensure!(
        said.contains("2 groups left out")
            && said.contains("REDUCE_SKIPPED_GROUPS=2")
            && said.contains("REDUCE_SKIPPED_RECORDS=2")
            && said.contains("reduce 0 leaves out group"),
        "{said}"
    );
    let too_few = ["-D", "mapreduce.map.skip.maxrecords=1"];
    let line = [&too_few[..], &[&faulty, "/fails/bad", "/fails/out/few"]].concat();
    let finished = mr(given, &line)?.finish()?;
    expect::sentence(&finished, 1, &["failed 4 times", "left out before: 1"])?;
    ensure!(
        files(given, "/fails/out/again")?.contains_key("_SUCCESS"),
        "no _SUCCESS"
    );
    stop(given, "s")
}

/// A job whose map never ends, which runs.
fn endless(given: &Given, folder: &str) -> Result<Running> {
    put(given, &format!("{folder}/in"), &[("a", "good\nloop\n")])?;
    let (input, out) = (format!("{folder}/in"), format!("{folder}/out/x"));
    let running = mr(given, &[&program("faulty")?, &input, &out])?.start()?;
    shows(given, "1 job runs")?;
    Ok(running)
}

fn interrupted(given: &Given) -> Result<()> {
    start(given)?;
    let mut running = endless(given, "/interrupted")?;
    running.signal(Signal::SIGINT)?;
    expect::sentence(
        &running.finish()?,
        130,
        &["once more to leave it to the session"],
    )?;
    is_gone(given, "/interrupted/out/x")?;
    shows(given, "no job runs, 0 waiting, 1 ended")?;
    put(given, "/interrupted/more", &[("a", "a b a\n")])?;
    let wordcount = program("wordcount")?;
    succeeds(
        given,
        &[&wordcount, "/interrupted/more", "/interrupted/out/more"],
    )?;
    stop(given, "s")
}

fn client_killed(given: &Given) -> Result<()> {
    start(given)?;
    let mut running = endless(given, "/orphan")?;
    running.signal(Signal::SIGKILL)?;
    drop(running.finish()?);
    shows(given, "no job runs, 0 waiting, 1 ended")?;
    is_gone(given, "/orphan/out/x")?;
    stop(given, "s")
}

/// What a map that never ends has printed: while it runs, when its job is over, when its session is.
fn printed(given: &Given) -> Result<()> {
    start(given)?;
    put(given, "/printed/in", &[("a", "print\nloop\n")])?;
    let line = [&program("faulty")?, "/printed/in", "/printed/out/x"];
    let mut running = mr(given, &line)?.start()?;
    shows(given, "1 job runs")?;
    let status = told(given, &["status", "s", "--json"], 0)?.stdout_text();
    let status: serde_json::Value = serde_json::from_str(&status)?;
    let job = status["jobs"][0]["id"].as_str().context("a job's name")?;
    let logs = |task: &str| command(given, &["logs", job, task])?.finish();
    wait::until("what the map prints", Duration::from_secs(60), || {
        let read = logs("m0")?;
        Ok((read.stdout_text() == "this goes to standard output\n").then_some(()))
    })?;
    let listed = command(given, &["logs", job])?.finish()?;
    let listed = listed.success("gerbil logs of a MapReduce job")?;
    let row = listed.stdout_text();
    let row: Vec<&str> = row
        .lines()
        .nth(1)
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    ensure!(
        row.starts_with(&["m0", "running"]) && row.len() == 3,
        "{row:?}"
    );
    let how = format!("{job} is a MapReduce job: gerbil logs {job} m0 prints");
    ensure!(
        listed.stderr_text().contains(&how),
        "{}",
        listed.stderr_text()
    );
    expect::sentence(&logs("m0.1")?, 70, &["no attempt 1 at map 0 has begun"])?;
    expect::sentence(
        &logs("m1")?,
        70,
        &["has no map 1: it has 1, numbered from 0"],
    )?;
    running.signal(Signal::SIGINT)?;
    drop(running.finish()?);
    shows(given, "no job runs, 0 waiting, 1 ended")?;
    // It has not failed: it was ended with its job.
    let over = "is over, and nothing is kept of what map 0 has printed";
    expect::sentence(&logs("m0")?, 64, &[job, over])?;
    stop(given, "s")?;
    expect::sentence(&logs("m0")?, 64, &[job, over])
}

fn launcher_killed(given: &Given) -> Result<()> {
    let text = format!("{}good\n", "sleep\n".repeat(6));
    let names: Vec<String> = (0..12).map(|number| format!("f{number:02}")).collect();
    let inputs: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), text.as_str()))
        .collect();
    let input = put(given, "/killed/in", &inputs)?;
    start(given)?;
    let faulty = program("faulty")?;
    let options = ["-D", "gerbil.split.pack=1"];
    let line = [
        &options[..],
        &[&faulty, "--reduces", "2", "/killed/in", "/killed/out/x"],
    ]
    .concat();
    let running = mr(given, &line)?.start()?;
    shows(given, "1 job runs")?;
    // Some maps have ended by then, and what they left is lost with one of three launchers.
    wait::pause(Duration::from_secs(3));
    kill_launcher(given)?;
    let finished = running.finish()?.success("a job that lost a launcher")?;
    let ours = files(given, "/killed/out/x")?;
    let here = local(given, &faulty, &["--reduces", "2", &input], "killed")?;
    is_same(&ours, &here).with_context(|| finished.stderr_text())?;
    shows(given, "3 containers with 6 slots, 0 of them in use")?;
    stop(given, "s")
}

fn killed(given: &Given) -> Result<()> {
    mapreduce_kills::start(given)?;
    let work = KilledJob::word_count(given, 4)?;
    for blow in [Blow::KillTask, Blow::KillLauncher] {
        hit(given, &work, blow)?;
    }
    stop(given, "s")
}

/// Rounds until one has hit: a job so short may be over before its moment has come.
fn hit(given: &Given, work: &KilledJob, blow: Blow) -> Result<()> {
    for seed in 7..17 {
        let outcome = work.round(given, blow, seed)?;
        ensure!(outcome.is_right(), "{}\n{}", outcome.row(), outcome.said);
        if outcome.has_hit {
            return Ok(());
        }
    }
    bail!("{blow:?}: ten jobs were over before it")
}

/// One map whose first attempt takes minutes.
fn straggler(given: &Given) -> Result<()> {
    let text = format!("{}good\n", "sleep\n".repeat(4));
    let slow = format!("good\nstraggle\n{text}");
    let mut inputs = vec![("f0", slow.as_str())];
    inputs.extend(["f1", "f2", "f3", "f4", "f5", "f6", "f7"].map(|name| (name, text.as_str())));
    put(given, "/straggler/in", &inputs)?;
    start(given)?;
    let faulty = program("faulty")?;
    let line = |options: &[&str], out: &str| -> Result<Run> {
        let fixed = ["-D", "gerbil.split.pack=1", &faulty, "--reduces", "1"];
        mr(given, &[options, &fixed, &["/straggler/in", out]].concat())
    };
    let finished = line(&[], "/straggler/out/x")?.finish()?;
    let finished = finished.success("a job with a straggler")?;
    let said = finished.stderr_text();
    let times = |words: &str| said.matches(words).count();
    ensure!(
        times("map 0 takes much longer than others on ") == 1
            && times(" takes much longer than others") == 1
            && times("MAP_INPUT_RECORDS=42") == 1
            && times("failed") == 0,
        "{said}"
    );
    let ours = files(given, "/straggler/out/x")?;
    let words = ours
        .get("part-r-00000")
        .map(|of| String::from_utf8_lossy(of));
    ensure!(
        words.as_deref() == Some("good\t9\nsleep\t32\nstraggle\t1\n"),
        "{words:?}"
    );
    // Its loser is gone with it.
    shows(given, "3 containers with 6 slots, 0 of them in use")?;
    let alone = ["-D", "mapreduce.map.speculative=false"];
    let mut running = line(&alone, "/straggler/out/alone")?.start()?;
    shows(given, "1 job runs")?;
    wait::pause(Duration::from_secs(12));
    shows(given, "1 job runs")?;
    running.signal(Signal::SIGINT)?;
    let said = running.finish()?.stderr_text();
    ensure!(!said.contains("much longer"), "{said}");
    stop(given, "s")
}
