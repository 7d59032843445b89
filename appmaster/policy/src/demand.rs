//! What a job wants of the cluster.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::{Mode, Numbering, Resources};

/// So many processes, each of one unit, and the rules by which they may be placed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// Number of processes.
    pub processes: NonZeroU32,
    /// Memory and cores of one process.
    pub unit: Resources,
    /// The user gave the memory of a process: a container is never shrunk below it.
    pub memory_is_explicit: bool,
    /// More processes than the room holds may share it, rather than wait.
    pub oversubscribe: bool,
    /// What of the list may be relaxed.
    pub mode: Mode,
    /// The nodes that the user listed, in order of first mention, each at most once; their processes
    /// add up to `processes`. Empty in mode `all`, and in `loc+dist` where `nodes` stands for it.
    pub listed: Vec<ListedHost>,
    /// How many nodes to use, in mode `loc+dist` without a list.
    pub nodes: Option<NonZeroU32>,
    /// Fill nodes one after the other instead of spreading.
    pub pack: bool,
    /// Prefer one rack that can hold the whole job, where the nodes are not given.
    pub same_rack: bool,
    /// Freest node first; otherwise in order of node id, as the ResourceManager lists them.
    pub sort_nodes: bool,
    /// Which ranks the processes of a node are; a map is one of the nodes in the order of `listed`.
    pub numbering: Numbering,
    /// Data that the processes are to be near, where the nodes are not given.
    pub near: Near,
}

/// Where the data lies that processes are to be near.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Near {
    /// What it is, in words: "hdfs://h:8020/data".
    pub of: String,
    /// Bytes of it that each host has, by the name its node registered; others have none.
    pub held: BTreeMap<String, u64>,
}

impl Near {
    /// Bytes that `host` has.
    #[must_use]
    pub fn bytes(&self, host: &str) -> u64 {
        self.held.get(host).copied().unwrap_or(0)
    }

    /// What `host` has, as a predicate; `None`: nothing.
    #[must_use]
    pub fn predicate(&self, host: &str) -> Option<String> {
        let bytes = Some(self.bytes(host)).filter(|bytes| *bytes > 0)?;
        Some(format!("holds {} of {}", Bytes(bytes), self.of))
    }
}

/// An amount of data, shown in the largest unit that leaves a whole number.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        match units.into_iter().find(|(shift, _)| self.0 >> shift >= 10) {
            Some((shift, unit)) => write!(f, "{} {unit}", self.0 >> shift),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

/// One entry of the user's list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedHost {
    /// The host, exactly as its node registered it; `None` for "some node", which only the modes
    /// that relax the location take.
    pub host: Option<String>,
    /// Processes on it, at least 1.
    pub processes: u32,
}

impl Demand {
    /// `processes` anywhere (mode `all`), sharing room where there is too little.
    #[must_use]
    pub fn anywhere(processes: NonZeroU32, unit: Resources) -> Self {
        Self {
            processes,
            unit,
            memory_is_explicit: false,
            oversubscribe: true,
            mode: Mode::All,
            listed: Vec::new(),
            nodes: None,
            pack: false,
            same_rack: false,
            sort_nodes: true,
            numbering: Numbering::Slot,
            near: Near::default(),
        }
    }
}
