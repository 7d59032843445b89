//! From asking to the last grant: placing the rest again, and letting go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::limits::{LONGEST_PAUSE, LONGEST_REST};
use super::shortfall::Shortfall;
use super::silence::Unanswered;
use super::suspects::by_id;
use super::{
    Chosen, Gang, GangAction, GangEvent, GangPhase, GangState, GivenUp, LetGo, Silent, Unused,
    unused,
};
use crate::{ClusterView, Millis, NodeId, NodeView, Placement, Rejection};

impl Gang {
    pub(super) fn gather(&mut self, now: Millis, event: GangEvent) -> Vec<GangAction> {
        let next_look = self.looked.plus(self.limits.reissue);
        let freed_look = self.soonest_look(
            now,
            self.limits.reissue,
            self.longest_look().min(LONGEST_REST),
        );
        let GangState::Gathering { until, look_at } = &mut self.state else {
            return Vec::new();
        };
        match event {
            GangEvent::Granted(grant) => {
                if let Err(grant) = self.members.take(grant) {
                    return vec![unused(grant)];
                }
                // Something comes: that is no stall.
                self.idle_since = now;
                *look_at = look_at.map(|_| now.plus(self.limits.reissue));
                let mut actions = vec![self.granted_so_far()];
                actions.extend(self.complete());
                actions
            }
            // An idle container can still be lost: its node went away. Its part is placed again, as
            // soon as the rate allows.
            GangEvent::ContainerEnded(container) if self.members.lose(&container) => {
                *look_at = look_at.map(|_| now.max(next_look));
                vec![self.granted_so_far()]
            }
            GangEvent::Lost(container) if self.members.lose(&container) => {
                *look_at = look_at.map(|_| now.max(next_look));
                let lost = GangAction::Release {
                    containers: vec![container],
                    why: Unused::Lost,
                };
                vec![lost, self.granted_so_far()]
            }
            GangEvent::ResourceManagerRestarted => self.ask_anew(now),
            GangEvent::Snapshot(view) if look_at.is_none() => self.place_rest(now, view),
            GangEvent::Chosen(chosen) if look_at.is_none() => self.rest_placed(now, chosen),
            GangEvent::SnapshotFailed(_) if look_at.is_none() => {
                self.looked = now;
                *look_at = Some(now.plus(self.limits.reissue));
                Vec::new()
            }
            GangEvent::Freed => {
                *look_at = look_at.map(|at| at.max(now).min(freed_look));
                Vec::new()
            }
            GangEvent::Blocked { by } => self.let_go(now, Some(by)),
            GangEvent::Tick if now >= *until => self.let_go(now, None),
            GangEvent::Tick if look_at.is_some_and(|at| now >= at) => {
                *look_at = None;
                vec![GangAction::TakeSnapshot]
            }
            _ => Vec::new(),
        }
    }

    /// Containers that are not started are unknown to a ResourceManager that has restarted, and
    /// their nodes would refuse them; nothing will ever be heard of them. The same is asked for again
    /// as soon as the rate allows, without a look before: nodes take a while to come back, too.
    fn ask_anew(&mut self, now: Millis) -> Vec<GangAction> {
        let next_look = self.looked.plus(self.limits.reissue);
        let GangState::Gathering { look_at, .. } = &mut self.state else {
            return Vec::new();
        };
        let used = &self.used;
        let forgotten = self.members.forget(|container| used.contains(container));
        if forgotten.is_empty() {
            return Vec::new();
        }
        let mut actions = vec![GangAction::Release {
            containers: forgotten,
            why: Unused::Forgotten,
        }];
        if now < next_look {
            *look_at = look_at.map(|_| next_look);
            actions.push(self.granted_so_far());
        } else {
            let placement = self.members.placement().clone();
            self.looked = now;
            actions.extend(self.ask(now, placement));
        }
        actions
    }

    pub(super) fn granted_so_far(&self) -> GangAction {
        let (granted, wanted) = self.members.progress();
        GangAction::Show(GangPhase::WaitingForContainers { granted, wanted })
    }

    /// The requests have stalled, and the look that was ordered for it is answered: what is held
    /// stays, the rest is placed again.
    fn place_rest(&mut self, now: Millis, view: ClusterView) -> Vec<GangAction> {
        let nodes = by_id(&view);
        let unanswered = self.unanswered(now, &view, &nodes);
        self.goes_by_named |= self.is_kept_back(now, &view, &nodes);
        let span = self.until_next_look(now, self.limits.reissue, self.longest_look());
        let GangState::Gathering { look_at, .. } = &mut self.state else {
            return Vec::new();
        };
        *look_at = Some(now.plus(span));
        let held = self.members.held_shares();
        let new = self.silent.look(now, &view, unanswered);
        let answer = self.place_on(now, &view, &held);
        self.view = Some(Arc::new(view));
        self.looked = now;
        let mut actions: Vec<GangAction> = self.say_silent(new).into_iter().collect();
        actions.extend(self.rest_answered(now, answer));
        let silent = self.silent.among(now, &self.members.outstanding());
        actions.extend(self.show_silent(silent));
        actions
    }

