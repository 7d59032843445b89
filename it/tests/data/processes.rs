//! Those processes of a job that are to be killed.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::Daemon;
use it::bed::Given;
use it::process::signal_by_id;
use it::sweep::{self, Found};
use nix::sys::signal::Signal;

/// For what was killed to be gone.
const GONE: Duration = Duration::from_secs(20);

/// Whether a container is an ApplicationMaster's, of whatever attempt.
fn is_master(found: &Found) -> bool {
    let id = found.container.as_deref().unwrap_or_default();
    id.ends_with("_000001")
}

/// Kills the ApplicationMaster.
pub fn kill_master(given: &Given) -> Result<()> {
    let all = given.cluster.container_processes()?;
    let master: Vec<&Found> = all.iter().filter(|found| is_master(found)).collect();
    ensure!(!master.is_empty(), "{all:?}");
    for found in master {
        signal_by_id(found.pid, Signal::SIGKILL)?;
    }
    Ok(())
}

/// Kills the NodeManager of a node that has ranks and no ApplicationMaster, and all that runs there.
pub fn kill_node(given: &Given) -> Result<usize> {
    let all = given.cluster.container_processes()?;
    let on = |folder: &str, master: bool| {
        let mut all = all.iter().filter(|found| is_master(found) == master);
        all.any(|found| found.arguments.iter().any(|word| word.contains(folder)))
    };
    let mut nodes = given.cluster.nodes().into_iter().filter(|node| {
        let folder = node.folder.to_string_lossy().into_owned() + "/";
        on(&folder, false) && !on(&folder, true)
    });
    let node = nodes.next().context("no node has ranks alone")?;
    given.cluster.kill(Daemon::NodeManager(node.index))?;
    sweep::kill_all(&node.folder, GONE)?;
    Ok(node.index)
}
