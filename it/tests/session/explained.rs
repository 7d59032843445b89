//! What jobs wait for, as `--explain` follows it.

use std::fs;

use anyhow::{Result, bail, ensure};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::mapreduce::{self, files};
use it::session::{shows, start_with, stop};
use it::wait;
use serde_json::Value;

use super::{interrupt, job, lingering};

pub const CASES: &[(&str, Case)] = &[
    ("--explain follows what a job waits for", followed),
    (
        "--explain of gerbil mr says what its tasks wait for",
        of_tasks,
    ),
];

/// The lines so far, each a JSON object.
fn events(text: &str) -> Result<Vec<Value>> {
    let lines = text.lines();
    Ok(lines.map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn followed(given: &Given) -> Result<()> {
    start_with(given, "s", "256")?;
    let (one, other) = (lingering(given, "2")?, lingering(given, "3")?);
    let file = given.folder.join("waits.json");
    let explain = format!("--explain={}", text_of(&file)?);
    let line = ["-n", "5", &explain, "--json", "echo", "now"];
    let next = job(given, &line)?.start()?;
    let waiting = |lines: usize| {
        wait::until("a line for each cause", DEADLINE, || {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let waits = text.matches(r#"{"event":"waits-for-slots""#).count();
            Ok((waits >= lines && text.ends_with('\n')).then_some(()))
        })
    };
    waiting(1)?;
    interrupt(one)?;
    waiting(2)?;
    interrupt(other)?;
    let finished = next.finish()?.success("the one that waited")?;
    ensure!(
        finished.stdout_text() == "now\n".repeat(5),
        "{}",
        finished.stdout_text()
    );
    let text = fs::read_to_string(&file)?;
    let events = events(&text)?;
    // Before it goes to the session.
    ensure!(
        events[0]["event"] == "process-manager" && events[0]["manager"] == "pmi",
        "{text}"
    );
    let waits = events
        .iter()
        .filter(|event| event["event"] == "waits-for-slots");
    let [first, second] = waits.collect::<Vec<_>>()[..] else {
        bail!("{text}");
    };
    ensure!(
        first["reason"] == "waits for 5 slots of 256 MiB: 1 free, job 2 holds 3, job 1 holds 2"
            && (first["wanted"] == 5 && first["free"] == 1 && first["all"] == 6)
            && first["holders"][1]["job"] == 1,
        "{text}"
    );
    ensure!(
        second["reason"] == "waits for 5 slots of 256 MiB: 3 free, job 2 holds 3",
        "{text}"
    );
    // Then it has them, and what is told is what any job is told.
    let placed = events.iter().find(|event| event["event"] == "placed");
    ensure!(
        placed.is_some_and(|placed| placed["processes"] == 5),
        "{text}"
    );
    stop(given, "s")
}

fn of_tasks(given: &Given) -> Result<()> {
    start_with(given, "s", "512")?;
    mapreduce::put(given, "/explained/in", &[("part", "so it goes\n")])?;
    let held = lingering(given, "6")?;
    let wordcount = text_of(&mapreduce::example("wordcount")?)?;
    let line = [
        "--session",
        "s",
        "--explain",
        &wordcount,
        "/explained/in",
        "/explained/out",
    ];
    let tasks = mapreduce::mr(&given.cluster, &given.folder, &line)?;
    let mut tasks = tasks.deadline(DEADLINE).start()?;
    tasks.wait_for_stderr("waits for 1 slot of 512 MiB: 0 free, job 1 holds 6")?;
    shows(given, "1 job runs, 1 waiting")?;
    interrupt(held)?;
    let finished = tasks.finish()?.success("gerbil mr")?;
    let said = finished.stderr_text();
    ensure!(said.contains(": map 0, attempt 0, on "), "{said}");
    ensure!(files(&given.cluster, "/explained/out")?.contains_key("_SUCCESS"));
    stop(given, "s")
}