    /// The same, where it is known where the rest is placed.
    fn rest_placed(&mut self, now: Millis, chosen: Chosen) -> Vec<GangAction> {
        let span = self.until_next_look(now, self.limits.reissue, self.longest_look());
        if let GangState::Gathering { look_at, .. } = &mut self.state {
            *look_at = Some(now.plus(span));
        }
        self.view = Some(chosen.view);
        self.looked = now;
        let mut actions = self.rest_answered(now, chosen.answer);
        actions.extend(self.show_silent(chosen.silent));
        actions
    }

    /// What it has asked for long ago and not been given, though there is room.
    pub(super) fn unanswered(
        &self,
        now: Millis,
        view: &ClusterView,
        nodes: &BTreeMap<&NodeId, &NodeView>,
    ) -> Vec<Unanswered> {
        let GangState::Gathering { look_at: None, .. } = self.state else {
            return Vec::new();
        };
        let before = now.0.checked_sub(self.limits.unanswered.0).map(Millis);
        let unanswered = before.map(|before| self.members.unanswered(view, nodes, before));
        unanswered.unwrap_or_default()
    }

    /// Whether the queue gives no more than it names, of what was asked for long ago.
    pub(super) fn is_kept_back(
        &self,
        now: Millis,
        view: &ClusterView,
        nodes: &BTreeMap<&NodeId, &NodeView>,
    ) -> bool {
        let before = now.0.checked_sub(self.limits.unanswered.0).map(Millis);
        before.is_some_and(|before| self.members.is_kept_back(view, nodes, before))
    }

    fn rest_answered(
        &mut self,
        now: Millis,
        answer: Result<Placement, Rejection>,
    ) -> Vec<GangAction> {
        match answer {
            Ok(placement) => self.ask(now, placement),
            Err(rejection) if self.may_pass(now, &rejection) => {
                // What was lost, or does not answer, cannot be had beside what is held.
                match self.members.has_a_gap() || self.is_better_let_go(&rejection) {
                    true => self.let_go(now, None),
                    // What is asked for stays asked for.
                    false => Vec::new(),
                }
            }
            Err(rejection) => self.end_for(GivenUp::Impossible(Box::new(rejection))),
        }
    }

    /// Whether what is held keeps the job from starting: beside it there is only a node that does not
    /// answer, or nothing that the queue gives; with all of it given back the processes can share.
    fn is_better_let_go(&self, rejection: &Rejection) -> bool {
        let outstanding = self.members.outstanding();
        let silent = || outstanding.iter().any(|node| self.silent.has(node));
        self.members.progress().0 > 0
            && match rejection {
                Rejection::QueueFull { .. } => true,
                Rejection::BesideHeld { .. } => silent(),
                _ => false,
            }
    }

    /// Names the nodes that do not answer, once each.
    fn say_silent(&self, hosts: Vec<String>) -> Option<GangAction> {
        (!hosts.is_empty()).then(|| GangAction::Silent {
            hosts,
            within: self.limits.unanswered,
            is_bound: self.is_bound(),
        })
    }

    /// Who is waited for and silent, and for how long.
    fn show_silent(&self, silent: Option<Silent>) -> Option<GangAction> {
        let GangState::Gathering { .. } = self.state else {
            return None;
        };
        let silent = silent?;
        let (granted, wanted) = self.members.progress();
        Some(GangAction::Show(GangPhase::WaitingForNodes {
            granted,
            wanted,
            silent,
        }))
    }

    /// Hands the containers over once nothing is missing.
    pub(super) fn complete(&mut self) -> Option<GangAction> {
        let GangState::Gathering { .. } = self.state else {
            return None;
        };
        let members = self.members.complete()?;
        self.give_up_at = None;
        self.back_by = None;
        self.state = GangState::Whole;
        Some(GangAction::Complete(members))
    }

    /// Gives everything back and asks again later, so that two half-served jobs cannot wait for
    /// each other for ever: after a long time, or at once where such an other one is known.
    fn let_go(&mut self, now: Millis, blocked_by: Option<String>) -> Vec<GangAction> {
        self.note_shortfall();
        let pause = self.pause();
        let next_look = self.looked.plus(self.limits.reissue);
        let held = self.members.held();
        let (granted, wanted) = self.members.progress();
        self.state = GangState::Waiting {
            until: now.plus(pause).max(next_look),
        };
        let mut actions = Vec::new();
        if !held.is_empty() {
            actions.push(GangAction::Release {
                containers: held,
                why: Unused::Incomplete,
            });
        }
        actions.push(GangAction::Ask {
            round: self.round,
            placement: Placement::default(),
            held: BTreeSet::new(),
            kept: BTreeSet::new(),
        });
        actions.push(GangAction::Show(GangPhase::LetGo(LetGo {
            granted,
            wanted,
            blocked_by,
            pause,
        })));
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
        let (GangState::Gathering { .. }, Some(view)) = (self.state, &self.view) else {
            return;
        };
        self.shortfall = Some(Shortfall::Containers {
            missing: self.members.missing(view),
            held: self.members.progress().0,
        });
    }
}
