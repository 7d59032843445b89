//! Two ResourceManagers, of which the active one is killed.

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::session::{shows, start, stop};
use it::{expect, wait};
use nix::sys::signal::Signal;

use it::booked::StartedJob;

pub const CASES: &[(&str, Case)] = &[
    (
        "failover: jobs of a session go on, and others come",
        session,
    ),
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
    given.cluster.wait_for_nodes(3)?;
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
    // Of three nodes each wants two.
    let whole = ["-o", "false", "--mem-per-proc", "3g"];
    let first = StartedJob::running(given, "first", 2, &whole)?;
    let mut second = StartedJob::start(given, "second", 2, &whole)?;
    second.running.wait_for_stderr("waiting: ")?;
    fail_over(given)?;
    given.cluster.wait_for_nodes(3)?;
    first.let_go(1)?;
    second.wait_for_runs(1)?;
    second.let_go(1)?;
    given.is_clean()
}

/// The jobs need none of them; whoever comes anew asks where the session is.
fn session(given: &Given) -> Result<()> {
    start(given, "s")?;
    let of_session = |arguments: &[&str]| given.gerbil(&[&["--session", "s"], arguments].concat());
    let linger = given.program("linger")?;
    let mut running = of_session(&["-n", "2", &linger, "600"])?.start()?;
    running.wait_for_stdout("ready")?;
    fail_over(given)?;
    given.cluster.wait_for_nodes(3)?;
    // Until its ApplicationMaster has come to the other ResourceManager, that one has the session as accepted.
    wait::until("the session's registration", DEADLINE, || {
        Ok((given.newest()?.state == "RUNNING").then_some(()))
    })?;
    let before = given.applications()?.len();
    let next = of_session(&["-n", "4", "true"])?.finish()?;
    next.success("a job of the session")?;
    ensure!(
        given.applications()?.len() == before,
        "an application was submitted"
    );
    shows(given, "3 containers with 6 slots, 2 of them in use")?;
    running.signal(Signal::SIGINT)?;
    let words = ["once more to leave it to the session"];
    expect::sentence(&running.finish()?, 130, &words)?;
    stop(given, "s")
}
