//! What the ResourceManager says about its nodes.

use std::collections::BTreeMap;

use crate::NodeId;
use crate::wire::{FromWire, Incomplete, required, yarn};

use super::Resource;

/// A node's state, as `yarn node -list` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NodeState {
    /// Registered, no heartbeat yet.
    New,
    /// Takes containers.
    Running,
    /// Its own health check failed.
    Unhealthy,
    /// Taken out by the administrator.
    Decommissioned,
    /// Silent for too long.
    Lost,
    /// Came back under a new start.
    Rebooted,
    /// Finishes what it has, takes nothing new.
    Decommissioning,
    /// Ended in order.
    Shutdown,
    /// A state that this crate does not know.
    Unknown,
}

impl NodeState {
    pub(crate) fn from_number(number: Option<i32>) -> Self {
        use yarn::NodeStateProto as Wire;
        match number.and_then(|number| Wire::try_from(number).ok()) {
            Some(Wire::NsNew) => Self::New,
            Some(Wire::NsRunning) => Self::Running,
            Some(Wire::NsUnhealthy) => Self::Unhealthy,
            Some(Wire::NsDecommissioned) => Self::Decommissioned,
            Some(Wire::NsLost) => Self::Lost,
            Some(Wire::NsRebooted) => Self::Rebooted,
            Some(Wire::NsDecommissioning) => Self::Decommissioning,
            Some(Wire::NsShutdown) => Self::Shutdown,
            None => Self::Unknown,
        }
    }

    /// `None` for [`NodeState::Unknown`], which cannot be asked for.
    pub(crate) fn number(self) -> Option<i32> {
        use yarn::NodeStateProto as Wire;
        let wire = match self {
            Self::New => Wire::NsNew,
            Self::Running => Wire::NsRunning,
            Self::Unhealthy => Wire::NsUnhealthy,
            Self::Decommissioned => Wire::NsDecommissioned,
            Self::Lost => Wire::NsLost,
            Self::Rebooted => Wire::NsRebooted,
            Self::Decommissioning => Wire::NsDecommissioning,
            Self::Shutdown => Wire::NsShutdown,
            Self::Unknown => return None,
        };
        Some(wire.into())
    }
}

/// One node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeReport {
    /// Its container service; the host in it is the name to ask for.
    pub id: NodeId,
    /// `host:port` of its web pages.
    pub http_address: String,
    /// Rack path, `/default-rack` where the cluster has no topology.
    pub rack: String,
    /// Whether it takes containers.
    pub state: NodeState,
    /// What its containers hold, reservations included.
    pub used: Resource,
    /// What it offers in all.
    pub capability: Resource,
    /// Running containers.
    pub containers: u32,
    /// What its health check said; often empty.
    pub health_report: String,
    /// When it last reported its health, in milliseconds since 1970.
    pub last_health_report_ms: i64,
    /// The node's partition, at most one; empty for the default partition.
    pub labels: Vec<String>,
    /// Its attributes and their values, from Hadoop 3.2: `nm.yarn.io/gpu` of a node's own script or settings,
    /// `rm.yarn.io/gpu` of the administrator.
    pub attributes: BTreeMap<String, String>,
    /// Seconds that a node has which is being [decommissioned](NodeState::Decommissioning); `None`: it is not, or its
    /// Hadoop does not say.
    pub decommissioning_timeout: Option<u32>,
}

/// Its name, with the prefix that says whose it is, and its value.
fn attribute(wire: yarn::NodeAttributeProto) -> Option<(String, String)> {
    let key = wire.attribute_key?;
    let name = format!("{}/{}", key.attribute_prefix(), key.attribute_name());
    Some((name, wire.attribute_value.unwrap_or_default()))
}

impl FromWire<yarn::NodeReportProto> for NodeReport {
    fn from_wire(wire: yarn::NodeReportProto) -> Result<Self, Incomplete> {
        Ok(Self {
            state: NodeState::from_number(wire.node_state),
            id: required(wire.node_id, "id of a node")?,
            http_address: wire.http_address.unwrap_or_default(),
            rack: wire.rack_name.unwrap_or_default(),
            used: Resource::optional(wire.used),
            capability: Resource::optional(wire.capability),
            containers: wire.num_containers.unwrap_or(0).try_into().unwrap_or(0),
            health_report: wire.health_report.unwrap_or_default(),
            last_health_report_ms: wire.last_health_report_time.unwrap_or(0),
            labels: wire
                .node_labels
                .into_iter()
                .filter(|label| !label.is_empty())
                .collect(),
            attributes: wire
                .node_attributes
                .into_iter()
                .filter_map(attribute)
                .collect(),
            decommissioning_timeout: wire.decommissioning_timeout,
        })
    }
}

impl NodeReport {
    /// Whether a request of `partition`, `None` for the default one, can be given this node. Nodes with
    /// a label are a partition of their own, which no request without that label reaches.
    #[must_use]
    pub fn is_in(&self, partition: Option<&str>) -> bool {
        match partition {
            Some(label) => self.labels.iter().any(|own| own == label),
            None => self.labels.is_empty(),
        }
    }
}

/// How requests name a node: `yarn.scheduler.include-port-in-node-name` of the ResourceManager
/// (`SchedulerNode.getNodeName`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NodeNames {
    /// By its host alone, as is the default.
    #[default]
    Host,
    /// `host:port`: several NodeManagers of one host are several nodes.
    HostAndPort,
}

impl NodeNames {
    /// The name of a node in a request.
    #[must_use]
    pub fn of(self, node: &NodeId) -> String {
        match self {
            Self::Host => node.host.clone(),
            Self::HostAndPort => node.to_string(),
        }
    }

    /// The entries of what a request can name, in the order of their names.
    #[must_use]
    pub fn nodes(self, reports: &[NodeReport]) -> Vec<&NodeReport> {
        match self {
            Self::Host => newest(reports).into_values().collect(),
            Self::HostAndPort => {
                let by_id = reports.iter().map(|report| (&report.id, report));
                by_id.collect::<BTreeMap<_, _>>().into_values().collect()
            }
        }
    }
}

/// Of each host the entry that counts: a NodeManager that was restarted leaves its old entry behind for
/// a while, and a request names the host alone. Running ones go first, then what was heard of last.
#[must_use]
pub fn newest(reports: &[NodeReport]) -> BTreeMap<&str, &NodeReport> {
    let rank = |report: &NodeReport| {
        let runs = report.state == NodeState::Running;
        (runs, report.last_health_report_ms)
    };
    let mut newest: BTreeMap<&str, &NodeReport> = BTreeMap::new();
    for report in reports {
        let entry = newest.entry(&report.id.host).or_insert(report);
        if rank(report) > rank(entry) {
            *entry = report;
        }
    }
    newest
}
