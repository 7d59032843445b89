//! `ResourceTracker`: a NodeManager's talk with the ResourceManager (port 8031).

use std::time::Duration;

use crate::rpc::Idempotence::{AtMostOnce, Idempotent};
use crate::rpc::{CallError, Channel, Login, Timing};
use crate::server::MasterKey;
use crate::wire::{FromWire, Incomplete, all, nothing, required, yarn};
use crate::{ApplicationId, ContainerId, NodeId};

use super::{ContainerStatus, Resource};

pub(crate) const PROTOCOL: &str = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB";

/// Speaks for one NodeManager.
#[derive(Debug)]
pub struct ResourceTrackerClient {
    channel: Channel,
}

/// A node that comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRegistration {
    /// Its container service.
    pub node: NodeId,
    /// Port of its web pages; 0 for none.
    pub http_port: u16,
    /// What it offers.
    pub resource: Resource,
    /// Its Hadoop version.
    pub version: String,
    /// Containers that it still has from before.
    pub containers: Vec<ContainerStatus>,
}

/// What the ResourceManager orders a node to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeAction {
    /// Go on.
    Normal,
    /// Register again.
    Resync,
    /// End: the ResourceManager does not take this node.
    Shutdown,
}

/// The answer to a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRegistered {
    /// Go on, or not.
    pub action: NodeAction,
    /// The ResourceManager's words where it sends the node away; else empty.
    pub diagnostics: String,
    /// Signs container tokens; given when the node may go on.
    pub container_key: Option<MasterKey>,
    /// Signs NM tokens; given when the node may go on.
    pub nm_key: Option<MasterKey>,
    /// When the ResourceManager started; stands in the container tokens that it grants.
    pub resource_manager: i64,
}

/// One heartbeat of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeHeartbeat {
    /// The node that beats, as it registered.
    pub node: NodeId,
    /// From the last answer; 0 after registering.
    pub response_id: i32,
    /// Containers that run, and those that have ended until the ResourceManager lets go of them.
    pub containers: Vec<ContainerStatus>,
    /// Why the node is not well; empty when it is.
    pub illness: String,
    /// Newest keys that the node has.
    pub container_key: Option<MasterKey>,
    /// The same, of tokens with which ApplicationMasters log in to the node.
    pub nm_key: Option<MasterKey>,
}

/// The answer to a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatAnswer {
    /// For the next heartbeat.
    pub response_id: i32,
    /// Go on, or not.
    pub action: NodeAction,
    /// The ResourceManager's words where it sends the node away; else empty.
    pub diagnostics: String,
    /// A newer key, when there is one.
    pub container_key: Option<MasterKey>,
    /// The same, of tokens with which ApplicationMasters log in to the node.
    pub nm_key: Option<MasterKey>,
    /// Containers to end.
    pub containers_to_end: Vec<ContainerId>,
    /// Applications that are over: their containers end, their files go.
    pub applications_over: Vec<ApplicationId>,
    /// Ended containers that need not be told any more.
    pub containers_heard: Vec<ContainerId>,
    /// Until the next heartbeat.
    pub interval: Duration,
}

impl NodeAction {
    pub(crate) fn from_number(number: Option<i32>) -> Self {
        use yarn::NodeActionProto as Wire;
        match number.and_then(|number| Wire::try_from(number).ok()) {
            Some(Wire::Resync) => Self::Resync,
            Some(Wire::Shutdown) => Self::Shutdown,
            Some(Wire::Normal) | None => Self::Normal,
        }
    }

    pub(crate) fn number(self) -> i32 {
        use yarn::NodeActionProto as Wire;
        match self {
            Self::Normal => Wire::Normal,
            Self::Resync => Wire::Resync,
            Self::Shutdown => Wire::Shutdown,
        }
        .into()
    }
}

fn key(wire: Option<yarn::MasterKeyProto>) -> Result<Option<MasterKey>, Incomplete> {
    wire.map(MasterKey::from_wire).transpose()
}

impl FromWire<yarn::RegisterNodeManagerResponseProto> for NodeRegistered {
    fn from_wire(wire: yarn::RegisterNodeManagerResponseProto) -> Result<Self, Incomplete> {
        Ok(Self {
            action: NodeAction::from_number(wire.node_action),
            diagnostics: wire.diagnostics_message.unwrap_or_default(),
            container_key: key(wire.container_token_master_key)?,
            nm_key: key(wire.nm_token_master_key)?,
            resource_manager: wire.rm_identifier.unwrap_or(0),
        })
    }
}

impl FromWire<yarn::NodeHeartbeatResponseProto> for HeartbeatAnswer {
    fn from_wire(wire: yarn::NodeHeartbeatResponseProto) -> Result<Self, Incomplete> {
        let interval = wire.next_heart_beat_interval.unwrap_or(1000);
        Ok(Self {
            response_id: wire.response_id.unwrap_or(0),
            action: NodeAction::from_number(wire.node_action),
            diagnostics: wire.diagnostics_message.unwrap_or_default(),
            container_key: key(wire.container_token_master_key)?,
            nm_key: key(wire.nm_token_master_key)?,
            containers_to_end: all(wire.containers_to_cleanup)?,
            applications_over: all(wire.applications_to_cleanup)?,
            containers_heard: all(wire.containers_to_be_removed_from_nm)?,
            interval: Duration::from_millis(u64::try_from(interval).unwrap_or(1000)),
        })
    }
}

/// Milliseconds since 1970, for the node's health report.
fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

/// What is in use of a node that measures nothing. A ResourceManager takes a report without it, and then
/// cannot show the node on its pages.
fn unmeasured() -> yarn::ResourceUtilizationProto {
    yarn::ResourceUtilizationProto {
        pmem: Some(0),
        vmem: Some(0),
        cpu: Some(0.0),
    }
}

