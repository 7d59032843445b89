//! What a node's server is told of the job.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::{KVS_NAME_MAX, Pair};

/// What the ranks of one node need to know about the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobAttributes {
    /// Ranks in the whole job.
    pub size: u32,
    /// Those of this node.
    pub ranks: Vec<u32>,
    /// Name of the key-value space: no blanks, 1..=[`KVS_NAME_MAX`] bytes. MPICH derives the names
    /// of its shared memory segments from it, so two jobs on a node must never share one, and
    /// neither may a job and the leftovers of a killed one.
    pub kvs_name: String,
    /// Value of `PMI_process_mapping`; empty: the ranks find out themselves.
    pub process_mapping: String,
    /// Which of the job's programs a rank runs, counted from 0; a rank that is not here runs the
    /// first.
    pub appnums: BTreeMap<u32, u32>,
    /// What the key-value space begins with.
    pub preputs: Vec<Pair>,
    /// Other ranks have spawned these.
    pub spawned: bool,
    /// How many processes the job may become, spawned ones included; `None`: unknown.
    pub universe: Option<u32>,
}

/// A [`JobAttributes`] that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JobError {
    /// Ranks are `0..size`, each once, and there is one at least.
    #[error("rank {rank} does not belong into a job of {size}, or was named twice")]
    Rank {
        /// The rank.
        rank: u32,
        /// Size of the job.
        size: u32,
    },
    /// No ranks at all.
    #[error("a node without ranks")]
    NoRanks,
    /// See [`JobAttributes::kvs_name`].
    #[error("{name:?} cannot name a key-value space (1 to {KVS_NAME_MAX} bytes, no blanks)")]
    KvsName {
        /// The name.
        name: String,
    },
}
