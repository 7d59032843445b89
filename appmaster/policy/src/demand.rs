//! What a job wants of the cluster.

use std::num::NonZeroU32;

use crate::Resources;

/// So many processes, each of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Number of processes.
    pub processes: NonZeroU32,
    /// Memory and cores of one process.
    pub unit: Resources,
    /// The user gave the memory of a process: a container is never shrunk below it.
    pub memory_is_explicit: bool,
    /// More processes than the room holds may share it, rather than wait.
    pub oversubscribe: bool,
}
