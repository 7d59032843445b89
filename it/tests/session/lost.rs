//! Sessions that lose a launcher, a node or their ApplicationMaster; `restarts` has the one that loses the ResourceManager.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::session::{shows, start, stop, told};
use it::victims::{kill_launcher, kill_master, nodes_without_master};
use it::{Daemon, expect, wait};

use super::{fails, interrupt, job, lingering, lingering_with, succeeds};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("killed through YARN", killed_through_yarn),
    ("the ApplicationMaster is killed", master_killed),
    (
        "a launcher is killed, and the others go on",
        launcher_killed,
    ),
];

pub(crate) const FAULTS: &[(&str, Case)] = &[("a node is lost", node_lost)];

fn killed_through_yarn(given: &Given) -> Result<()> {
    /// What sees its peer gone ends at once; this is for a busy machine.
    const LINK_LOST: Duration = Duration::from_secs(30);
    start(given, "s")?;
    let running = lingering(given, "2")?;
    let id = given.newest()?.id;
    given
        .gerbil(&["-k", &id])?
        .finish()?
        .success("gerbil-run -k")?;
    let since = Instant::now();
    let finished = running.finish()?;
    ensure!(since.elapsed() < LINK_LOST, "{:?}", since.elapsed());
    // By the ApplicationMaster's last word, or by YARN's where that was not heard.
    ensure!([70, 143].contains(&finished.code()), "{}", finished.code());
    expect::sentence(&finished, finished.code(), &["job 1", "session s"])?;
    given.is_clean()?;
    fails(given, &["true"], 69, &["session s is over", "killed"])?;
    fails(given, &["true"], 64, &["there is no session s"])
}

fn master_killed(given: &Given) -> Result<()> {
    start(given, "s")?;
    let running = lingering(given, "6")?;
    let id = given.newest()?.id;
    kill_master(given)?;
    let words = [
        "lost the ApplicationMaster of session s",
        id.as_str(),
        "job 1",
    ];
    expect::sentence(&running.finish()?, 70, &words)?;
    given.is_clean()?;
    fails(given, &["true"], 69, &["session s is over"])?;
    // The name is free again.
    start(given, "s")?;
    succeeds(given, &["-n", "6", "true"])?;
    stop(given, "s")
}

fn launcher_killed(given: &Given) -> Result<()> {
    start(given, "s")?;
    let once = lingering_with(given, &["--no-restart", "-n", "6"])?;
    kill_launcher(given)?;
    let finished = once.finish()?;
    ensure!(finished.code() == 70, "{}", finished.stderr_text());
    shows(given, "3 containers with 6 slots, 0 of them in use")?;
    // In its first run each rank waits for what never comes.
    let (folder, before) = (tempfile::tempdir()?, r#"mkdir "$0/$PMI_RANK" 2>/dev/null"#);
    let script = format!("if {before}; then echo up; sleep 600; fi; echo again $PMI_RANK");
    let path = folder.path().to_str().context("a path that is no text")?;
    let mut twice = job(given, &["-n", "6", "sh", "-c", &script, path])?.start()?;
    twice.wait_for_stdout("up\nup\nup\nup\nup\nup\n")?;
    kill_launcher(given)?;
    let finished = twice.finish()?.success("a job that begins again")?;
    let printed = finished.stdout_text();
    let again = (0..6).all(|rank| printed.contains(&format!("again {rank}\n")));
    ensure!(again, "{printed}");
    let words = "the program is started again";
    ensure!(
        finished.stderr_text().contains(words),
        "{}",
        finished.stderr_text()
    );
    shows(given, "no job runs, 0 waiting, 2 ended")?;
    succeeds(given, &["-n", "4", "true"])?;
    // Another comes in the place of the container that was lost.
    shows(given, "3 containers with 6 slots, 0 of them in use")?;
    succeeds(given, &["-n", "6", "true"])?;
    stop(given, "s")
}

/// Its jobs end, the others go on; what was there is asked for elsewhere, and comes when there is a node.
fn node_lost(given: &Given) -> Result<()> {
    let line = [
        "start",
        "s",
        "--containers",
        "2",
        "--slots-per-container",
        "2",
    ];
    told(given, &[&line[..], &["--memory", "256"]].concat(), 0)?;
    let two = ["--no-restart", "-n", "2"];
    let (one, other) = (lingering_with(given, &two)?, lingering_with(given, &two)?);
    let shown = told(given, &["status", "s", "--json"], 0)?.stdout_text();
    let status: serde_json::Value = serde_json::from_str(&shown)?;
    let hosts = status["containers"].as_array().context("no containers")?;
    let hosts: Vec<&str> = hosts.iter().filter_map(|of| of["host"].as_str()).collect();
    let is_held = |node: &&usize| {
        let host = given.cluster.nodes()[**node].host.to_string();
        hosts.contains(&host.as_str())
    };
    let lost = *nodes_without_master(given)?
        .iter()
        .find(is_held)
        .context("every container is beside the ApplicationMaster")?;
    given.cluster.kill(Daemon::NodeManager(lost))?;
    let (mut jobs, mut ended) = (vec![one, other], None);
    wait::until("a job that was there to end", DEADLINE, || {
        for place in 0..jobs.len() {
            if jobs[place].is_over()? {
                ended = Some(jobs.remove(place));
                return Ok(Some(()));
            }
        }
        Ok(None)
    })?;
    let ended = ended.context("none ended")?.finish()?;
    expect::sentence(&ended, 70, &[&given.cluster.nodes()[lost].host.to_string()])?;
    shows(given, "2 containers with 4 slots, 2 of them in use")?;
    succeeds(given, &["-n", "2", "true"])?;
    interrupt(jobs.remove(0))?;
    stop(given, "s")?;
    given.cluster.start(Daemon::NodeManager(lost))?;
    given.cluster.wait_for_nodes(3)
}
