//! One ResourceManager and its nodes.

use std::time::Duration;

use proto_hadoop::conf::NODES_ARE_OURS;
use proto_hadoop::yarn::Resource;
use tokio::task::JoinSet;

use crate::node_manager::{NodeManager, NodeManagerOptions};
use crate::resource_manager::{ResourceManager, ResourceManagerOptions};
use crate::{MiniError, folder::RunFolder};

/// A ResourceManager and nodes in this process.
///
/// Dropped, it ends its containers by SIGKILL; [`stop`](Self::stop) does it in order.
#[derive(Debug)]
pub struct MiniCluster {
    nodes: Vec<NodeManager>,
    resource_manager: ResourceManager,
}

/// What this machine has: all of its memory, and the cores that this process may use.
#[must_use]
pub fn machine() -> Resource {
    /// Where it cannot be read.
    const MEMORY_MIB: u64 = 4096;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| {
        rest.trim()
            .trim_end_matches("kB")
            .trim()
            .parse::<u64>()
            .ok()
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Resource::new(
        kib.map_or(MEMORY_MIB, |kib| kib / 1024),
        u32::try_from(cores).unwrap_or(u32::MAX),
    )
}

impl MiniCluster {
    /// Starts a ResourceManager and one node per entry of `nodes`, each with that much to give, its
    /// files below `folder`. They are called 127.0.0.1, 127.0.0.2 and so on.
    ///
    /// # Errors
    ///
    /// When a port or folder cannot be had, or a node is refused.
    pub async fn start(
        options: ResourceManagerOptions,
        nodes: &[Resource],
        folder: &RunFolder,
        user: &str,
    ) -> Result<Self, MiniError> {
        let resource_manager = ResourceManager::start(options).await?;
        let mut starting = JoinSet::new();
        for (index, resource) in nodes.iter().enumerate() {
            let options = NodeManagerOptions {
                host: format!("127.0.0.{}", 1 + index % 254),
                resource: resource.clone(),
                trackers: vec![resource_manager.tracker_address()],
                folder: folder.path().join(format!("node-{}", index + 1)),
                user: user.to_owned(),
            };
            starting.spawn(async move { (index, NodeManager::start(options).await) });
        }
        let mut started = Vec::new();
        while let Some(Ok((index, node))) = starting.join_next().await {
            started.push((index, node?));
        }
        started.sort_by_key(|(index, _)| *index);
        Ok(Self {
            nodes: started.into_iter().map(|(_, node)| node).collect(),
            resource_manager,
        })
    }

    /// The ResourceManager.
    #[must_use]
    pub fn resource_manager(&self) -> &ResourceManager {
        &self.resource_manager
    }

    /// The nodes, in order.
    #[must_use]
    pub fn nodes(&self) -> &[NodeManager] {
        &self.nodes
    }

    /// Hadoop's settings for this cluster, as the text of a `yarn-site.xml`.
    #[must_use]
    pub fn settings(&self) -> String {
        let manager = &self.resource_manager;
        let expiry = manager.options().am_expiry.as_millis().to_string();
        let step = manager.options().step_mib.to_string();
        let rows = [
            ("yarn.resourcemanager.address", manager.client_address()),
            (
                "yarn.resourcemanager.scheduler.address",
                manager.scheduler_address(),
            ),
            (
                "yarn.resourcemanager.resource-tracker.address",
                manager.tracker_address(),
            ),
            ("yarn.scheduler.minimum-allocation-mb", step),
            ("yarn.am.liveness-monitor.expiry-interval-ms", expiry),
            (NODES_ARE_OURS, "true".to_owned()),
            // No disk is too full for its nodes.
            (
                "yarn.nodemanager.disk-health-checker.enable",
                "false".to_owned(),
            ),
        ];
        let mut text = "<?xml version=\"1.0\"?>\n<configuration>\n".to_owned();
        for (name, value) in rows {
            text.push_str(&format!(
                "  <property><name>{name}</name><value>{value}</value></property>\n"
            ));
        }
        text.push_str("</configuration>\n");
        text
    }

    /// Ends it: containers that still run have `grace` to leave by themselves.
    pub async fn stop(self, grace: Duration) {
        let mut stopping = JoinSet::new();
        for node in self.nodes {
            stopping.spawn(node.stop(grace));
        }
        while stopping.join_next().await.is_some() {}
        self.resource_manager.stop().await;
    }
}
