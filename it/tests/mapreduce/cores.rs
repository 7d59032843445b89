//! Slots on fast and on slow cores: tasks run on them, and are moved while they run.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::session::{containers, stop, told};
use it::victims::launchers;
use it::{mapreduce, wait};
use policy::schedule::Decision;
use policy::schedule::record::What;
use sim::record;
use sim::recorded::RecordedSession;

use crate::{files, is_same, local, mr, program, put, succeeds, text};

pub const CASES: &[(&str, Case)] = &[
    (
        "batch tasks make room on the fast core, and come back",
        moved,
    ),
    (
        "a batch task that is stopped goes on, and nothing of a job that is killed stays stopped",
        stopped,
    ),
];

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

/// The words that start a session of one container, whose first core is fast.
const fn session<'a>(policy: &'a str, slots: &'a str) -> [&'a str; 12] {
    [
        "start",
        "s",
        "--containers",
        "1",
        "--memory",
        "768",
        "--policy",
        policy,
        "--cores",
        "fast=0,slow=1",
        "--slots",
        slots,
    ]
}

/// One container with a map slot on the fast core and two on the slow one.
fn moved(given: &Given) -> Result<()> {
    let words = text(9);
    let input = put(given, "/cores/in", &[("a", &words)])?;
    given.cluster.hdfs().make_folder("/cores/records", "777")?;
    let record = ["--record", "/cores/records/s.jsonl"];
    let line = [
        &session("dyscale:move-least=0", "fast=1:1,slow=2:1")[..],
        &record,
    ];
    told(given, &line.concat(), 0)?;
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
    let run = mapreduce::mr(&given.cluster, &given.folder, &["counters", &job])?;
    let counted = run.deadline(DEADLINE).finish()?.success("counters")?;
    let counted = counted.stdout_text();
    ensure!(counted.contains("gerbil slow cores"), "{counted}");
    let of_short = history(&format!("{session}.2"))?;
    ensure!(of_short.contains("state SUCCEEDED"), "{of_short}");
    narrowed(given, &hold)?;
    stop(given, "s")?;
    replays(given)?;
    strict(given)
}

/// The launcher loses its fast core: its slots are on the slow one, and an interactive job has what is spare, and says so.
fn narrowed(given: &Given, hold: &str) -> Result<()> {
    let slots = || -> Result<u64> {
        let containers = containers(given)?;
        let container = containers.first().context("no container")?;
        container["slots"]
            .as_u64()
            .with_context(|| container.to_string())
    };
    ensure!(slots()? == 5, "{} slots of fast=1:1,slow=2:1", slots()?);
    let all = launchers(&given.cluster)?;
    for launcher in &all {
        let narrow = Command::new("taskset")
            .args(["-acp", "1", &launcher.pid.to_string()])
            .output()?;
        ensure!(narrow.status.success(), "{narrow:?}");
    }
    wait::until("slots on the slow core alone", DEADLINE, || {
        Ok((slots()? == 3).then_some(()))
    })?;
    let job = [
        "--queue",
        "interactive",
        hold,
        "--load",
        "0.1",
        "1",
        "/cores/spare",
    ];
    let run = mr(given, &job)?
        .finish()?
        .success("the job without a fast slot")?;
    let said = run.stderr_text();
    let spare = "no slot for the job's tasks is on a fast core";
    ensure!(said.contains(spare), "{said}");
    Ok(())
}

/// A session that wants fast and slow cores of each node ends where one has none such.
fn strict(given: &Given) -> Result<()> {
    let mut line = session("dyscale", "fast=1:1,slow=2:1").to_vec();
    line.push("--strict");
    if let Some(cores) = line.iter_mut().find(|word| **word == "fast=0,slow=1") {
        *cores = "fast=0,slow=8000";
    }
    let said = told(given, &line, 65)?.stderr_text();
    ensure!(said.contains("--cores names core 8000"), "{said}");
    told(given, &["start", "s", "--strict"], 64).map(drop)
}

/// The session's record, told to its policy again, has the same decisions, and its workload is played to its end.
fn replays(given: &Given) -> Result<()> {
    let records = files(given, "/cores/records")?;
    let record = records.get("s.jsonl").context("no record")?;
    let session = RecordedSession::read(record.as_slice(), "")?;
    let jobs = session.workload.jobs.len();
    ensure!(jobs == 3, "{jobs} jobs came to an end");
    let moved = record::lines(record.as_slice()).filter(|line| {
        let line = line.as_ref().map(|line| &line.what);
        matches!(line, Ok(What::Decision(Decision::Move { .. })))
    });
    ensure!(moved.count() >= 2, "two moves, and the record has fewer");
    session.play(&session.policy).map(drop)
}

