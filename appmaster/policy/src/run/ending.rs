//! From the cause of the end to the verdict, or to the next run.

use super::ranks::Ranks;
use super::repeating::{hides_its_ranks, may_follow, settles_at};
use super::{Cause, Run, RunAction, RunEvent, RunPhase, RunState, Seat, Verdict};
use crate::Millis;

impl Run {
    pub(super) fn end(&mut self, now: Millis, event: RunEvent) -> Vec<RunAction> {
        // Whether there will be ranks that those of this run must not meet.
        let may_repeat = self.has_begun() && self.may_repeat();
        let RunState::Ending {
            ranks,
            cause,
            until,
            settle,
            ..
        } = &mut self.state
        else {
            return Vec::new();
        };
        match event {
            // The reason of a broken link comes a heartbeat later than the break, and the break may
            // come after what it has done to other ranks.
            RunEvent::ContainerEnded {
                container,
                status,
                diagnostics,
            } => {
                let is_there = self.launchers.is_there(&container);
                if !is_there {
                    ranks.lose(&container);
                }
                let explains = match &*cause {
                    Cause::LinkLost {
                        container: lost, ..
                    } => *lost == container,
                    cause => settle.is_some() && may_follow(cause, ranks, &container),
                };
                if let Some(host) = ranks.host_of(&container).filter(|_| explains) {
                    let was_lost = matches!(cause, Cause::LinkLost { .. });
                    *cause = Cause::ContainerEnded {
                        host,
                        container,
                        status,
                        diagnostics,
                    };
                    let hidden = may_repeat && !is_there && hides_its_ranks(status);
                    *settle = match was_lost {
                        // The launcher may still be there, for so long.
                        true => settle.filter(|_| hidden),
                        false => hidden.then(|| now.plus(self.limits.lease)),
                    };
                }
            }
            RunEvent::LinkLost(container) => {
                ranks.lose(&container);
                if let Some(host) = ranks.host_of(&container)
                    && settle.is_some()
                    && may_follow(cause, ranks, &container)
                {
                    *cause = Cause::LinkLost { container, host };
                    *settle = Some(now.plus(match may_repeat {
                        true => self.limits.lease,
                        false => self.limits.settle,
                    }));
                }
            }
            other => {
                // A consequence of the end, not a cause of it.
                let _consequence = ranks.hear(other);
            }
        }
        *until = settle.map_or(*until, |settle| settle.max(*until));
        self.settle(now)
    }

    /// Whether a rank of the present run was started.
    const fn has_begun(&self) -> bool {
        match &self.state {
            RunState::Starting { .. } => false,
            RunState::Ending { begun, .. } => *begun,
            RunState::Idle | RunState::Running { .. } | RunState::Over => true,
        }
    }

    /// Ends the job for `cause`, from whatever state; or, where it may be repeated, its present run.
    pub fn fail(&mut self, now: Millis, mut cause: Cause) -> Vec<RunAction> {
        let begun = self.has_begun();
        let is_to_be_repeated = self.may_go_on(begun) && cause.is_loss();
        let state = std::mem::replace(&mut self.state, RunState::Over);
        let (ranks, held) = match state {
            RunState::Over => return Vec::new(),
            RunState::Ending {
                ranks,
                cause: mut first,
                until,
                mut settle,
                begun,
            } => {
                // The first cause stands; but one that was not to be the last needs another.
                if self.may_go_on(begun) && first.is_loss() && !cause.is_loss() {
                    first = Self::after_loss(first, cause);
                    settle = None;
                }
                self.state = RunState::Ending {
                    ranks,
                    cause: first,
                    until,
                    settle,
                    begun,
                };
                return self.settle(now);
            }
            RunState::Idle => (None, Vec::new()),
            RunState::Starting { seats, joined, .. } => {
                let (there, silent): (Vec<Seat>, Vec<Seat>) = seats
                    .all
                    .into_iter()
                    .partition(|seat| is_to_be_repeated || joined.contains(&seat.container));
                let mut ranks = Ranks::new(there);
                // No rank has begun, so none has to be waited for.
                ranks.lose_all();
                let silent = silent.into_iter().map(|seat| seat.container).collect();
                (Some(ranks), silent)
            }
            RunState::Running { ranks, first, .. } => {
                // A rank that failed while the others were spared came first.
                if let Some(first) = first.filter(|_| !matches!(cause, Cause::Killed(_))) {
                    cause = first;
                }
                (Some(ranks), Vec::new())
            }
        };
        if let Some(lost) = self.lost.take_if(|_| !is_to_be_repeated) {
            cause = Self::after_loss(lost, cause);
        }
        let mut actions = Vec::new();
        if !held.is_empty() {
            actions.push(RunAction::Release(held));
        }
        let Some(ranks) = ranks else {
            actions.push(RunAction::Finish(Verdict::from(cause)));
            return actions;
        };
        let settle = settles_at(now, &cause, &ranks, self, is_to_be_repeated, begun);
        if !ranks.all_ended() || settle.is_some() {
            actions.push(RunAction::Stop {
                grace: self.limits.grace,
            });
            actions.push(RunAction::Show(RunPhase::Ending));
        }
        let until = now.plus(self.limits.grace).plus(self.limits.reap);
        self.state = RunState::Ending {
            ranks,
            cause,
            until: settle.map_or(until, |settle| settle.max(until)),
            settle,
            begun,
        };
        actions.extend(self.settle(now));
        actions
    }

    /// The verdict, or the next run, once every rank is gone and nothing more is to be learnt of the
    /// cause.
    fn settle(&mut self, now: Millis) -> Vec<RunAction> {
        let RunState::Ending {
            ranks,
            until,
            settle,
            begun,
            ..
        } = &mut self.state
        else {
            return Vec::new();
        };
        let begun = *begun;
        if settle.is_some_and(|at| now >= at) {
            *settle = None;
        }
        if now < *until && !(ranks.all_ended() && settle.is_none()) {
            return Vec::new();
        }
        let RunState::Ending { ranks, cause, .. } =
            std::mem::replace(&mut self.state, RunState::Over)
        else {
            return Vec::new();
        };
        if self.may_go_on(begun) && cause.is_loss() {
            return self.repeat(&ranks, cause, begun);
        }
        let cause = match self.input_used && self.number <= self.limits.restarts && cause.is_loss()
        {
            true => Self::after_loss(cause, Cause::InputUsed),
            false => cause,
        };
        vec![RunAction::Finish(Verdict::from(cause))]
    }
}
