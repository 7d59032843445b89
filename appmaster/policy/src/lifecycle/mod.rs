//! The life of one job, as a machine: `step(now, event) -> actions`.
//!
//! ```text
//! registered ─▶ snapshot ─▶ asked ─▶ all granted ─▶ started ─▶ all joined ─▶ running ─▶ over
//!                  ▲  │ no room     │ not all in time
//!                  └──┴─────────────┘ wait, look again
//! ```
//!
//! Nothing is started until every container is granted; no rank runs until every launcher has
//! dialled in. The first cause of a failure stands. Whatever happens the job ends: every phase but
//! the wait for room has a deadline, and the end itself has one.

mod asking;
mod cause;
mod ending;
mod gang;
mod limits;
mod ranks;
mod running;
mod starting;
mod words;

use std::collections::BTreeSet;
use std::fmt;

pub use cause::{Cause, KillReason};
pub use limits::Limits;
pub use words::{Action, Event, Grant, Phase, Seat, Stage, Verdict};

use self::gang::Gang;
use self::ranks::Ranks;
use crate::{ContainerId, Demand, Millis};

/// One job.
pub struct Job {
    demand: Demand,
    limits: Limits,
    /// Askings so far.
    round: u32,
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
    Gathering { gang: Gang, until: Millis },
    /// All granted and ordered to start, not all joined.
    Starting {
        seats: Vec<Seat>,
        joined: BTreeSet<ContainerId>,
        until: Millis,
    },
    /// Ranks run.
    Running { ranks: Ranks },
    /// Ranks are being ended, for this cause.
    Ending {
        ranks: Ranks,
        cause: Cause,
        /// When whoever is still silent is taken for dead.
        until: Millis,
        /// Until when a lost link waits for its reason; `None` once there is nothing to wait for.
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
    /// A job that has not begun.
    #[must_use]
    pub fn new(demand: Demand, limits: Limits) -> Self {
        Self {
            demand,
            limits,
            round: 0,
            state: State::New,
        }
    }

    /// When [`Event::Tick`] is due, if nothing else happens before.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Millis> {
        match &self.state {
            State::New | State::Looking | State::Running { .. } | State::Over => None,
            State::Waiting { until }
            | State::Gathering { until, .. }
            | State::Starting { until, .. } => Some(*until),
            State::Ending { until, settle, .. } => Some(settle.map_or(*until, |at| at.min(*until))),
        }
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
        if let Event::KillRequested(reason) = event {
            return self.fail(now, Cause::Killed(reason));
        }
        if let Event::ResourceManagerLost { silent } = event {
            return self.fail(now, Cause::ResourceManagerLost { silent });
        }
        match &mut self.state {
            State::New => match event {
                Event::Registered => self.look(),
                other => surplus(other),
            },
            State::Looking => match event {
                Event::Snapshot(view) => self.place(now, &view),
                Event::SnapshotFailed(why) => {
                    self.wait_for_room(now, format!("the nodes cannot be read: {why}"))
                }
                other => surplus(other),
            },
            State::Waiting { until } => match event {
                Event::Tick if now >= *until => self.look(),
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
        Event::Granted(grant) => vec![Action::Release(vec![grant.container])],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
