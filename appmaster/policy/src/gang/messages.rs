//! What a gang hears and what it says.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Missing;
use crate::{ClusterView, ContainerId, Millis, NodeId, NodeShare, Placement, Rejection, Resources};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum GangEvent {
    /// Containers may be asked for from now on.
    Begin,
    /// The cluster as it is now.
    Snapshot(ClusterView),
    /// The cluster as it is now, and what its owner has chosen there for this gang and others.
    Chosen(Chosen),
    /// The cluster could not be read, for this reason.
    SnapshotFailed(String),
    /// A container was granted.
    Granted(Grant),
    /// YARN says that a container is over.
    ContainerEnded(ContainerId),
    /// A container that is in use is lost, and YARN need not know.
    Lost(ContainerId),
    /// The scheduler may have more to give than at the last look.
    Freed,
    /// What is there or reserved is in the way of another job that is older and waits, too, and that
    /// holds what is missing: neither would come to an end.
    Blocked {
        /// What the other is called.
        by: String,
    },
    /// The ResourceManager has restarted. Requests that it has forgotten are repeated by whoever sends
    /// them; of the containers that it gave, it knows those that were started.
    ResourceManagerRestarted,
    /// Nothing happened, but time passed: see [`super::Gang::wakes_at`].
    Tick,
}

/// What was chosen for a gang by its owner, who looks at the cluster once for many.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The cluster, which all of them see.
    pub view: Arc<ClusterView>,
    /// Where its containers are asked for, or why nowhere.
    pub answer: Result<Placement, Rejection>,
    /// What it has asked for already does not answer.
    pub silent: Option<Silent>,
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
    /// The round of asking that it answers, as [`GangAction::Ask`] gave it.
    pub round: u32,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum GangAction {
    /// Read the nodes.
    TakeSnapshot,
    /// Ask for one container a share, the shares of `held` and `kept` nodes aside; whatever else is
    /// outstanding is cleared, all in one allocate call. An empty placement clears everything.
    Ask {
        /// Counts the askings of this gang, from 1. Grants of what is newly asked for carry it.
        round: u32,
        /// All shares.
        placement: Placement,
        /// Nodes whose containers are there.
        held: BTreeSet<NodeId>,
        /// Nodes whose requests of earlier rounds stand as they are, served meanwhile or not.
        kept: BTreeSet<NodeId>,
    },
    /// Give containers back.
    Release {
        /// Containers that the gang was granted.
        containers: Vec<ContainerId>,
        /// What made them useless.
        why: Unused,
    },
    /// The phase changed; for whoever watches.
    Show(GangPhase),
    /// These hosts have newly not answered, though YARN counts them as running.
    Silent {
        /// Host names of nodes whose requests are outstanding.
        hosts: Vec<String>,
        /// For how long a request may stay unanswered.
        within: Millis,
        /// The mode allows no other nodes.
        is_bound: bool,
    },
    /// Every container is there: one a share, in the order of the shares.
    Complete(Vec<Member>),
    /// It will not come together; nothing is asked for any more, and what was held goes back.
    GiveUp {
        /// What ends the job.
        why: GivenUp,
        /// What is held.
        held: Vec<ContainerId>,
    },
}

/// A share of the placement and its container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The share.
    pub share: NodeShare,
    /// The container.
    pub grant: Grant,
}

/// A member that is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Its container.
    pub container: ContainerId,
    /// Its node.
    pub node: NodeId,
    /// Others on this node might be lost, too.
    pub node_is_in_doubt: bool,
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

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GangPhase {
    /// Nothing can be asked for.
    WaitingForRoom(NoRoom),
    /// All was let go, and is asked for again later.
    LetGo(LetGo),
    /// Asked; so many of so many granted.
    WaitingForContainers {
        /// Containers held.
        granted: usize,
        /// Containers wanted.
        wanted: usize,
    },
    /// The same, and nodes do not answer.
    WaitingForNodes {
        /// Containers held.
        granted: usize,
        /// Containers wanted.
        wanted: usize,
        /// Who does not answer.
        silent: Silent,
    },
}

/// Why nothing can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// There is no placement.
    Rejected(Box<Rejection>),
    /// The nodes could not be read.
    Unseen(String),
}

/// That what was held was given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetGo {
    /// Containers that were held.
    pub granted: usize,
    /// Containers wanted.
    pub wanted: usize,
    /// Another job that is older and holds what is missing, by its name.
    pub blocked_by: Option<String>,
    /// When all are asked for again.
    pub pause: Millis,
}

/// Nodes of outstanding requests that do not answer, though there is room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silent {
    /// Their hosts.
    pub hosts: Vec<String>,
    /// The longest silence.
    pub span: Millis,
}

/// Why a gang does not come together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenUp {
    /// The cluster can never give it.
    Impossible(Box<Rejection>),
    /// Some containers did not come in time.
    NotInTime {
        /// How long it was waited for.
        waited: Millis,
        /// Those that did not come.
        missing: Vec<Missing>,
        /// How many came.
        held: usize,
    },
    /// There never was room to ask for.
    NoRoomInTime {
        /// How long it was waited for.
        waited: Millis,
        /// What was missing, by the last look; `None`: the nodes could not be read.
        why: Option<NoRoom>,
    },
}
