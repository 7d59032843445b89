//! From the order to start to the last launcher's call.

use std::collections::BTreeSet;

use super::limits::PROBE;
use super::ranks::Ranks;
use super::{Cause, Run, RunAction, RunEvent, RunPhase, RunState, Seat, Seats};
use crate::{ContainerId, Millis};

impl Run {
    /// Every container is there: orders the start of the launchers that are not.
    pub fn begin(&mut self, now: Millis, seats: Vec<Seat>) -> Vec<RunAction> {
        let wanted = seats.len();
        let (mut joined, mut new) = (BTreeSet::new(), Vec::new());
        for seat in &seats {
            if self.launchers.is_there(&seat.container) {
                joined.insert(seat.container.clone());
            } else if !self.launchers.is_started(&seat.container) {
                new.push(seat.clone());
            }
        }
        self.launchers.start(&new);
        let there = joined.len();
        self.state = RunState::Starting {
            seats: Seats::new(seats),
            joined,
            until: now.plus(self.limits.join),
            asked: false,
        };
        let mut actions = vec![
            RunAction::Start(new),
            RunAction::Show(RunPhase::Starting {
                joined: there,
                wanted,
            }),
        ];
        actions.extend(self.begin_if_joined(now));
        actions
    }

    pub(super) fn start(&mut self, now: Millis, event: RunEvent) -> Vec<RunAction> {
        let RunState::Starting {
            seats,
            joined,
            until,
            asked,
        } = &mut self.state
        else {
            return Vec::new();
        };
        let host = |id: &ContainerId| seats.host_of(id);
        match event {
            RunEvent::Joined(container) => {
                if host(&container).is_none() {
                    return Vec::new();
                }
                joined.insert(container);
                let (there, wanted) = (joined.len(), seats.all.len());
                let mut actions = vec![RunAction::Show(RunPhase::Starting {
                    joined: there,
                    wanted,
                })];
                actions.extend(self.begin_if_joined(now));
                actions
            }
            RunEvent::StartFailed { container, why } => match host(&container) {
                Some(host) => self.fail(now, Cause::StartFailed { host, why }),
                None => Vec::new(),
            },
            // What it needs cannot be had there.
            RunEvent::Refused {
                container,
                sentence,
                code,
            } if host(&container).is_some() => self.fail(now, Cause::Refused { sentence, code }),
            RunEvent::ContainerEnded {
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
            RunEvent::LinkLost(container) => match host(&container) {
                Some(host) => self.fail(now, Cause::LinkLost { container, host }),
                None => Vec::new(),
            },
            RunEvent::Localizing(container) if *asked => {
                if host(&container).is_some() && !joined.contains(&container) {
                    *until = now.plus(self.limits.join);
                    *asked = false;
                }
                Vec::new()
            }
            RunEvent::Tick if now >= *until && !*asked => {
                *until = now.plus(PROBE);
                *asked = true;
                let silent = seats.all.iter().map(|seat| &seat.container);
                let silent = silent.filter(|container| !joined.contains(*container));
                vec![RunAction::Probe(silent.cloned().collect())]
            }
            RunEvent::Tick if now >= *until => {
                let silent = seats
                    .all
                    .iter()
                    .filter(|seat| !joined.contains(&seat.container));
                let hosts = silent.map(|seat| seat.host.clone()).collect();
                let waited = self.limits.join;
                self.fail(now, Cause::NotJoined { hosts, waited })
            }
            _ => Vec::new(),
        }
    }

    /// Hands the ranks out once every launcher is there.
    fn begin_if_joined(&mut self, now: Millis) -> Vec<RunAction> {
        let RunState::Starting { seats, joined, .. } = &mut self.state else {
            return Vec::new();
        };
        if joined.len() < seats.all.len() {
            return Vec::new();
        }
        let ranks = Ranks::new(std::mem::take(&mut seats.all));
        let actions = vec![
            RunAction::Begin(ranks.seats().to_vec()),
            RunAction::Show(ranks.phase()),
        ];
        self.lost = None;
        self.replaced = 0;
        self.state = RunState::Running {
            ranks,
            until: self.limits.run.map(|span| now.plus(span)),
            linger_until: None,
            begun: now,
            left_until: None,
            left_told: None,
            first: None,
        };
        actions
    }
}
