//! The ResourceManager under a session: one that restarts, and one whose queue gives no more.

use std::fs;

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::expect;
use it::mapreduce::{self, files};
use it::session::{shows, start_with, stop, told};
use it::settings::File;
use it::{Builder, Daemon};

use super::{interrupt, job, lingering};

pub const CASES: &[(&str, Case)] = &[
    (
        "the ResourceManager restarts, and jobs of all kinds go on",
        restarted,
    ),
    ("a queue gives no more, and jobs wait visibly", ceiling),
];

/// A queue that may hold 3,440 MiB of the cluster's 24 GiB.
const SMALL: &str = "small";

/// The one ResourceManager remembers its applications, and has that queue.
pub fn remembers(builder: Builder) -> Builder {
    let resource_manager = |name: &str| format!("yarn.resourcemanager.{name}");
    let of_queue = |name: &str| format!("yarn.scheduler.capacity.root.{SMALL}.{name}");
    let scheduler = File::CapacityScheduler;
    builder
        .queue(SMALL, 10)
        .set(scheduler, &of_queue("maximum-capacity"), "14")
        .set(scheduler, &of_queue("user-limit-factor"), "10")
        .set(scheduler, &of_queue("maximum-am-resource-percent"), "0.5")
        .set(File::Yarn, &resource_manager("recovery.enabled"), "true")
        .set(
            File::Yarn,
            &resource_manager("store.class"),
            "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore",
        )
        .set(
            File::Yarn,
            &resource_manager("fs.state-store.uri"),
            "file://${hadoop.tmp.dir}/resource-manager",
        )
}

/// The containers of the session, by YARN's ids.
fn containers(given: &Given) -> Result<String> {
    let shown = told(given, &["status", "s", "--json"], 0)?.stdout_text();
    let status: serde_json::Value = serde_json::from_str(&shown)?;
    let all = status["containers"].as_array().into_iter().flatten();
    let ids = all.map(|held| held["container"].to_string());
    Ok(ids.collect::<Vec<_>>().join(" "))
}

/// Killed under a gang that runs, a job that waits, and maps that run: nothing of it is started again.
fn restarted(given: &Given) -> Result<()> {
    const MAPS: usize = 6;
    const LINES: usize = 40;
    start_with(given, "s", "512")?;
    let gate = given.folder.join("restarted");
    let script = format!(
        "echo up; while ! test -e {}; do sleep 0.1; done; echo done",
        text_of(&gate)?
    );
    let mut gang = job(given, &["-n", "3", "sh", "-c", &script])?.start()?;
    gang.wait_for_stdout("up\nup\nup\n")?;
    // Each line is 0.3 s of a map.
    let text = "sleep\n".repeat(LINES);
    let names: Vec<String> = (0..MAPS).map(|number| format!("part-{number}")).collect();
    let inputs: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), &*text)).collect();
    mapreduce::put(given, "/restarted/in", &inputs)?;
    let faulty = text_of(&mapreduce::example("faulty")?)?;
    let report = given.folder.join("restarted.json");
    let line = [
        "--session",
        "s",
        "--report",
        &text_of(&report)?,
        "-D",
        "gerbil.split.pack=1",
        &faulty,
        "/restarted/in",
        "/restarted/out",
    ];
    let tasks = mapreduce::mr(&given.cluster, &given.folder, &line)?;
    let tasks = tasks.deadline(DEADLINE).start()?;
    shows(given, "2 jobs run, 0 waiting")?;
    let waiting = job(given, &["-n", "4", "echo", "after"])?.start()?;
    shows(given, "waits for 4 slots of 512 MiB")?;
    let before = containers(given)?;

    given.cluster.kill(Daemon::ResourceManager)?;
    given.cluster.start(Daemon::ResourceManager)?;
    given.cluster.wait_for_nodes(3)?;
    fs::write(&gate, "")?;
    let finished = gang.finish()?.success("the gang")?;
    ensure!(
        finished.stdout_text() == "up\nup\nup\ndone\ndone\ndone\n",
        "{}",
        finished.stdout_text()
    );
    let said = finished.stderr_text();
    ensure!(!said.contains("run 2"), "{said}");
    let finished = waiting.finish()?.success("the one that waited")?;
    ensure!(
        finished.stdout_text() == "after\n".repeat(4),
        "{}",
        finished.stdout_text()
    );
    tasks.finish()?.success("gerbil mr")?;
    let all = files(&given.cluster, "/restarted/out")?;
    let counted = all
        .iter()
        .filter(|(name, _)| name.starts_with("part-"))
        .flat_map(|(_, bytes)| bytes.iter().copied());
    let counted = String::from_utf8(counted.collect())?;
    let wanted = format!("sleep\t{}\n", MAPS * LINES);
    ensure!(
        all.contains_key("_SUCCESS") && counted == wanted,
        "{counted}"
    );
    let report: serde_json::Value = serde_json::from_slice(&fs::read(&report)?)?;
    let of_tasks = &report["jobs"][0]["tasks"];
    ensure!(of_tasks["failed_attempts"] == 0, "{of_tasks}");
    // It has what it had, and gets what it asks for.
    ensure!(containers(given)? == before, "{before}");
    shows(given, "no job runs, 0 waiting, 3 ended")?;
    stop(given, "s")
}

/// The session may have three containers, and its queue gives two.
fn ceiling(given: &Given) -> Result<()> {
    let line = ["start", "s", "--queue", SMALL, "--containers", "1"];
    let sizes = [
        "--max-containers",
        "3",
        "--slots-per-container",
        "2",
        "--memory",
        "512",
    ];
    told(given, &[&line[..], &sizes].concat(), 0)?;
    let held = lingering(given, "2")?;
    let mut next = job(given, &["--explain", "-n", "4", "echo", "next"])?.start()?;
    next.wait_for_stderr("2 free, job 1 holds 2; no container more: queue root.small")?;
    shows(
        given,
        "1 container asked of YARN: queue root.small and its limit for a user still give",
    )?;
    interrupt(held)?;
    let finished = next.finish()?.success("the one that waited")?;
    ensure!(
        finished.stdout_text() == "next\n".repeat(4),
        "{}",
        finished.stdout_text()
    );
    // More than the queue gives is waited for as long as its user says.
    let line = ["-n", "6", "--wait-timeout", "5s", "true"];
    let late = job(given, &line)?.finish()?;
    expect::sentence(&late, 75, &["did not run within 5s"])?;
    stop(given, "s")
}
