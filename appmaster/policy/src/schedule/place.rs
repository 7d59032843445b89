//! Where tasks run: nodes, their containers, and the slots in these.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{AttemptIx, Bundle, ContainerIx, JobIx, NodeIx, Stage};

/// A host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name.
    pub host: String,
    /// Its rack, as the cluster names it.
    pub rack: String,
    /// What the host as a whole has: functions, device memory.
    pub pool: Bundle,
    /// How much of `pool` is not taken.
    pub free: Bundle,
}

/// A container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// Where it is.
    pub node: NodeIx,
    /// Memory and cores that YARN granted.
    pub pool: Bundle,
    /// How much of `pool` is not taken.
    pub free: Bundle,
}

/// How fast a slot's cores are beside others of the cluster.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Speed {
    /// Not told apart.
    #[default]
    Plain,
    /// A fast core.
    Fast,
    /// A slow core.
    Slow,
    /// None: an attempt here is stopped, and keeps its memory. Nothing starts here; only moves lead here.
    Parked,
}

/// A right to a core, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Whose it is.
    pub container: ContainerIx,
    /// What may run on it.
    pub stages: BTreeSet<Stage>,
    /// Of its cores.
    pub speed: Speed,
    /// Cores that an attempt here is bound to; empty where it is not bound.
    pub cpus: Vec<u32>,
    /// Who has it.
    pub taken: SlotUse,
}

impl Slot {
    /// Whether tasks may start on it.
    #[must_use]
    pub fn starts_tasks(&self) -> bool {
        self.speed != Speed::Parked
    }

    /// A free one for `stages`; the container's number is set when it joins.
    #[must_use]
    pub fn free(stages: &[Stage]) -> Self {
        Self {
            container: ContainerIx(0),
            stages: stages.iter().copied().collect(),
            speed: Speed::Plain,
            cpus: Vec::new(),
            taken: SlotUse::Free,
        }
    }
}

/// What slots of one container have in common: what runs on one of them runs on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct SlotKind {
    container: ContainerIx,
    stages: StageBits,
    speed: Speed,
}

impl SlotKind {
    pub(super) fn of(slot: &Slot) -> Self {
        Self {
            container: slot.container,
            stages: StageBits::of(slot.stages.iter().copied()),
            speed: slot.speed,
        }
    }

    /// Whether such slots are a container's, on cores of this speed.
    pub(super) fn is_of(self, container: ContainerIx, speed: Speed) -> bool {
        self.container == container && self.speed == speed
    }

    /// Whether tasks may start on such slots.
    pub(super) fn starts_tasks(self) -> bool {
        self.speed != Speed::Parked
    }

    /// Whether one of these stages may run on it.
    pub(super) const fn runs_any(self, stages: StageBits) -> bool {
        self.stages.0 & stages.0 != 0
    }
}

/// A set of stages, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct StageBits(u8);

impl StageBits {
    pub(super) fn of(stages: impl Iterator<Item = Stage>) -> Self {
        let bit = |stage| match stage {
            Stage::Map => 1,
            Stage::Reduce => 2,
            Stage::Gang => 4,
        };
        Self(stages.fold(0, |bits, stage| bits | bit(stage)))
    }
}

/// Who has a slot. An order is no fact: what was decided is reserved until the launcher confirms it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlotUse {
    /// Nobody: a task may start on it.
    Free,
    /// Kept for what was decided and is not confirmed.
    Reserved(Reservation),
    /// An attempt runs on it.
    Busy(AttemptIx),
    /// An attempt that is ordered elsewhere still runs on it.
    Moving(AttemptIx),
}

/// For whom a slot is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reservation {
    /// An attempt that has not begun.
    Start(AttemptIx),
    /// An attempt that still runs on another slot.
    Arrival(AttemptIx),
    /// A gang that waits for more slots.
    Hold(JobIx),
}

impl SlotUse {
    /// The attempt that counts as being there: it is to begin there, runs there, or runs there until it goes elsewhere.
    #[must_use]
    pub const fn attempt(&self) -> Option<AttemptIx> {
        match self {
            Self::Reserved(Reservation::Start(attempt))
            | Self::Busy(attempt)
            | Self::Moving(attempt) => Some(*attempt),
            Self::Free | Self::Reserved(Reservation::Arrival(_) | Reservation::Hold(_)) => None,
        }
    }
}
