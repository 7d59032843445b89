//! What an ApplicationMaster and the scheduler tell each other.

use credentials::Token;

use crate::wire::{FromWire, Incomplete, readable, required, yarn};
use crate::{ContainerId, NodeId};

use super::{Container, ContainerStatus, NodeReport, Resource, ResourceRequest, ResourceType};

/// Log-in to one NodeManager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NmToken {
    /// The NodeManager.
    pub node: NodeId,
    /// The log-in.
    pub token: Token,
}

impl FromWire<yarn::NmTokenProto> for NmToken {
    fn from_wire(wire: yarn::NmTokenProto) -> Result<Self, Incomplete> {
        Ok(Self {
            node: required(wire.node_id, "node of an NM token")?,
            token: required(wire.token, "NM token")?,
        })
    }
}

/// What the scheduler counts when it compares sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Memory alone: granted cores come back as 1, whatever was asked for.
    Memory,
    /// Memory and cores (and further types).
    MemoryAndCpu,
}

/// The answer to registering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The largest container that is granted.
    pub maximum: Resource,
    /// The queue the application runs in.
    pub queue: String,
    /// What the scheduler counts.
    pub counted: Counted,
    /// Resource types that the ResourceManager knows.
    pub resource_types: Vec<ResourceType>,
    /// Containers kept from an earlier attempt.
    pub previous_containers: Vec<Container>,
    /// Log-ins to the nodes of those.
    pub nm_tokens: Vec<NmToken>,
}

impl FromWire<yarn::RegisterApplicationMasterResponseProto> for Registration {
    fn from_wire(wire: yarn::RegisterApplicationMasterResponseProto) -> Result<Self, Incomplete> {
        let cpu = i32::from(yarn::SchedulerResourceTypes::Cpu);
        let counts_cpu = wire.scheduler_resource_types.contains(&cpu);
        Ok(Self {
            maximum: Resource::optional(wire.maximum_capability),
            queue: wire.queue.unwrap_or_default(),
            counted: if counts_cpu {
                Counted::MemoryAndCpu
            } else {
                Counted::Memory
            },
            resource_types: readable(wire.resource_types, "resource types").into(),
            previous_containers: readable(
                wire.containers_from_previous_attempts,
                "earlier containers",
            )
            .into(),
            nm_tokens: readable(wire.nm_tokens_from_previous_attempts, "NM tokens").into(),
        })
    }
}

/// One heartbeat of an ApplicationMaster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AllocateRequest {
    /// Rows that change; see [`ResourceRequest`].
    pub asks: Vec<ResourceRequest>,
    /// Containers to give back.
    pub releases: Vec<ContainerId>,
    /// Share of the work that is done, 0 to 1.
    pub progress: f32,
    /// Hosts to use no more.
    pub blacklist_additions: Vec<String>,
    /// Hosts to use again.
    pub blacklist_removals: Vec<String>,
}

impl AllocateRequest {
    pub(crate) fn to_wire(&self, response_id: i32) -> yarn::AllocateRequestProto {
        let blacklist = !self.blacklist_additions.is_empty() || !self.blacklist_removals.is_empty();
        yarn::AllocateRequestProto {
            ask: self.asks.iter().map(Into::into).collect(),
            release: self.releases.iter().map(|&id| id.into()).collect(),
            blacklist_request: blacklist.then(|| yarn::ResourceBlacklistRequestProto {
                blacklist_additions: self.blacklist_additions.clone(),
                blacklist_removals: self.blacklist_removals.clone(),
            }),
            response_id: Some(response_id),
            progress: Some(self.progress),
            ..yarn::AllocateRequestProto::default()
        }
    }
}

/// A container that the scheduler wants back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreemptedContainer {
    /// YARN's id of that container.
    pub id: ContainerId,
    /// It will be taken; otherwise giving back others of the same size saves it.
    pub strict: bool,
}

/// What an old-style ResourceManager orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmCommand {
    /// Register again and send the whole table.
    Resync,
    /// End: this attempt is not the application's any more.
    Shutdown,
}

/// The answer to one heartbeat.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AllocateResponse {
    /// New containers.
    pub allocated: Vec<Container>,
    /// Containers that ended; each is told once.
    pub completed: Vec<ContainerStatus>,
    /// Nodes whose state changed.
    pub updated_nodes: Vec<NodeReport>,
    /// What the application may still get; an estimate.
    pub headroom: Resource,
    /// Nodes in the cluster.
    pub cluster_nodes: u32,
    /// Containers that the scheduler wants back.
    pub preempted: Vec<PreemptedContainer>,
    /// Log-ins to nodes, each told once and again when it changes; keep them in
    /// [`NmTokens`](super::NmTokens).
    pub nm_tokens: Vec<NmToken>,
    /// Containers of earlier attempts that came back after a restart of the ResourceManager.
    pub previous_containers: Vec<Container>,
    /// An order, from ResourceManagers that do not use exceptions for it.
    pub command: Option<AmCommand>,
}

impl AllocateResponse {
    /// Puts a later answer behind this one.
    pub(crate) fn followed_by(mut self, later: Self) -> Self {
        self.allocated.extend(later.allocated);
        self.completed.extend(later.completed);
        self.updated_nodes.extend(later.updated_nodes);
        self.nm_tokens.extend(later.nm_tokens);
        // Each is told once.
        self.preempted.extend(later.preempted);
        self.previous_containers.extend(later.previous_containers);
        Self {
            headroom: later.headroom,
            cluster_nodes: later.cluster_nodes,
            command: later.command.or(self.command),
            ..self
        }
    }
}

impl FromWire<yarn::AllocateResponseProto> for AllocateResponse {
    fn from_wire(wire: yarn::AllocateResponseProto) -> Result<Self, Incomplete> {
        let command = match wire.a_m_command.and_then(|number| number.try_into().ok()) {
            Some(yarn::AmCommandProto::AmResync) => Some(AmCommand::Resync),
            Some(yarn::AmCommandProto::AmShutdown) => Some(AmCommand::Shutdown),
            None => None,
        };
        let message = wire.preempt.unwrap_or_default();
        let strict = message.strict_contract.unwrap_or_default().container;
        let negotiable = message.contract.unwrap_or_default().container;
        let mut preempted = Vec::new();
        for (rows, strict) in [(strict, true), (negotiable, false)] {
            for row in rows {
                let id = required(row.id, "id of a preempted container").ok();
                preempted.extend(id.map(|id| PreemptedContainer { id, strict }));
            }
        }
        Ok(Self {
            allocated: readable(wire.allocated_containers, "containers").into(),
            completed: readable(wire.completed_container_statuses, "ended containers").into(),
            updated_nodes: readable(wire.updated_nodes, "nodes").into(),
            headroom: Resource::optional(wire.limit),
            cluster_nodes: wire.num_cluster_nodes.unwrap_or(0).try_into().unwrap_or(0),
            preempted,
            nm_tokens: readable(wire.nm_tokens, "NM tokens").into(),
            previous_containers: readable(
                wire.containers_from_previous_attempts,
                "earlier containers",
            )
            .into(),
            command,
        })
    }
}
