//! From the first look at the cluster to the last grant.

use std::collections::BTreeSet;

use super::gang::Gang;
use super::{Action, Cause, Event, Job, Phase, State};
use crate::{ClusterView, Millis, allocate};

impl Job {
    pub(super) fn look(&mut self) -> Vec<Action> {
        self.state = State::Looking;
        vec![Action::TakeSnapshot]
    }

    pub(super) fn place(&mut self, now: Millis, view: &ClusterView) -> Vec<Action> {
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

    pub(super) fn wait_for_room(&mut self, now: Millis, why: String) -> Vec<Action> {
        self.state = State::Waiting {
            until: now.plus(self.limits.look_again),
        };
        vec![Action::Show(Phase::WaitingForRoom(why))]
    }

    pub(super) fn gather(&mut self, now: Millis, event: Event) -> Vec<Action> {
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
    pub(super) fn let_go(&mut self, now: Millis) -> Vec<Action> {
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
}
