//! `ApplicationClientProtocol`: what users ask the ResourceManager (port 8032).

use std::collections::BTreeMap;

use crate::rpc::Idempotence::{AtMostOnce, Idempotent};
use crate::rpc::{CallError, Channel, Login, Timing};
use crate::wire::{FromWire, nothing, readable, required, yarn};
use crate::{AppAttemptId, ApplicationId, ContainerId, NodeId};

use super::{
    ApplicationAttemptReport, ApplicationFilter, ApplicationReport, ApplicationSubmission,
    ClusterMetrics, ContainerReport, NewApplication, NodeLabel, NodeReport, NodeState, QueueInfo,
    Resource, ResourceType, Rows,
};

pub(crate) const PROTOCOL: &str = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB";

/// Speaks for one user to the ResourceManager, whichever of its addresses is the active one.
///
/// Calls may run at the same time; they share one connection.
///
/// All methods fail with [`CallError`]: the server's own exception, or what went wrong on the way.
#[derive(Debug)]
pub struct ApplicationClient {
    channel: Channel,
}

/// What to tell a container's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGQUIT, at which a JVM prints its threads.
    ThreadDump,
    /// SIGTERM, which a program may catch.
    Graceful,
    /// SIGKILL, which none can.
    Forceful,
}

impl ApplicationClient {
    /// A client that believes to be `user` on a cluster without Kerberos. Connects at the first
    /// call. `addresses` are `host:port`, as
    /// [`resource_managers`](crate::conf::Configuration::resource_managers) gives them.
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

    /// Reserves an id, and tells the largest container.
    pub async fn new_application(&self) -> Result<NewApplication, CallError> {
        let request = yarn::GetNewApplicationRequestProto {};
        let plain = |answer: yarn::GetNewApplicationResponseProto| {
            Ok(NewApplication {
                id: required(answer.application_id, "application id")?,
                maximum: Resource::optional(answer.maximum_capability),
            })
        };
        self.channel
            .call("getNewApplication", Idempotent, &request, plain)
            .await
    }

    /// Hands an application in. Returns when the ResourceManager has it in its books; a queue that
    /// does not exist shows up later, as state `Failed` with the reason in the diagnostics.
    /// Handing in the same id again does nothing.
    pub async fn submit(&self, submission: &ApplicationSubmission) -> Result<(), CallError> {
        let request = yarn::SubmitApplicationRequestProto {
            application_submission_context: Some(submission.into()),
        };
        self.channel
            .call("submitApplication", Idempotent, &request, nothing)
            .await
    }

    /// Where an application stands.
    pub async fn report(&self, id: &ApplicationId) -> Result<ApplicationReport, CallError> {
        let request = yarn::GetApplicationReportRequestProto {
            application_id: Some((*id).into()),
        };
        let plain = |answer: yarn::GetApplicationReportResponseProto| {
            required(answer.application_report, "application report")
        };
        self.channel
            .call("getApplicationReport", Idempotent, &request, plain)
            .await
    }

    /// Asks for an application's end; true once that is in the books, so repeat until then. The
    /// report may say so a moment later.
    pub async fn kill(&self, id: &ApplicationId, reason: Option<&str>) -> Result<bool, CallError> {
        let request = yarn::KillApplicationRequestProto {
            application_id: Some((*id).into()),
            diagnostics: reason.map(str::to_owned),
        };
        let plain = |answer: yarn::KillApplicationResponseProto| Ok(answer.is_kill_completed());
        self.channel
            .call("forceKillApplication", Idempotent, &request, plain)
            .await
    }

    /// Applications that the ResourceManager remembers, in the order of their ids.
    pub async fn applications(
        &self,
        filter: &ApplicationFilter,
    ) -> Result<Rows<ApplicationReport>, CallError> {
        let request = yarn::GetApplicationsRequestProto::from(filter);
        let plain = |answer: yarn::GetApplicationsResponseProto| {
            Ok(readable(answer.applications, "applications"))
        };
        let mut found: Rows<ApplicationReport> = self
            .channel
            .call("getApplications", Idempotent, &request, plain)
            .await?;
        found.sort_by_key(|report| report.id);
        Ok(found)
    }

    /// Nodes in one of `states` (in all states when empty), in the order of their ids.
    pub async fn nodes(&self, states: &[NodeState]) -> Result<Rows<NodeReport>, CallError> {
        let request = yarn::GetClusterNodesRequestProto {
            node_states: states.iter().filter_map(|state| state.number()).collect(),
        };
        let plain =
            |answer: yarn::GetClusterNodesResponseProto| Ok(readable(answer.node_reports, "nodes"));
        let mut found: Rows<NodeReport> = self
            .channel
            .call("getClusterNodes", Idempotent, &request, plain)
            .await?;
        found.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(found)
    }

    /// How many nodes are in which state.
    pub async fn cluster_metrics(&self) -> Result<ClusterMetrics, CallError> {
        let request = yarn::GetClusterMetricsRequestProto {};
        let plain = |answer: yarn::GetClusterMetricsResponseProto| {
            required(answer.cluster_metrics, "cluster metrics")
        };
        self.channel
            .call("getClusterMetrics", Idempotent, &request, plain)
            .await
    }