/// A fast slot and a slow one, and a place: batch has both, and one of its tasks is stopped for an interactive job. What
/// it writes is as if nothing had been; of a second one, which is killed then, nothing is left.
fn stopped(given: &Given) -> Result<()> {
    // Thirty times 0.3 s, after a process in a session of its own.
    let slow = format!("setsid\n{}", "sleep\n".repeat(30));
    put(given, "/parked/slow", &[("a", &slow), ("b", &slow)])?;
    let short = "sleep\n".repeat(6);
    put(given, "/parked/short", &[("a", &short)])?;
    let line = session("dyscale:move-least=0,park=1", "fast=1:1,slow=1:1");
    told(given, &line, 0)?;
    let session = given.newest()?.id;
    let faulty = program("faulty")?;
    // A map a file.
    let batch = |out: &str| {
        let each = ["--queue", "batch", "-D", "gerbil.split.pack=1"];
        let program = [faulty.as_str(), "/parked/slow", out];
        mr(given, &[&each[..], &program].concat())?.start()
    };
    let asked = |out: &str| {
        let words = ["--queue", "interactive", &faulty, "/parked/short", out];
        mr(given, &words)?.start()
    };
    let until = |what: &str, job: &str, wanted: &[&str]| {
        wait::until(what, DEADLINE, || {
            Ok((cores(given, job)? == wanted).then_some(()))
        })
    };
    let first = batch("/parked/first")?;
    let job = format!("{session}.1");
    until("a batch task on each core", &job, &["0", "1"])?;
    let short = asked("/parked/asked")?;
    until("a batch task that is stopped", &job, &["1", "stopped"])?;
    short.finish()?.success("the interactive job")?;
    first.finish()?.success("the batch job")?;
    let written = files(given, "/parked/first")?;
    let written = written.get("part-r-00000").context("no output")?;
    let written = String::from_utf8_lossy(written);
    ensure!(written == "setsid\t2\nsleep\t60\n", "{written}");

    let second = batch("/parked/second")?;
    let job = format!("{session}.3");
    until("a batch task on each core", &job, &["0", "1"])?;
    let short = asked("/parked/never")?;
    until("a batch task that is stopped", &job, &["1", "stopped"])?;
    for (job, run) in [(&job, second), (&format!("{session}.4"), short)] {
        told(given, &["kill", job], 0)?;
        run.finish()?;
    }
    wait::until("nothing of the jobs", DEADLINE, || {
        let left = given.cluster.container_processes()?;
        let is_theirs = |words: &[String]| {
            let shown = words.join(" ");
            shown.contains("faulty") || shown.contains("sleep 600")
        };
        let mut left = left.iter().filter(|left| is_theirs(&left.arguments));
        Ok(left.next().is_none().then_some(()))
    })?;
    ranks(given)?;
    stop(given, "s")
}

/// Ranks run on the cores of their slots, which are of one speed, unless there are too few of each or the job does not mind.
fn ranks(given: &Given) -> Result<()> {
    let allowed = |words: &[&str]| -> Result<(Vec<String>, String)> {
        let program = ["grep", "Cpus_allowed_list", "/proc/self/status"];
        let line = [&["--session", "s"], words, &program].concat();
        let run = given.gerbil(&line)?.finish()?.success("ranks on cores")?;
        let said = run.stdout_text();
        let cores = said
            .lines()
            .filter_map(|line| line.split_whitespace().last());
        Ok((cores.map(ToOwned::to_owned).collect(), run.stderr_text()))
    };
    let mixed = "the session has 2 slots on no one speed of cores";
    let (one, said) = allowed(&["-n", "1"])?;
    ensure!(one == ["0"] && !said.contains(mixed), "{one:?} {said}");
    let (both, said) = allowed(&["-n", "2"])?;
    ensure!(
        both == ["0-1", "0-1"] && said.contains(mixed),
        "{both:?} {said}"
    );
    let (any, said) = allowed(&["-n", "2", "--any-speed"])?;
    ensure!(
        any == ["0-1", "0-1"] && !said.contains(mixed),
        "{any:?} {said}"
    );
    Ok(())
}
