//! A ResourceManager, and the hollow nodes below it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use mini::node_manager::NodeManager;
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use super::annex::Annex;
use super::launcher::Launchers;
use super::lot::{Lot, Phases};
use crate::loopback::HOLLOW_MAX;
use crate::settings::File;
use crate::{Cluster, Version, wait};

/// A node holds a port and a connection, and its launcher a link.
const FILES_PER_NODE: usize = 3;
/// For the process itself, and calls that come and go.
const FILES_BESIDE: usize = 1000;
/// For the ResourceManager's web page, which comes last.
const READY: Duration = Duration::from_secs(120);
/// How long tasks may take to be dropped.
const LEAVE: Duration = Duration::from_secs(5);
/// What a fleet shall be.
#[derive(Debug, Clone)]
pub struct FleetPlan {
    /// Of the ResourceManager.
    pub version: Version,
    /// NodeManagers that register.
    pub nodes: usize,
    /// Of each node, and the largest container.
    pub memory_mib: u64,
    /// Of each node.
    pub vcores: u32,
    /// Heap of the ResourceManager.
    pub heap_mib: u32,
    /// Between two heartbeats of a node.
    pub heartbeat: Duration,
    /// How they lie to each other.
    pub phases: Phases,
    /// Launchers connect to their ApplicationMaster; otherwise their containers sleep.
    pub links: bool,
}

/// A hundred nodes of Hadoop 3.4.2 with room for eight of the smallest containers each.
impl Default for FleetPlan {
    fn default() -> Self {
        Self {
            version: Version::V3_4_2,
            nodes: 100,
            memory_mib: 8192,
            vcores: 8,
            heap_mib: 1024,
            heartbeat: Duration::from_secs(1),
            phases: Phases::Spread,
            links: true,
        }
    }
}

/// Registered hollow nodes. Dropping it ends them, and then the ResourceManager.
#[derive(Debug)]
pub struct Fleet {
    nodes: Vec<NodeManager>,
    launchers: Arc<Launchers>,
    /// With the nodes that this process could not hold.
    annexes: Mutex<Vec<Annex>>,
    registering: Duration,
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    cluster: Cluster,
}

/// What has become of nodes and the launchers on them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Account {
    /// Heartbeats that the ResourceManager has answered.
    pub heartbeats: u64,
    /// Launchers that have said hello.
    pub joined: u64,
    /// Launchers that have left in order.
    pub left: u64,
    /// What the last launcher that failed complained of.
    pub trouble: Option<String>,
}

impl Account {
    pub(super) fn of(nodes: &[NodeManager], launchers: &Launchers) -> Self {
        Self {
            heartbeats: nodes.iter().map(NodeManager::heartbeats).sum(),
            joined: launchers.joined(),
            left: launchers.left(),
            trouble: launchers.trouble(),
        }
    }

    fn add(&mut self, other: Self) {
        self.heartbeats += other.heartbeats;
        self.joined += other.joined;
        self.left += other.left;
        self.trouble = self.trouble.take().or(other.trouble);
    }
}

impl Fleet {
    /// Starts a ResourceManager without any other daemon, and the nodes; returns when all have
    /// registered.
    ///
    /// # Errors
    ///
    /// There are too many addresses wanted, or one is refused or not taken in in time.
    pub fn start(plan: &FleetPlan) -> Result<Self> {
        if plan.nodes > HOLLOW_MAX {
            bail!("{} hollow nodes: at most {HOLLOW_MAX}", plan.nodes);
        }
        let here = allow_files(plan.nodes)?;
        let cluster = Cluster::builder()
            .version(plan.version)
            .nodes(0)
            .without_hdfs()
            .resource_manager_heap(plan.heap_mib)
            .set(
                File::Yarn,
                "yarn.scheduler.maximum-allocation-mb",
                plan.memory_mib.to_string(),
            )
            .set(
                File::Yarn,
                "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms",
                plan.heartbeat.as_millis().to_string(),
            )
            .start()?;
        wait::until("an answer of the ResourceManager", READY, || {
            Ok(cluster.version().ok())
        })?;
        let runtime = run_nodes()?;
        let launchers = Arc::new(Launchers::new(plan.links));
        let began = Instant::now();
        let mut lots = lots(plan, &cluster, here).into_iter();
        let own = lots.next().context("no nodes")?;
        let annexes = lots.map(|lot| Annex::start(&lot));
        let mut annexes = annexes.collect::<Result<Vec<_>>>()?;
        let nodes = runtime.block_on(own.register(&launchers))?;
        annexes.iter_mut().try_for_each(Annex::registered)?;
        let registering = began.elapsed();
        Ok(Self {
            nodes,
            launchers,
            annexes: Mutex::new(annexes),
            registering,
            runtime: Some(runtime),
            cluster,
        })
    }

    /// The cluster; it has no NodeManager of its own.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The nodes of this process: the first ones, mostly all.
    #[must_use]
    pub fn nodes(&self) -> &[NodeManager] {
        &self.nodes
    }

    /// From the first registration to the last.
    #[must_use]
    pub fn registering(&self) -> Duration {
        self.registering
    }

    /// Of all nodes.
    ///
    /// # Errors
    ///
    /// A process with some of them has ended.
    pub fn account(&self) -> Result<Account> {
        let mut account = Account::of(&self.nodes, &self.launchers);
        let mut annexes = self.annexes.lock().unwrap_or_else(PoisonError::into_inner);
        for annex in annexes.iter_mut() {
            account.add(annex.account()?);
        }
        Ok(account)
    }

    /// The processes that hold the nodes, this one first.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        let annexes = self.annexes.lock().unwrap_or_else(PoisonError::into_inner);
        let annexes = annexes.iter().map(Annex::id);
        std::iter::once(std::process::id()).chain(annexes).collect()
    }

    /// Runs something beside the nodes, on their threads.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        let runtime = self.runtime.as_ref().context("the fleet is going")?;
        Ok(runtime.block_on(work))
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.nodes.clear();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(LEAVE);
        }
    }
}

/// The first nodes for this process, the others for annexes, at most `each` for one.
fn lots(plan: &FleetPlan, cluster: &Cluster, each: usize) -> Vec<Lot> {
    let firsts = (0..plan.nodes).step_by(each.max(1));
    firsts
        .map(|first| Lot {
            first,
            hosts: (first..plan.nodes.min(first + each))
                .map(|index| cluster.hollow_host(index).to_string())
                .collect(),
            memory_mib: plan.memory_mib,
            vcores: plan.vcores,
            phases: plan.phases,
            links: plan.links,
            tracker: cluster.tracker_address(),
            // Where the guard looks for processes that were left.
            folder: cluster.folder().join("nodes"),
            user: cluster.user().to_owned(),
        })
        .collect()
}

/// Where the nodes of a process live.
pub(super) fn run_nodes() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?)
}

/// Raises this process's limit of open files as far as it may; how many of `nodes` it can then hold.
pub(super) fn allow_files(nodes: usize) -> Result<usize> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};

    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let held = most.saturating_sub(FILES_BESIDE) / FILES_PER_NODE;
    if held == 0 {
        bail!("a limit of {most} open files is too low for hollow nodes: see ulimit -Hn");
    }
    Ok(held.min(nodes))
}