    /// One queue, by leaf name or path, and the queues below it; `None` when there is no such
    /// queue.
    pub async fn queue_info(&self, name: &str) -> Result<Option<QueueInfo>, CallError> {
        let request = yarn::GetQueueInfoRequestProto {
            queue_name: Some(name.to_owned()),
            include_applications: Some(false),
            include_child_queues: Some(true),
            recursive: Some(true),
            sub_cluster_id: None,
        };
        let plain = |answer: yarn::GetQueueInfoResponseProto| {
            answer.queue_info.map(QueueInfo::from_wire).transpose()
        };
        self.channel
            .call("getQueueInfo", Idempotent, &request, plain)
            .await
    }

    /// The resource types that the ResourceManager knows, memory and cores included.
    pub async fn resource_types(&self) -> Result<Rows<ResourceType>, CallError> {
        let request = yarn::GetAllResourceTypeInfoRequestProto {};
        let plain = |answer: yarn::GetAllResourceTypeInfoResponseProto| {
            Ok(readable(answer.resource_type_info, "resource types"))
        };
        self.channel
            .call("getResourceTypeInfo", Idempotent, &request, plain)
            .await
    }

    /// All attempts of an application, oldest first.
    pub async fn attempts(
        &self,
        id: &ApplicationId,
    ) -> Result<Rows<ApplicationAttemptReport>, CallError> {
        let request = yarn::GetApplicationAttemptsRequestProto {
            application_id: Some((*id).into()),
        };
        let plain = |answer: yarn::GetApplicationAttemptsResponseProto| {
            Ok(readable(answer.application_attempts, "attempts"))
        };
        let mut found: Rows<ApplicationAttemptReport> = self
            .channel
            .call("getApplicationAttempts", Idempotent, &request, plain)
            .await?;
        found.sort_by_key(|report| report.id);
        Ok(found)
    }

    /// Containers of an attempt that the ResourceManager remembers, in the order of their ids.
    pub async fn containers(
        &self,
        attempt: &AppAttemptId,
    ) -> Result<Rows<ContainerReport>, CallError> {
        let request = yarn::GetContainersRequestProto {
            application_attempt_id: Some((*attempt).into()),
        };
        let plain = |answer: yarn::GetContainersResponseProto| {
            Ok(readable(answer.containers, "containers"))
        };
        let mut found: Rows<ContainerReport> = self
            .channel
            .call("getContainers", Idempotent, &request, plain)
            .await?;
        found.sort_by_key(|report| report.id);
        Ok(found)
    }

    /// Signals a container's process, through the node's next heartbeat.
    pub async fn signal_container(
        &self,
        id: &ContainerId,
        signal: Signal,
    ) -> Result<(), CallError> {
        use yarn::SignalContainerCommandProto as Wire;
        let command = match signal {
            Signal::ThreadDump => Wire::OutputThreadDump,
            Signal::Graceful => Wire::GracefulShutdown,
            Signal::Forceful => Wire::ForcefulShutdown,
        };
        let request = yarn::SignalContainerRequestProto {
            container_id: (*id).into(),
            command: command.into(),
        };
        self.channel
            .call("signalToContainer", AtMostOnce, &request, nothing)
            .await
    }

    /// Ends an attempt; the application goes on with the next, if it may have one.
    pub async fn fail_attempt(&self, attempt: &AppAttemptId) -> Result<(), CallError> {
        let request = yarn::FailApplicationAttemptRequestProto {
            application_attempt_id: Some((*attempt).into()),
        };
        self.channel
            .call("failApplicationAttempt", AtMostOnce, &request, nothing)
            .await
    }

    /// Moves an application to another queue.
    pub async fn move_to_queue(&self, id: &ApplicationId, queue: &str) -> Result<(), CallError> {
        let request = yarn::MoveApplicationAcrossQueuesRequestProto {
            application_id: (*id).into(),
            target_queue: queue.to_owned(),
        };
        self.channel
            .call("moveApplicationAcrossQueues", Idempotent, &request, nothing)
            .await
    }

    /// Changes an application's priority (larger is more urgent); returns what it became.
    pub async fn update_priority(
        &self,
        id: &ApplicationId,
        priority: i32,
    ) -> Result<i32, CallError> {
        let request = yarn::UpdateApplicationPriorityRequestProto {
            application_id: (*id).into(),
            application_priority: yarn::PriorityProto {
                priority: Some(priority),
            },
        };
        let plain = |answer: yarn::UpdateApplicationPriorityResponseProto| {
            Ok(answer
                .application_priority
                .and_then(|wire| wire.priority)
                .unwrap_or(priority))
        };
        self.channel
            .call("updateApplicationPriority", Idempotent, &request, plain)
            .await
    }

    /// The partitions of the cluster.
    pub async fn node_labels(&self) -> Result<Rows<NodeLabel>, CallError> {
        let request = yarn::GetClusterNodeLabelsRequestProto {};
        let plain = |answer: yarn::GetClusterNodeLabelsResponseProto| {
            Ok(readable(answer.node_labels, "node labels"))
        };
        self.channel
            .call("getClusterNodeLabels", Idempotent, &request, plain)
            .await
    }

    /// The partition of each node that is not in the default one.
    pub async fn labels_of_nodes(&self) -> Result<BTreeMap<NodeId, Vec<String>>, CallError> {
        let request = yarn::GetNodesToLabelsRequestProto {};
        let plain = |answer: yarn::GetNodesToLabelsResponseProto| {
            let row = |row: yarn::NodeIdToLabelsProto| {
                let node: Result<NodeId, _> = required(row.node_id, "id of a node");
                Some((node.ok()?, row.node_labels))
            };
            Ok(answer.node_to_labels.into_iter().filter_map(row).collect())
        };
        self.channel
            .call("getNodeToLabels", Idempotent, &request, plain)
            .await
    }
}
