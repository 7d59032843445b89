//! The protocols, as traits of plain types, and the way from a method's name to the trait.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use credentials::Token;
use prost::Message;

use crate::wire::{FromWire, all, required, yarn};
use crate::yarn::{
    AllocateRequest, AllocateResponse, ApplicationFilter, ApplicationReport, ApplicationSubmission,
    ClusterMetrics, ContainerLaunch, ContainerStatus, ContainersAnswer, FinalApplicationStatus,
    HeartbeatAnswer, NewApplication, NodeHeartbeat, NodeRegistered, NodeRegistration, NodeReport,
    NodeState, QueueInfo, Registration, ResourceType, application_client, application_master,
    container_management, resource_tracker,
};
use crate::{ApplicationId, ContainerId, NodeId};

use super::{Caller, Refusal};

/// `registerApplicationMaster`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterCall {
    /// Where the ApplicationMaster listens.
    pub host: String,
    /// Its port, when it has one.
    pub port: Option<u16>,
    /// Its web address; may be empty.
    pub tracking_url: String,
}

/// `allocate`.
#[derive(Debug, Clone, PartialEq)]
pub struct AllocateCall {
    /// From the last answer; 0 after registering.
    pub response_id: i32,
    /// What is asked for, given back and told.
    pub request: AllocateRequest,
}

/// The answer to `allocate`.
#[derive(Debug, Clone, PartialEq)]
pub struct AllocateAnswer {
    /// For the next call.
    pub response_id: i32,
    /// What was granted, and what has ended.
    pub response: AllocateResponse,
    /// The ApplicationMaster's next log-in, when the key has changed.
    pub token: Option<Token>,
}

/// `finishApplicationMaster`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishCall {
    /// How it ended.
    pub status: FinalApplicationStatus,
    /// Why it ended so, for people; may be empty.
    pub diagnostics: String,
    /// Web address of what remains of it.
    pub tracking_url: String,
}

/// One container of `startContainers`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartCall {
    /// What to run.
    pub launch: ContainerLaunch,
    /// That it was granted.
    pub token: Token,
}

/// `ApplicationClientProtocol`, the part of it that is served. All fail with a [`Refusal`].
pub trait ApplicationClientService: Send + Sync + 'static {
    /// `getNewApplication`.
    fn new_application(&self) -> Result<NewApplication, Refusal>;
    /// `submitApplication`.
    fn submit(&self, user: &str, submission: ApplicationSubmission) -> Result<(), Refusal>;
    /// `getApplicationReport`, as `user` may see it.
    fn report(&self, user: &str, id: ApplicationId) -> Result<ApplicationReport, Refusal>;
    /// `forceKillApplication`: whether that is in the books.
    fn kill(&self, user: &str, id: ApplicationId, reason: &str) -> Result<bool, Refusal>;
    /// `getApplications`.
    fn applications(&self, filter: &ApplicationFilter) -> Result<Vec<ApplicationReport>, Refusal>;
    /// `getClusterMetrics`.
    fn metrics(&self) -> Result<ClusterMetrics, Refusal>;
    /// `getClusterNodes`, in all states when `states` is empty.
    fn nodes(&self, states: &[NodeState]) -> Result<Vec<NodeReport>, Refusal>;
    /// `getQueueInfo`.
    fn queue(&self, name: &str) -> Result<Option<QueueInfo>, Refusal>;
    /// `getResourceTypeInfo`.
    fn resource_types(&self) -> Result<Vec<ResourceType>, Refusal>;
}

/// `ApplicationMasterProtocol`. `token` is the identifier that the ApplicationMaster logged in with.
pub trait ApplicationMasterService: Send + Sync + 'static {
    /// `registerApplicationMaster`.
    fn register(&self, token: &[u8], call: RegisterCall) -> Result<Registration, Refusal>;
    /// `allocate`.
    fn allocate(&self, token: &[u8], call: AllocateCall) -> Result<AllocateAnswer, Refusal>;
    /// `finishApplicationMaster`: whether that is in the books.
    fn finish(&self, token: &[u8], call: FinishCall) -> Result<bool, Refusal>;
}

/// `ContainerManagementProtocol`, the part of it that is served. `token` is the identifier of the
/// NM token that the caller logged in with.
pub trait ContainerManagementService: Send + Sync + 'static {
    /// `startContainers`.
    fn start(
        &self,
        token: &[u8],
        calls: Vec<StartCall>,
    ) -> Result<ContainersAnswer<ContainerId>, Refusal>;
    /// `stopContainers`.
    fn stop(
        &self,
        token: &[u8],
        ids: Vec<ContainerId>,
    ) -> Result<ContainersAnswer<ContainerId>, Refusal>;
    /// `getContainerStatuses`.
    fn statuses(
        &self,
        token: &[u8],
        ids: Vec<ContainerId>,
    ) -> Result<ContainersAnswer<ContainerStatus>, Refusal>;
}

