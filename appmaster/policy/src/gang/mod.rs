//! Containers that are of use only together: from the first look at the cluster to the last grant.
//!
//! ```text
//! begun ─▶ snapshot ─▶ asked ─▶ whole ─▶ (some are lost) ─▶ asked ─▶ whole …
//!             ▲  │ no room ▲ │ stalled: snapshot, the rest is placed again
//!             │  │         └─┤
//!             └──┴───────────┘ not all in time: let go, wait, look again
//! ```
//!
//! Two askings are never closer than [`GangLimits::reissue`], whatever the cluster does. Gangs that each
//! hold a part of what the other needs come out of it because both let go, at times and for pauses
//! that chance keeps apart, and chance comes from the seed. A gang waits for ever, unless
//! [`GangLimits::wait`] says for how long.
//!
//! Nothing here knows what the containers are for.

mod asking;
mod chance;
mod choosing;
mod gathering;
mod limits;
mod members;
mod messages;
mod shortfall;
mod silence;
mod spread;
mod suspects;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use chance::Chance;
pub use limits::{GangLimits, LONGEST_GATHER, LONGEST_LOOK, LONGEST_PAUSE, SHORTEST_REISSUE};
pub use messages::{
    Chosen, GangAction, GangEvent, GangPhase, GivenUp, Grant, LetGo, Loss, Member, NoRoom, Silent,
    Unused,
};
pub use shortfall::Missing;
pub use spread::{Spot, Spread, Suspicion};
pub use suspects::{SuspectNodes, Suspected};

use self::members::Members;
use self::shortfall::Shortfall;
use self::silence::Silence;
use crate::{
    ClusterView, ContainerId, Demand, Millis, NodeId, NodeShare, Placement, Rejection, allocate,
};

/// A container allocator, such as [`allocate::place`].
pub type Allocator = fn(&Demand, &ClusterView, &[NodeShare]) -> Result<Placement, Rejection>;

/// The containers of one demand.
#[derive(Debug)]
pub struct Gang {
    demand: Demand,
    limits: GangLimits,
    place: Allocator,
    chance: Chance,
    /// Askings so far.
    round: u32,
    /// How often it was let go.
    let_go: u32,
    /// The newest look at the cluster, and when it was answered.
    view: Option<Arc<ClusterView>>,
    looked: Millis,
    /// The last look said that it can never be placed.
    doubted: bool,
    /// It was whole: until when nodes that it needs, and that are missing, may come back.
    back_by: Option<Millis>,
    /// What was missing, the last time it was tried.
    shortfall: Option<Shortfall>,
    /// When waiting for containers is given up.
    give_up_at: Option<Millis>,
    /// What is wanted, asked for and there.
    members: Members,
    /// Containers that have been put to use: a ResourceManager that restarts knows them.
    used: BTreeSet<ContainerId>,
    /// Nodes that a container was lost with, and until when they are left alone.
    avoided: BTreeMap<NodeId, Millis>,
    /// Nodes that do not answer.
    silent: Silence,
    /// The queue has kept back what is more than it names, for longer than a node may take to answer.
    goes_by_named: bool,
    /// Since when nothing has come.
    idle_since: Millis,
    state: GangState,
}

#[derive(Clone, Copy, Debug)]
enum GangState {
    /// Not begun.
    New,
    /// A snapshot has been ordered.
    Looking,
    /// No room, or all was let go.
    Waiting { until: Millis },
    /// Asked, not all granted.
    Gathering {
        /// When all is let go.
        until: Millis,
        /// When the nodes are looked at again, if nothing comes before; `None` while they are.
        look_at: Option<Millis>,
    },
    /// Every container is there.
    Whole,
    /// Nothing is wanted any more.
    Over,
}

impl Gang {
    /// One that has not begun. `limits` are taken within the bounds that their fields name; `seed` is
    /// to differ from that of other gangs.
    #[must_use]
    pub fn new(demand: Demand, limits: GangLimits, seed: u64) -> Self {
        Self {
            demand,
            limits: limits.bounded(),
            place: allocate::place,
            chance: Chance::new(seed),
            round: 0,
            let_go: 0,
            view: None,
            looked: Millis(0),
            doubted: false,
            back_by: None,
            shortfall: None,
            give_up_at: None,
            members: Members::default(),
            used: BTreeSet::new(),
            avoided: BTreeMap::new(),
            silent: Silence::default(),
            goes_by_named: false,
            idle_since: Millis(0),
            state: GangState::New,
        }
    }

    /// Placed by another allocator.
    #[must_use]
    pub const fn placed_by(mut self, place: Allocator) -> Self {
        self.place = place;
        self
    }

    /// What is wanted.
    #[must_use]
    pub const fn demand(&self) -> &Demand {
        &self.demand
    }

    /// How often it was let go.
    #[must_use]
    pub const fn times_let_go(&self) -> u32 {
        self.let_go
    }

    /// Whether containers are wanted that are not there.
    #[must_use]
    pub const fn is_gathering(&self) -> bool {
        match self.state {
            GangState::New
            | GangState::Looking
            | GangState::Waiting { .. }
            | GangState::Gathering { .. } => true,
            GangState::Whole | GangState::Over => false,
        }
    }

