//! What a policy sees of the cluster: one snapshot, taken while the ApplicationMaster runs.

use std::collections::BTreeMap;

use crate::quantities::how_often;
use crate::{MiB, Millis, NodeId, Queue, ResourceTypes, Resources};

/// A usable node at the time of the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeView {
    /// YARN's id of the node.
    pub id: NodeId,
    /// The host's name as the node registered it; requests name it so.
    pub host: String,
    /// Its rack, "/default-rack" where the cluster has no topology.
    pub rack: String,
    /// All that the node offers.
    pub capability: Resources,
    /// What containers hold now, the ApplicationMaster's own included.
    pub used: Resources,
    /// Of that, what the job's own ApplicationMaster holds, as long as the job lasts.
    pub appmaster: Resources,
    /// When it last told YARN of its health, in milliseconds since 1970 by its own clock.
    pub heard: Millis,
    /// Elements that its attributes count, by the names that policies have for them.
    pub elements: BTreeMap<String, u64>,
}

/// Which resources the scheduler counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counted {
    /// `DefaultResourceCalculator`, Hadoop's default: vcores are carried along, never compared.
    #[default]
    Memory,
    /// `DominantResourceCalculator`.
    MemoryAndVcores,
}

/// Nodes and limits at the time of the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterView {
    /// The table of the counts in every amount here, and in those of the demand that is placed.
    pub types: ResourceTypes,
    /// Usable nodes, in any order: a policy orders them by its own rule.
    pub nodes: Vec<NodeView>,
    /// Largest container the scheduler gives this queue.
    pub maximum: Resources,
    /// Containers are rounded up to multiples of this memory, and of one vcore.
    pub step: MiB,
    /// Which resources the scheduler counts.
    pub counted: Counted,
    /// What the queue gives the job; boxed, because a snapshot is handed on as one of many events.
    pub queue: Box<Queue>,
}

impl ClusterView {
    /// The largest container that `node` could ever hold beside the job's own ApplicationMaster: whole
    /// allocation steps, since what is asked for is rounded up to them.
    #[must_use]
    pub fn ceiling(&self, node: &NodeView) -> Resources {
        let beside = node.capability.minus(node.appmaster);
        self.whole_steps(beside.least(self.maximum))
    }

    /// The largest container that `node` could hold now, in whole allocation steps.
    #[must_use]
    pub fn room(&self, node: &NodeView) -> Resources {
        self.whole_steps(node.capability.minus(node.used).least(self.maximum))
    }

    fn whole_steps(&self, amount: Resources) -> Resources {
        let step = self.step.0.max(1);
        Resources {
            memory: MiB(how_often(step, amount.memory.0).saturating_mul(step)),
            ..amount
        }
    }

    /// Whether `wanted` fits into `available`, in what the scheduler counts. (With further types beside
    /// memory and vcores YARN wants a scheduler that counts them all.)
    #[must_use]
    pub fn fits(&self, wanted: Resources, available: Resources) -> bool {
        wanted.memory <= available.memory
            && wanted.counts.fit(available.counts)
            && (self.counted == Counted::Memory || wanted.vcores <= available.vcores)
    }

    /// How many whole units fit into `available`, in what the scheduler counts.
    #[must_use]
    pub fn units_in(&self, unit: Resources, available: Resources) -> u64 {
        let by_memory = how_often(unit.memory.0, available.memory.0);
        let whole = by_memory.min(unit.counts.times_in(available.counts));
        match self.counted {
            Counted::Memory => whole,
            Counted::MemoryAndVcores => {
                whole.min(how_often(unit.vcores.0.into(), available.vcores.0.into()))
            }
        }
    }
}
