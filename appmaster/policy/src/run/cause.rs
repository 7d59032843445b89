//! Why a job did not succeed. The first cause stands; its consequences never overwrite it.

mod memory;

pub use memory::{Limit, OutOfMemory, SeenMemory};

use super::who::Who;
use crate::gang::{GivenUp, Missing, NoRoom};
use crate::{ContainerId, End, Millis, Rank, Rejection};

/// The root cause of a job's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A rank returned something else than 0, or a signal killed it.
    RankFailed {
        /// The rank that ended so before any other.
        rank: Who,
        /// Its node's host name.
        host: String,
        /// What it returned, or the signal.
        end: End,
    },
    /// A rank called `MPI_Abort`.
    Aborted {
        /// The rank that called first.
        rank: Who,
        /// Its node's host name.
        host: String,
        /// The code it gave.
        code: i32,
    },
    /// A rank did not speak PMI as it should.
    Broke {
        /// The rank, which was killed for it.
        rank: Who,
        /// Its node's host name.
        host: String,
        /// What it did.
        what: String,
    },
    /// Ranks returned 0 between `MPI_Init` and `MPI_Finalize`, and all others wait for them there, or still ran long
    /// after: no rank has failed.
    OthersLeft,
    /// A rank returned 0 without `MPI_Init`, while others were in it.
    NeverInitialized {
        /// The first that did.
        rank: Who,
        /// Its node's host name.
        host: String,
    },
    /// A launcher could not start the program.
    Refused {
        /// The launcher's own words, a whole sentence.
        sentence: String,
        /// The fitting exit code.
        code: u8,
    },
    /// A NodeManager did not start the container.
    StartFailed {
        /// The NodeManager's host name.
        host: String,
        /// What came back.
        why: String,
    },
    /// Launchers did not dial in.
    NotJoined {
        /// Host names of the containers without a launcher.
        hosts: Vec<String>,
        /// How long they had.
        waited: Millis,
    },
    /// YARN ended a container, or its process died.
    ContainerEnded {
        /// The container that YARN says is over.
        container: ContainerId,
        /// Its node's host name.
        host: String,
        /// YARN's exit status.
        status: i32,
        /// YARN's diagnostics, of any number of lines; may be empty.
        diagnostics: String,
    },
    /// The link to a launcher broke and YARN has not said why.
    LinkLost {
        /// The launcher's container.
        container: ContainerId,
        /// Its node's host name.
        host: String,
    },
    /// A launcher broke the rules of our own protocol.
    Misbehaved {
        /// Its node's host name.
        host: String,
        /// What it did.
        what: String,
    },
    /// The cluster can never give what the job wants.
    Impossible(Box<Rejection>),
    /// The ResourceManager does not take the requests.
    RequestsRefused {
        /// What it answered the last time, one sentence or more.
        words: String,
    },
    /// Some containers did not come in time.
    NotInTime {
        /// How long the job had waited.
        waited: Millis,
        /// Those that did not come.
        missing: Vec<Missing>,
        /// How many came.
        held: usize,
    },
    /// There never was room to ask for.
    NoRoomInTime {
        /// How long the job had waited.
        waited: Millis,
        /// What was missing, by the last look; `None`: the nodes could not be read.
        why: Option<NoRoom>,
    },
    /// It ran for longer than it may.
    TimedOut {
        /// For how long it may run.
        after: Millis,
    },
    /// Ranks ran on for too long after the first had ended.
    Outlived {
        /// For how long they may.
        after: Millis,
        /// How many still ran.
        left: usize,
    },
    /// A container was lost, and the program could not be started again.
    NotRepeated {
        /// How it was lost.
        lost: Box<Self>,
        /// What kept the program from a further start.
        why: Box<Self>,
    },
    /// The program has been given input that cannot be given again.
    InputUsed,
    /// Every rank returned 0, but the results could not be handed over.
    Results {
        /// What was wrong.
        sentence: String,
    },
    /// Somebody ended it.
    Killed(KillReason),
    /// The ResourceManager is gone.
    ResourceManagerLost {
        /// For how long it has not answered.
        silent: Millis,
    },
}

/// Who wants the job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillReason {
    /// Ctrl-C, or another signal that ends the client in order.
    Interrupted,
    /// What reads the client's output takes no more.
    NoReader,
    /// The client that follows the job is gone.
    ClientLost,
    /// YARN, or the operating system, ends the ApplicationMaster.
    Terminated,
}

impl Cause {
    /// Whether one rank's end is all of it, which need not be the others'.
    pub(super) const fn is_of_one_rank(&self) -> bool {
        matches!(
            self,
            Self::RankFailed { .. } | Self::NeverInitialized { .. }
        )
    }

    /// Whether it is what the ranks, or one of them, did.
    pub(super) const fn is_of_ranks(&self) -> bool {
        self.is_of_one_rank() || matches!(self, Self::Aborted { .. } | Self::Broke { .. })
    }

    /// The rank that did it.
    pub(super) const fn rank(&self) -> Option<Rank> {
        match self {
            Self::RankFailed { rank, .. }
            | Self::Aborted { rank, .. }
            | Self::Broke { rank, .. }
            | Self::NeverInitialized { rank, .. } => Some(rank.number),
            _ => None,
        }
    }

    /// Whether the program had no part in it, so that it may be started again: a container, its
    /// launcher or its node is lost.
    #[must_use]
    pub const fn is_loss(&self) -> bool {
        match self {
            Self::LinkLost { .. } | Self::StartFailed { .. } => true,
            // Taken back, node or disks lost, preempted, ended by an administrator or YARN, not
            // started; its launcher was killed, or did not reach us. Too much memory, or too large
            // a log, would be so again.
            Self::ContainerEnded { status, .. } => matches!(
                status,
                -100 | -101 | -102 | -105 | -106 | -108 | -1000 | 69 | 70 | 137 | 143
            ),
            _ => false,
        }
    }

    /// The container that YARN killed for memory, and which limit it was over.
    #[must_use]
    pub fn killed_for_memory(&self) -> Option<(&ContainerId, Limit)> {
        match self {
            Self::ContainerEnded {
                container, status, ..
            } => Some((container, Limit::of(*status)?)),
            _ => None,
        }
    }
}

impl From<GivenUp> for Cause {
    fn from(why: GivenUp) -> Self {
        match why {
            GivenUp::Impossible(rejection) => Self::Impossible(rejection),
            GivenUp::NotInTime {
                waited,
                missing,
                held,
            } => Self::NotInTime {
                waited,
                missing,
                held,
            },
            GivenUp::NoRoomInTime { waited, why } => Self::NoRoomInTime { waited, why },
        }
    }
}
