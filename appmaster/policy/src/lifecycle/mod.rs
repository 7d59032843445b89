//! The life of one MPI job: a [`Gang`] of containers, and the [`Run`]s of a program in them.
//!
//! ```text
//! registered ─▶ gang: looking, asking, gathering ─▶ complete ─▶ run: starting, running, ending ─▶ over
//!                                    ▲                                                    │
//!                                    └─────────── some are lost, and are replaced ────────┘
//! ```
//!
//! Here each event goes to the one whom it concerns, and what one of them says that concerns the other
//! is handed on. Nothing is started until every container is granted. Whatever happens the job ends:
//! every phase but the wait for containers has a deadline, and that one has one if the user gives it.

mod messages;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use messages::{LifecycleAction, LifecycleEvent, LifecyclePhase};

pub use crate::gang::{
    Grant, LONGEST_GATHER, LONGEST_LOOK, LONGEST_PAUSE, Missing, SHORTEST_REISSUE, Unused,
};
pub use crate::run::{
    Cause, KillReason, Limit, OutOfMemory, PmiStage, Seat, SeenMemory, Verdict, Who,
};

use crate::gang::{self, Allocator, Gang, GangAction, GangLimits, Member};
use crate::run::{Run, RunAction, RunLimits};
use crate::{Demand, Millis, Placement};

/// The spans of a job's life.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct LifecycleLimits {
    /// Until its containers are there.
    pub gang: GangLimits,
    /// From then on.
    pub run: RunLimits,
}

/// One job.
pub struct MpiMachine {
    gang: Gang,
    run: Run,
}

impl fmt::Debug for MpiMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MpiMachine")
            .field("gang", &self.gang)
            .field("run", &self.run)
            .finish()
    }
}

impl MpiMachine {
    /// A job that has not begun. `limits` are taken within the bounds that their fields name; `seed`
    /// is to differ from other jobs' seeds.
    #[must_use]
    pub fn new(demand: Demand, limits: LifecycleLimits, seed: u64) -> Self {
        Self {
            gang: Gang::new(demand, limits.gang, seed),
            run: Run::new(limits.run),
        }
    }

    /// Placed by another allocator.
    #[must_use]
    pub fn placed_by(mut self, place: Allocator) -> Self {
        self.gang = self.gang.placed_by(place);
        self
    }

    /// Its containers.
    #[must_use]
    pub const fn gang(&self) -> &Gang {
        &self.gang
    }

    /// Its program.
    #[must_use]
    pub const fn run(&self) -> &Run {
        &self.run
    }

    /// Which run of the program this is, or is to come; from 1.
    #[must_use]
    pub const fn run_number(&self) -> u32 {
        self.run.number()
    }

    /// When [`LifecycleEvent::Tick`] is due, if nothing else happens before.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Millis> {
        gang::earliest(self.gang.wakes_at(), self.run.wakes_at())
    }

    /// Whether the verdict is out.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.run.is_over()
    }

    /// Takes in one event and says what to do, in order. Events that make no sense in the present
    /// state (late grants aside, which are given back) change nothing.
    #[must_use]
    pub fn step(&mut self, now: Millis, event: LifecycleEvent) -> Vec<LifecycleAction> {
        let cause = match event {
            LifecycleEvent::KillRequested(reason) => Cause::Killed(reason),
            LifecycleEvent::ResourceManagerLost { silent } => Cause::ResourceManagerLost { silent },
            // It has all that it needs.
            LifecycleEvent::RequestsRefused { .. } if self.run.needs_nothing() => {
                return Vec::new();
            }
            LifecycleEvent::RequestsRefused { words } => Cause::RequestsRefused { words },
            other => {
                // A gang that is whole hears of grants alone, and what the run does in this step makes
                // nothing that has happened new to it.
                let hears = self.gang.is_gathering() || matches!(other, LifecycleEvent::Granted(_));
                let (to_gang, to_run) = other.split();
                let mut actions = Vec::new();
                if let Some(event) = to_run {
                    let answer = self.run.step(now, event);
                    self.ran(now, answer, &mut actions);
                }
                if let Some(event) = to_gang.filter(|_| hears) {
                    let answer = self.gang.step(now, event);
                    self.gathered(now, answer, &mut actions);
                }
                return actions;
            }
        };
        let mut actions = Vec::new();
        self.fail(now, cause, &mut actions);
        actions
    }

    /// Ends the job for `cause`, from whatever state; or, where it may be repeated, its present run.
    fn fail(&mut self, now: Millis, cause: Cause, actions: &mut Vec<LifecycleAction>) {
        if self.gang.is_gathering() {
            let held = self.gang.end();
            if !held.is_empty() {
                actions.push(LifecycleAction::Release {
                    containers: held,
                    why: Unused::JobEnds,
                });
            }
        }
        let answer = self.run.fail(now, cause);
        self.ran(now, answer, actions);
    }

    /// Carries on what the gang has answered.
    fn gathered(
        &mut self,
        now: Millis,
        answer: Vec<GangAction>,
        actions: &mut Vec<LifecycleAction>,
    ) {
        for action in answer {
            match action {
                GangAction::Complete(members) => {
                    let seats = seats(self.gang.demand(), members);
                    let answer = self.run.begin(now, seats);
                    self.ran(now, answer, actions);
                }
                GangAction::GiveUp { why, held } => {
                    if !held.is_empty() {
                        actions.push(LifecycleAction::Release {
                            containers: held,
                            why: Unused::JobEnds,
                        });
                    }
                    let answer = self.run.fail(now, why.into());
                    self.ran(now, answer, actions);
                }
                GangAction::Release { containers, why } => {
                    self.run.forget(&containers);
                    actions.push(LifecycleAction::Release { containers, why });
                }
                other => actions.extend(LifecycleAction::of_gang(other)),
            }
        }
    }

    /// Carries on what the run has answered.
    fn ran(&mut self, now: Millis, answer: Vec<RunAction>, actions: &mut Vec<LifecycleAction>) {
        for action in answer {
            match action {
                RunAction::Repeat {
                    number,
                    cause,
                    kept,
                    lost,
                } => {
                    actions.push(LifecycleAction::Repeat {
                        run: number,
                        cause,
                        kept,
                    });
                    actions.push(LifecycleAction::Release {
                        containers: lost.iter().map(|loss| loss.container.clone()).collect(),
                        why: Unused::Lost,
                    });
                    let answer = self.gang.replace(now, &lost);
                    self.gathered(now, answer, actions);
                }
                other => actions.extend(LifecycleAction::of_run(other)),
            }
        }
    }
}

/// The containers with the ranks of each.
fn seats(demand: &Demand, members: Vec<Member>) -> Vec<Seat> {
    let shares = members.iter().map(|member| member.share.clone());
    let placement = Placement {
        shares: shares.collect(),
    };
    let ranks = placement.ranks(&demand.numbering).map(|(_, ranks)| ranks);
    members
        .into_iter()
        .zip(ranks)
        .map(|(Member { share, grant }, ranks)| Seat {
            container: grant.container,
            node: share.node,
            host: share.host,
            ranks,
            resources: grant.resources,
        })
        .collect()
}
