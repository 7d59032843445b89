//! What the machine hears and what it says.

use std::collections::BTreeSet;
use std::fmt;

use super::cause::{Cause, KillReason};
use crate::{ClusterView, ContainerId, End, Millis, NodeId, Placement, Rank, Resources};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The ResourceManager took the registration.
    Registered,
    /// The cluster as it is now.
    Snapshot(ClusterView),
    /// The cluster could not be read, for this reason.
    SnapshotFailed(String),
    /// A container was granted.
    Granted(Grant),
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
    /// A rank has spawned processes, which are being started; group by group, counted from 1.
    Spawned {
        /// Number of the group's rank 0: its ranks are numbered on from there, and no number is
        /// ever given twice.
        first: Rank,
        /// By container.
        seats: Vec<(ContainerId, Vec<Rank>)>,
    },
    /// The newest processes of this group could not all be started: there are none of it.
    NotSpawned(u32),
    /// A rank is gone.
    RankEnded {
        /// Which.
        rank: Rank,
        /// How.
        end: End,
        /// How far it got with MPI.
        stage: Stage,
    },
    /// A rank called `MPI_Abort`.
    Aborted {
        /// Which.
        rank: Rank,
        /// The code it gave.
        code: i32,
    },
    /// A rank did not speak PMI as it should, and is killed.
    Broke {
        /// Which.
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
    /// The scheduler may have more to give than at the last look.
    Freed,
    /// The link to a launcher broke.
    LinkLost(ContainerId),
    /// YARN says that a container is over.
    ContainerEnded {
        /// Which.
        container: ContainerId,
        /// YARN's exit status: negative ones are YARN's own.
        status: i32,
        /// YARN's words.
        diagnostics: String,
    },
    /// Somebody wants the job ended.
    KillRequested(KillReason),
    /// No answer from the ResourceManager for so long that another attempt may be starting.
    ResourceManagerLost {
        /// The silence.
        silent: Millis,
    },
    /// The ResourceManager refuses what is asked of it, again and again.
    RequestsRefused {
        /// Its words.
        words: String,
    },
    /// Containers are missing, what is there or reserved is in the way of another job that is older and
    /// waits, too, and that holds what is missing: neither would come to an end.
    Blocked {
        /// What the other is called.
        by: String,
    },
    /// The ResourceManager has restarted and taken the registration again. Requests that it has
    /// forgotten are repeated by whoever sends them; of the containers that it gave, it knows those
    /// that were started.
    ResourceManagerRestarted,
    /// A rank was given input that cannot be given again: the program cannot be started again.
    InputUsed,
    /// Nothing happened, but time passed: see [`super::Job::wakes_at`].
    Tick,
}

/// A process of the job, by the name that a user knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    /// Its number in the job.
    pub number: Rank,
    /// Of one that was spawned: its group, from 1, and its rank there.
    pub spawned: Option<(u32, u32)>,
}

impl From<Rank> for Who {
    /// One of the job's own ranks.
    fn from(number: Rank) -> Self {
        Self {
            number,
            spawned: None,
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spawned {
            None => write!(f, "rank {}", self.number),
            Some((group, rank)) => write!(f, "rank {rank} of spawned group {group}"),
        }
    }
}

/// A granted container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// YARN's id of it.
    pub container: ContainerId,
    /// Where it is.
    pub node: NodeId,
    /// What it really holds; YARN rounds up.
    pub resources: Resources,
    /// The round of asking that it answers, as [`Action::Ask`] gave it.
    pub round: u32,
}

/// How far a rank got with MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It never called `MPI_Init`.
    Silent,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Initialized,
    /// Past `MPI_Finalize`.
    Finalized,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Read the nodes.
    TakeSnapshot,
    /// Ask for one container a share, the shares of `held` and `kept` nodes aside; whatever else is
    /// outstanding is cleared, all in one allocate call. An empty placement clears everything.
    Ask {
        /// Counts the askings of this job, from 1. Grants of what is newly asked for carry it.
        round: u32,
        /// All shares of the job.
        placement: Placement,
        /// Nodes whose containers are there.
        held: BTreeSet<NodeId>,
        /// Nodes whose requests of earlier rounds stand as they are, served meanwhile or not.
        kept: BTreeSet<NodeId>,
    },
    /// Give containers back that are not used.
    Release {
        /// Which.
        containers: Vec<ContainerId>,
        /// Why.
        why: Unused,
    },
    /// A container was lost, and the program is to be started again in what is left and what will
    /// replace it: nothing of the run before counts any more, and none of its ranks is left.
    Repeat {
        /// Which run is to come, from 2.
        run: u32,
        /// Why the one before is over.
        cause: Cause,
        /// Containers whose launchers stay; all others are to leave.
        kept: Vec<ContainerId>,
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
    /// The job is over: tell the launchers to leave, unregister with this verdict.
    Finish(Verdict),
    /// The phase changed; for whoever watches.
    Show(Phase),
    /// Something that the user is to see at once.
    Say(String),
    /// Find out whether these containers, whose launchers have not joined, are still being localized.
    Probe(Vec<ContainerId>),
}

/// Why containers are given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// It came after its node, or its size, was no longer wanted.
    NotWanted,
    /// The others did not come in time.
    Incomplete,
    /// The ResourceManager has restarted and does not know them any more.
    Forgotten,
    /// Its launcher, or its node, is lost.
    Lost,
    /// The job ends before they were put to use.
    JobEnds,
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotWanted => "its node or its size is no longer wanted",
            Self::Incomplete => "the job's other containers did not come in time",
            Self::Forgotten => "the ResourceManager has restarted and does not know them any more",
            Self::Lost => "its launcher or its node is lost",
            Self::JobEnds => "the job ends",
        })
    }
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

/// What the job is doing, for a progress line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No node has room; why.
    WaitingForRoom(String),
    /// Asked; so many of so many granted.
    WaitingForContainers {
        /// Containers held.
        granted: usize,
        /// Containers wanted.
        wanted: usize,
    },
    /// The same, and what it waits for.
    WaitingForNodes {
        /// Containers held.
        granted: usize,
        /// Containers wanted.
        wanted: usize,
        /// Who does not answer, and for how long.
        note: String,
    },
    /// So many of so many launchers have dialled in.
    StartingContainers {
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