fn health(illness: &str) -> yarn::NodeHealthStatusProto {
    yarn::NodeHealthStatusProto {
        is_node_healthy: Some(illness.is_empty()),
        health_report: Some(illness.to_owned()),
        last_health_report_time: Some(now_ms()),
    }
}

impl ResourceTrackerClient {
    /// A client for a NodeManager that runs as `user`. Connects at the first call.
    #[must_use]
    pub fn new(addresses: Vec<String>, user: &str) -> Self {
        Self {
            channel: Channel::new(PROTOCOL, addresses, Login::User(user.to_owned())),
        }
    }

    /// Sets the deadlines.
    #[must_use]
    pub fn with_timing(self, timing: Timing) -> Self {
        Self {
            channel: self.channel.with_timing(timing),
        }
    }

    /// Announces the node.
    pub async fn register(
        &self,
        registration: &NodeRegistration,
    ) -> Result<NodeRegistered, CallError> {
        let container = |status: &ContainerStatus| yarn::NmContainerStatusProto {
            container_id: Some(status.id.into()),
            container_state: Some(status.state.number()),
            container_exit_status: Some(status.exit_status),
            diagnostics: Some(status.diagnostics.clone()),
            ..yarn::NmContainerStatusProto::default()
        };
        let node = yarn::NodeIdProto::from(&registration.node);
        let request = yarn::RegisterNodeManagerRequestProto {
            node_id: Some(node.clone()),
            http_port: Some(registration.http_port.into()),
            resource: Some((&registration.resource).into()),
            nm_version: Some(registration.version.clone()),
            container_statuses: registration.containers.iter().map(container).collect(),
            running_applications: Vec::new(),
            physical_resource: Some((&registration.resource).into()),
            node_status: Some(yarn::NodeStatusProto {
                node_id: Some(node),
                response_id: Some(0),
                node_health_status: Some(health("")),
                containers_utilization: Some(unmeasured()),
                node_utilization: Some(unmeasured()),
                ..yarn::NodeStatusProto::default()
            }),
        };
        self.channel
            .call(
                "registerNodeManager",
                Idempotent,
                &request,
                NodeRegistered::from_wire,
            )
            .await
    }

    /// One heartbeat. Repeating one whose answer was lost is safe: it carries a number.
    pub async fn heartbeat(&self, beat: &NodeHeartbeat) -> Result<HeartbeatAnswer, CallError> {
        let request = yarn::NodeHeartbeatRequestProto {
            node_status: Some(yarn::NodeStatusProto {
                node_id: Some((&beat.node).into()),
                response_id: Some(beat.response_id),
                containers_statuses: beat.containers.iter().map(Into::into).collect(),
                node_health_status: Some(health(&beat.illness)),
                containers_utilization: Some(unmeasured()),
                node_utilization: Some(unmeasured()),
                ..yarn::NodeStatusProto::default()
            }),
            last_known_container_token_master_key: beat.container_key.as_ref().map(Into::into),
            last_known_nm_token_master_key: beat.nm_key.as_ref().map(Into::into),
            token_sequence_no: None,
        };
        self.channel
            .call(
                "nodeHeartbeat",
                Idempotent,
                &request,
                HeartbeatAnswer::from_wire,
            )
            .await
    }

    /// Takes leave.
    pub async fn unregister(&self, node: &NodeId) -> Result<(), CallError> {
        let request = yarn::UnRegisterNodeManagerRequestProto {
            node_id: Some(node.into()),
        };
        self.channel
            .call("unRegisterNodeManager", AtMostOnce, &request, nothing)
            .await
    }
}

impl FromWire<yarn::RegisterNodeManagerRequestProto> for NodeRegistration {
    fn from_wire(wire: yarn::RegisterNodeManagerRequestProto) -> Result<Self, Incomplete> {
        let container = |wire: yarn::NmContainerStatusProto| {
            Ok(ContainerStatus {
                state: super::ContainerState::from_number(wire.container_state),
                is_localizing: false,
                exit_status: wire.container_exit_status.unwrap_or(0),
                id: required(wire.container_id, "id of a container")?,
                diagnostics: wire.diagnostics.unwrap_or_default(),
            })
        };
        Ok(Self {
            node: required(wire.node_id, "node id")?,
            http_port: wire
                .http_port
                .and_then(|port| port.try_into().ok())
                .unwrap_or(0),
            resource: Resource::optional(wire.resource),
            version: wire.nm_version.unwrap_or_default(),
            containers: wire
                .container_statuses
                .into_iter()
                .map(container)
                .collect::<Result<_, _>>()?,
        })
    }
}

impl FromWire<yarn::NodeHeartbeatRequestProto> for NodeHeartbeat {
    fn from_wire(wire: yarn::NodeHeartbeatRequestProto) -> Result<Self, Incomplete> {
        let status = wire.node_status.ok_or(Incomplete {
            what: "node status",
        })?;
        let health = status.node_health_status.unwrap_or_default();
        let illness = match health.is_node_healthy {
            Some(false) => health
                .health_report
                .filter(|report| !report.is_empty())
                .unwrap_or_else(|| "unhealthy".to_owned()),
            Some(true) | None => String::new(),
        };
        Ok(Self {
            node: required(status.node_id, "node id")?,
            response_id: status.response_id.unwrap_or(0),
            containers: all(status.containers_statuses)?,
            illness,
            container_key: key(wire.last_known_container_token_master_key)?,
            nm_key: key(wire.last_known_nm_token_master_key)?,
        })
    }
}
