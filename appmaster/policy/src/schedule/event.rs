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
        /// The job of those tasks.
        job: JobIx,
        /// The stage that all of them are of.
        stage: Stage,
        /// Numbered on from those told before.
        tasks: Vec<Task>,
    },
    /// Tasks of a stage need these elements from now on, instead of those before. What runs goes on.
    Needed {
        /// The job of those tasks.
        job: JobIx,
        /// The stage that needs them.
        stage: Stage,
        /// What the node of each has to have, for all tasks there in turn.
        locks: Vec<ResourceName>,
        /// What each takes of its node, as long as it runs.
        counted: Bundle,
    },
    /// A container is there. The node is the one of the same host, or a new one.
    Joined(Node, Container, Vec<Slot>),
    /// A job's tasks fail on these nodes for what the nodes are.
    Avoided {
        /// The job.
        job: JobIx,
        /// As if as many attempts had failed there as keep a job off, also where no number does.
        nodes: Vec<NodeIx>,
    },
    /// A container's slots are cut anew: those of a kind stay, taken ones first, and those that are taken stay so.
    Slots {
        /// The container that offers them.
        container: ContainerIx,
        /// All of them.
        now: Vec<Slot>,
    },
    /// What the host of a container has as a whole has changed: a device is broken, or back.
    Pool {
        /// A container of that host; what its node has holds for all containers there.
        container: ContainerIx,
        /// All that it has.
        pool: Bundle,
    },
    /// Other numbers of tasks that take functions may run on the node of a container, as its boards can use them.
    Allowed {
        /// One of the node's containers.
        container: ContainerIx,
        /// By function.
        tasks: Vec<(ResourceName, u64)>,
    },
    /// A container is gone, and what ran in it.
    Lost(ContainerIx),
    /// A decision was taken.
    Ordered(Decision),
    /// An attempt runs.
    Began(AttemptIx),
    /// How far an attempt is; told at most once a second.
    Progress {
        /// The attempt, which has begun.
        attempt: AttemptIx,
        /// What it does.
        phase: AttemptPhase,
        /// Bytes done of the phase.
        done: u64,
        /// Bytes of the phase.
        of: u64,
    },
    /// An attempt is over.
    Ended {
        /// The attempt whose slot is free from now on.
        attempt: AttemptIx,
        /// Whether its result is there; else what ended it.
        how: AttemptOutcome,
        /// How long it was in each phase; none of one that is not known to have done anything.
        phases: Vec<(AttemptPhase, Nanos)>,
    },
    /// An attempt runs where it was ordered to, or where it was before. For a swap: of `one`.
    Moved {
        /// The attempt of the order.
        attempt: AttemptIx,
        /// Whether the order was carried out.
        ok: bool,
    },
    /// Results of maps are lost, and are wanted.
    OutputLost {
        /// The job whose maps they are.
        job: JobIx,
        /// Which tasks of its map stage.
        maps: Vec<TaskIx>,
    },
    /// So much of a partition lies at a node now.
    Gathered {
        /// The job whose reduces read it.
        job: JobIx,
        /// Number of the partition.
        partition: u32,
        /// The node that has so much of it.
        node: NodeIx,
        /// Bytes in all.
        bytes: u64,
    },
    /// Containers are wanted back: no new task goes there.
    Preempt {
        /// The containers that YARN wants; what runs there goes on until it ends or they are taken.
        containers: Vec<ContainerIx>,
        /// When they will be taken.
        by: Nanos,
    },
    /// Time has passed.
    Wake,
}

/// What an attempt does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AttemptPhase {
    /// A map reads its split. In [`Event::Progress`] this, and what comes up to [`Merge`](Self::Merge), is `Map`.
    Read,
    /// The mapper has a record; of progress, all that a map does.
    Map,
    /// A map puts what it emits into memory.
    Collect,
    /// A map sorts and writes what is in memory.
    Spill,
    /// A map merges what it has spilled.
    Merge,
    /// A reduce's input is brought.
    Shuffle,
    /// A reduce merges before it begins to reduce.
    Sort,
    /// The reducer has a group; of progress, all that a reduce does.
    Reduce,
    /// Output is written, by a reduce or by a map of a job without any.
    Write,
    /// Whatever an MPI program does.
    Run,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AttemptOutcome {
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
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// A task starts on a slot.
    Start {
        /// The task's job.
        job: JobIx,
        /// Of which stage.
        stage: Stage,
        /// Its number within the stage, from 0; it may start and is pending.
        task: TaskIx,
        /// The slot, free until now.
        slot: SlotIx,
    },
    /// A second attempt at the task of an attempt that is slow.
    Copy {
        /// The slow one.
        of: AttemptIx,
        /// A free slot for the second attempt, of another node than the slow one's.
        slot: SlotIx,
    },
    /// An attempt goes on on another slot of its node.
    Move {
        /// The attempt that changes its slot.
        attempt: AttemptIx,
        /// A free slot of the same node.
        to: SlotIx,
    },
    /// Two attempts of one node change their slots.
    Swap {
        /// The one whose [`Event::Moved`] tells for both.
        one: AttemptIx,
        /// An attempt on the same node, of which no event of its own is told.
        other: AttemptIx,
    },
    /// An attempt is ended.
    Stop {
        /// The attempt to be ended, begun or not.
        attempt: AttemptIx,
        /// The reason, as its job is told it.
        why: Why,
    },
    /// All tasks of a gang start, the n-th on the n-th slot.
    Gang {
        /// The gang.
        job: JobIx,
        /// As many as tasks.
        slots: Vec<SlotIx>,
    },
    /// Free slots are kept for a gang.
    Hold {
        /// The gang that waits for more slots.
        job: JobIx,
        /// Free slots: nothing else starts on them until then.
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
    /// Its launcher cannot bring it to the cores of its slot.
    OffItsCores,
}
