//! The answer of a policy: a placement, or how much was missing.

use std::collections::{BTreeMap, VecDeque};

use crate::{Counts, Demand, MiB, Mode, NodeId, Numbering, Rank, Resources, TypeIndex};

/// Which node runs how many processes, and how large its container is to be.
///
/// Shares stand in the order in which the policy first used the nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// One entry a node, each with at least one process.
    pub shares: Vec<NodeShare>,
}

/// One node's part of a job: one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeShare {
    /// YARN's id of the node.
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
    /// The ranks of each share, in the order of the shares.
    pub fn ranks(&self, numbering: &Numbering) -> impl Iterator<Item = (&NodeShare, Vec<Rank>)> {
        let processes: Vec<u32> = self.shares.iter().map(|share| share.processes).collect();
        self.shares.iter().zip(numbering.ranks(&processes))
    }

    /// The same shares in the order of the user's list, where `demand`'s mode keeps the listed hosts,
    /// or the listed numbers of processes: containers that came early stand first in
    /// [`crate::allocate::place`]'s answer, which is not the order in which the user wants the ranks.
    /// Shares of one number stay in their order. Unchanged in the other modes.
    #[must_use]
    pub fn in_order_of_list(mut self, demand: &Demand) -> Self {
        if demand.mode == Mode::Loc {
            let mut entries: BTreeMap<u32, VecDeque<usize>> = BTreeMap::new();
            for (place, entry) in demand.listed.iter().enumerate() {
                entries.entry(entry.processes).or_default().push_back(place);
            }
            let last = demand.listed.len();
            let mut place = |share: &NodeShare| {
                let of_this_number = entries.get_mut(&share.processes);
                of_this_number.and_then(VecDeque::pop_front).unwrap_or(last)
            };
            // Each key is taken once.
            self.shares.sort_by_cached_key(|share| place(share));
        } else if matches!(demand.mode, Mode::None | Mode::Dist) {
            let hosts = demand.listed.iter().enumerate();
            let place: BTreeMap<&str, usize> = hosts
                .filter_map(|(place, entry)| Some((entry.host.as_deref()?, place)))
                .collect();
            let last = demand.listed.len();
            self.shares
                .sort_by_key(|share| place.get(share.host.as_str()).copied().unwrap_or(last));
        }
        self
    }
}

/// What keeps a node from giving a larger container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedBy {
    /// The scheduler's maximum in memory.
    MaximumMemory,
    /// The node's memory.
    NodeMemory,
    /// The scheduler's maximum in vcores.
    MaximumVcores,
    /// The node's vcores.
    NodeVcores,
    /// The scheduler's maximum of a countable type.
    MaximumCount(TypeIndex),
    /// What the node has of a countable type.
    NodeCount(TypeIndex),
}

