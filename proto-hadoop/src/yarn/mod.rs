//! YARN in plain Rust types: applications, nodes, containers, and the four typed clients.

mod allocation;
mod application;
pub(crate) mod application_client;
pub(crate) mod application_master;
mod ask;
mod cluster;
mod container;
pub(crate) mod container_management;
mod launch;
mod nm_tokens;
mod node;
mod resource;
pub(crate) mod resource_tracker;
mod rows;
mod submission;

pub use allocation::{
    AllocateRequest, AllocateResponse, AmCommand, Counted, NmToken, PreemptedContainer,
    Registration,
};
pub use application::{
    ApplicationAttemptReport, ApplicationFilter, ApplicationReport, ApplicationUsage,
    FinalApplicationStatus, NewApplication, YarnApplicationState,
};
pub use application_client::{ApplicationClient, Signal};
pub use application_master::ApplicationMasterClient;
pub use ask::{ANY, ResourceRequest};
pub use cluster::{ClusterMetrics, NodeLabel, QueueInfo, QueueShare, QueueState};
pub use container::{Container, ContainerReport, ContainerState, ContainerStatus, exit_status};
pub use container_management::{
    ContainerClient, ContainerFailure, ContainerStart, ContainersAnswer,
};
pub use launch::{
    ContainerLaunch, LocalResource, LocalResourceKind, ResourceUrl, UrlError, Visibility,
};
pub use nm_tokens::NmTokens;
pub use node::{NodeNames, NodeReport, NodeState, newest};
pub use resource::{GPU, MEMORY, Resource, ResourceType, VCORES};
pub use resource_tracker::{
    HeartbeatAnswer, NodeAction, NodeHeartbeat, NodeRegistered, NodeRegistration,
    ResourceTrackerClient,
};
pub use rows::Rows;
pub use submission::ApplicationSubmission;

#[cfg(test)]
mod tests;
