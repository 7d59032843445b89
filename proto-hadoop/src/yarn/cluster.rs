//! What the ResourceManager says about the cluster and its queues.

use crate::wire::{FromWire, Incomplete, readable, yarn};

use super::ApplicationReport;

/// How many nodes are in which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClusterMetrics {
    /// NodeManagers that take part, whatever their state.
    pub nodes: u32,
    /// NodeManagers that take containers.
    pub active: u32,
    /// Silent for too long.
    pub lost: u32,
    /// Failed their own health check.
    pub unhealthy: u32,
    /// Taken out by the administrator.
    pub decommissioned: u32,
}

impl FromWire<yarn::YarnClusterMetricsProto> for ClusterMetrics {
    fn from_wire(wire: yarn::YarnClusterMetricsProto) -> Result<Self, Incomplete> {
        let count = |value: Option<i32>| value.unwrap_or(0).try_into().unwrap_or(0);
        Ok(Self {
            nodes: count(wire.num_node_managers),
            active: count(wire.num_active_nms),
            lost: count(wire.num_lost_nms),
            unhealthy: count(wire.num_unhealthy_nms),
            decommissioned: count(wire.num_decommissioned_nms),
        })
    }
}

/// Whether a queue takes applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueState {
    /// Takes none.
    Stopped,
    /// Takes them.
    Running,
    /// Finishes what it has.
    Draining,
    /// A state that this crate does not know.
    Unknown,
}

/// One queue.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueInfo {
    /// Leaf name, or the full path where the server gives one.
    pub name: String,
    /// Full path such as `root.default`, from Hadoop 3.4 on.
    pub path: Option<String>,
    /// Whether it takes applications.
    pub state: QueueState,
    /// Guaranteed share of the parent, 0 to 1.
    pub capacity: f32,
    /// Largest share of the parent, 0 to 1; -1 where the scheduler sets none.
    pub maximum_capacity: f32,
    /// What is used, as a share of the guaranteed capacity; may exceed 1.
    pub current_capacity: f32,
    /// Queues below; filled when asked for.
    pub children: Vec<Self>,
    /// Applications in it; filled when asked for.
    pub applications: Vec<ApplicationReport>,
    /// Partitions it may use; `*` is all.
    pub accessible_node_labels: Vec<String>,
    /// The partition that its applications use when they name none.
    pub default_node_label: Option<String>,
}

/// What a queue of a CapacityScheduler may use, in shares of its partition, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueShare {
    /// At the most.
    pub maximum: f64,
    /// What is used.
    pub used: f64,
}

impl QueueInfo {
    /// Of the queue `name`, a leaf name or a path, among those below this one, which is the root. `None`
    /// where it is not there, or the scheduler does not limit queues by shares.
    #[must_use]
    pub fn share_of(&self, name: &str) -> Option<QueueShare> {
        self.share_below(name, "", 1.0, 1.0)
    }

    fn share_below(
        &self,
        name: &str,
        above: &str,
        maximum: f64,
        capacity: f64,
    ) -> Option<QueueShare> {
        let leaf = self.name.rsplit('.').next().unwrap_or_default();
        let path = match above {
            "" => leaf.to_owned(),
            above => format!("{above}.{leaf}"),
        };
        let maximum = maximum * f64::from(self.maximum_capacity);
        let capacity = capacity * f64::from(self.capacity);
        if leaf == name || path == name {
            return (self.maximum_capacity > 0.0).then(|| QueueShare {
                maximum,
                used: capacity * f64::from(self.current_capacity),
            });
        }
        let children = self.children.iter();
        children
            .filter_map(|child| child.share_below(name, &path, maximum, capacity))
            .next()
    }
}

impl FromWire<yarn::QueueInfoProto> for QueueInfo {
    fn from_wire(wire: yarn::QueueInfoProto) -> Result<Self, Incomplete> {
        use yarn::QueueStateProto as Wire;
        let state = match wire.state.and_then(|number| Wire::try_from(number).ok()) {
            Some(Wire::QStopped) => QueueState::Stopped,
            Some(Wire::QRunning) => QueueState::Running,
            Some(Wire::QDraining) => QueueState::Draining,
            None => QueueState::Unknown,
        };
        Ok(Self {
            name: wire.queue_name.unwrap_or_default(),
            path: wire.queue_path,
            state,
            capacity: wire.capacity.unwrap_or(0.0),
            maximum_capacity: wire.maximum_capacity.unwrap_or(-1.0),
            current_capacity: wire.current_capacity.unwrap_or(0.0),
            children: readable(wire.child_queues, "queues").into(),
            applications: readable(wire.applications, "applications").into(),
            accessible_node_labels: wire.accessible_node_labels,
            default_node_label: wire
                .default_node_label_expression
                .filter(|label| !label.is_empty()),
        })
    }
}

/// A partition of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLabel {
    /// Its name.
    pub name: String,
    /// Serves only what asks for it.
    pub exclusive: bool,
}

impl FromWire<yarn::NodeLabelProto> for NodeLabel {
    fn from_wire(wire: yarn::NodeLabelProto) -> Result<Self, Incomplete> {
        let exclusive = wire.is_exclusive();
        Ok(Self {
            name: wire.name.ok_or(Incomplete {
                what: "name of a node label",
            })?,
            exclusive,
        })
    }
}
