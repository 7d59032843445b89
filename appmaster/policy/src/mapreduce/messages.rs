//! What a MapReduce job hears and what it says.

use crate::schedule::{AttemptIx, AttemptOutcome, ContainerIx, Stage, TaskIx};

/// A digest of the records of a map's output, whatever their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub u128);

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Slots come from now on.
    SlotsCome,
    /// An attempt was ordered to start at a launcher.
    Started {
        /// The attempt, by the number that the scheduler gave it.
        attempt: AttemptIx,
        /// Of which stage.
        stage: Stage,
        /// At which task.
        task: TaskIx,
        /// In whose container.
        at: ContainerIx,
    },
    /// A map has ended well; its output lies with its launcher, or is committed where there are no
    /// partitions. Where it does not [count](super::MapReduceMachine::counts) it is compared with the one that does.
    Mapped {
        /// The map's attempt.
        attempt: AttemptIx,
        /// Of its output.
        digest: Digest,
    },
    /// A reduce has read its whole input, written its result, and wants to make it the task's.
    CommitAsked(AttemptIx),
    /// A reduce has committed. Where it does not [count](super::MapReduceMachine::counts) it has ended in vain.
    Reduced(AttemptIx),
    /// An attempt is over without a result.
    Ended {
        /// The attempt, of a map or of a reduce.
        attempt: AttemptIx,
        /// How; never [`AttemptOutcome::Done`].
        how: AttemptOutcome,
    },
    /// An attempt failed, over a record of a map or a group of a reduce that the job's code had and that it was not
    /// told to leave out.
    FailedOn {
        /// The attempt, of a map or of a reduce.
        attempt: AttemptIx,
        /// The record's number in the split; the group's in the partition.
        record: u64,
    },
    /// The home of a partition has what an attempt wrote for it.
    Gathered {
        /// The map's attempt.
        attempt: AttemptIx,
        /// The partition.
        partition: u32,
        /// Its home.
        home: ContainerIx,
    },
    /// The gathered copies of a partition are gone, or it has another home.
    Dropped {
        /// The partition.
        partition: u32,
    },
    /// A home could not fetch an output from its launcher.
    FetchFailed {
        /// The map's attempt.
        attempt: AttemptIx,
        /// The partition's home.
        home: ContainerIx,
    },
    /// A home that could not fetch everything has what lies at this launcher.
    FetchedFrom {
        /// The launcher.
        source: ContainerIx,
        /// The partition's home.
        home: ContainerIx,
    },
    /// A reduce has read what every map has left, in this container.
    Fetched {
        /// Which.
        home: ContainerIx,
    },
    /// A launcher has read an output of its own again, as it was asked to.
    Verified {
        /// The map's attempt.
        attempt: AttemptIx,
        /// It is what it was.
        sound: bool,
    },
    /// A launcher is about to go, with all that lies there; what runs there goes on until then.
    LauncherLeaves(ContainerIx),
    /// A launcher is gone, with all that lies there.
    LauncherLost(ContainerIx),
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// So many tasks of a stage may start, numbered on from those before.
    Runnable {
        /// The stage that those tasks are of.
        stage: Stage,
        /// Tasks that may start, at least 1.
        count: u32,
    },
    /// The results of these maps are lost, and wanted: they run again.
    Again(Vec<TaskIx>),
    /// Every home is to fetch what this attempt wrote.
    Gather(AttemptIx),
    /// The launcher of this output is to read it again.
    Verify(AttemptIx),
    /// The attempt may commit: no other of its task may.
    Grant(AttemptIx),
    /// The attempt is to end: another of its task commits, or its input has changed.
    Stop(AttemptIx),
    /// No data gets out of, or into, this launcher: nothing more is to be given to it.
    Faulty(ContainerIx),
    /// Nothing gets from the one launcher to the other, and each does well with others: reduces are to read elsewhere.
    Cut {
        /// Where the outputs lie.
        source: ContainerIx,
        /// Where they cannot be had.
        home: ContainerIx,
    },
    /// A map that ran again gave the same records: nothing follows.
    Repeated(TaskIx),
    /// An attempt that ended after its twin gave other records than that, which nobody reads: what the mapper
    /// emits depends on more than its input.
    Differed(TaskIx),
    /// Attempts at this task leave this one out from now on.
    Skip {
        /// Of which stage.
        stage: Stage,
        /// The task.
        task: TaskIx,
        /// The record's number in the split; the group's in the partition.
        record: u64,
    },
    /// Every result is there.
    Done,
    /// The job cannot end well.
    Fail(JobFailure),
}

/// Why a job cannot end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobFailure {
    /// A task failed too often.
    Attempts {
        /// Of which stage.
        stage: Stage,
        /// The task's number within its stage, from 0.
        task: TaskIx,
        /// Failed attempts at it, as many as the job allows, or more.
        failed: u32,
    },
    /// A map gave other records when it ran again, after a reduce of the first ones had committed.
    Records {
        /// The map.
        map: TaskIx,
        /// The partition of that reduce.
        partition: u32,
        /// What the first output was.
        first: Digest,
        /// What the second is.
        second: Digest,
    },
}
