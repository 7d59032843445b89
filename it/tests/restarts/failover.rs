//! Two ResourceManagers, of which the active one is killed.

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::wait;

use it::booked::StartedJob;

pub const CASES: &[(&str, Case)] = &[
    ("failover: a running job goes on", running),
    (
        "failover: a job that waits for containers goes on",
        gathering,
    ),
];

/// Kills the active ResourceManager and waits for the other; the dead one is started again, to stand by.
fn fail_over(given: &Given) -> Result<()> {
    let cluster = &given.cluster;
    let active = cluster
        .active_resource_manager()
        .context("none is active")?;
    cluster.kill(active)?;
    wait::until("the other ResourceManager", DEADLINE, || {
        Ok(cluster
            .active_resource_manager()
            .filter(|now| *now != active))
    })?;
    cluster.start(active)
}

fn running(given: &Given) -> Result<()> {
    let job = StartedJob::running(given, "running", 4, &[])?;
    fail_over(given)?;
    given.cluster.wait_for_nodes(2)?;
    let finished = job.let_go(1)?;
    let stderr = finished.stderr_text();
    ensure!(
        !stderr.contains("attempt") && !stderr.contains("run 2"),
        "{stderr}"
    );
    ensure!(given.newest()?.final_status == "SUCCEEDED");
    given.is_clean()
}

fn gathering(given: &Given) -> Result<()> {
    let whole = ["-o", "false", "--mem-per-proc", "6g"];
    let first = StartedJob::running(given, "first", 2, &whole)?;
    let mut second = StartedJob::start(given, "second", 2, &whole)?;
    second.running.wait_for_stderr("waiting: ")?;
    fail_over(given)?;
    given.cluster.wait_for_nodes(2)?;
    first.let_go(1)?;
    second.wait_for_runs(1)?;
    second.let_go(1)?;
    given.is_clean()
}
