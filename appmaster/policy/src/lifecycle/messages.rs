//! What a job hears and what it says: what concerns its gang, what concerns its run, and what concerns
//! both.

use std::collections::BTreeSet;

use crate::gang::{GangAction, GangEvent, GangPhase, Grant, LetGo, NoRoom, Silent, Unused};
use crate::run::{Cause, KillReason, PmiStage, RunAction, RunEvent, RunPhase, Seat, Verdict, Who};
use crate::{ClusterView, ContainerId, End, Millis, NodeId, Placement, Rank};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum LifecycleEvent {
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
    /// The scheduler may have more to give than at the last look.
    Freed,
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
    /// Somebody wants the job ended.
    KillRequested(KillReason),
    /// No answer from the ResourceManager for so long that another attempt may be starting.
    ResourceManagerLost {
        /// For how long it has not answered.
        silent: Millis,
    },
    /// The ResourceManager refuses what is asked of it, again and again.
    RequestsRefused {
        /// What it answered the last time, one sentence or more.
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
    /// Nothing happened, but time passed: see [`super::MpiMachine::wakes_at`].
    Tick,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum LifecycleAction {
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
        /// Containers that were granted to the job, started or not.
        containers: Vec<ContainerId>,
        /// What made them useless.
        why: Unused,
    },
    /// A container was lost, and the program is to be started again in what is left and what will
    /// replace it: nothing of the run before counts any more, and none of its ranks is left.
    Repeat {
        /// Which run is to come: the same once more where no rank of it had been started.
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
    Show(LifecyclePhase),
    /// These hosts have newly not answered, though YARN counts them as running.
    Silent {
        /// Host names of nodes whose requests are outstanding.
        hosts: Vec<String>,
        /// For how long a request may stay unanswered.
        within: Millis,
        /// The mode allows no other nodes.
        is_bound: bool,
    },
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

/// What the job is doing, for a progress line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LifecyclePhase {
    /// Nothing can be asked for; why.
    WaitingForRoom(NoRoom),
    /// All was given back, and is asked for again later.
    LetGo(LetGo),
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
        /// Who does not answer.
        silent: Silent,
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

impl LifecycleEvent {
    /// What of it concerns the gang, and what the run.
    pub(super) fn split(self) -> (Option<GangEvent>, Option<RunEvent>) {
        use GangEvent as Gang;
        use RunEvent as Run;
        match self {
            Self::Registered => (Some(Gang::Begin), None),
            Self::Snapshot(view) => (Some(Gang::Snapshot(view)), None),
            Self::SnapshotFailed(why) => (Some(Gang::SnapshotFailed(why)), None),
            Self::Granted(grant) => (Some(Gang::Granted(grant)), None),
            Self::Freed => (Some(Gang::Freed), None),
            Self::Blocked { by } => (Some(Gang::Blocked { by }), None),
            Self::ResourceManagerRestarted => (Some(Gang::ResourceManagerRestarted), None),
            Self::StartFailed { container, why } => (
                Some(Gang::Lost(container.clone())),
                Some(Run::StartFailed { container, why }),
            ),
            Self::LinkLost(container) => (
                Some(Gang::Lost(container.clone())),
                Some(Run::LinkLost(container)),
            ),
            Self::ContainerEnded {
                container,
                status,
                diagnostics,
            } => (
                Some(Gang::ContainerEnded(container.clone())),
                Some(Run::ContainerEnded {
                    container,
                    status,
                    diagnostics,
                }),
            ),
            Self::Tick => (Some(Gang::Tick), Some(Run::Tick)),
            Self::Joined(container) => (None, Some(Run::Joined(container))),
            Self::Refused {
                container,
                sentence,
                code,
            } => {
                let refused = Run::Refused {
                    container,
                    sentence,
                    code,
                };
                (None, Some(refused))
            }
            Self::PmiSeen(group) => (None, Some(Run::PmiSeen(group))),
            Self::Waits(container) => (None, Some(Run::Waits(container))),
            Self::BarrierOver => (None, Some(Run::BarrierOver)),
            Self::Spawned { first, seats } => (None, Some(Run::Spawned { first, seats })),
            Self::NotSpawned(group) => (None, Some(Run::NotSpawned(group))),
            Self::RankEnded { rank, end, stage } => {
                (None, Some(Run::RankEnded { rank, end, stage }))
            }
            Self::Aborted { rank, code } => (None, Some(Run::Aborted { rank, code })),
            Self::Broke { rank, what } => (None, Some(Run::Broke { rank, what })),
            Self::Misbehaved { container, what } => {
                (None, Some(Run::Misbehaved { container, what }))
            }
            Self::Localizing(container) => (None, Some(Run::Localizing(container))),
            Self::InputUsed => (None, Some(Run::InputUsed)),
            // They end the job, whatever it does.
            Self::KillRequested(_)
            | Self::ResourceManagerLost { .. }
            | Self::RequestsRefused { .. } => (None, None),
        }
    }
}

impl LifecycleAction {
    /// What the gang says to everybody.
    pub(super) fn of_gang(action: GangAction) -> Option<Self> {
        Some(match action {
            GangAction::TakeSnapshot => Self::TakeSnapshot,
            GangAction::Ask {
                round,
                placement,
                held,
                kept,
            } => Self::Ask {
                round,
                placement,
                held,
                kept,
            },
            GangAction::Release { containers, why } => Self::Release { containers, why },
            GangAction::Show(phase) => Self::Show(phase.into()),
            GangAction::Silent {
                hosts,
                within,
                is_bound,
            } => Self::Silent {
                hosts,
                within,
                is_bound,
            },
            GangAction::Complete(_) | GangAction::GiveUp { .. } => return None,
        })
    }

    /// What the run says to everybody.
    pub(super) fn of_run(action: RunAction) -> Option<Self> {
        Some(match action {
            RunAction::Start(seats) => Self::Start(seats),
            RunAction::Begin(seats) => Self::Begin(seats),
            RunAction::Stop { grace } => Self::Stop { grace },
            RunAction::Release(containers) => Self::Release {
                containers,
                why: Unused::JobEnds,
            },
            RunAction::Finish(verdict) => Self::Finish(verdict),
            RunAction::Show(phase) => Self::Show(phase.into()),
            RunAction::LeftEarly { rank, host, within } => Self::LeftEarly { rank, host, within },
            RunAction::EndedForOne {
                rank,
                host,
                after,
                others,
            } => Self::EndedForOne {
                rank,
                host,
                after,
                others,
            },
            RunAction::Probe(containers) => Self::Probe(containers),
            RunAction::Repeat { .. } => return None,
        })
    }
}

impl From<GangPhase> for LifecyclePhase {
    fn from(phase: GangPhase) -> Self {
        match phase {
            GangPhase::WaitingForRoom(why) => Self::WaitingForRoom(why),
            GangPhase::LetGo(let_go) => Self::LetGo(let_go),
            GangPhase::WaitingForContainers { granted, wanted } => {
                Self::WaitingForContainers { granted, wanted }
            }
            GangPhase::WaitingForNodes {
                granted,
                wanted,
                silent,
            } => Self::WaitingForNodes {
                granted,
                wanted,
                silent,
            },
        }
    }
}

impl From<RunPhase> for LifecyclePhase {
    fn from(phase: RunPhase) -> Self {
        match phase {
            RunPhase::Starting { joined, wanted } => Self::StartingContainers { joined, wanted },
            RunPhase::Running { ended, ranks } => Self::Running { ended, ranks },
            RunPhase::Ending => Self::Ending,
        }
    }
}