/// Why there is no placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// No node is usable at all.
    NoNodes,
    /// One process is larger than the largest container any node can give.
    UnitTooLarge {
        /// What one process wants.
        unit: Resources,
        /// The largest ceiling of all nodes.
        largest: Resources,
    },
    /// The ceilings of the nodes that may be used hold fewer processes than wanted, and what they want
    /// must not be shared.
    TooFewSlots {
        /// Processes wanted.
        wanted: u32,
        /// What one of them wants.
        unit: Resources,
        /// How many fit into the ceilings of these nodes.
        slots: u64,
        /// Nodes that may be used.
        nodes: usize,
    },
    /// The mode wants a list, and there is none.
    NoList {
        /// The mode that was asked for.
        mode: Mode,
    },
    /// The mode wants hosts, and an entry names none.
    HostNotGiven {
        /// The mode that was asked for.
        mode: Mode,
        /// Number of the entry, from 1.
        entry: usize,
    },
    /// A listed host has no node in the cluster. It had one when the job was submitted.
    HostAbsent {
        /// The host, as listed.
        host: String,
        /// Usable nodes.
        nodes: usize,
    },
    /// The numbers of the list do not add up to the processes wanted.
    ListDiffers {
        /// Sum of the entries that are still to be placed.
        listed: u64,
        /// Processes that are still to be placed.
        processes: u32,
    },
    /// A listed node can never hold its processes.
    NodeTooSmall {
        /// The node's host.
        host: String,
        /// Processes that have to go there, without sharing.
        processes: u32,
        /// What one of them wants.
        unit: Resources,
        /// The largest container that the node can ever give.
        ceiling: Resources,
        /// What bounds it.
        by: LimitedBy,
    },
    /// Too few nodes can hold a listed number of processes.
    TooFewLargeNodes {
        /// Processes on one node.
        processes: u32,
        /// What one of them wants.
        unit: Resources,
        /// Entries with so many processes or more.
        wanted: usize,
        /// Nodes that can hold so many when empty.
        usable: usize,
        /// The largest container that any node can ever give.
        largest: Resources,
    },
    /// There are fewer nodes than the mode must use.
    TooFewNodes {
        /// The mode that was asked for.
        mode: Mode,
        /// Nodes that it must use.
        wanted: usize,
        /// Nodes that could ever hold a process.
        usable: usize,
        /// What one process wants.
        unit: Resources,
    },
    /// There are fewer processes than nodes that the mode must use.
    TooFewProcesses {
        /// The mode that was asked for.
        mode: Mode,
        /// Processes of the job.
        processes: u32,
        /// Nodes, each of which has to get one.
        nodes: usize,
    },
    /// What is held already leaves no place for the rest; it may once that is let go.
    BesideHeld {
        /// Containers held.
        held: usize,
        /// Why the rest cannot be placed beside them.
        why: Box<Self>,
    },
    /// The queue can never give as much as the job wants together.
    QueueTooSmall {
        /// Processes without a container.
        processes: u32,
        /// What their containers would hold together, if they share as much as they may.
        wanted: Resources,
        /// The queue that the job is submitted to.
        queue: String,
        /// The most that it gives.
        maximum: Resources,
        /// What the job's own ApplicationMaster holds of that.
        appmaster: Resources,
        /// What one process wants.
        unit: Resources,
    },
    /// The queue gives too little now: wait and look again.
    QueueFull {
        /// The queue that the job is submitted to.
        queue: String,
        /// What it still gives.
        left: Resources,
        /// What one process wants.
        unit: Resources,
    },
    /// It would fit an emptier cluster: wait and look again.
    NoRoomNow {
        /// What one process wants.
        unit: Resources,
        /// Memory left on the freest node.
        freest: MiB,
        /// The most of each countable type that is left on one node.
        most: Counts,
    },
}

/// So many processes, in words.
pub(crate) fn number(processes: u32) -> String {
    match processes {
        1 => "1 process".into(),
        many => format!("{many} processes"),
    }
}

impl Rejection {
    /// Whether waiting can help.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::NoRoomNow { .. }
                | Self::QueueFull { .. }
                | Self::NoNodes
                | Self::BesideHeld { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::ListedHost;

    #[test]
    fn in_mode_loc_ranks_follow_the_listed_numbers_whichever_container_came_first() {
        let share = |host: &str, processes: u32| NodeShare {
            node: NodeId(format!("{host}:1")),
            host: host.into(),
            rack: "/r".into(),
            processes,
            ask: Resources::new(1024, 1),
        };
        let listed = [2, 6, 2, 1].map(|processes| ListedHost {
            host: None,
            processes,
        });
        let demand = Demand {
            mode: Mode::Loc,
            listed: listed.to_vec(),
            ..Demand::anywhere(NonZeroU32::new(11).unwrap(), Resources::new(1024, 1))
        };
        let placement = Placement {
            shares: vec![share("d", 1), share("a", 2), share("b", 6), share("c", 2)],
        };
        let in_order = placement.in_order_of_list(&demand);
        let ranks: Vec<(&str, u32)> = in_order
            .ranks(&demand.numbering)
            .map(|(share, ranks)| (share.host.as_str(), ranks[0].0))
            .collect();
        assert_eq!(ranks, [("a", 0), ("b", 2), ("c", 8), ("d", 10)]);
    }
}
