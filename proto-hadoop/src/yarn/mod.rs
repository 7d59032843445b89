//! YARN in plain Rust types: applications, nodes, containers, and the three typed clients.

mod allocation;
mod application;
mod application_client;
mod application_master;
mod ask;
mod cluster;
mod container;
mod container_management;
mod launch;
mod nm_tokens;
mod node;
mod resource;
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
pub use cluster::{ClusterMetrics, NodeLabel, QueueInfo, QueueState};
pub use container::{Container, ContainerReport, ContainerState, ContainerStatus, exit_status};
pub use container_management::{ContainerClient, ContainerFailure, ContainerStart, Outcome};
pub use launch::{
    ContainerLaunch, LocalResource, LocalResourceKind, ResourceUrl, UrlError, Visibility,
};
pub use nm_tokens::NmTokens;
pub use node::{NodeReport, NodeState};
pub use resource::{Resource, ResourceType};
pub use submission::ApplicationSubmission;

#[cfg(test)]
mod tests;
