//! PMI-1 and PMI-2, the text by which MPICH's ranks talk to whatever started them; no sockets here.
//!
//! Two halves. [`NodeServer`] sits in the launcher and answers the ranks of one node: each line of
//! a rank goes in, [`Effect`]s come out. [`Exchange`] sits in the ApplicationMaster (AM) and joins
//! the barriers of all nodes.
//!
//! The life of one barrier: every rank of a node sends `barrier_in` → the `NodeServer` gives one
//! [`Effect::Fence`] with all values put on that node since the last barrier → the AM's `Exchange`
//! takes one such set from every launcher and gives the union → [`NodeServer::fence_done`] merges
//! it and lets the ranks go on with `barrier_out`. So a barrier costs one message a node each way,
//! and every `get` after it is answered on the node.
//!
//! Invariants: nothing here does I/O, reads a clock or panics on what a rank or a peer sends; every
//! key, value, line and exchange has a bound that is checked before it is stored.
//!
//! What MPICH 4 and 5 and Intel MPI ask of PMI-1 is here, and what the PMI-2 libraries of MPICH and Slurm
//! ask. A rank chooses with its first line. Names and spawns concern the whole job: they come out as
//! [`Effect::Name`] and [`Effect::Spawn`], and the rank waits for [`NodeServer::name_answer`] or
//! [`NodeServer::spawn_answer`]. Each spawned group of processes has servers, barriers and a
//! key-value space of its own. The version offered is 1.1, so that MPICH 5 does not try barriers
//! over groups of ranks, which 1.2 added. The universe size is said to be unknown, as MPICH's own
//! process manager says unless it is told one.

mod exchange;
mod lines;
mod mapping;
mod message;
mod node;
mod spawn;
mod text;

pub use exchange::{Exchange, ExchangeError};
pub use lines::{LineTooLong, Lines};
pub use mapping::{mapping_of_nodes, mapping_of_runs, process_mapping};
pub use node::{Effect, JobAttributes, JobError, NameRequest, NodeServer, PmiStage};
pub use spawn::{SpawnCommand, SpawnRequest};
pub use text::{Command, LineError};

/// Longest key, bytes. What MPICH's own process manager allows and announces.
pub const KEY_MAX: usize = 64;
/// Longest value, bytes. As [`KEY_MAX`]; MPICH cuts longer ones into pieces itself.
pub const VALUE_MAX: usize = 1024;
/// Longest name of a key-value space, bytes. As [`KEY_MAX`].
pub const KVS_NAME_MAX: usize = 256;
/// Longest line a rank may send, bytes without the newline. A `put` with everything at its maximum
/// needs 1.4 KB; the rest is room for `spawn` and for the words of an abort.
pub const LINE_MAX: usize = 64 * 1024;
/// Most bytes of keys and values that one barrier may carry, over all nodes. A thousand nodes of
/// 64 ranks with two values of 500 bytes each fit.
pub const EXCHANGE_MAX: usize = 64 * 1024 * 1024;
/// Most bytes of keys and values that a group of ranks may keep: as many as one barrier may carry,
/// twice, since an MPI library puts nearly all it has before its first barrier.
pub const SPACE_MAX: usize = 2 * EXCHANGE_MAX;

/// A key and its value.
pub type Pair = (String, String);
