//! Those processes of a job, and those nodes, that a test is to hurt.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use nix::sys::signal::Signal;

use crate::Cluster;
use crate::bed::Given;
use crate::daemon::Daemon;
use crate::process::{signal_by_id, variable};
use crate::sweep::{self, FoundProcess};

/// What a process of a job is, where it is one of tasks.
const ROLE: &str = "GERBIL_ROLE";
/// What an ApplicationMaster is started with; a shell has it within a longer word.
const MASTER: &str = "--as=appmaster";
/// For what was killed to be gone.
const GONE: Duration = Duration::from_secs(20);

/// Whether a container is an ApplicationMaster's, of whatever attempt.
fn is_master(found: &FoundProcess) -> bool {
    let id = found.container.as_deref().unwrap_or_default();
    id.ends_with("_000001")
}

/// Kills the ApplicationMaster, and the shells that have started it. Before it is there it is not killed: of shells that are
/// killed one may have begun it meanwhile, and it would run on for itself.
///
/// # Errors
///
/// There is none yet, or it cannot be found out.
pub fn kill_master(given: &Given) -> Result<()> {
    let masters = masters(&given.cluster)?;
    let has_begun = |found: &FoundProcess| found.arguments.iter().any(|word| word == MASTER);
    ensure!(masters.iter().any(has_begun), "no ApplicationMaster");
    for found in masters {
        signal_by_id(found.pid, Signal::SIGKILL)?;
    }
    Ok(())
}

/// The processes of ApplicationMasters that run now.
///
/// # Errors
///
/// `/proc` cannot be read.
pub fn masters(cluster: &Cluster) -> Result<Vec<FoundProcess>> {
    let mut all = cluster.container_processes()?;
    all.retain(is_master);
    Ok(all)
}

/// Kills one launcher, and nothing else of its container.
///
/// # Errors
///
/// There is none, or it cannot be found out.
pub fn kill_launcher(given: &Given) -> Result<()> {
    let all = launchers(&given.cluster)?;
    let Some(launcher) = all.first() else {
        bail!("no launcher");
    };
    signal_by_id(launcher.pid, Signal::SIGKILL)
}

/// The launchers that run now.
///
/// # Errors
///
/// `/proc` cannot be read.
pub fn launchers(cluster: &Cluster) -> Result<Vec<FoundProcess>> {
    let mut all = cluster.container_processes()?;
    all.retain(|found| {
        let mut arguments = found.arguments.iter();
        !is_master(found)
            && found
                .arguments
                .first()
                .is_some_and(|first| first.ends_with("gerbil-run"))
            && arguments.any(|argument| argument == job::Role::ContainerLauncher.argument())
    });
    Ok(all)
}

/// Kills a PMIx server of ranks, and nothing else of its container.
///
/// # Errors
///
/// There is none, or it cannot be found out.
pub fn kill_pmix_server(cluster: &Cluster) -> Result<()> {
    let server = pmix_server(cluster)?.context("no PMIx server")?;
    signal_by_id(server.pid, Signal::SIGKILL)
}

/// A PMIx server of ranks that runs now.
///
/// # Errors
///
/// `/proc` cannot be read.
pub fn pmix_server(cluster: &Cluster) -> Result<Option<FoundProcess>> {
    let mut all = cluster.container_processes()?.into_iter();
    let is_server = |word: &String| word == job::Role::Pmix.argument();
    Ok(all.find(|found| found.arguments.get(1).is_some_and(is_server)))
}

/// The processes that work on MapReduce tasks now.
///
/// # Errors
///
/// `/proc` cannot be read.
pub fn tasks(cluster: &Cluster) -> Result<Vec<FoundProcess>> {
    let mut all = cluster.container_processes()?;
    all.retain(|found| variable(found.pid, ROLE).is_some_and(|role| role == "task"));
    Ok(all)
}

/// The nodes that run containers of ranks, and none of an ApplicationMaster.
///
/// # Errors
///
/// There is none, or it cannot be found out.
pub fn nodes_without_master(given: &Given) -> Result<Vec<usize>> {
    let all = given.cluster.container_processes()?;
    let on = |folder: &str, master: bool| {
        let shows = |found: &&FoundProcess| {
            is_master(found) == master && found.arguments.iter().any(|word| word.contains(folder))
        };
        all.iter().any(|found| shows(&found))
    };
    let nodes = given.cluster.nodes().into_iter().filter(|node| {
        let folder = node.folder.to_string_lossy().into_owned() + "/";
        on(&folder, false) && !on(&folder, true)
    });
    Ok(nodes.map(|node| node.index).collect())
}

/// Kills the NodeManager of a node that has ranks and no ApplicationMaster, and all that runs there; the
/// node's index.
///
/// # Errors
///
/// There is none, or it cannot be found out.
pub fn kill_node(given: &Given) -> Result<usize> {
    let alone = nodes_without_master(given)?;
    let index = *alone.first().context("no node has ranks alone")?;
    given.cluster.kill(Daemon::NodeManager(index))?;
    sweep::kill_all(&given.cluster.nodes()[index].folder, GONE)?;
    Ok(index)
}

/// The node that these ApplicationMasters run on.
///
/// # Errors
///
/// They show none.
pub fn node_of(given: &Given, masters: &[FoundProcess]) -> Result<usize> {
    let mut nodes = given.cluster.nodes().into_iter();
    let shows = |folder: &str| {
        let mut words = masters.iter().flat_map(|master| &master.arguments);
        words.any(|word| word.contains(folder))
    };
    let node = nodes.find(|node| shows(&(node.folder.to_string_lossy().into_owned() + "/")));
    Ok(node.context("no node has the ApplicationMaster")?.index)
}

/// Loses a node: `first` of its processes at once, then all others and its NodeManager, which tells nobody.
///
/// # Errors
///
/// Some of it goes on.
pub fn lose_node(given: &Given, index: usize, first: &[FoundProcess]) -> Result<()> {
    given.cluster.freeze(Daemon::NodeManager(index))?;
    for found in first {
        // It may have ended in between.
        drop(signal_by_id(found.pid, Signal::SIGKILL));
    }
    given.cluster.kill(Daemon::NodeManager(index))?;
    sweep::kill_all(&given.cluster.nodes()[index].folder, GONE)
}