/// `ResourceTracker`.
pub trait ResourceTrackerService: Send + Sync + 'static {
    /// `registerNodeManager`.
    fn register(&self, registration: NodeRegistration) -> Result<NodeRegistered, Refusal>;
    /// `nodeHeartbeat`.
    fn heartbeat(&self, beat: NodeHeartbeat) -> Result<HeartbeatAnswer, Refusal>;
    /// `unRegisterNodeManager`.
    fn unregister(&self, node: NodeId) -> Result<(), Refusal>;
}

/// One of the protocols, with the service that answers it.
pub struct Protocol {
    name: &'static str,
    serve: Box<Serve>,
}

type Serve = dyn Fn(&Caller, &str, Bytes) -> Result<Vec<u8>, Refusal> + Send + Sync;

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Protocol").field(&self.name).finish()
    }
}

/// Decodes, runs, encodes.
fn one<Q, A>(
    parameter: Bytes,
    run: impl FnOnce(Q) -> Result<A, Refusal>,
) -> Result<Vec<u8>, Refusal>
where
    Q: Message + Default,
    A: Message,
{
    let request = Q::decode(parameter).map_err(|error| Refusal::undecodable(&error))?;
    Ok(run(request)?.encode_length_delimited_to_vec())
}

impl Protocol {
    /// The protocol's Java name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn call(
        &self,
        caller: &Caller,
        method: &str,
        parameter: Bytes,
    ) -> Result<Vec<u8>, Refusal> {
        (self.serve)(caller, method, parameter)
    }

    /// `ApplicationClientProtocol`, behind [`Door::User`](super::Door).
    pub fn application_client(service: Arc<impl ApplicationClientService>) -> Self {
        let name = application_client::PROTOCOL;
        let serve = move |caller: &Caller, method: &str, parameter| {
            client_call(&*service, caller, method, parameter)
        };
        Self {
            name,
            serve: Box::new(serve),
        }
    }

    /// `ApplicationMasterProtocol`, behind [`Door::Token`](super::Door).
    pub fn application_master(service: Arc<impl ApplicationMasterService>) -> Self {
        let name = application_master::PROTOCOL;
        let serve = move |caller: &Caller, method: &str, parameter| {
            let token = bearer(caller)?;
            match method {
                "registerApplicationMaster" => one(parameter, |request| {
                    let call = RegisterCall::from_wire(request)?;
                    let answer = service.register(token, call)?;
                    Ok(yarn::RegisterApplicationMasterResponseProto::from(&answer))
                }),
                "allocate" => one(parameter, |request| {
                    let call = AllocateCall::from_wire(request)?;
                    let answer = service.allocate(token, call)?;
                    Ok(yarn::AllocateResponseProto::from(&answer))
                }),
                "finishApplicationMaster" => one(parameter, |request| {
                    let done = service.finish(token, FinishCall::from_wire(request)?)?;
                    Ok(yarn::FinishApplicationMasterResponseProto {
                        is_unregistered: Some(done),
                    })
                }),
                _ => Err(Refusal::no_such_method(method, name)),
            }
        };
        Self {
            name,
            serve: Box::new(serve),
        }
    }

    /// `ContainerManagementProtocol`, behind [`Door::Token`](super::Door).
    pub fn container_management(service: Arc<impl ContainerManagementService>) -> Self {
        let name = container_management::PROTOCOL;
        let serve = move |caller: &Caller, method: &str, parameter| {
            container_call(&*service, bearer(caller)?, method, parameter)
        };
        Self {
            name,
            serve: Box::new(serve),
        }
    }

    /// `ResourceTracker`, behind [`Door::User`](super::Door).
    pub fn resource_tracker(service: Arc<impl ResourceTrackerService>) -> Self {
        let name = resource_tracker::PROTOCOL;
        let serve = move |_caller: &Caller, method: &str, parameter| match method {
            "registerNodeManager" => one(parameter, |request| {
                let answer = service.register(NodeRegistration::from_wire(request)?)?;
                Ok(yarn::RegisterNodeManagerResponseProto::from(&answer))
            }),
            "nodeHeartbeat" => one(parameter, |request| {
                let answer = service.heartbeat(NodeHeartbeat::from_wire(request)?)?;
                Ok(yarn::NodeHeartbeatResponseProto::from(&answer))
            }),
            "unRegisterNodeManager" => one(
                parameter,
                |request: yarn::UnRegisterNodeManagerRequestProto| {
                    service.unregister(required(request.node_id, "node id")?)?;
                    Ok(yarn::UnRegisterNodeManagerResponseProto {})
                },
            ),
            _ => Err(Refusal::no_such_method(method, name)),
        };
        Self {
            name,
            serve: Box::new(serve),
        }
    }
}

