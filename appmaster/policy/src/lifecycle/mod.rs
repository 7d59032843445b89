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

mod cause;
mod gang;
mod ranks;
mod words;

use std::collections::BTreeSet;
use std::fmt;

pub use cause::{Cause, KillReason};
pub use words::{Action, Event, Grant, Phase, Seat, Stage, Verdict};

use self::gang::Gang;
use self::ranks::Ranks;
use crate::{ClusterView, ContainerId, Demand, Millis, allocate};

/// The spans of a job's life.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Between two looks at a cluster without room.
    pub look_again: Millis,
    /// From asking to the last grant; then everything is let go and asked again. Must stay under
    /// the ResourceManager's own ten minutes, after which it takes idle containers back.
    pub gang: Millis,
    /// Pause after letting go, times the number of askings so far.
    pub pause: Millis,
    /// From the order to start to the last launcher's call. Includes YARN's copying of files.
    pub join: Millis,
    /// Between SIGTERM and SIGKILL.
    pub grace: Millis,
    /// From SIGKILL to the last report; what is silent then is taken for dead.
    pub reap: Millis,
    /// How long a broken link waits for YARN to name the reason.
    pub settle: Millis,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            look_again: Millis(1_000),
            gang: Millis(300_000),
            pause: Millis(3_000),
            join: Millis(300_000),
            grace: Millis(1_000),
            reap: Millis(5_000),
            settle: Millis(3_000),
        }
    }
}

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

    fn look(&mut self) -> Vec<Action> {
        self.state = State::Looking;
        vec![Action::TakeSnapshot]
    }

    fn place(&mut self, now: Millis, view: &ClusterView) -> Vec<Action> {
        match allocate::place(&self.demand, view, &[]) {
            Ok(placement) => {
                self.round = self.round.saturating_add(1);
                let wanted = placement.shares.len();
                self.state = State::Gathering {
                    gang: Gang::new(self.round, placement.clone()),
                    until: now.plus(self.limits.gang),
                };
                vec![
                    Action::Ask {
                        round: self.round,
                        placement,
                    },
                    Action::Show(Phase::WaitingForContainers { granted: 0, wanted }),
                ]
            }
            Err(rejection) if rejection.may_pass() => {
                self.wait_for_room(now, rejection.to_string())
            }
            Err(rejection) => self.fail(now, Cause::Impossible(rejection)),
        }
    }

    fn wait_for_room(&mut self, now: Millis, why: String) -> Vec<Action> {
        self.state = State::Waiting {
            until: now.plus(self.limits.look_again),
        };
        vec![Action::Show(Phase::WaitingForRoom(why))]
    }

    fn gather(&mut self, now: Millis, event: Event) -> Vec<Action> {
        let State::Gathering { gang, until } = &mut self.state else {
            return Vec::new();
        };
        match event {
            Event::Granted(grant) => {
                if let Err(surplus) = gang.take(grant) {
                    return vec![Action::Release(vec![surplus])];
                }
                let (granted, wanted) = gang.progress();
                let mut actions = vec![Action::Show(Phase::WaitingForContainers {
                    granted,
                    wanted,
                })];
                if let Some(seats) = gang.complete() {
                    let wanted = seats.len();
                    actions.push(Action::Start(seats.clone()));
                    actions.push(Action::Show(Phase::StartingContainers {
                        joined: 0,
                        wanted,
                    }));
                    self.state = State::Starting {
                        seats,
                        joined: BTreeSet::new(),
                        until: now.plus(self.limits.join),
                    };
                }
                actions
            }
            // An idle container can still be lost: its node went away. The gang is asked anew.
            Event::ContainerEnded { container, .. } if gang.holds(&container) => self.let_go(now),
            Event::Tick if now >= *until => self.let_go(now),
            _ => Vec::new(),
        }
    }

    /// Gives everything back and asks again later, so that two half-served jobs cannot wait for
    /// each other for ever.
    fn let_go(&mut self, now: Millis) -> Vec<Action> {
        let State::Gathering { gang, .. } = &self.state else {
            return Vec::new();
        };
        let held = gang.held();
        let (granted, wanted) = gang.progress();
        let pause = Millis(
            self.limits
                .pause
                .0
                .saturating_mul(u64::from(self.round.min(20))),
        );
        self.state = State::Waiting {
            until: now.plus(pause),
        };
        let why = format!(
            "only {granted} of {wanted} containers came in time; they were given back and are \
             asked for again in {} s",
            pause.0.div_ceil(1000)
        );
        let mut actions = vec![
            Action::Ask {
                round: self.round,
                placement: crate::Placement { shares: Vec::new() },
            },
            Action::Show(Phase::WaitingForRoom(why)),
        ];
        if !held.is_empty() {
            actions.insert(0, Action::Release(held));
        }
        actions
    }

    fn start(&mut self, now: Millis, event: Event) -> Vec<Action> {
        let State::Starting {
            seats,
            joined,
            until,
        } = &mut self.state
        else {
            return Vec::new();
        };
        let host = |id: &ContainerId| ranks::host_of(seats, id);
        match event {
            Event::Joined(container) => {
                if host(&container).is_none() {
                    return Vec::new();
                }
                joined.insert(container);
                let (there, wanted) = (joined.len(), seats.len());
                let mut actions = vec![Action::Show(Phase::StartingContainers {
                    joined: there,
                    wanted,
                })];
                if there == wanted {
                    let ranks = Ranks::new(std::mem::take(seats));
                    actions.push(Action::Begin(ranks.seats().to_vec()));
                    actions.push(Action::Show(ranks.phase()));
                    self.state = State::Running { ranks };
                }
                actions
            }
            Event::StartFailed { container, why } => match host(&container) {
                Some(host) => self.fail(now, Cause::StartFailed { host, why }),
                None => Vec::new(),
            },
            Event::ContainerEnded {
                container,
                status,
                diagnostics,
            } => match host(&container) {
                Some(host) => self.fail(
                    now,
                    Cause::ContainerEnded {
                        container,
                        host,
                        status,
                        diagnostics,
                    },
                ),
                None => Vec::new(),
            },
            Event::LinkLost(container) => match host(&container) {
                Some(host) => self.fail(now, Cause::LinkLost { container, host }),
                None => Vec::new(),
            },
            Event::Tick if now >= *until => {
                let silent = seats
                    .iter()
                    .filter(|seat| !joined.contains(&seat.container));
                let hosts = silent.map(|seat| seat.host.clone()).collect();
                let waited = self.limits.join;
                self.fail(now, Cause::NotJoined { hosts, waited })
            }
            Event::Granted(grant) => vec![Action::Release(vec![grant.container])],
            _ => Vec::new(),
        }
    }

    fn run(&mut self, now: Millis, event: Event) -> Vec<Action> {
        let State::Running { ranks } = &mut self.state else {
            return Vec::new();
        };
        if let Event::Granted(grant) = event {
            return vec![Action::Release(vec![grant.container])];
        }
        if let Some(cause) = ranks.hear(event) {
            return self.fail(now, cause);
        }
        if ranks.all_ended() {
            self.state = State::Over;
            return vec![Action::Finish(Verdict { cause: None })];
        }
        Vec::new()
    }

    fn end(&mut self, now: Millis, event: Event) -> Vec<Action> {
        let State::Ending {
            ranks,
            cause,
            until,
            settle,
        } = &mut self.state
        else {
            return Vec::new();
        };
        match event {
            Event::Granted(grant) => return vec![Action::Release(vec![grant.container])],
            // The reason of a broken link comes a heartbeat later than the break.
            Event::ContainerEnded {
                container,
                status,
                diagnostics,
            } => {
                ranks.lose(&container);
                if let Cause::LinkLost {
                    container: lost,
                    host,
                } = &*cause
                    && *lost == container
                {
                    *cause = Cause::ContainerEnded {
                        host: host.clone(),
                        container,
                        status,
                        diagnostics,
                    };
                    *settle = None;
                }
            }
            other => {
                // A consequence of the end, not a cause of it.
                let _consequence = ranks.hear(other);
            }
        }
        if settle.is_some_and(|at| now >= at) {
            *settle = None;
        }
        if (ranks.all_ended() && settle.is_none()) || now >= *until {
            let cause = cause.clone();
            self.state = State::Over;
            return vec![Action::Finish(Verdict { cause: Some(cause) })];
        }
        Vec::new()
    }

    /// Ends the job for `cause`, from whatever state.
    fn fail(&mut self, now: Millis, cause: Cause) -> Vec<Action> {
        let state = std::mem::replace(&mut self.state, State::Over);
        let (ranks, held) = match state {
            State::Over => return Vec::new(),
            // Already ending: the first cause stands.
            ending @ State::Ending { .. } => {
                self.state = ending;
                return Vec::new();
            }
            State::New | State::Looking | State::Waiting { .. } => (None, Vec::new()),
            State::Gathering { gang, .. } => (None, gang.held()),
            State::Starting { seats, joined, .. } => {
                let (there, silent): (Vec<Seat>, Vec<Seat>) = seats
                    .into_iter()
                    .partition(|seat| joined.contains(&seat.container));
                let mut ranks = Ranks::new(there);
                // No rank has begun, so none has to be waited for.
                ranks.lose_all();
                let silent = silent.into_iter().map(|seat| seat.container).collect();
                (Some(ranks), silent)
            }
            State::Running { ranks } => (Some(ranks), Vec::new()),
        };
        let mut actions = Vec::new();
        if !held.is_empty() {
            actions.push(Action::Release(held));
        }
        let settle = matches!(cause, Cause::LinkLost { .. }).then(|| now.plus(self.limits.settle));
        let waits = ranks
            .as_ref()
            .is_some_and(|ranks| !ranks.all_ended() || settle.is_some());
        match ranks {
            Some(ranks) if waits => {
                actions.push(Action::Stop {
                    grace: self.limits.grace,
                });
                actions.push(Action::Show(Phase::Ending));
                self.state = State::Ending {
                    ranks,
                    cause,
                    until: now.plus(self.limits.grace).plus(self.limits.reap),
                    settle,
                };
            }
            _ => actions.push(Action::Finish(Verdict { cause: Some(cause) })),
        }
        actions
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
