//! A NodeManager that is killed at the one moment that chance does not find.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use it::process::signal_by_id;
use it::{Daemon, gerbil, wait};
use nix::sys::signal::Signal;

use crate::given::{Case, DEADLINE, Given, LOST};

pub const CASES: &[(&str, Case)] = &[(
    "NodeManager dies between grant and start",
    node_manager_dies,
)];

/// The AM is frozen between its ask and the answer, so that it learns of the grant only when the
/// NodeManager that granted is dead.
fn node_manager_dies(given: &Given) -> Result<()> {
    let linger = given.program("linger")?;
    let line = ["--restarts", "0", "-n", "2", &linger, "1"];
    let running = gerbil::run(&given.cluster, line)?.deadline(LOST).start()?;
    let busy = |at_least: u32| -> Result<Vec<String>> {
        let nodes = given.cluster.resource_manager().nodes()?;
        Ok(nodes
            .into_iter()
            .filter(|node| node.num_containers >= at_least)
            .map(|node| node.id)
            .collect())
    };
    wait::until("the AM to register", DEADLINE, || {
        let running = given
            .applications()?
            .iter()
            .any(|report| report.state == "RUNNING");
        Ok(running.then_some(()))
    })
    .with_context(|| running.stderr_so_far())?;
    let am = given.am_processes()?;
    ensure!(!am.is_empty(), "no process of the AM");
    let signal_am = |signal| am.iter().try_for_each(|pid| signal_by_id(*pid, signal));
    // Frozen for moments until its ask has been granted on both nodes.
    let granted = wait::until("a grant on both nodes", DEADLINE, || {
        signal_am(Signal::SIGSTOP)?;
        // Two heartbeats of the NodeManagers, in which the RM grants what it has been asked.
        let granted = wait::until("grants", Duration::from_millis(2500), || {
            Ok(Some(busy(1)?).filter(|on| on.len() == 2))
        });
        if granted.is_err() {
            signal_am(Signal::SIGCONT)?;
        }
        Ok(granted.ok())
    })?;
    ensure!(granted.len() == 2, "{granted:?}");
    // The victim is the node that does not run the AM.
    let with_am = given.cluster.container_processes()?;
    let victim = given.cluster.nodes().into_iter().find(|node| {
        let folder = node.folder.to_string_lossy().into_owned() + "/";
        !with_am.iter().any(|found| {
            found
                .arguments
                .iter()
                .any(|argument| argument.contains(&folder))
        })
    });
    let Some(victim) = victim else {
        bail!("both nodes run containers before the AM could start any: {with_am:?}")
    };
    given.cluster.kill(Daemon::NodeManager(victim.index))?;
    signal_am(Signal::SIGCONT)?;
    // Nothing had been started: the job has lost no run, and finds another place.
    let finished = running.finish()?;
    let (stdout, stderr) = (finished.stdout_text(), finished.stderr_text());
    ensure!(finished.code() == 0 && stdout == "ready\n", "{finished:?}");
    for words in [&*victim.host.to_string(), "nothing had been started yet"] {
        ensure!(stderr.contains(words), "no {words} in {stderr}");
    }
    Ok(())
}
