//! Jobs of all kinds beside each other, and what happens to the ground under them.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::command::Running;
use it::mapreduce::{self, files};
use it::session::{shows, start_with, stop, told};
use it::victims::kill_node;
use it::{Daemon, wait};

use super::{interrupt, job, lingering, succeeds};

pub const CASES: &[(&str, Case)] = &[
    (
        "two gangs, a stream of small jobs and a MapReduce job all end",
        all_end,
    ),
    ("the folder of staged files is removed", folder_removed),
    ("a program spawns others where it has slots", spawned),
];

pub const FAULTS: &[(&str, Case)] = &[("a node is lost, and its job begins again", begins_again)];

/// Small jobs at the most: a stream that does not end before what it is to starve.
const SMALL: usize = 60;

fn all_end(given: &Given) -> Result<()> {
    start_with(given, "s", "512")?;
    let line = "so it goes and comes again\n".repeat(4_000);
    let inputs: Vec<String> = (0..4).map(|number| format!("part-{number}")).collect();
    let inputs: Vec<(&str, &str)> = inputs.iter().map(|name| (name.as_str(), &*line)).collect();
    mapreduce::put(given, "/beside/in", &inputs)?;
    let wordcount = text_of(&mapreduce::example("wordcount")?)?;
    let sleep = |ranks: &str, span: &str| -> Result<Running> {
        job(given, &["-n", ranks, "sleep", span])?.start()
    };
    let held = lingering(given, "4")?;
    let split = "mapreduce.input.fileinputformat.split.maxsize=10000";
    let line = [
        "--session",
        "s",
        "-D",
        split,
        &wordcount,
        "/beside/in",
        "/beside/out",
    ];
    let tasks = mapreduce::mr(&given.cluster, &given.folder, &line)?;
    let tasks = tasks.deadline(DEADLINE).start()?;
    let (mut one, mut other) = (sleep("5", "2")?, sleep("4", "2")?);
    let mut small = vec![sleep("1", "1")?];
    shows(given, "waits for 5 slots")?;
    interrupt(held)?;
    while !(one.is_over()? && other.is_over()?) {
        ensure!(
            small.len() < SMALL,
            "the gangs wait behind {SMALL} small jobs"
        );
        small.push(sleep("1", "1")?);
        wait::pause(std::time::Duration::from_millis(500));
    }
    for gang in [one, other] {
        gang.finish()?.success("a gang")?;
    }
    for small in small {
        small.finish()?.success("a small job")?;
    }
    tasks.finish()?.success("gerbil mr")?;
    ensure!(files(&given.cluster, "/beside/out")?.contains_key("_SUCCESS"));
    shows(given, "no job runs, 0 waiting")?;
    stop(given, "s")
}

fn folder_removed(given: &Given) -> Result<()> {
    start_with(given, "s", "256")?;
    let held = lingering(given, "2")?;
    let folder = format!("/user/{}/.gerbil", given.cluster.user());
    given.cluster.dfs(&["-rm", "-r", "-skipTrash", &folder])?;
    // Whoever comes next brings what is missing.
    let finished = succeeds(given, &["-n", "4", &given.example("cpi")?])?;
    let printed = finished.stdout_text();
    ensure!(printed.contains("pi is about 3.14159265358"), "{printed}");
    interrupt(held)?;
    stop(given, "s")
}

fn spawned(given: &Given) -> Result<()> {
    start_with(given, "s", "256")?;
    let spawn = given.program("spawn")?;
    let held = lingering(given, "2")?;
    let finished = succeeds(given, &["-n", "4", &spawn, "spawn", "6"])?;
    let printed = finished.stdout_text();
    ensure!(printed.matches(": sum 45").count() == 10, "{printed}");
    let shown = shows(given, "1 job runs, 0 waiting, 1 ended")?;
    ensure!(shown.contains("2 of them in use"), "{shown}");
    interrupt(held)?;
    stop(given, "s")
}

fn begins_again(given: &Given) -> Result<()> {
    let line = ["--containers", "2", "--slots-per-container", "2"];
    let line = [&["start", "s"], &line[..], &["--memory", "256"]].concat();
    told(given, &line, 0)?;
    let gate = given.folder.join("again");
    let script = format!(
        "echo up; while ! test -e {}; do sleep 0.1; done; echo done",
        text_of(&gate)?
    );
    let mut running = job(given, &["-n", "4", "sh", "-c", &script])?.start()?;
    running.wait_for_stdout("up\nup\nup\nup\n")?;
    let lost = kill_node(given)?;
    running.wait_for_stderr("run 2")?;
    fs::write(&gate, "")?;
    let finished = running.finish()?.success("a job that begins again")?;
    let (printed, said) = (finished.stdout_text(), finished.stderr_text());
    ensure!(printed.matches("done").count() == 4, "{printed}");
    let host = given.cluster.nodes()[lost].host.to_string();
    ensure!(said.contains(&host), "{said}");
    shows(given, "2 containers with 4 slots, 0 of them in use")?;
    stop(given, "s")?;
    given.cluster.start(Daemon::NodeManager(lost))?;
    given
        .cluster
        .wait_for_nodes(3)
        .context("the node that was lost")
}