    /// Whether it waits for the nodes to be read.
    #[must_use]
    pub const fn awaits_nodes(&self) -> bool {
        matches!(
            self.state,
            GangState::Looking | GangState::Gathering { look_at: None, .. }
        )
    }

    /// Whether nothing is held, nor asked for.
    #[must_use]
    pub const fn has_nothing(&self) -> bool {
        matches!(
            self.state,
            GangState::New | GangState::Looking | GangState::Waiting { .. } | GangState::Over
        )
    }

    /// The containers that are there, while it gathers.
    #[must_use]
    pub fn held(&self) -> Vec<ContainerId> {
        match self.state {
            GangState::Gathering { .. } => self.members.held(),
            GangState::New
            | GangState::Looking
            | GangState::Waiting { .. }
            | GangState::Whole
            | GangState::Over => Vec::new(),
        }
    }

    /// When [`GangEvent::Tick`] is due, if nothing else happens before.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Millis> {
        let by_state = match self.state {
            GangState::New | GangState::Looking | GangState::Whole | GangState::Over => None,
            GangState::Waiting { until } => Some(until),
            GangState::Gathering { until, look_at } => earliest(Some(until), look_at),
        };
        earliest(by_state, self.give_up_at)
    }

    /// Takes in one event and says what to do, in order. Events that make no sense in the present
    /// state (late grants aside, which are given back) change nothing.
    #[must_use]
    pub fn step(&mut self, now: Millis, event: GangEvent) -> Vec<GangAction> {
        if matches!(event, GangEvent::Tick) && self.give_up_at.is_some_and(|at| now >= at) {
            return self.give_up();
        }
        let room_look = self.soonest_look(now, self.limits.look_again, limits::LONGEST_REST);
        match &mut self.state {
            GangState::New => match event {
                GangEvent::Begin => {
                    self.idle_since = now;
                    self.give_up_at = self.limits.wait.map(|span| now.plus(span));
                    self.look()
                }
                other => surplus(other),
            },
            GangState::Looking => match event {
                GangEvent::Snapshot(view) => self.place(now, view),
                GangEvent::Chosen(chosen) => self.placed(now, chosen.view, chosen.answer),
                GangEvent::SnapshotFailed(why) => self.wait_for_room(now, NoRoom::Unseen(why)),
                other => surplus(other),
            },
            GangState::Waiting { until } => match event {
                GangEvent::Tick if now >= *until => self.look(),
                GangEvent::Freed => {
                    *until = (*until).max(now).min(room_look);
                    Vec::new()
                }
                other => surplus(other),
            },
            GangState::Gathering { .. } => self.gather(now, event),
            GangState::Whole | GangState::Over => surplus(event),
        }
    }

    /// Nothing is wanted any more: what was held while it gathered, to be given back. A gang that was
    /// whole is in the hands of whoever uses it.
    pub fn end(&mut self) -> Vec<ContainerId> {
        let held = self.held();
        self.give_up_at = None;
        self.state = GangState::Over;
        held
    }

    /// These members of a whole gang are lost, the others stay and are in use: the gap is asked for, on
    /// other nodes where the mode allows that and the node is in doubt. Without others it begins again.
    pub fn replace(&mut self, now: Millis, lost: &[Loss]) -> Vec<GangAction> {
        for Loss {
            container,
            node,
            node_is_in_doubt,
        } in lost
        {
            self.members.lose(container);
            if *node_is_in_doubt {
                let until = now.plus(self.limits.avoid);
                self.avoided.insert(node.clone(), until);
            }
        }
        self.used = self.members.held().into_iter().collect();
        self.give_up_at = self.limits.wait.map(|span| now.plus(span));
        self.back_by = Some(now.plus(self.limits.back));
        let next_look = self.looked.plus(self.limits.reissue);
        let look_now = now >= next_look;
        if self.used.is_empty() {
            self.idle_since = now;
            if look_now {
                return self.look();
            }
            self.state = GangState::Waiting { until: next_look };
            return vec![self.granted_so_far()];
        }
        let mut actions = vec![self.granted_so_far()];
        let span = self.span_to_gather();
        self.state = GangState::Gathering {
            until: now.plus(span),
            look_at: (!look_now).then_some(next_look),
        };
        if look_now {
            actions.push(GangAction::TakeSnapshot);
        }
        actions
    }
}

/// A grant that nobody waits for goes back; everything else is ignored.
fn surplus(event: GangEvent) -> Vec<GangAction> {
    match event {
        GangEvent::Granted(grant) => vec![unused(grant)],
        _ => Vec::new(),
    }
}

/// Gives back a container that nobody waits for.
fn unused(grant: Grant) -> GangAction {
    GangAction::Release {
        containers: vec![grant.container],
        why: Unused::NotWanted,
    }
}

pub(crate) fn earliest(one: Option<Millis>, other: Option<Millis>) -> Option<Millis> {
    one.into_iter().chain(other).min()
}
