//! A stock Hadoop cluster on this machine.

mod builder;
mod changed;
mod control;
mod decommission;
mod devices;
mod leftovers;
mod logs;
mod own_name;
mod room;
mod stock;

pub use builder::{Builder, Size};
pub use leftovers::Leftovers;

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::archives::Archives;
use crate::daemon::Daemon;
use crate::hadoop::Distribution;
use crate::hdfs::Hdfs;
use crate::java::Java;
use crate::loopback::Loopback;
use crate::process;
use crate::resource_manager::ResourceManager;
use crate::sweep;
use crate::warden::Warden;

/// Killed processes leave the table.
const SWEEP: Duration = Duration::from_secs(20);

/// A NodeManager of a running cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeManager {
    /// Counted from 0, as in [`Daemon::NodeManager`].
    pub index: usize,
    /// Its address, which is also its host name in YARN.
    pub host: Ipv4Addr,
    /// Below it lie the containers' folders, `local`, and logs, `logs`.
    pub folder: PathBuf,
}

/// A running cluster. Dropping it leaves no process and no file.
#[derive(Debug)]
pub struct Cluster {
    deadline: Duration,
    has_hdfs: bool,
    /// Of the ResourceManager.
    heap_mib: u32,
    /// Two ResourceManagers and a ZooKeeper server.
    has_two_masters: bool,
    nodes: usize,
    /// Nodes with a DataNode of their own; none: the master has one.
    data_nodes: Vec<usize>,
    /// Of each node.
    gpus: u32,
    daemons: Mutex<BTreeMap<Daemon, Child>>,
    user: String,
    java: Java,
    archives: Archives,
    distribution: Distribution,
    loopback: Loopback,
    warden: Mutex<Warden>,
    /// None only while it is dropped.
    folder: Option<TempDir>,
}

impl Cluster {
    /// Four nodes of Hadoop 3.4.2 with HDFS, unless told otherwise.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The folder that `HADOOP_CONF_DIR` of a client names.
    #[must_use]
    pub fn conf_dir(&self) -> PathBuf {
        self.folder().join("conf")
    }

    /// The cluster's folder. It is removed at the end.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new(""), TempDir::path)
    }

    /// The user that the daemons run as, who is HDFS's superuser.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The release's jars.
    #[must_use]
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// The release, as the running ResourceManager says it.
    ///
    /// # Errors
    ///
    /// It does not answer.
    pub fn version(&self) -> Result<String> {
        self.resource_manager().version()
    }

    /// Where the ResourceManager takes clients' calls, `host:port`.
    #[must_use]
    pub fn resource_manager_address(&self) -> String {
        format!("{}:8032", self.loopback.master())
    }

    /// Where the ResourceManager takes the calls of nodes, `host:port`.
    #[must_use]
    pub fn tracker_address(&self) -> String {
        format!("{}:8031", self.loopback.master())
    }

    /// Where the ResourceManager takes the calls of ApplicationMasters, `host:port`.
    #[must_use]
    pub fn scheduler_address(&self) -> String {
        format!("{}:8030", self.loopback.master())
    }

    /// The address of hollow node `index`, counted from 0.
    #[must_use]
    pub fn hollow_host(&self, index: usize) -> Ipv4Addr {
        self.loopback.hollow(index)
    }

    /// The process of a daemon that was started.
    #[must_use]
    pub fn daemon_process(&self, daemon: Daemon) -> Option<u32> {
        self.lock().get(&daemon).map(Child::id)
    }

    /// Where the NameNode takes clients' calls, `host:port`.
    #[must_use]
    pub fn name_node_address(&self) -> String {
        format!("{}:8020", self.loopback.master())
    }

    /// The ResourceManager's account of the cluster; of two, that of the active one.
    #[must_use]
    pub fn resource_manager(&self) -> ResourceManager {
        match self.active_resource_manager() {
            Some(Daemon::SecondResourceManager) => {
                ResourceManager::at(self.loopback.second_master())
            }
            _ => ResourceManager::at(self.loopback.master()),
        }
    }

    /// Which of two ResourceManagers is the active one; `None` while neither is, or is asked.
    #[must_use]
    pub fn active_resource_manager(&self) -> Option<Daemon> {
        let masters = [
            (Daemon::ResourceManager, self.loopback.master()),
            (Daemon::SecondResourceManager, self.loopback.second_master()),
        ];
        let masters = masters.into_iter().filter(|_| self.has_two_masters);
        let mut active = masters.filter(|(_, address)| ResourceManager::at(*address).is_active());
        active.next().map(|(daemon, _)| daemon)
    }

    /// The cluster's HDFS, as its superuser.
    #[must_use]
    pub fn hdfs(&self) -> Hdfs {
        Hdfs::at(self.loopback.master(), &self.user)
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeManager> {
        (0..self.nodes)
            .map(|index| NodeManager {
                index,
                host: self.loopback.node(index),
                folder: self
                    .folder()
                    .join("nodes")
                    .join(Daemon::NodeManager(index).to_string()),
            })
            .collect()
    }

    /// Every daemon, masters first.
    #[must_use]
    pub fn all_daemons(&self) -> Vec<Daemon> {
        let masters = [
            Daemon::ZooKeeper,
            Daemon::ResourceManager,
            Daemon::SecondResourceManager,
            Daemon::NameNode,
        ];
        let of_two = [Daemon::ZooKeeper, Daemon::SecondResourceManager];
        masters
            .into_iter()
            .chain(self.stores())
            .filter(|daemon| self.has_two_masters || !of_two.contains(daemon))
            .filter(|daemon| self.has_hdfs || !daemon.is_hdfs())
            .chain((0..self.nodes).map(Daemon::NodeManager))
            .collect()
    }

    fn zookeeper_settings(&self) -> PathBuf {
        self.folder().join("zoo.cfg")
    }

    /// Those that store HDFS's blocks.
    fn stores(&self) -> Vec<Daemon> {
        match self.data_nodes.is_empty() {
            true => vec![Daemon::DataNode],
            false => self
                .data_nodes
                .iter()
                .copied()
                .map(Daemon::DataNodeOf)
                .collect(),
        }
    }

    fn daemon_folder(&self, daemon: Daemon) -> PathBuf {
        self.folder().join("daemons").join(daemon.to_string())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Daemon, Child>> {
        self.daemons.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends everything. Each step is tried even if one before failed.
    fn take_down(&mut self) -> Result<()> {
        let mut ended = Ok(());
        for child in self.lock().values_mut() {
            ended = ended.and(process::destroy(child));
        }
        self.lock().clear();
        ended = ended.and(sweep::kill_all(&self.containers_mark(), SWEEP));
        if let Some(folder) = self.folder.take() {
            if std::env::var_os("GERBIL_IT_KEEP").is_some() {
                // Away from the name that the warden would remove.
                let kept = folder.keep().with_extension("kept");
                ended = ended.and(fs::rename(kept.with_extension(""), &kept).map_err(Into::into));
            } else {
                ended = ended.and(folder.close().context("removing the cluster's folder"));
            }
        }
        ended.and(
            self.warden
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .leave(),
        )
    }
}

impl Drop for Cluster {
    #[expect(
        clippy::print_stderr,
        reason = "a test's output is where a failed clean-up belongs, and drop returns nothing"
    )]
    fn drop(&mut self) {
        if let Err(error) = self.take_down() {
            eprintln!("taking the cluster down: {error:#}");
        }
    }
}
