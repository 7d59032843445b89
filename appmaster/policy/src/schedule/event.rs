//! What a session is told, and what it is told to do.

use serde::{Deserialize, Serialize};

use super::{
    AttemptIx, Bundle, Container, ContainerIx, Job, JobIx, Nanos, Node, NodeIx, ResourceName, Slot,
    SlotIx, Stage, Task, TaskIx,
};

/// Something that happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Event {
    /// A job was submitted. Its number is the next one.
    Arrived(Job),
    /// A job is over, whatever still runs of it.
    Left(JobIx),
    /// These hosts have input of tasks that are told later. Those that are not known yet are nodes from now on,
    /// without containers.
    Hosts(Vec<String>),
    /// Tasks of a stage may start. More may be told later.
    Runnable {
        /// Whose.
        job: JobIx,
        /// Which.
        stage: Stage,
        /// Numbered on from those told before.
        tasks: Vec<Task>,
    },
    /// Tasks of a stage need these elements from now on, instead of those before. What runs goes on.
    Needed {
        /// Whose.
        job: JobIx,
        /// Which.
        stage: Stage,
        /// What the node of each has to have.
        locks: Vec<ResourceName>,
    },
    /// A container is there. The node is the one of the same host, or a new one.
    Joined(Node, Container, Vec<Slot>),
    /// A container's slots are cut anew: by position, those that are taken stay so.
    Slots {
        /// Whose.
        container: ContainerIx,
        /// All of them.
        now: Vec<Slot>,
    },
    /// What the host of a container has as a whole has changed: a device is broken, or back.
    Pool {
        /// Whose host.
        container: ContainerIx,
        /// All that it has.
        pool: Bundle,
    },
    /// A container is gone, and what ran in it.
    Lost(ContainerIx),
    /// A decision was taken.
    Ordered(Decision),
    /// An attempt runs.
    Began(AttemptIx),
    /// How far an attempt is; told at most once a second.
    Progress {
        /// Whose.
        attempt: AttemptIx,
        /// What it does.
        phase: Phase,
        /// Bytes done of the phase.
        done: u64,
        /// Bytes of the phase.
        of: u64,
    },
    /// An attempt is over.
    Ended {
        /// Which.
        attempt: AttemptIx,
        /// How.
        how: End,
        /// How long it was in each phase.
        phases: Vec<(Phase, Nanos)>,
    },
    /// An attempt runs where it was ordered to, or where it was before. For a swap: of `one`.
    Moved {
        /// Which.
        attempt: AttemptIx,
        /// Whether the order was carried out.
        ok: bool,
    },
    /// An attempt ended because of an order.
    Stopped(AttemptIx),
    /// Results of maps are lost, and are wanted.
    OutputLost {
        /// Whose.
        job: JobIx,
        /// Which tasks of its map stage.
        maps: Vec<TaskIx>,
    },
    /// So much of a partition lies at a node now.
    Gathered {
        /// Whose.
        job: JobIx,
        /// Number of the partition.
        partition: u32,
        /// Where.
        node: NodeIx,
        /// Bytes in all.
        bytes: u64,
    },
    /// Containers are wanted back: no new task goes there.
    Preempt {
        /// Which.
        containers: Vec<ContainerIx>,
        /// When they will be taken.
        by: Nanos,
    },
    /// YARN was asked for containers.
    Asked {
        /// The size of each.
        bundle: Bundle,
        /// How many.
        count: u32,
    },
    /// YARN will never give containers of this size.
    Refused {
        /// The size.
        bundle: Bundle,
    },
    /// Time has passed.
    Wake,
}

/// What an attempt does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Reading and mapping.
    Map,
    /// Sorting, merging and writing map output.
    Spill,
    /// Merging and reducing.
    Reduce,
    /// Whatever an MPI program does.
    Run,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum End {
    /// Its result is there.
    Done,
    /// By a fault of its own.
    Failed,
    /// It found no device of the kind that it needs.
    NoDevice,
    /// By an order.
    Killed,
    /// With its container.
    Lost,
    /// Its container was wanted back.
    Preempted,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// A task starts on a slot.
    Start {
        /// Whose.
        job: JobIx,
        /// Of which stage.
        stage: Stage,
        /// Which.
        task: TaskIx,
        /// Where.
        slot: SlotIx,
    },
    /// A second attempt at the task of an attempt that is slow.
    Copy {
        /// The slow one.
        of: AttemptIx,
        /// Where.
        slot: SlotIx,
    },
    /// An attempt goes on on another slot of its node.
    Move {
        /// Which.
        attempt: AttemptIx,
        /// Where to.
        to: SlotIx,
    },
    /// Two attempts of one node change their slots.
    Swap {
        /// The one whose [`Event::Moved`] tells for both.
        one: AttemptIx,
        /// The other.
        other: AttemptIx,
    },
    /// An attempt is ended.
    Stop {
        /// Which.
        attempt: AttemptIx,
        /// For what.
        why: Why,
    },
    /// A partition is gathered elsewhere.
    Rehome {
        /// Whose.
        job: JobIx,
        /// Number of the partition.
        partition: u32,
        /// Where.
        to: NodeIx,
    },
    /// All tasks of a gang start, the n-th on the n-th slot.
    Gang {
        /// Whose.
        job: JobIx,
        /// As many as tasks.
        slots: Vec<SlotIx>,
    },
    /// Free slots are kept for a gang.
    Hold {
        /// Whose.
        job: JobIx,
        /// Which.
        slots: Vec<SlotIx>,
        /// Given up then, if the gang has not started.
        until: Nanos,
    },
}

/// Why an attempt is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Why {
    /// Another attempt at its task has ended well.
    TwinWon,
    /// A job of higher priority needs its slot.
    Preempted,
    /// Its job is over.
    JobLeft,
}
