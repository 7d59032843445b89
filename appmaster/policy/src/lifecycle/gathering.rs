//! From asking to the last grant: placing the rest again, and letting go.

use std::collections::BTreeSet;

use super::gang::Gang;
use super::limits::LONGEST_PAUSE;
use super::ranks::Seats;
use super::shortfall::Shortfall;
use super::{Action, Cause, Event, Job, Phase, State, Unused, unused};
use crate::{ClusterView, Millis, Placement, Rejection};

impl Job {
    pub(super) fn gather(&mut self, now: Millis, event: Event) -> Vec<Action> {
        let next_look = self.looked.plus(self.limits.reissue);
        let State::Gathering {
            gang,
            until,
            look_at,
        } = &mut self.state
        else {
            return Vec::new();
        };
        match event {
            Event::Granted(grant) => {
                if let Err(grant) = gang.take(grant) {
                    return vec![unused(grant)];
                }
                // Something comes: that is no stall.
                self.idle_since = now;
                *look_at = look_at.map(|_| now.plus(self.limits.reissue));
                let mut actions = vec![self.granted_so_far()];
                actions.extend(self.start_if_complete(now));
                actions
            }
            // An idle container can still be lost: its node went away. Its part is placed again, as
            // soon as the rate allows.
            Event::ContainerEnded { container, .. } if gang.lose(&container) => {
                *look_at = look_at.map(|_| now.max(next_look));
                vec![self.granted_so_far()]
            }
            // A container that was kept for the next run is lost as well.
            Event::LinkLost(container) | Event::StartFailed { container, .. }
                if gang.lose(&container) =>
            {
                *look_at = look_at.map(|_| now.max(next_look));
                let lost = Action::Release {
                    containers: vec![container],
                    why: Unused::Lost,
                };
                vec![lost, self.granted_so_far()]
            }
            Event::ResourceManagerRestarted => self.ask_anew(now),
            Event::Snapshot(view) if look_at.is_none() => self.place_rest(now, view),
            Event::SnapshotFailed(_) if look_at.is_none() => {
                self.looked = now;
                *look_at = Some(now.plus(self.limits.reissue));
                Vec::new()
            }
            Event::Freed => {
                *look_at = look_at.map(|at| at.min(next_look).max(now));
                Vec::new()
            }
            Event::Blocked { by } => self.let_go(now, Some(&by)),
            Event::Tick if now >= *until => self.let_go(now, None),
            Event::Tick if look_at.is_some_and(|at| now >= at) => {
                *look_at = None;
                vec![Action::TakeSnapshot]
            }
            _ => Vec::new(),
        }
    }

    /// Containers that are not started are unknown to a ResourceManager that has restarted, and
    /// their nodes would refuse them; nothing will ever be heard of them. The same is asked for again
    /// as soon as the rate allows, without a look before: nodes take a while to come back, too.
    fn ask_anew(&mut self, now: Millis) -> Vec<Action> {
        let next_look = self.looked.plus(self.limits.reissue);
        let State::Gathering { gang, look_at, .. } = &mut self.state else {
            return Vec::new();
        };
        let launchers = &self.launchers;
        let forgotten = gang.forget(|container| launchers.is_started(container));
        if forgotten.is_empty() {
            return Vec::new();
        }
        let mut actions = vec![Action::Release {
            containers: forgotten,
            why: Unused::Forgotten,
        }];
        if now < next_look {
            *look_at = look_at.map(|_| next_look);
            actions.push(self.granted_so_far());
        } else {
            let placement = gang.placement().clone();
            self.looked = now;
            actions.extend(self.ask(now, placement));
        }
        actions
    }

    fn granted_so_far(&self) -> Action {
        let (granted, wanted) = match &self.state {
            State::Gathering { gang, .. } => gang.progress(),
            _ => (0, 0),
        };
        Action::Show(Phase::WaitingForContainers { granted, wanted })
    }

    /// The requests have stalled, and the look that was ordered for it is answered: what is held
    /// stays, the rest is placed again.
    fn place_rest(&mut self, now: Millis, view: ClusterView) -> Vec<Action> {
        let span = self.until_next_look(now, self.limits.reissue);
        let State::Gathering { gang, look_at, .. } = &mut self.state else {
            return Vec::new();
        };
        *look_at = Some(now.plus(span));
        let held = gang.held_shares();
        let asked_before = now.0.checked_sub(self.limits.unanswered.0).map(Millis);
        let unanswered = asked_before.map(|before| gang.unanswered(&view, before));
        let unanswered = unanswered.unwrap_or_default();
        let new = self.silent.look(&view, unanswered);
        let answer = self.place_on(now, &view, &held);
        self.view = Some(view);
        self.looked = now;
        let mut actions = self.say_silent(&new);
        actions.extend(match answer {
            Ok(placement) => self.ask(now, placement),
            Err(rejection) if self.may_pass(&rejection) => match &self.state {
                // What was lost, or does not answer, cannot be had beside what is held.
                State::Gathering { gang, .. }
                    if gang.has_a_gap() || self.is_better_let_go(gang, &rejection) =>
                {
                    self.let_go(now, None)
                }
                // What is asked for stays asked for.
                _ => Vec::new(),
            },
            Err(rejection) => self.fail(now, Cause::Impossible(Box::new(rejection))),
        });
        actions.extend(self.show_silent(now));
        actions
    }

