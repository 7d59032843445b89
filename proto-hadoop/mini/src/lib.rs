//! A small ResourceManager and NodeManager on loopback that speak Hadoop's own wire.
//!
//! For running jobs on a machine without Hadoop, through the same code that runs them on a cluster,
//! and for tests of faults that a real daemon will not produce on command.
//!
//! The life of an application: a client gets an id and submits ([`ResourceManager`], port for
//! clients); the scheduler finds a node for the ApplicationMaster; a task calls that node's
//! [`NodeManager`], with a token signed by a key that both know; the node brings the files, writes
//! credentials and launch script, and starts it; the ApplicationMaster registers with the token in
//! its credentials, asks, is granted containers at once where there is room, and starts them on the
//! nodes with the tokens it was given; nodes tell of ended containers in heartbeats; the
//! ApplicationMaster finishes; nodes end and clean up what is left. [`MiniCluster`] puts one
//! ResourceManager and some nodes together.
//!
//! Invariants:
//! - every port listens on loopback alone; who calls as an ApplicationMaster or for one proves a
//!   token, as on a real cluster; the ports for clients and for nodes serve processes of the user
//!   who runs this alone, whose name they may choose;
//! - a container's first process is killed by the kernel when the process that holds the
//!   NodeManager ends, however it ends;
//! - stopping a [`NodeManager`] ends its containers, and returns when they have ended;
//! - requests are bounded and deadlines kept as [`proto_hadoop::server`] says.
//!
//! What it does not do: one queue, one attempt, no preemption, reservations, labels, attributes,
//! further resource types, container updates, ACLs, delegation tokens, Kerberos or high
//! availability; nothing is stored. Files come from `file:` addresses alone, archives are plain
//! `.tar`. Memory and cores are counted, not enforced. There are no web pages; logs stay in the
//! node's folder until it is removed. All containers run as the user who runs this, who can read
//! their credentials anyway.

mod cluster;
mod error;
mod folder;
pub mod node_manager;
pub mod resource_manager;

pub use cluster::{MiniCluster, machine};
pub use error::MiniError;
pub use folder::RunFolder;
pub use node_manager::NodeManager;
pub use resource_manager::ResourceManager;
