//! One node, as the ResourceManager has it in its books.

use std::collections::BTreeSet;

use proto_hadoop::yarn::{HeartbeatAnswer, NodeReport, NodeState, Resource};
use proto_hadoop::{ApplicationId, ContainerId, NodeId};
use tokio::time::Instant;

/// Hadoop's word where no topology is configured.
pub(super) const RACK: &str = "/default-rack";

#[derive(Debug)]
pub(super) struct Node {
    pub(super) http_port: u16,
    pub(super) capability: Resource,
    pub(super) used: Resource,
    pub(super) containers: u32,
    pub(super) state: NodeState,
    pub(super) illness: String,
    pub(super) heard: Instant,
    pub(super) heard_ms: i64,
    pub(super) response_id: i32,
    pub(super) last_answer: Option<HeartbeatAnswer>,
    /// The ResourceManager was restarted since it registered.
    pub(super) is_of_before: bool,
    /// For the next answer.
    pub(super) to_end: BTreeSet<ContainerId>,
    /// For the next answer.
    pub(super) over: BTreeSet<ApplicationId>,
}

impl Node {
    pub(super) fn new(capability: Resource, http_port: u16, heard_ms: i64) -> Self {
        Self {
            http_port,
            capability,
            used: Resource::default(),
            containers: 0,
            state: NodeState::Running,
            illness: String::new(),
            heard: Instant::now(),
            heard_ms,
            response_id: 0,
            last_answer: None,
            is_of_before: false,
            to_end: BTreeSet::new(),
            over: BTreeSet::new(),
        }
    }

    /// Has to register again before it counts.
    pub(super) fn must_register(&mut self) {
        self.state = NodeState::Lost;
        self.is_of_before = true;
    }

    pub(super) fn take(&mut self, resource: &Resource) {
        self.used.memory_mib += resource.memory_mib;
        self.used.vcores += resource.vcores;
        self.containers += 1;
    }

    pub(super) fn give_back(&mut self, resource: &Resource) {
        self.used.memory_mib = self.used.memory_mib.saturating_sub(resource.memory_mib);
        self.used.vcores = self.used.vcores.saturating_sub(resource.vcores);
        self.containers = self.containers.saturating_sub(1);
    }

    pub(super) fn free_mib(&self) -> u64 {
        self.capability
            .memory_mib
            .saturating_sub(self.used.memory_mib)
    }

    pub(super) fn report(&self, id: &NodeId) -> NodeReport {
        NodeReport {
            id: id.clone(),
            http_address: format!("{}:{}", id.host, self.http_port),
            rack: RACK.to_owned(),
            state: self.state,
            used: self.used.clone(),
            capability: self.capability.clone(),
            containers: self.containers,
            health_report: self.illness.clone(),
            last_health_report_ms: self.heard_ms,
            labels: Vec::new(),
            attributes: std::collections::BTreeMap::new(),
            decommissioning_timeout: None,
        }
    }
}
