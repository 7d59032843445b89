//! Containers that YARN wants back: for a queue that has the right to them, and of a node that is taken out.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::command::Running;
use it::session::{application, shows, start_with, stop, told};
use it::settings::File;
use it::victims::nodes_without_master;
use it::{Builder, Run, wait};

use super::{job, succeeds};

pub const CASES: &[(&str, Case)] = &[
    (
        "preemption: what no job uses is given back at once",
        given_back,
    ),
    (
        "preemption: a queue has its share of a cluster without any room",
        without_room,
    ),
    (
        "preemption: a job runs on until YARN ends it, and begins again",
        taken,
    ),
    (
        "a node is decommissioned: its job ends there, and the next is elsewhere",
        decommissioned,
    ),
];

/// A queue with half of the nodes, and a scheduler that takes back what others have of it.
pub fn lends(builder: Builder) -> Builder {
    let preemption =
        |name: &str| format!("yarn.resourcemanager.monitor.capacity.preemption.{name}");
    let capacity = |name: &str| format!("yarn.scheduler.capacity.{name}");
    let scheduler = File::CapacityScheduler;
    builder
        .queue("urgent", 50)
        .set(scheduler, &capacity("root.default.user-limit-factor"), "10")
        .set(scheduler, &capacity("maximum-am-resource-percent"), "0.5")
        .set(
            File::Yarn,
            "yarn.resourcemanager.scheduler.monitor.enable",
            "true",
        )
        .set(File::Yarn, &preemption("monitoring_interval"), "500")
        .set(File::Yarn, &preemption("max_wait_before_kill"), "20000")
        .set(File::Yarn, &preemption("total_preemption_per_round"), "1.0")
        .set(File::Yarn, &preemption("natural_termination_factor"), "1.0")
}

/// A program of so many ranks that lasts until it is let go.
struct Patient {
    gate: PathBuf,
    running: Running,
}

impl Patient {
    fn new(given: &Given, name: &str, start: impl FnOnce(&[&str]) -> Result<Run>) -> Result<Self> {
        let gate = given.folder.join(name);
        let script = format!(
            "echo up; while ! test -e {}; do sleep 0.1; done; echo done",
            text_of(&gate)?
        );
        let running = start(&["sh", "-c", &script])?.start()?;
        Ok(Self { gate, running })
    }

    /// In the session, where it runs.
    fn up(given: &Given, name: &str, ranks: &str) -> Result<Self> {
        let mut new = Self::new(given, name, |program| {
            job(given, &[&["-n", ranks], program].concat())
        })?;
        new.running.wait_for_stdout("up")?;
        Ok(new)
    }

    /// By itself, for the other queue, where it waits for what the session has.
    fn urgent(given: &Given, name: &str, options: &[&str]) -> Result<Self> {
        let line = ["--queue", "urgent", "-n", "1", "--mem-per-proc", "6g"];
        Self::new(given, name, |program| {
            given.gerbil(&[&line[..], options, program].concat())
        })
    }

    /// Lets it go; what it said, when it has ended well.
    fn ends(self) -> Result<it::Finished> {
        fs::write(&self.gate, "")?;
        self.running.finish()?.success("a program that was let go")
    }
}

/// The three containers of the session have more than is its queue's.
fn start(given: &Given) -> Result<String> {
    start_with(given, "s", "3072")?;
    Ok(given.newest()?.id)
}

/// Until the status of session `s` says of a container that it leaves; why.
fn leaves(given: &Given) -> Result<String> {
    wait::until("a container that leaves", DEADLINE, || {
        let shown = told(given, &["status", "s", "--json"], 0)?.stdout_text();
        let status: serde_json::Value = serde_json::from_str(&shown)?;
        let held = status["containers"].as_array().into_iter().flatten();
        let mut why = held.filter_map(|held| held["leaves"].as_str());
        Ok(why.find(|why| !why.is_empty()).map(str::to_owned))
    })
}

