//! A program in the containers of a gang: from the order to start its launchers to the verdict, or to
//! the next run.
//!
//! ```text
//! complete ─▶ started ─▶ all joined ─▶ running ─▶ ending ─▶ over
//!     ▲                                             │
//!     └──── what was lost is replaced ◀── repeated ─┘
//! ```
//!
//! No rank runs until every launcher has dialled in. The first cause of a failure stands. Every phase
//! has a deadline, and the end itself has one; only how long ranks run has one if the user gives it.
//!
//! A container that is lost takes the ranks with it. The program may be started again, in what is left
//! and a replacement of the same size. One that is lost before any rank was started costs no run.

mod cause;
mod ending;
mod launchers;
mod limits;
mod messages;
mod ranks;
mod repeating;
mod running;
mod starting;
mod who;

use std::collections::BTreeSet;

pub use cause::{Cause, KillReason, Limit, OutOfMemory, SeenMemory};
pub use limits::RunLimits;
pub use messages::{PmiStage, RunAction, RunEvent, RunPhase, Seat, Verdict};
pub use who::Who;

use self::launchers::Launchers;
use self::ranks::{Ranks, Seats};
use crate::gang::{Loss, earliest};
use crate::{ContainerId, Millis};

/// The runs of one program.
#[derive(Debug)]
pub struct Run {
    limits: RunLimits,
    /// Which run of the program this is, or is to come; from 1.
    number: u32,
    /// Input was given that cannot be given again.
    input_used: bool,
    /// How often containers of the run to come were lost before it began, and replaced.
    replaced: u32,
    launchers: Launchers,
    /// Why the last run ended, while the next has not begun.
    lost: Option<Cause>,
    state: RunState,
}

#[derive(Debug)]
enum RunState {
    /// Its containers are not all there.
    Idle,
    /// All are ordered to start, not all have joined.
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
        /// When ranks were handed out.
        begun: Millis,
        /// When the others have had their time since a rank left without `MPI_Finalize`.
        left_until: Option<Millis>,
        /// When the user was told that one has left so.
        left_told: Option<Millis>,
        /// The first failure of a rank, where that ends nobody else.
        first: Option<Cause>,
    },
    /// Ranks are being ended, for this cause.
    Ending {
        ranks: Ranks,
        cause: Cause,
        /// Whether any rank was started; otherwise there is none to wait for.
        begun: bool,
        /// When whoever is still silent is taken for dead.
        until: Millis,
        /// Until when the cause may still turn out to have a reason, or ranks run that nobody hears
        /// of; `None` once there is nothing to wait for.
        settle: Option<Millis>,
    },
    /// The verdict is out.
    Over,
}

impl Run {
    /// One whose containers are still to come.
    #[must_use]
    pub fn new(limits: RunLimits) -> Self {
        Self {
            limits,
            number: 1,
            input_used: false,
            replaced: 0,
            launchers: Launchers::default(),
            lost: None,
            state: RunState::Idle,
        }
    }

    /// Which run of the program this is, or is to come; from 1.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Whether the verdict is out.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.state, RunState::Over)
    }

    /// Whether ranks run, and nothing ends them.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        matches!(self.state, RunState::Running { .. })
    }

    /// Whether it has all containers that it needs, and nothing ends it.
    #[must_use]
    pub const fn needs_nothing(&self) -> bool {
        matches!(
            self.state,
            RunState::Starting { .. } | RunState::Running { .. }
        )
    }

    /// When [`RunEvent::Tick`] is due, if nothing else happens before.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Millis> {
        match &self.state {
            RunState::Idle | RunState::Over => None,
            RunState::Starting { until, .. } => Some(*until),
            RunState::Running {
                until,
                linger_until,
                left_until,
                ..
            } => earliest(earliest(*until, *linger_until), *left_until),
            RunState::Ending { until, settle, .. } => earliest(Some(*until), *settle),
        }
    }

    /// Takes in one event and says what to do, in order. Events that make no sense in the present
    /// state change nothing.
    #[must_use]
    pub fn step(&mut self, now: Millis, event: RunEvent) -> Vec<RunAction> {
        self.launchers.hear(&event);
        if matches!(event, RunEvent::InputUsed) {
            self.input_used = true;
            return Vec::new();
        }
        match &self.state {
            RunState::Idle | RunState::Over => Vec::new(),
            RunState::Starting { .. } => self.start(now, event),
            RunState::Running { .. } => self.run(now, event),
            RunState::Ending { .. } => self.end(now, event),
        }
    }

    /// These containers were given back while others were waited for.
    pub fn forget(&mut self, containers: &[ContainerId]) {
        self.launchers.forget(containers);
    }
}
