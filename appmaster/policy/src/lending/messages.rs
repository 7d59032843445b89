//! What is lent, to whom, and what follows.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use super::OfferedSlot;
use crate::elements::ElementNeed;
use crate::schedule::{
    AttemptIx, ContainerIx, JobProfile, Level, Nanos, Speed, Stage, TaskIx, Why,
};
use crate::{ContainerId, Millis, NodeId, Resources};

/// A container that offers slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// YARN's id.
    pub container: ContainerId,
    /// The node that it is on.
    pub node: NodeId,
    /// The host's name as the node registered it.
    pub host: String,
    /// The node's rack.
    pub rack: String,
    /// Its slots.
    pub slots: Vec<OfferedSlot>,
    /// What all of them share.
    pub pool: Resources,
    /// Elements of the node, `gpu` and the like, each with how many tasks may use them at a time.
    pub elements: BTreeMap<String, u64>,
}

impl Offer {
    /// How many slots it has.
    #[must_use]
    pub fn size(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }
}

/// What a job wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRequest {
    /// How many slots.
    pub wants: Wants,
    /// What a process takes of its container; of tasks, the most that one takes.
    pub unit: Resources,
    /// Whose it is.
    pub user: String,
    /// Where it waits, for policies that share out between queues.
    pub queue: String,
    /// Higher goes first, where the policy looks at it.
    pub priority: i32,
    /// When it wants to be done, where the policy looks at it.
    pub deadline: Option<Millis>,
    /// What tasks of an earlier run of it took.
    pub profile: JobProfile,
    /// A gang takes slots of all speeds, and does not wait for those of one.
    pub any_speed: bool,
}

/// Where a job stands among others that want slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The order of submission, wherever the policy goes by that.
    pub seq: u64,
    /// Since when it wants slots.
    pub submitted: Nanos,
}

/// How many slots a job wants, each for one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wants {
    /// So many, all at once.
    Gang(u32),
    /// One for each of its tasks that may start, as they come free.
    Tasks {
        /// What holds for maps.
        map: StageTerms,
        /// What holds for reduces.
        reduce: StageTerms,
        /// After so many failed attempts at one node none is started there, while there is another; 0: none is
        /// avoided for that.
        node_failures: u32,
    },
}

/// What holds for every task of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageTerms {
    /// What it takes of its container.
    pub unit: Resources,
    /// Elements that its node must have, such as `gpu`, each once; empty: none.
    pub needs: Vec<ElementNeed>,
    /// Whether it may be tried a second time while it still runs.
    pub speculative: bool,
    /// How many of it run on a node at a time, where it takes functions of accelerators; `None`: as many as there is room
    /// for.
    pub per_node: Option<PerNode>,
}

/// How many tasks run on a node at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerNode {
    /// So many of the stage.
    Most(NonZeroU32),
    /// As many as its boards can use.
    Boards,
}

/// What a task reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskInput {
    /// Hosts that have it, as nodes register them.
    pub hosts: Vec<String>,
    /// Its size.
    pub bytes: u64,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// A gang has its slots.
    Lent(Lent),
    /// A task is to be started.
    Start(TaskStart),
    /// An attempt that runs is to go on in another slot of its container, or to come back to its own.
    Move(TaskMove),
    /// An attempt is to be ended.
    Stop {
        /// The number that its job was told by.
        job: u32,
        /// The attempt, as [`TaskStart`] numbered it.
        attempt: AttemptIx,
        /// The reason, as its job is told it.
        why: Why,
    },
}

/// A task has a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskStart {
    /// The number that its job was told by.
    pub job: u32,
    /// As which it runs.
    pub attempt: AttemptIx,
    /// Of which stage.
    pub stage: Stage,
    /// The task's number within its stage, from 0.
    pub task: TaskIx,
    /// YARN's id of the container that has the slot.
    pub container: ContainerId,
    /// That container's host, as the node registered it.
    pub host: String,
    /// As what the policies know that container.
    pub place: ContainerIx,
    /// Which of its slots, from 0.
    pub slot: u32,
    /// Cores that it is bound to; empty: it is not bound.
    pub cpus: Vec<u32>,
    /// Of its slot.
    pub speed: Speed,
    /// How near the task's input is.
    pub level: Level,
}

/// An attempt that runs is to have another slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskMove {
    /// The number that its job was told by.
    pub job: u32,
    /// The attempt, as [`TaskStart`] numbered it.
    pub attempt: AttemptIx,
    /// The container that it runs in, and stays in.
    pub container: ContainerId,
    /// The slot that it is to have, of that container's, from 0.
    pub slot: u32,
    /// Cores of that slot; empty: all of the container's.
    pub cpus: Vec<u32>,
    /// Of that slot.
    pub speed: Speed,
    /// It is stopped there, until it is moved on.
    pub parked: bool,
}

/// A job has its slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lent {
    /// The number it was told by.
    pub job: u32,
    /// Containers and how many processes go into each, in the order of joining.
    pub shares: Vec<(ContainerId, u32)>,
    /// Cores that its processes in a container are bound to, together; of the others they are not bound.
    pub cores: BTreeMap<ContainerId, BTreeSet<u32>>,
    /// How many of its slots are of which speed.
    pub speeds: BTreeMap<Speed, u32>,
}

/// An element of which too few are free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortElement {
    /// What one process takes.
    pub need: ElementNeed,
    /// How many are free, on all nodes of the session together.
    pub free: u64,
    /// How many there are.
    pub of: u64,
}

/// Why a job has no slots yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    /// Slots that it wants.
    pub wanted: u32,
    /// What is taken with each.
    pub unit: Resources,
    /// Slots that one of its processes could have now.
    pub free: u32,
    /// The same if nobody else had any.
    pub all: u32,
    /// Elements of which each process takes its own, and which keep it off slots that are free.
    pub short: Option<ShortElement>,
    /// Jobs that have slots, and how many; those with the most first.
    pub holders: Arc<[(u32, u32)]>,
    /// Jobs that wait as well and came earlier.
    pub ahead: u32,
}

/// Tasks of a job need what no node of the session has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Of which stage.
    pub stage: Stage,
    /// What each of them needs.
    pub needs: Vec<ElementNeed>,
    /// The hosts where the session has containers, and what is missing there, in the order of joining.
    pub nodes: Vec<(String, String)>,
}
