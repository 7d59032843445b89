//! Nodes that live in one process: which they are, and their registration.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use mini::node_manager::{Hollow, NodeManager, NodeManagerOptions, Rhythm};
use proto_hadoop::yarn::Resource;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::launcher::{InPlace, Launchers};

/// Nodes that register at the same time.
const AT_ONCE: usize = 64;
/// Of the golden ratio: however many nodes are taken from the front, their heartbeats lie spread.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// How the nodes' heartbeats lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phases {
    /// Evenly over the interval, those of any first few nodes as well.
    Spread,
    /// All at the same moment.
    Together,
}

/// Some nodes of a fleet, one after the other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Lot {
    /// Number of the first in the fleet, counted from 0.
    pub(super) first: usize,
    /// An address for each.
    pub(super) hosts: Vec<String>,
    /// Of each node.
    pub(super) memory_mib: u64,
    /// Of each node.
    pub(super) vcores: u32,
    pub(super) phases: Phases,
    /// Launchers connect to their ApplicationMaster.
    pub(super) links: bool,
    /// `host:port` of the ResourceManager.
    pub(super) tracker: String,
    /// Holds a folder for each node.
    pub(super) folder: PathBuf,
    pub(super) user: String,
}

impl Lot {
    /// Returns the nodes, in their order, when all have registered.
    ///
    /// # Errors
    ///
    /// One is refused or not taken in in time.
    pub(super) async fn register(&self, launchers: &Arc<Launchers>) -> Result<Vec<NodeManager>> {
        let since = Instant::now();
        let room = Arc::new(Semaphore::new(AT_ONCE));
        let mut starting = JoinSet::new();
        for (index, host) in (self.first..).zip(&self.hosts) {
            let options = NodeManagerOptions {
                host: host.clone(),
                resource: Resource::new(self.memory_mib, self.vcores),
                trackers: vec![self.tracker.clone()],
                folder: self.folder.join(format!("hollow{}", index + 1)),
                user: self.user.clone(),
            };
            let share = match self.phases {
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
}
