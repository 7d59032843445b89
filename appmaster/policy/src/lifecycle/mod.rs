//! The life of one job, as a machine: `step(now, event) -> actions`.
//!
//! ```text
//! registered ─▶ snapshot ─▶ asked ─▶ all granted ─▶ started ─▶ all joined ─▶ running ─▶ over
//!                  ▲  │ no room   ▲ │ stalled: snapshot, the rest is placed again
//!                  │  │           └─┤
//!                  └──┴─────────────┘ not all in time: let go, wait, look again
//! ```
//!
//! A container that is lost takes the ranks with it. The program may be started again, in what is
//! left and a replacement of the same size: that leads back to asking, with everything else held.
//!
//! Nothing is started until every container is granted; no rank runs until every launcher has
//! dialled in. The first cause of a failure stands. Whatever happens the job ends: every phase but
//! the wait for containers has a deadline, that one has one if the user gives it, and the end itself
//! has one.
//!
//! Two askings are never closer than [`Limits::reissue`], whatever the cluster does. Jobs that each
//! hold a part of what the other needs come out of it because both let go, at times and for pauses
//! that chance keeps apart, and chance comes from the seed.

mod asking;
mod cause;
mod chance;
mod ending;
mod gang;
mod gathering;
mod launchers;
mod limits;
mod ranks;
mod repeating;
mod running;
mod shortfall;
mod silence;
mod starting;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use cause::{Cause, KillReason, Limit, OutOfMemory, Seen};
pub use limits::{LONGEST_GANG, LONGEST_LOOK, LONGEST_PAUSE, Limits, SHORTEST_REISSUE};
pub use shortfall::Missing;
pub use words::{Action, Event, Grant, Phase, Seat, Stage, Unused, Verdict, Who};

use self::chance::Chance;
use self::gang::Gang;
use self::launchers::Launchers;
use self::ranks::{Ranks, Seats};
use self::shortfall::Shortfall;
use self::silence::Silence;
use crate::{
    ClusterView, ContainerId, Demand, Millis, NodeId, NodeShare, Placement, Rejection, allocate,
};

/// A container allocator.
type Place = fn(&Demand, &ClusterView, &[NodeShare]) -> Result<Placement, Rejection>;

/// One job.
pub struct Job {
    demand: Demand,
    limits: Limits,
    place: Place,
    chance: Chance,
    /// Askings so far.
    round: u32,
    /// Gangs that were let go.
    let_go: u32,
    /// The newest look at the cluster, and when it was answered.
    view: Option<ClusterView>,
    looked: Millis,
    /// The last look said that the job can never be placed.
    doubted: bool,
    /// What was missing, the last time it was tried.
    shortfall: Option<Shortfall>,
    /// When waiting for containers ends the job.
    give_up_at: Option<Millis>,
    /// Which run of the program this is, from 1.
    run: u32,
    /// Input was given that cannot be given again.
    input_used: bool,
    /// The containers of the job, once all have come.
    whole: Gang,
    launchers: Launchers,
    /// Why the last run ended, while the next has not begun.
    lost: Option<Cause>,
    /// Nodes that a container was lost with, and until when they are left alone.
    avoided: BTreeMap<NodeId, Millis>,
    /// Nodes that do not answer.
    silent: Silence,
    /// Since when nothing has come.
    idle_since: Millis,
    state: State,
}

enum State {
    /// Not registered yet.
    New,
    /// A snapshot has been ordered.
    Looking,
    /// No room, or the gang was let go.
    Waiting { until: Millis },
    /// Asked, not all granted.
    Gathering {
        gang: Gang,
        /// When all is let go.
        until: Millis,
        /// When the nodes are looked at again, if nothing comes before; `None` while they are.
        look_at: Option<Millis>,
    },
    /// All granted and ordered to start, not all joined.
    Starting {
        seats: Seats,
        joined: BTreeSet<ContainerId>,
        until: Millis,
        /// Those that have not joined were asked for, after the time was up.
        asked: bool,
    },
    /// Ranks run.
    Running {
        ranks: Ranks,
        /// When the program has run for too long.
        until: Option<Millis>,
        /// When the ranks that are left have outlived the first for too long.
        linger_until: Option<Millis>,
        /// The first failure of a rank, where that ends nobody else.
        first: Option<Cause>,
    },
    /// Ranks are being ended, for this cause.
    Ending {
        ranks: Ranks,
        cause: Cause,
        /// When whoever is still silent is taken for dead.
        until: Millis,
        /// Until when the cause may still turn out to have a reason, or ranks run that nobody hears
        /// of; `None` once there is nothing to wait for.
        settle: Option<Millis>,
    },
    /// The verdict is out.
    Over,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("demand", &self.demand)
            .field("round", &self.round)
            .field("state", &self.state.name())
            .finish_non_exhaustive()
    }
}

