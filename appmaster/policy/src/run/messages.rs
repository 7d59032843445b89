//! What a run hears and what it says.

use super::cause::Cause;
use super::who::Who;
use crate::gang::Loss;
use crate::{ContainerId, End, Millis, NodeId, Rank, Resources};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEvent {
    /// A NodeManager did not take the order to start a container.
    StartFailed {
        /// The container.
        container: ContainerId,
        /// What came back, one line.
        why: String,
    },
    /// The launcher of a container has dialled in.
    Joined(ContainerId),
    /// A launcher cannot start its share.
    Refused {
        /// Its container.
        container: ContainerId,
        /// Its own sentence.
        sentence: String,
        /// The exit code it found fitting.
        code: u8,
    },
    /// Some rank of this group has called `MPI_Init`; group 0 are the job's own ranks.
    PmiSeen(u32),
    /// Every rank of this container that still runs waits in a barrier of the process manager; of the job's own.
    Waits(ContainerId),
    /// Such a barrier is over: the ranks go on.
    BarrierOver,
    /// A rank has spawned processes, which are being started; group by group, counted from 1.
    Spawned {
        /// Number of the group's rank 0: its ranks are numbered on from there, and no number is
        /// ever given twice.
        first: Rank,
        /// The ranks of each container that has any of the group.
        seats: Vec<(ContainerId, Vec<Rank>)>,
    },
    /// The newest processes of this group could not all be started: there are none of it.
    NotSpawned(u32),
    /// A rank is gone.
    RankEnded {
        /// Its number in the job.
        rank: Rank,
        /// What it returned, or the signal that ended it.
        end: End,
        /// How far it got with MPI.
        stage: PmiStage,
    },
    /// A rank called `MPI_Abort`.
    Aborted {
        /// Its number in the job.
        rank: Rank,
        /// The code it gave.
        code: i32,
    },
    /// A rank did not speak PMI as it should, and is killed.
    Broke {
        /// Its number in the job.
        rank: Rank,
        /// What it did.
        what: String,
    },
    /// The launcher of a container broke the rules of our own protocol.
    Misbehaved {
        /// Its container.
        container: ContainerId,
        /// What it did.
        what: String,
    },
    /// A container that has not joined is still being localized: YARN copies its files.
    Localizing(ContainerId),
    /// The link to a launcher broke.
    LinkLost(ContainerId),
    /// YARN says that a container is over.
    ContainerEnded {
        /// The container; nothing of it runs any more.
        container: ContainerId,
        /// YARN's exit status: negative ones are YARN's own.
        status: i32,
        /// YARN's diagnostics, of any number of lines; may be empty.
        diagnostics: String,
    },
    /// A rank was given input that cannot be given again: the program cannot be started again.
    InputUsed,
    /// Nothing happened, but time passed: see [`super::Run::wakes_at`].
    Tick,
}

/// How far a rank got with MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PmiStage {
    /// It never called `MPI_Init`.
    Silent,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Initialized,
    /// Past `MPI_Finalize`.
    Finalized,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunAction {
    /// A container was lost, and the program is to be started again in what is left and what will
    /// replace it: nothing of the run before counts any more, and none of its ranks is left.
    Repeat {
        /// Which run is to come: the same once more where no rank of it had been started.
        number: u32,
        /// Why the one before is over.
        cause: Cause,
        /// Containers whose launchers stay; all others are to leave.
        kept: Vec<ContainerId>,
        /// The others: they are to be given back and replaced.
        lost: Vec<Loss>,
    },
    /// Start the launchers that are not there yet, on all nodes at once.
    Start(Vec<Seat>),
    /// All launchers are there: hand out the ranks.
    Begin(Vec<Seat>),
    /// End all ranks: SIGTERM now, SIGKILL after the grace time.
    Stop {
        /// Time between the two.
        grace: Millis,
    },
    /// These were not put to use, and the job ends.
    Release(Vec<ContainerId>),
    /// The job is over: tell the launchers to leave, unregister with this verdict.
    Finish(Verdict),
    /// The phase changed; for whoever watches.
    Show(RunPhase),
    /// A rank has ended with code 0 between `MPI_Init` and `MPI_Finalize`, the first: the others go on, but not for
    /// ever.
    LeftEarly {
        /// Which.
        rank: Who,
        /// Its node.
        host: String,
        /// How long they may, at most; `None`: as long as the user allows.
        within: Option<Millis>,
    },
    /// One has left so, and the others, which have had their time, are ended for it. No rank has failed.
    EndedForOne {
        /// The first that left.
        rank: Who,
        /// Its node.
        host: String,
        /// How long they ran on.
        after: Millis,
        /// Those that are ended, and their nodes.
        others: Vec<(Who, String)>,
    },
    /// Find out whether these containers, whose launchers have not joined, are still being localized.
    Probe(Vec<ContainerId>),
}

/// One container of the job and its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The container.
    pub container: ContainerId,
    /// Its node.
    pub node: NodeId,
    /// The node's host name.
    pub host: String,
    /// Its ranks, ascending.
    pub ranks: Vec<Rank>,
    /// What it holds.
    pub resources: Resources,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunPhase {
    /// So many of so many launchers have dialled in.
    Starting {
        /// Launchers there.
        joined: usize,
        /// Launchers wanted.
        wanted: usize,
    },
    /// The program runs.
    Running {
        /// Ranks that have ended.
        ended: usize,
        /// Ranks of the job.
        ranks: usize,
    },
    /// Ranks are being ended.
    Ending,
}

/// How the job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The first cause; `None` when every rank returned 0.
    pub cause: Option<Cause>,
}

impl From<Cause> for Verdict {
    /// Of a run that was ended for it.
    fn from(cause: Cause) -> Self {
        Self {
            cause: Some(cause).filter(|cause| *cause != Cause::OthersLeft),
        }
    }
}