fn given_back(given: &Given) -> Result<()> {
    let session = start(given)?;
    // No node has room for it, and processes could share one that has: it asks all the same.
    let mut urgent = Patient::urgent(given, "urgent-1", &[])?;
    urgent.running.wait_for_stdout("up")?;
    let shown = shows(given, "2 containers with 4 slots")?;
    ensure!(shown.contains("1 container asked of YARN"), "{shown}");
    let report = application(given, &session)?;
    ensure!(report.preempted == 0, "YARN had to take it: {report:?}");
    succeeds(given, &["-n", "4", "true"])?;
    urgent.ends()?;
    shows(given, "3 containers with 6 slots")?;
    stop(given, "s")
}

/// The session has all but what the ApplicationMasters take: YARN names no room for the other queue either.
fn without_room(given: &Given) -> Result<()> {
    start_with(given, "s", "3584")?;
    let mut urgent = Patient::urgent(given, "urgent-3", &[])?;
    urgent.running.wait_for_stdout("up")?;
    urgent.ends()?;
    stop(given, "s")
}

fn taken(given: &Given) -> Result<()> {
    let session = start(given)?;
    let lent = Patient::up(given, "lent", "6")?;
    let mut urgent = Patient::urgent(given, "urgent-2", &["-o", "false"])?;
    let why = leaves(given)?;
    ensure!(
        why.starts_with("YARN's scheduler wants the container on"),
        "{why}"
    );
    shows(given, "1 job runs, 0 waiting")?;
    urgent.running.wait_for_stdout("up")?;
    let shown = shows(given, "waits for 6 slots")?;
    ensure!(
        shown.contains("0 jobs run") || shown.contains("no job runs"),
        "{shown}"
    );
    let report = application(given, &session)?;
    ensure!(report.preempted == 1, "{report:?}");
    urgent.ends()?;
    shows(given, "3 containers with 6 slots, 6 of them in use")?;
    let finished = lent.ends()?;
    let (printed, said) = (finished.stdout_text(), finished.stderr_text());
    ensure!(printed.matches("done").count() == 6, "{printed}");
    let words = [
        "back for another queue or application (preemption): what runs there has until YARN",
        "run 2 of 2",
        "preempted",
    ];
    ensure!(words.iter().all(|words| said.contains(words)), "{said}");
    stop(given, "s")
}

fn decommissioned(given: &Given) -> Result<()> {
    let line = ["--containers", "2", "--slots-per-container", "2"];
    let line = [&["start", "s"], &line[..], &["--memory", "256"]].concat();
    told(given, &line, 0)?;
    let there = Patient::up(given, "there", "4")?;
    let alone = nodes_without_master(given)?;
    let node = *alone
        .first()
        .context("every container is beside the ApplicationMaster")?;
    given.cluster.decommission(node, 600)?;
    let host = given.cluster.nodes()[node].host.to_string();
    let why = leaves(given)?;
    let wanted = format!("node {host} is being decommissioned, within 600 s");
    ensure!(why == wanted, "{why}");
    shows(given, "1 job runs, 0 waiting")?;
    // Another has come on the third node, and has what comes now.
    shows(given, "3 containers with 6 slots, 4 of them in use")?;
    let beside = Patient::up(given, "beside", "2")?;
    let waits = Patient::new(given, "waits", |program| {
        job(given, &[&["-n", "4"], program].concat())
    })?;
    let shown = shows(given, "waits for 4 slots")?;
    ensure!(shown.contains("2 jobs run, 1 waiting"), "{shown}");
    let said = there.ends()?.stderr_text();
    let words = format!("{wanted}: what runs there has");
    ensure!(said.contains(&words), "{said}");
    let shown = shows(given, "2 containers with 4 slots, 2 of them in use")?;
    ensure!(!shown.contains(&host), "{shown}");
    beside.ends()?;
    waits.ends()?;
    stop(given, "s")?;
    given.cluster.recommission(node)?;
    wait::until("a node that is back", DEADLINE, || {
        let nodes = given.cluster.resource_manager().nodes()?;
        let running = nodes.iter().filter(|report| report.state == "RUNNING");
        Ok((running.count() == 3).then_some(()))
    })
}