impl State {
    const fn name(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Looking => "looking",
            Self::Waiting { .. } => "waiting",
            Self::Gathering { .. } => "gathering",
            Self::Starting { .. } => "starting",
            Self::Running { .. } => "running",
            Self::Ending { .. } => "ending",
            Self::Over => "over",
        }
    }
}

impl Job {
    /// A job that has not begun. `limits` are taken within the bounds that their fields name; `seed`
    /// is to differ from other jobs' seeds.
    #[must_use]
    pub fn new(demand: Demand, limits: Limits, seed: u64) -> Self {
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
            shortfall: None,
            give_up_at: None,
            run: 1,
            input_used: false,
            whole: Gang::default(),
            launchers: Launchers::default(),
            lost: None,
            avoided: BTreeMap::new(),
            silent: Silence::default(),
            idle_since: Millis(0),
            state: State::New,
        }
    }

    /// When [`Event::Tick`] is due, if nothing else happens before.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Millis> {
        let by_state = match &self.state {
            State::New | State::Looking | State::Over => None,
            State::Running {
                until,
                linger_until,
                ..
            } => earliest(*until, *linger_until),
            State::Waiting { until } | State::Starting { until, .. } => Some(*until),
            State::Gathering { until, look_at, .. } => earliest(Some(*until), *look_at),
            State::Ending { until, settle, .. } => earliest(Some(*until), *settle),
        };
        earliest(by_state, self.give_up_at)
    }

    /// Whether the verdict is out.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Takes in one event and says what to do, in order. Events that make no sense in the present
    /// state (late grants aside, which are given back) change nothing.
    #[must_use]
    pub fn step(&mut self, now: Millis, event: Event) -> Vec<Action> {
        self.launchers.hear(&event);
        if matches!(event, Event::InputUsed) {
            self.input_used = true;
            return Vec::new();
        }
        if let Event::KillRequested(reason) = event {
            return self.fail(now, Cause::Killed(reason));
        }
        if let Event::ResourceManagerLost { silent } = event {
            return self.fail(now, Cause::ResourceManagerLost { silent });
        }
        if let Event::RequestsRefused { words } = event {
            return match self.state {
                // It has all that it needs.
                State::Starting { .. } | State::Running { .. } => Vec::new(),
                _ => self.fail(now, Cause::RequestsRefused { words }),
            };
        }
        if matches!(event, Event::Tick) && self.give_up_at.is_some_and(|at| now >= at) {
            return self.give_up(now);
        }
        match &mut self.state {
            State::New => match event {
                Event::Registered => {
                    self.idle_since = now;
                    self.give_up_at = self.limits.wait.map(|span| now.plus(span));
                    self.look()
                }
                other => surplus(other),
            },
            State::Looking => match event {
                Event::Snapshot(view) => self.place(now, view),
                Event::SnapshotFailed(why) => self.no_sight(now, &why),
                other => surplus(other),
            },
            State::Waiting { until } => match event {
                Event::Tick if now >= *until => self.look(),
                Event::Freed => {
                    *until = (*until)
                        .min(self.looked.plus(self.limits.look_again))
                        .max(now);
                    Vec::new()
                }
                other => surplus(other),
            },
            State::Gathering { .. } => self.gather(now, event),
            State::Starting { .. } => self.start(now, event),
            State::Running { .. } => self.run(now, event),
            State::Ending { .. } => self.end(now, event),
            State::Over => surplus(event),
        }
    }
}

/// A grant that nobody waits for goes back; everything else is ignored.
fn surplus(event: Event) -> Vec<Action> {
    match event {
        Event::Granted(grant) => vec![unused(grant)],
        _ => Vec::new(),
    }
}

/// Gives back a container that nobody waits for.
fn unused(grant: Grant) -> Action {
    Action::Release {
        containers: vec![grant.container],
        why: Unused::NotWanted,
    }
}

fn earliest(one: Option<Millis>, other: Option<Millis>) -> Option<Millis> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests;
