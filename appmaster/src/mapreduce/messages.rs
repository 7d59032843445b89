//! What a MapReduce job hears, and wants done, beside what every job does.

use std::collections::BTreeSet;

use job::history::{HistoryFolder, JobHistory};
use job::wire;
use job::wire::{task_event, task_order};
use policy::elements::ElementNeed;
use policy::lending::{Home, Lack, TaskInput, TaskMove, TaskStart};
use policy::schedule::{AttemptIx, AttemptOutcome, AttemptPhase, Nanos, Stage, TaskIx, Why};
use policy::{ContainerId, Millis};

use super::folder::{FolderDone, FolderWork};
use crate::lent_events::LentEvent;
use crate::work::JobEvent;

/// Something that it hears.
#[derive(Debug)]
pub(crate) enum MapReduceHeard {
    /// What every job hears.
    Every(JobEvent),
    /// Of a container that it is in.
    Container(LentEvent),
    /// What it alone hears.
    Own(MapReduceEvent),
}

/// Something of its tasks and their slots.
#[derive(Debug)]
pub(crate) enum MapReduceEvent {
    /// A launcher said something of a task.
    Said {
        /// Its container.
        container: ContainerId,
        /// Its message, of one attempt. Boxed: that of an attempt's end is four times as large as any other.
        event: Box<task_event::Event>,
    },
    /// As many jobs have slots as may: this one is among them, and says which tasks may start.
    SlotsCome,
    /// No node has what tasks of a stage need, and none is to come.
    NoNode(Lack),
    /// A task has a slot.
    Placed(TaskStart),
    /// An attempt that runs is to have another slot.
    Move(TaskMove),
    /// An attempt at a task is to be ended.
    Stop {
        /// The attempt, as [`MapReduceEvent::Placed`] numbered it.
        attempt: AttemptIx,
        /// The reason that the scheduler gave.
        why: Why,
    },
    /// YARN takes a container that it is in.
    Leaves {
        /// Which.
        container: ContainerId,
        /// About how soon.
        within: Millis,
    },
    /// The answer to a [`MapReduceEffect::Homes`]: of partitions that have a home, where it is.
    Homes(Vec<Home>),
    /// The answer to a [`MapReduceEffect::Folder`].
    Folder(FolderDone),
    /// That answer takes longer, for a while: a sentence.
    FolderWaits(String),
    /// The answer to a [`MapReduceEffect::Keep`]; else why it is not kept, a sentence.
    Kept(Result<(), String>),
}

/// Something that is to be done for it.
#[derive(Debug)]
pub(crate) enum MapReduceEffect {
    /// It wants slots, one for each task, as they come free.
    Slots,
    /// These tasks may start, numbered on from those before.
    Runnable {
        /// Of which stage.
        stage: Stage,
        /// What each reads.
        inputs: Vec<TaskInput>,
    },
    /// Tasks of a stage need these elements from now on.
    Needed {
        /// The stage that needs them.
        stage: Stage,
        /// What the node of each must have.
        needs: Vec<ElementNeed>,
    },
    /// The device of this container's node has too little memory for its tasks: they go where one has more.
    NoRoom(ContainerId),
    /// Its tasks go to other nodes than that of this container, where there is another.
    Avoid(ContainerId),
    /// No task of it is to be started any more.
    NoMore,
    /// An attempt runs, as far as is known.
    Began(AttemptIx),
    /// The answer to a [`MapReduceEvent::Move`].
    Moved {
        /// The attempt, as [`MapReduceEvent::Placed`] numbered it.
        attempt: AttemptIx,
        /// Why it is where it was, a sentence; `None`: it has the other slot.
        why_not: Option<String>,
    },
    /// An attempt goes on in this slot of its container.
    InSlot {
        /// The attempt, as [`MapReduceEvent::Placed`] numbered it.
        attempt: AttemptIx,
        /// From 0.
        slot: u32,
    },
    /// An attempt has done so much of so much.
    Progress {
        /// The attempt, as [`MapReduceEvent::Placed`] numbered it.
        attempt: AttemptIx,
        /// Bytes done of its phase.
        done: u64,
        /// Bytes of the phase, at least 1.
        of: u64,
    },
    /// An attempt is over: its slot is free.
    Over {
        /// The attempt, as [`MapReduceEvent::Placed`] numbered it.
        attempt: AttemptIx,
        /// Whether its result is there; else what ended it.
        how: AttemptOutcome,
        /// How long it was in each phase; of one whose result is there.
        phases: Vec<(AttemptPhase, Nanos)>,
    },
    /// The results of these maps are lost, and they run again.
    MapsLost(Vec<TaskIx>),
    /// These partitions want homes.
    Homes {
        /// Which, and about how many bytes each has.
        partitions: Vec<(u32, u64)>,
        /// Containers that may be one.
        among: BTreeSet<ContainerId>,
    },
    /// Order a launcher something.
    Tell {
        /// Its container.
        to: ContainerId,
        /// The order; the job's number is added on the way.
        order: Box<task_order::Order>,
    },
    /// Work on the output folder.
    Folder(FolderWork),
    /// What became of it is kept there.
    Keep(HistoryFolder, Box<JobHistory>),
    /// Shows the client how far the tasks are; one that does not keep up misses some.
    Show(wire::TasksPhase),
}
