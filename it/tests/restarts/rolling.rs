//! A NodeManager that restarts between the grant of a container and its start, as in a rolling upgrade.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::settings::File;
use it::{Builder, Daemon, Finished, wait};
use nix::sys::signal::Signal;

use it::booked::StartedJob;

pub const CASES: &[(&str, Case)] = &[
    (
        "rolling: a NodeManager that recovers its work is away when containers start",
        recovers,
    ),
    (
        "rolling: a NodeManager that has forgotten its work is away when containers start",
        forgets,
    ),
];

/// Away for so long.
const AWAY: Duration = Duration::from_secs(15);
/// The NodeManager that keeps its state, and the one that does not.
const RECOVERS: usize = 0;
const FORGETS: usize = 1;

/// NodeManagers of both kinds.
pub fn comes_back(builder: Builder) -> Builder {
    let set = |builder: Builder, name: &str, value: &str| {
        let name = format!("yarn.nodemanager.{name}");
        builder.set_on_node(RECOVERS, File::Yarn, &name, value)
    };
    let builder = set(builder, "recovery.enabled", "true");
    let builder = set(builder, "recovery.supervised", "true");
    let folder = "${yarn.nodemanager.local-dirs}-recovery";
    let builder = set(builder, "recovery.dir", folder);
    // Both come back where they were.
    let address = "${yarn.nodemanager.hostname}:45454";
    builder.set(File::Yarn, "yarn.nodemanager.address", address)
}

/// It takes calls before it knows its ResourceManager again, and that costs nothing either.
fn recovers(given: &Given) -> Result<()> {
    let finished = away(given, RECOVERS, "recovers")?;
    let stderr = finished.stderr_text();
    ensure!(!stderr.contains("run 2"), "{stderr}");
    Ok(())
}

/// YARN takes the container back; nothing had been started in it, so that no run is lost.
fn forgets(given: &Given) -> Result<()> {
    let finished = away(given, FORGETS, "forgets")?;
    let stderr = finished.stderr_text();
    ensure!(!stderr.contains("run 2"), "{stderr}");
    ensure!(stderr.contains("nothing had been started yet"), "{stderr}");
    Ok(())
}

/// A job that waits for a node is stopped, so that it does not hear of its container until the node's
/// NodeManager is away.
fn away(given: &Given, node: usize, name: &str) -> Result<Finished> {
    let host = given.cluster.nodes()[node].host.to_string();
    let entry = format!("{host}:1");
    let whole = [
        "--deploy-mode",
        "client",
        "--restarts",
        "0",
        "-o",
        "false",
        "--mem-per-proc",
        "6g",
        "-hosts",
        &entry,
    ];
    let before = StartedJob::running(given, &format!("{name}-before"), 1, &whole)?;
    let mut job = StartedJob::start(given, name, 1, &whole)?;
    job.running.wait_for_stderr("waiting: ")?;
    job.running.signal(Signal::SIGSTOP)?;
    before.let_go(1)?;
    let id = given.newest()?.id;
    wait::until(
        "a container for the job that hears nothing",
        DEADLINE,
        || {
            let all = given.applications()?;
            let own = all.into_iter().find(|report| report.id == id);
            let own = own.context("the job is gone")?;
            Ok((own.running_containers > 0).then_some(()))
        },
    )?;
    given.cluster.kill(Daemon::NodeManager(node))?;
    job.running.signal(Signal::SIGCONT)?;
    wait::pause(AWAY);
    given.cluster.start(Daemon::NodeManager(node))?;
    job.wait_for_runs(1)?;
    let finished = job.let_go(1)?;
    given.cluster.wait_for_nodes(2)?;
    given.is_clean()?;
    Ok(finished)
}
