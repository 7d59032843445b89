#![doc = include_str!("../README.md")]

pub mod conf;
pub mod server;
pub mod yarn;

mod auth;
mod id;
mod name_node;
mod rpc;
mod wire;

pub use auth::SaslError;
pub use credentials;
pub use id::{AppAttemptId, ApplicationId, ContainerId, IdError, NodeId};
pub use name_node::{
    Block, DataNode, FileBlocks, ListingEntry, Locations, NameNodeClient, PlainBlock,
};
pub use rpc::{CallError, Disposition, Idempotence, Timing, disposition};
pub use yarn::{
    ApplicationClient, ApplicationMasterClient, ContainerClient, ResourceTrackerClient,
};
