//! Whose chunk the disk reads next: the order in which GPU tasks of a node are fed.
//!
//! Source: Y. Liu, H.-W. Tseng, S. Swanson, "SPMario: Scale Up MapReduce with I/O-Oriented Scheduling for the GPU", §III
//! and §IV. One disk feeds the tasks of a node's GPUs in chunks. Each task has few host buffers, so which chunk is read
//! next decides which kernel runs next. Containers (Algorithm 1) take turns at the disk; within a turn a [`ReadOrder`]
//! names the task whose chunk is read.
//!
//! ```text
//!             ┌──────────── ReadDriver ────────────┐
//!  read, ────▶│ ReadState ─▶ ReadOrder::turn       │
//!  freed,     │      └─────▶ ReadOrder::next ──────┼──▶ a task and the bytes of its next chunk
//!  done       └────────────────────────────────────┘
//! ```
//!
//! Node and simulator own a [`ReadDriver`] each and tell it what happens: a chunk is read, a host buffer is free, a
//! chunk is done with what it cost.
//!
//! | order | reads next |
//! |---|---|
//! | [`spmario`](SpMario) | while the GPU has more than one read's time of work the task that waits longest, else the one with the most GPU time for its bytes |
//! | [`spmario-literal`](SpMarioLiteral) | as the paper's pseudocode says, and waits for the task that it names |
//! | [`rr`](RoundRobin) | each job's chunks in turn, some at a time |
//! | [`gpmr`](Gpmr) | every task by itself, one chunk after the other, all beside each other: the paper's baseline |
//!
//! On a node a [`ReadBroker`] owns the driver: the engines of a GPU, a process each, ask it for tokens, and one of them
//! reads at a time.
//!
//! Invariants: comparisons are of integers; ties go to the lower number; a decision looks at each task a fixed number of
//! times.

mod broker;
mod containers;
mod driver;
mod gpmr;
mod named;
mod rr;
mod spmario;
mod spmario_literal;
mod state;
#[cfg(test)]
mod tests;

pub use broker::{
    BROKER_ENGINES, BrokerError, BrokerGrant, ENGINE_TASKS, EngineContainer, EngineIx, EnginePlace,
    ReadBroker, TASK_BUFFERS, TaskReady,
};
pub use containers::{Containers, QUOTA};
pub use driver::ReadDriver;
pub use gpmr::Gpmr;
pub use named::{READ_ORDERS, UnknownReadOrder, read_order};
pub use rr::RoundRobin;
pub use spmario::{Backlog, SpMario};
pub use spmario_literal::SpMarioLiteral;
pub use state::{ChunkCost, ReadState, ReadTask, ReadTaskIx};

use crate::schedule::Nanos;

/// A container's right to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Whose it is.
    pub container: u32,
    /// So many bytes it may still read; a chunk that is larger than what is left is read whole.
    pub quota: u64,
}

/// What the disk does next in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It reads the next chunk of this task, which has a free buffer.
    Read(ReadTaskIx),
    /// It waits for a buffer; the turn goes on.
    Wait,
    /// The turn ends.
    GiveBack,
}

/// In which order chunks are read.
pub trait ReadOrder: std::fmt::Debug + Send {
    /// The next turn; `None` while nobody has a use for one.
    fn turn(&mut self, now: Nanos, state: &ReadState) -> Option<Turn>;

    /// What the disk does next in `turn`. What it names is read: it is not asked twice for one chunk.
    fn next(&mut self, now: Nanos, state: &ReadState, turn: &Turn) -> Next;

    /// Whether tasks read beside each other, each when it can, instead of one after the other.
    fn side_by_side(&self) -> bool {
        false
    }
}