    /// Whether what is held keeps the job from starting: beside it there is only a node that does not
    /// answer, or nothing that the queue gives; with all of it given back the processes can share.
    fn is_better_let_go(&self, gang: &Gang, rejection: &Rejection) -> bool {
        let silent = || gang.outstanding().iter().any(|node| self.silent.has(node));
        gang.progress().0 > 0
            && match rejection {
                Rejection::QueueFull { .. } => true,
                Rejection::BesideHeld { .. } => silent(),
                _ => false,
            }
    }

    /// Names the nodes that do not answer, once each.
    fn say_silent(&self, hosts: &[String]) -> Vec<Action> {
        if hosts.is_empty() {
            return Vec::new();
        }
        let what = match (self.is_bound(), hosts) {
            (true, _) => "the job waits for it, because its mode allows no other",
            (false, [_]) => "it is left alone until it does",
            (false, _) => "they are left alone until they do",
        };
        vec![Action::Say(format!(
            "{} did not answer a request within {} s, though YARN counts it as running: {what}",
            hosts.join(", "),
            self.limits.unanswered.0 / 1000
        ))]
    }

    /// Who is waited for and silent, and for how long.
    fn show_silent(&self, now: Millis) -> Option<Action> {
        let State::Gathering { gang, .. } = &self.state else {
            return None;
        };
        let note = self.silent.words(now, &gang.outstanding())?;
        let (granted, wanted) = gang.progress();
        Some(Action::Show(Phase::WaitingForNodes {
            granted,
            wanted,
            note,
        }))
    }

    /// Orders the start once nothing is missing.
    pub(super) fn start_if_complete(&mut self, now: Millis) -> Vec<Action> {
        let State::Gathering { gang, .. } = &self.state else {
            return Vec::new();
        };
        let Some(seats) = gang.complete(&self.demand.numbering) else {
            return Vec::new();
        };
        let wanted = seats.len();
        self.give_up_at = None;
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
        let starting = State::Starting {
            seats: Seats::new(seats),
            joined,
            until: now.plus(self.limits.join),
            asked: false,
        };
        if let State::Gathering { gang, .. } = std::mem::replace(&mut self.state, starting) {
            self.whole = gang;
        }
        let mut actions = vec![
            Action::Start(new),
            Action::Show(Phase::StartingContainers {
                joined: there,
                wanted,
            }),
        ];
        actions.extend(self.begin_if_joined(now));
        actions
    }

    /// Gives everything back and asks again later, so that two half-served jobs cannot wait for
    /// each other for ever: after a long time, or at once where such an other one is known.
    fn let_go(&mut self, now: Millis, blocked_by: Option<&str>) -> Vec<Action> {
        self.note_shortfall();
        let pause = self.pause();
        let next_look = self.looked.plus(self.limits.reissue);
        let State::Gathering { gang, .. } = &self.state else {
            return Vec::new();
        };
        let held = gang.held();
        let (granted, wanted) = gang.progress();
        self.launchers.keep(&[]);
        self.state = State::Waiting {
            until: now.plus(pause).max(next_look),
        };
        let seconds = pause.0.div_ceil(1000);
        let why = match (granted, blocked_by) {
            (_, Some(other)) => format!(
                "{other} waits as well, is older and holds what is missing: {granted} of {wanted} \
                 containers were given back, and all are asked for again in {seconds} s"
            ),
            (0, None) => format!(
                "none of {wanted} containers came in time; they are asked for again in {seconds} s"
            ),
            (_, None) => format!(
                "only {granted} of {wanted} containers came in time; they were given back and are \
                 asked for again in {seconds} s"
            ),
        };
        let mut actions = Vec::new();
        if !held.is_empty() {
            actions.push(Action::Release {
                containers: held,
                why: Unused::Incomplete,
            });
        }
        actions.push(Action::Ask {
            round: self.round,
            placement: Placement::default(),
            held: BTreeSet::new(),
            kept: BTreeSet::new(),
        });
        actions.push(Action::Show(Phase::WaitingForRoom(why)));
        actions
    }

    /// How long to stay away: each time up to twice as long as the last, by chance at least half of
    /// that, so that two jobs in each other's way part.
    fn pause(&mut self) -> Millis {
        let doubled = 1u64.checked_shl(self.let_go).unwrap_or(u64::MAX);
        let whole = Millis(self.limits.pause.0.saturating_mul(doubled)).min(LONGEST_PAUSE);
        self.let_go = self.let_go.saturating_add(1);
        self.chance.between(Millis(whole.0 / 2), whole)
    }

    /// Remembers what is missing now.
    pub(super) fn note_shortfall(&mut self) {
        let (State::Gathering { gang, .. }, Some(view)) = (&self.state, &self.view) else {
            return;
        };
        self.shortfall = Some(Shortfall::Containers {
            missing: gang.missing(view),
            held: gang.progress().0,
        });
    }
}
