//! The answer of a policy: a placement, or how much was missing.

use crate::{MiB, NodeId, Rank, Resources};

/// Which node runs how many processes, and how large its container is to be.
///
/// Shares stand in the order in which the policy first used the nodes. Ranks are dealt in that
/// order, each node's in one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// One entry a node, each with at least one process.
    pub shares: Vec<NodeShare>,
}

/// One node's part of a job: one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeShare {
    /// The node.
    pub node: NodeId,
    /// Its host name, for the request.
    pub host: String,
    /// Its rack, for the request.
    pub rack: String,
    /// Processes in this container, at least 1.
    pub processes: u32,
    /// Size of the container to ask for.
    pub ask: Resources,
}

impl Placement {
    /// The ranks of each share: consecutive blocks, in the order of the shares.
    pub fn ranks(&self) -> impl Iterator<Item = (&NodeShare, Vec<Rank>)> {
        let mut next = 0u32;
        self.shares.iter().map(move |share| {
            let first = next;
            next = next.saturating_add(share.processes);
            (share, (first..next).map(Rank).collect())
        })
    }
}

/// Why there is no placement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// No node is usable at all.
    #[error("the cluster has no running node that this queue may use")]
    NoNodes,
    /// One process is larger than the largest container any node can give.
    #[error(
        "one process wants {unit}, but the largest container any node can give is {largest}; ask \
         for less with --mem-per-proc or --vcores-per-proc, or have \
         yarn.scheduler.maximum-allocation-mb or yarn.nodemanager.resource.memory-mb raised"
    )]
    UnitTooLarge {
        /// What one process wants.
        unit: Resources,
        /// The largest ceiling of all nodes.
        largest: Resources,
    },
    /// All ceilings together hold fewer processes than wanted, and sharing is not allowed.
    #[error(
        "{wanted} processes of {unit} do not fit: all {nodes} nodes together hold {slots} when \
         empty; ask for fewer processes or less memory for each"
    )]
    TooFewSlots {
        /// Processes wanted.
        wanted: u32,
        /// What one of them wants.
        unit: Resources,
        /// How many fit into the ceilings of all nodes.
        slots: u64,
        /// Usable nodes.
        nodes: usize,
    },
    /// It would fit an emptier cluster: wait and look again.
    #[error("no node has room for one process of {unit} now (the freest has {freest} left)")]
    NoRoomNow {
        /// What one process wants.
        unit: Resources,
        /// Memory left on the freest node.
        freest: MiB,
    },
}

impl Rejection {
    /// Whether waiting can help.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::NoRoomNow { .. } | Self::NoNodes)
    }
}
