//! A ResourceManager, and the hollow nodes below it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use mini::node_manager::{self, Hollow, NodeManager, Rhythm};
use proto_hadoop::yarn::Resource;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::launcher::{InPlace, Launchers};
use crate::loopback::HOLLOW_MAX;
use crate::settings::File;
use crate::{Cluster, Version, wait};

/// A node holds a port and a connection; the rest is for launchers' links and the process itself.
const FILES_PER_NODE: u64 = 2;
const FILES_BESIDE: u64 = 1000;
/// Nodes that register at the same time.
const AT_ONCE: usize = 64;
/// For the ResourceManager's web page, which comes last.
const READY: Duration = Duration::from_secs(120);
/// How long tasks may take to be dropped.
const LEAVE: Duration = Duration::from_secs(5);
/// Of the golden ratio: however many nodes are taken from the front, their heartbeats lie spread.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// How the nodes' heartbeats lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phases {
    /// Evenly over the interval, those of any first few nodes as well.
    Spread,
    /// All at the same moment.
    Together,
}

/// What a fleet shall be.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Of the ResourceManager.
    pub version: Version,
    /// How many.
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
impl Default for Plan {
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
    registering: Duration,
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    cluster: Cluster,
}

impl Fleet {
    /// Starts a ResourceManager without any other daemon, and the nodes; returns when all have
    /// registered.
    ///
    /// # Errors
    ///
    /// There are too many for the limit of open files, or one is refused or not taken in in time.
    pub fn start(plan: &Plan) -> Result<Self> {
        if plan.nodes > HOLLOW_MAX {
            bail!("{} hollow nodes: at most {HOLLOW_MAX}", plan.nodes);
        }
        allow_files(plan.nodes as u64 * FILES_PER_NODE + FILES_BESIDE)?;
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
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let launchers = Arc::new(Launchers::new(plan.links));
        let began = Instant::now();
        let nodes = runtime.block_on(register(plan, &cluster, &launchers))?;
        let registering = began.elapsed();
        Ok(Self {
            nodes,
            launchers,
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

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &[NodeManager] {
        &self.nodes
    }

    /// What the launchers on them did.
    #[must_use]
    pub fn launchers(&self) -> &Launchers {
        &self.launchers
    }

    /// From the first registration to the last.
    #[must_use]
    pub fn registering(&self) -> Duration {
        self.registering
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

/// Raises this process's limit of open files as far as it may.
fn allow_files(wanted: u64) -> Result<()> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};

    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if hard < wanted {
        bail!("{wanted} open files are needed, and the limit is {hard}: see ulimit -Hn");
    }
    setrlimit(Resource::RLIMIT_NOFILE, soft.max(hard), hard)?;
    Ok(())
}

async fn register(
    plan: &Plan,
    cluster: &Cluster,
    launchers: &Arc<Launchers>,
) -> Result<Vec<NodeManager>> {
    let since = Instant::now();
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut starting = JoinSet::new();
    for index in 0..plan.nodes {
        let options = node_manager::Options {
            host: cluster.hollow_host(index).to_string(),
            resource: Resource::new(plan.memory_mib, plan.vcores),
            trackers: vec![cluster.tracker_address()],
            // Where the guard looks for processes that were left.
            folder: cluster
                .folder()
                .join("nodes")
                .join(format!("hollow{}", index + 1)),
            user: cluster.user().to_owned(),
        };
        let share = match plan.phases {
            Phases::Spread => (index as f64 * GOLDEN).fract(),
            Phases::Together => 0.0,
        };
        let hollow = Hollow {
            stand_in: Some(Arc::new(InPlace(Arc::clone(launchers)))),
            rhythm: Rhythm::Fixed { since, share },
        };
        let room = Arc::clone(&room);
        starting.spawn(async move {
            let _turn = room.acquire_owned().await;
            (index, NodeManager::start_hollow(options, hollow).await)
        });
    }
    let mut started = Vec::new();
    while let Some(ended) = starting.join_next().await {
        let (index, node) = ended?;
        started.push((index, node?));
    }
    started.sort_by_key(|(index, _)| *index);
    Ok(started.into_iter().map(|(_, node)| node).collect())
}
