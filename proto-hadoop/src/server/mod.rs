//! The server half of Hadoop RPC, for daemons that are made of this crate.
//!
//! A [`Server`] listens with one [`Protocol`]; its [`Door`] says who may come in: processes of our
//! own user on this machine, or bearers of tokens that a [`Keyring`] knows. Each connection is one task: opening
//! bytes, log-in, then calls in the order in which they come. What a call does is in the hands of a
//! service, a trait of plain types for each protocol: [`ApplicationClientService`],
//! [`ApplicationMasterService`], [`ContainerManagementService`], [`ResourceTrackerService`].
//!
//! Invariants: at most [`CONNECTIONS`] connections at a time; a log-in that takes longer than
//! [`LOG_IN`], a frame that does not become whole within [`WHOLE`] or an answer that is not taken
//! within it, and a connection silent for [`IDLE`] are ended; frames beyond [`REQUEST_MAX`] bytes
//! are not read. Services answer at once: they do not wait.
//!
//! Caveats: no Kerberos, no protection after the log-in (quality `auth`), no service-level
//! authorization, no retry cache (YARN's own servers have none either).
//!
//! Follows `org.apache.hadoop.ipc.Server` of Hadoop 3.4.

mod answers;
mod connection;
mod fault;
mod identifier;
mod key;
mod listener;
mod log_in;
mod neighbour;
mod refusal;
mod requests;
mod services;

pub use connection::{IDLE, LOG_IN, REQUEST_MAX, WHOLE};
pub use fault::{Fault, Faults};
pub use identifier::{AmRmIdentifier, ContainerIdentifier, IdentifierError, NmIdentifier};
pub use key::MasterKey;
pub use listener::{CONNECTIONS, Caller, Door, Server};
pub use log_in::Keyring;
pub use refusal::Refusal;
pub use services::{
    AllocateAnswer, AllocateCall, ApplicationClientService, ApplicationMasterService,
    ContainerManagementService, FinishCall, Protocol, RegisterCall, ResourceTrackerService,
    StartCall,
};

#[cfg(test)]
mod tests;
