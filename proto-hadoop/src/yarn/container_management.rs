//! `ContainerManagementProtocol`: starting, stopping and looking at containers on one node.

use credentials::Token;

use crate::rpc::Idempotence::{AtMostOnce, Idempotent};
use crate::rpc::{CallError, Channel, Login, Timing};
use crate::wire::{self, FromWire, Incomplete, all, required, yarn};
use crate::{ContainerId, NodeId};

use super::{Container, ContainerLaunch, ContainerStatus};

pub(crate) const PROTOCOL: &str = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB";

/// Speaks to one NodeManager, with the node's token.
///
/// All methods fail with [`CallError`]; what fails for single containers is in their [`ContainersAnswer`].
#[derive(Debug)]
pub struct ContainerClient {
    channel: Channel,
}

/// A granted container and what to start in it.
#[derive(Debug, Clone, Copy)]
pub struct ContainerStart<'a> {
    /// As the scheduler granted it.
    pub container: &'a Container,
    /// What to run.
    pub launch: &'a ContainerLaunch,
}

/// What a NodeManager said about several containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainersAnswer<T> {
    /// Done, or known.
    pub succeeded: Vec<T>,
    /// Containers for which it was not done, each with the reason.
    pub failed: Vec<ContainerFailure>,
}

/// Why a NodeManager refused one container.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{id}: {class}: {message}")]
pub struct ContainerFailure {
    /// The container.
    pub id: ContainerId,
    /// Java class of the exception.
    pub class: String,
    /// The NodeManager's words.
    pub message: String,
}

impl ContainerFailure {
    /// The NodeManager does not know the ResourceManager that has granted the container: it has just
    /// been restarted and will once it has registered, or the ResourceManager is another by now.
    #[must_use]
    pub fn is_of_unknown_master(&self) -> bool {
        self.class.ends_with(".InvalidContainerException")
            && self.message.contains("allocated by a previous RM")
    }
}

impl FromWire<yarn::ContainerExceptionMapProto> for ContainerFailure {
    fn from_wire(wire: yarn::ContainerExceptionMapProto) -> Result<Self, Incomplete> {
        let exception = wire.exception.unwrap_or_default();
        Ok(Self {
            id: required(wire.container_id, "id of a refused container")?,
            class: exception.class_name.unwrap_or_default(),
            message: exception.message.unwrap_or_default(),
        })
    }
}

/// A recovered container has no token, and what a NodeManager says to none is not to be foreseen.
fn without(id: ContainerId) -> ContainerFailure {
    ContainerFailure {
        id,
        class: "org.apache.hadoop.yarn.exceptions.InvalidContainerException".into(),
        message: "it has no token, so it was started before".into(),
    }
}

impl ContainerClient {
    /// A client that logs in to `node` with its token. Connects at the first call.
    ///
    /// A connection stays logged in as it began: make a new client when the token changes.
    #[must_use]
    pub fn new(node: &NodeId, token: Token) -> Self {
        let channel = Channel::new(PROTOCOL, vec![node.to_string()], Login::Token(token));
        Self { channel }
    }

    /// Sets the deadlines.
    #[must_use]
    pub fn with_timing(self, timing: Timing) -> Self {
        Self {
            channel: self.channel.with_timing(timing),
        }
    }

    /// How the NodeManager protects the open connection; see
    /// [`ApplicationMasterClient::protection`](crate::ApplicationMasterClient::protection).
    pub async fn protection(&self) -> Option<&'static str> {
        self.channel.protection()
    }

    /// Starts containers. Success means accepted: files are fetched and the process is started
    /// after.
    ///
    /// A grant starts one container once, so this call is not repeated when its answer is lost;
    /// [`statuses`](Self::statuses) tells whether it arrived.
    pub async fn start(
        &self,
        starts: &[ContainerStart<'_>],
    ) -> Result<ContainersAnswer<ContainerId>, CallError> {
        let row = |start: &ContainerStart<'_>| {
            let token = start.container.token.as_ref().ok_or(start.container.id)?;
            Ok(yarn::StartContainerRequestProto {
                container_launch_context: Some(start.launch.into()),
                container_token: Some(wire::token(token)),
            })
        };
        let mut request = yarn::StartContainersRequestProto::default();
        let mut without_token = Vec::new();
        for start in starts {
            match row(start) {
                Ok(row) => request.start_container_request.push(row),
                Err(id) => without_token.push(without(id)),
            }
        }
        let plain = |answer: yarn::StartContainersResponseProto| {
            Ok(ContainersAnswer {
                succeeded: all(answer.succeeded_requests)?,
                failed: all(answer.failed_requests)?,
            })
        };
        let mut outcome = match request.start_container_request.is_empty() {
            true => ContainersAnswer {
                succeeded: Vec::new(),
                failed: Vec::new(),
            },
            false => {
                self.channel
                    .call("startContainers", AtMostOnce, &request, plain)
                    .await?
            }
        };
        outcome.failed.extend(without_token);
        Ok(outcome)
    }

    /// Stops containers: SIGTERM, and SIGKILL a quarter of a second later.
    pub async fn stop(
        &self,
        ids: &[ContainerId],
    ) -> Result<ContainersAnswer<ContainerId>, CallError> {
        let request = yarn::StopContainersRequestProto {
            container_id: ids.iter().map(|&id| id.into()).collect(),
        };
        let plain = |answer: yarn::StopContainersResponseProto| {
            Ok(ContainersAnswer {
                succeeded: all(answer.succeeded_requests)?,
                failed: all(answer.failed_requests)?,
            })
        };
        self.channel
            .call("stopContainers", Idempotent, &request, plain)
            .await
    }

    /// How containers are.
    pub async fn statuses(
        &self,
        ids: &[ContainerId],
    ) -> Result<ContainersAnswer<ContainerStatus>, CallError> {
        let request = yarn::GetContainerStatusesRequestProto {
            container_id: ids.iter().map(|&id| id.into()).collect(),
        };
        let plain = |answer: yarn::GetContainerStatusesResponseProto| {
            Ok(ContainersAnswer {
                succeeded: all(answer.status)?,
                failed: all(answer.failed_requests)?,
            })
        };
        self.channel
            .call("getContainerStatuses", Idempotent, &request, plain)
            .await
    }
}