/// The identifier of the token that a caller behind a token door came with.
fn bearer(caller: &Caller) -> Result<&[u8], Refusal> {
    match caller {
        Caller::Token(identifier) => Ok(identifier),
        Caller::User(user) => Err(Refusal::new(
            "org.apache.hadoop.security.AccessControlException",
            format!("{user} has no token"),
        )),
    }
}

fn client_call(
    service: &impl ApplicationClientService,
    caller: &Caller,
    method: &str,
    parameter: Bytes,
) -> Result<Vec<u8>, Refusal> {
    let user = match caller {
        Caller::User(user) => user.as_str(),
        Caller::Token(_) => "",
    };
    match method {
        "getNewApplication" => one(parameter, |_: yarn::GetNewApplicationRequestProto| {
            let new = service.new_application()?;
            Ok(yarn::GetNewApplicationResponseProto {
                application_id: Some(new.id.into()),
                maximum_capability: Some((&new.maximum).into()),
            })
        }),
        "submitApplication" => one(parameter, |request: yarn::SubmitApplicationRequestProto| {
            let submission = request.application_submission_context;
            service.submit(user, required(submission, "submission")?)
        }),
        "getApplicationReport" => one(
            parameter,
            |request: yarn::GetApplicationReportRequestProto| {
                let id = required(request.application_id, "application id")?;
                let report = service.report(user, id)?;
                Ok(yarn::GetApplicationReportResponseProto {
                    application_report: Some((&report).into()),
                })
            },
        ),
        "forceKillApplication" => one(parameter, |request: yarn::KillApplicationRequestProto| {
            let reason = request.diagnostics.unwrap_or_default();
            let id = required(request.application_id, "application id")?;
            Ok(yarn::KillApplicationResponseProto {
                is_kill_completed: Some(service.kill(user, id, &reason)?),
            })
        }),
        "getApplications" => one(parameter, |request| {
            let found = service.applications(&ApplicationFilter::from_wire(request)?)?;
            Ok(yarn::GetApplicationsResponseProto {
                applications: found.iter().map(Into::into).collect(),
            })
        }),
        "getClusterMetrics" => one(parameter, |_: yarn::GetClusterMetricsRequestProto| {
            Ok(yarn::GetClusterMetricsResponseProto {
                cluster_metrics: Some((&service.metrics()?).into()),
            })
        }),
        "getClusterNodes" => one(parameter, |request: yarn::GetClusterNodesRequestProto| {
            let states = request.node_states.into_iter();
            let states: Vec<NodeState> = states
                .map(|number| NodeState::from_number(Some(number)))
                .collect();
            let nodes = service.nodes(&states)?;
            Ok(yarn::GetClusterNodesResponseProto {
                node_reports: nodes.iter().map(Into::into).collect(),
            })
        }),
        "getQueueInfo" => one(parameter, |request: yarn::GetQueueInfoRequestProto| {
            let queue = service.queue(request.queue_name())?;
            Ok(yarn::GetQueueInfoResponseProto {
                queue_info: queue.as_ref().map(Into::into),
            })
        }),
        "getResourceTypeInfo" => one(parameter, |_: yarn::GetAllResourceTypeInfoRequestProto| {
            let types = service.resource_types()?;
            Ok(yarn::GetAllResourceTypeInfoResponseProto {
                resource_type_info: types.iter().map(Into::into).collect(),
            })
        }),
        _ => Err(Refusal::no_such_method(
            method,
            application_client::PROTOCOL,
        )),
    }
}

fn container_call(
    service: &impl ContainerManagementService,
    token: &[u8],
    method: &str,
    parameter: Bytes,
) -> Result<Vec<u8>, Refusal> {
    match method {
        "startContainers" => one(parameter, |request: yarn::StartContainersRequestProto| {
            let outcome = service.start(token, all(request.start_container_request)?)?;
            Ok(yarn::StartContainersResponseProto {
                services_meta_data: Vec::new(),
                succeeded_requests: outcome.succeeded.iter().map(|&id| id.into()).collect(),
                failed_requests: outcome.failed.iter().map(Into::into).collect(),
            })
        }),
        "stopContainers" => one(parameter, |request: yarn::StopContainersRequestProto| {
            let outcome = service.stop(token, all(request.container_id)?)?;
            Ok(yarn::StopContainersResponseProto {
                succeeded_requests: outcome.succeeded.iter().map(|&id| id.into()).collect(),
                failed_requests: outcome.failed.iter().map(Into::into).collect(),
            })
        }),
        "getContainerStatuses" => one(
            parameter,
            |request: yarn::GetContainerStatusesRequestProto| {
                let outcome = service.statuses(token, all(request.container_id)?)?;
                Ok(yarn::GetContainerStatusesResponseProto {
                    status: outcome.succeeded.iter().map(Into::into).collect(),
                    failed_requests: outcome.failed.iter().map(Into::into).collect(),
                })
            },
        ),
        _ => Err(Refusal::no_such_method(
            method,
            container_management::PROTOCOL,
        )),
    }
}
