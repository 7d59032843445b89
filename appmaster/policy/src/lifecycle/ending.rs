//! From the cause of the end to the verdict.

use super::ranks::Ranks;
use super::{Action, Cause, Event, Job, Phase, Seat, State, Unused, Verdict, unused};
use crate::Millis;

impl Job {
    pub(super) fn end(&mut self, now: Millis, event: Event) -> Vec<Action> {
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
            Event::Granted(grant) => return vec![unused(grant)],
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
    pub(super) fn fail(&mut self, now: Millis, mut cause: Cause) -> Vec<Action> {
        self.give_up_at = None;
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
                    .all
                    .into_iter()
                    .partition(|seat| joined.contains(&seat.container));
                let mut ranks = Ranks::new(there);
                // No rank has begun, so none has to be waited for.
                ranks.lose_all();
                let silent = silent.into_iter().map(|seat| seat.container).collect();
                (Some(ranks), silent)
            }
            State::Running { ranks, first, .. } => {
                // A rank that failed while the others were spared came first.
                if let Some(first) = first.filter(|_| !matches!(cause, Cause::Killed(_))) {
                    cause = first;
                }
                (Some(ranks), Vec::new())
            }
        };
        let mut actions = Vec::new();
        if !held.is_empty() {
            actions.push(Action::Release {
                containers: held,
                why: Unused::JobEnds,
            });
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
