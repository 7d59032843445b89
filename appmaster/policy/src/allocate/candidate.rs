//! A node that the rest of a job may go to.

use crate::placement::LimitedBy;
use crate::quantities::how_often;
use crate::{ClusterView, Counted, Counts, Demand, MiB, NodeView, Rejection, Resources};

/// A node without a container of the job, with its numbers worked out once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    pub node: &'a NodeView,
    /// Place in the order by node id, which breaks ties.
    pub by_id: usize,
    /// What is free on the node, by [`ClusterView::room`].
    pub room: Resources,
    /// What it could give if nothing else ran there, by [`ClusterView::ceiling`].
    pub ceiling: Resources,
    /// Whole units that the room holds, in what the scheduler counts.
    pub now: u64,
    /// Whole units that the ceiling holds, in what the scheduler counts.
    pub ever: u64,
    /// Bytes it has of the data that the job is to be near; 0 while it has no room, since data is no
    /// reason to wait.
    pub near: u64,
    /// Most processes that it may be given: as many as its ceiling holds of what must not be shared,
    /// any number where everything may be.
    pub most: u64,
}

impl<'a> Candidate<'a> {
    pub(super) fn new(
        demand: &Demand,
        cluster: &ClusterView,
        node: &'a NodeView,
        by_id: usize,
    ) -> Self {
        let (room, ceiling) = (cluster.room(node), cluster.ceiling(node));
        let ever = cluster.units_in(demand.unit, ceiling);
        let most = if !demand.oversubscribe {
            ever
        } else if demand.memory_is_explicit {
            // Cores may still be shared.
            how_often(demand.unit.memory.0, ceiling.memory.0)
        } else {
            u64::MAX
        };
        let most = most.min(demand.unit.counts.times_in(ceiling.counts));
        let now = cluster.units_in(demand.unit, room);
        Self {
            node,
            by_id,
            room,
            ceiling,
            now,
            near: match now {
                0 => 0,
                _ => demand.near.bytes(&node.host),
            },
            ever,
            most,
        }
    }

    /// The rejection when the ceiling cannot hold `processes` of one `unit` each.
    pub(super) fn too_small(
        &self,
        cluster: &ClusterView,
        unit: Resources,
        processes: u32,
    ) -> Rejection {
        Rejection::NodeTooSmall {
            host: self.node.host.clone(),
            processes,
            unit,
            ceiling: self.ceiling,
            by: self.limited_by(cluster, unit.times(processes)),
        }
    }

    /// What keeps `wanted` from fitting the ceiling.
    fn limited_by(&self, cluster: &ClusterView, wanted: Resources) -> LimitedBy {
        let maximum = cluster.maximum;
        let own = self.node.capability;
        if let Some(index) = wanted.counts.first_beyond(self.ceiling.counts) {
            return match maximum.counts.of(index) <= own.counts.of(index) {
                true => LimitedBy::MaximumCount(index),
                false => LimitedBy::NodeCount(index),
            };
        }
        let short_of_memory = wanted.memory > self.ceiling.memory;
        match cluster.counted {
            Counted::MemoryAndVcores if !short_of_memory => {
                if maximum.vcores <= own.vcores {
                    LimitedBy::MaximumVcores
                } else {
                    LimitedBy::NodeVcores
                }
            }
            Counted::Memory | Counted::MemoryAndVcores => {
                if maximum.memory <= own.memory {
                    LimitedBy::MaximumMemory
                } else {
                    LimitedBy::NodeMemory
                }
            }
        }
    }
}

/// How many processes `candidates` may be given together.
pub(super) fn slots(candidates: &[Candidate<'_>]) -> u64 {
    let most = candidates.iter().map(|candidate| candidate.most);
    most.fold(0, u64::saturating_add)
}

/// The most of each countable type that is left on one of `candidates`.
pub(super) fn most_counts(candidates: &[Candidate<'_>]) -> Counts {
    let rooms = candidates.iter().map(|candidate| candidate.room.counts);
    rooms.fold(Counts::default(), |most, room| most.with(room, u64::max))
}

/// Memory left on the freest of `candidates`.
pub(super) fn freest(candidates: &[Candidate<'_>]) -> MiB {
    let rooms = candidates.iter().map(|candidate| candidate.room.memory);
    rooms.max().unwrap_or_default()
}
