//! From the loss of a container to the next run.
//!
//! The ranks that are left are ended first: an MPI program cannot go on without one of them. Then
//! what is still sound stays, launchers and all, and takes the place of held containers in a gang
//! that has a gap; the gap is asked for as the rest of a stalled gang is, on other nodes where the
//! mode allows that. The program's own failure is never repeated, nor is a container that used more
//! memory than it had asked for, because the same would happen again.
//!
//! A loss can be known before its reason. Ranks that fail because a neighbour is gone must not be
//! blamed for it, so such a failure waits a moment ([`Limits::blame`](super::Limits::blame)) for the
//! news of the loss. A launcher whose link broke may still run its ranks, unknown to everybody: the
//! next run waits until the launcher has missed us, too ([`Limits::lease`](super::Limits::lease)),
//! unless YARN says that its container is over.

use super::ranks::Ranks;
use super::{Action, Cause, Job, Phase, State, Unused, silence};
use crate::{ClusterView, ContainerId, End, Millis, Mode, NodeId, NodeShare, Placement, Rejection};

impl Job {
    /// Which run of the program this is, or is to come; from 1.
    #[must_use]
    pub const fn run_number(&self) -> u32 {
        self.run
    }

    /// Whether the program may be started once more.
    pub(super) const fn may_repeat(&self) -> bool {
        self.run <= self.limits.restarts && !self.input_used
    }

    /// No rank runs any more. The sound containers stay, the others are asked for anew.
    pub(super) fn repeat(&mut self, now: Millis, ranks: &Ranks, cause: Cause) -> Vec<Action> {
        self.run = self.run.saturating_add(1);
        let mut gang = std::mem::take(&mut self.whole);
        let (mut kept, mut lost) = (Vec::new(), Vec::new());
        for seat in ranks.seats() {
            let container = &seat.container;
            if self.launchers.is_sound(container) && !ranks.still_runs(container) {
                kept.push(container.clone());
                continue;
            }
            gang.lose(container);
            lost.push(container.clone());
            if self.launchers.is_node_in_doubt(container) {
                let until = now.plus(self.limits.avoid);
                self.avoided.insert(seat.node.clone(), until);
            }
        }
        self.launchers.keep(&kept);
        self.lost = Some(cause.clone());
        self.give_up_at = self.limits.wait.map(|span| now.plus(span));
        let (granted, wanted) = gang.progress();
        let mut actions = vec![
            Action::Repeat {
                run: self.run,
                cause,
                kept,
            },
            Action::Release {
                containers: lost,
                why: Unused::Lost,
            },
            Action::Show(Phase::WaitingForContainers { granted, wanted }),
        ];
        let span = self.span_of_gang();
        let next_look = self.looked.plus(self.limits.reissue);
        let look_now = now >= next_look;
        self.state = State::Gathering {
            gang,
            until: now.plus(span),
            look_at: (!look_now).then_some(next_look),
        };
        if look_now {
            actions.push(Action::TakeSnapshot);
        }
        actions
    }

    /// Places what is not `held`, where the mode leaves a choice beside the nodes that containers were
    /// lost with of late, or that do not answer; on those too, if it can never be placed otherwise.
    pub(super) fn place_on(
        &mut self,
        now: Millis,
        view: &ClusterView,
        held: &[NodeShare],
    ) -> Result<Placement, Rejection> {
        self.avoided.retain(|_, until| now < *until);
        let without = |left_out: &dyn Fn(&NodeId) -> bool| {
            let mut beside = view.clone();
            beside.nodes.retain(|node| !left_out(&node.id));
            (self.place)(&self.demand, &beside, held)
        };
        let is_avoided = |node: &NodeId| self.avoided.contains_key(node);
        let quiet = silence::quiet(view);
        // A mere suspicion is no reason to wait.
        if !self.is_bound() && !quiet.is_empty() {
            let left_out =
                |node: &NodeId| is_avoided(node) || self.silent.has(node) || quiet.contains(node);
            if let Ok(placement) = without(&left_out) {
                return Ok(placement);
            }
        }
        if !self.is_bound() && !self.silent.is_empty() {
            match without(&|node| is_avoided(node) || self.silent.has(node)) {
                Err(why) if !matches!(why, Rejection::BesideHeld { .. }) => {}
                answer => return answer,
            }
        }
        if !self.is_bound() && !self.avoided.is_empty() {
            match without(&is_avoided) {
                Err(never) if !never.may_pass() => {}
                answer => return answer,
            }
        }
        (self.place)(&self.demand, view, held)
    }

    /// Whether the mode leaves no choice of nodes.
    pub(super) const fn is_bound(&self) -> bool {
        matches!(self.demand.mode, Mode::None | Mode::Dist)
    }

    /// What is to be said when `cause` ends a job that lost a container before and was to be repeated.
    pub(super) fn after_loss(lost: Cause, cause: Cause) -> Cause {
        match cause {
            // Somebody's will needs no reason.
            Cause::Killed(_) => cause,
            // The next loss is a reason as good as the first.
            _ if cause.is_loss() => cause,
            _ => Cause::NotRepeated {
                lost: Box::new(lost),
                why: Box::new(cause),
            },
        }
    }
}

/// Until when the end of the job for `cause` waits for a reason behind it, or for the end of ranks that
/// nobody hears of.
pub(super) fn settles_at(
    now: Millis,
    cause: &Cause,
    ranks: &Ranks,
    job: &Job,
    is_to_be_repeated: bool,
) -> Option<Millis> {
    let limits = &job.limits;
    match cause {
        Cause::LinkLost { .. } if is_to_be_repeated => Some(now.plus(limits.lease)),
        Cause::LinkLost { .. } => Some(now.plus(limits.settle)),
        Cause::ContainerEnded {
            container, status, ..
        } if is_to_be_repeated
            && hides_its_ranks(*status)
            && !job.launchers.is_there(container) =>
        {
            Some(now.plus(limits.lease))
        }
        _ if cause.is_of_ranks() && (ranks.seats().len() > 1 || is_told_to_end(cause)) => {
            Some(now.plus(limits.blame))
        }
        _ => None,
    }
}

/// Whether YARN counts a container with this exit status as over without having seen its end.
pub(super) const fn hides_its_ranks(status: i32) -> bool {
    status == -100
}

/// Whether the end of the rank is what YARN does to all processes of a container that it ends.
const fn is_told_to_end(cause: &Cause) -> bool {
    matches!(
        cause,
        Cause::RankFailed {
            end: End::Signal(9 | 15),
            ..
        }
    )
}

/// Whether `cause`, by which the job ends, may be a consequence of the loss of `container`.
pub(super) fn may_follow(cause: &Cause, ranks: &Ranks, container: &ContainerId) -> bool {
    cause.is_of_ranks()
        && match cause.rank().and_then(|rank| ranks.container_of(rank)) {
            Some(own) if own == container => is_told_to_end(cause),
            _ => true,
        }
}
