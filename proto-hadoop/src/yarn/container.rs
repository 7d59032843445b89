//! Containers: granted, running, ended.

use credentials::Token;

use crate::wire::{FromWire, Incomplete, required, yarn};
use crate::{ContainerId, NodeId};

use super::Resource;

/// A container that the scheduler granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Its id.
    pub id: ContainerId,
    /// The node to start it on.
    pub node: NodeId,
    /// `host:port` of the node's web pages.
    pub http_address: String,
    /// What was granted: what was asked for, rounded up by the scheduler.
    pub resource: Resource,
    /// The priority of the request it answers.
    pub priority: i32,
    /// Which request it answers.
    pub allocation_request_id: i64,
    /// Proof for the NodeManager that this container was granted; it starts the container once. `None`
    /// of one that the ResourceManager has recovered: it runs already, and cannot be started.
    pub token: Option<Token>,
}

impl FromWire<yarn::ContainerProto> for Container {
    fn from_wire(wire: yarn::ContainerProto) -> Result<Self, Incomplete> {
        let allocation_request_id = wire.allocation_request_id();
        Ok(Self {
            id: required(wire.id, "id of a container")?,
            node: required(wire.node_id, "node of a container")?,
            http_address: wire.node_http_address.unwrap_or_default(),
            resource: Resource::optional(wire.resource),
            priority: wire
                .priority
                .and_then(|priority| priority.priority)
                .unwrap_or(0),
            allocation_request_id,
            token: wire.container_token.map(Token::from_wire).transpose()?,
        })
    }
}

/// Where a container stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContainerState {
    /// Accepted, not yet started.
    New,
    /// Being localized, or running.
    Running,
    /// Ended, whatever the reason; its exit status tells.
    Complete,
}

impl ContainerState {
    pub(crate) fn from_number(number: Option<i32>) -> Self {
        use yarn::ContainerStateProto as Wire;
        match number.and_then(|number| Wire::try_from(number).ok()) {
            Some(Wire::CRunning) => Self::Running,
            Some(Wire::CComplete) => Self::Complete,
            Some(Wire::CNew) | None => Self::New,
        }
    }

    pub(crate) fn number(self) -> i32 {
        use yarn::ContainerStateProto as Wire;
        match self {
            Self::New => Wire::CNew,
            Self::Running => Wire::CRunning,
            Self::Complete => Wire::CComplete,
        }
        .into()
    }
}

/// Exit statuses that YARN gives itself; a container's own are 0 to 255.
pub mod exit_status {
    /// Not ended, or never started.
    pub const INVALID: i32 = -1000;
    /// Released, its node lost, or its grant expired.
    pub const ABORTED: i32 = -100;
    /// The node's disks failed.
    pub const DISKS_FAILED: i32 = -101;
    /// Taken away for another application.
    pub const PREEMPTED: i32 = -102;
    /// Used more virtual memory than allowed.
    pub const VIRTUAL_MEMORY_EXCEEDED: i32 = -103;
    /// Used more physical memory than allowed.
    pub const PHYSICAL_MEMORY_EXCEEDED: i32 = -104;
    /// Stopped by the ApplicationMaster.
    pub const KILLED_BY_APPLICATION_MASTER: i32 = -105;
    /// Stopped by the ResourceManager.
    pub const KILLED_BY_RESOURCE_MANAGER: i32 = -106;
    /// Stopped because its application had ended.
    pub const KILLED_AFTER_APPLICATION_END: i32 = -107;
}

/// How a container is, or how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerStatus {
    /// Its id.
    pub id: ContainerId,
    /// Where it stands.
    pub state: ContainerState,
    /// Its process is not started yet: its files are being fetched, or it waits its turn.
    pub is_localizing: bool,
    /// 0 to 255 from the process (128 + signal for a signal), or one of [`exit_status`].
    pub exit_status: i32,
    /// The NodeManager's or ResourceManager's words.
    pub diagnostics: String,
}

impl FromWire<yarn::ContainerStatusProto> for ContainerStatus {
    fn from_wire(wire: yarn::ContainerStatusProto) -> Result<Self, Incomplete> {
        let exit_status = wire.exit_status();
        let scheduled = i32::from(yarn::ContainerSubStateProto::CssScheduled);
        Ok(Self {
            is_localizing: wire.container_sub_state == Some(scheduled),
            id: required(wire.container_id, "id of a container")?,
            state: ContainerState::from_number(wire.state),
            exit_status,
            diagnostics: wire.diagnostics.unwrap_or_default(),
        })
    }
}

impl From<&ContainerStatus> for yarn::ContainerStatusProto {
    fn from(status: &ContainerStatus) -> Self {
        Self {
            container_id: Some(status.id.into()),
            state: Some(status.state.number()),
            diagnostics: Some(status.diagnostics.clone()),
            exit_status: Some(status.exit_status),
            container_sub_state: status
                .is_localizing
                .then_some(yarn::ContainerSubStateProto::CssScheduled.into()),
            ..Self::default()
        }
    }
}

/// What the ResourceManager remembers of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerReport {
    /// Its id.
    pub id: ContainerId,
    /// Its node.
    pub node: Option<NodeId>,
    /// Its size.
    pub resource: Resource,
    /// Where it stands.
    pub state: ContainerState,
    /// As in [`ContainerStatus`].
    pub exit_status: i32,
    /// Why it ended.
    pub diagnostics: String,
    /// Where its logs are shown.
    pub log_url: String,
    /// `http://host:port` of its node.
    pub node_http_address: String,
    /// Creation, in milliseconds since 1970.
    pub creation_time_ms: i64,
    /// End, in milliseconds since 1970; 0 while it runs.
    pub finish_time_ms: i64,
}

impl FromWire<yarn::ContainerReportProto> for ContainerReport {
    fn from_wire(wire: yarn::ContainerReportProto) -> Result<Self, Incomplete> {
        Ok(Self {
            id: required(wire.container_id, "id of a container")?,
            node: wire.node_id.map(NodeId::from_wire).transpose()?,
            resource: Resource::optional(wire.resource),
            state: ContainerState::from_number(wire.container_state),
            exit_status: wire.container_exit_status.unwrap_or(exit_status::INVALID),
            diagnostics: wire.diagnostics_info.unwrap_or_default(),
            log_url: wire.log_url.unwrap_or_default(),
            node_http_address: wire.node_http_address.unwrap_or_default(),
            creation_time_ms: wire.creation_time.unwrap_or(0),
            finish_time_ms: wire.finish_time.unwrap_or(0),
        })
    }
}
