//! From the loss of a container to the next run.
//!
//! The ranks that are left are ended first: an MPI program cannot go on without one of them. Then
//! what is still sound stays, launchers and all, and the gang replaces the rest. The program's own
//! failure is never repeated, nor is a container that used more memory than it had asked for, because the
//! same would happen again.
//!
//! Where no rank had been started yet there was no run that failed: what was lost is replaced under the same
//! number, a few times ([`RunLimits::replacements`](super::RunLimits)), and nobody has to be waited for.
//!
//! A loss can be known before its reason. Ranks that fail because a neighbour is gone must not be
//! blamed for it, so such a failure waits a moment ([`RunLimits::blame`](super::RunLimits::blame)) for the
//! news of the loss. A launcher whose link broke may still run its ranks, unknown to everybody: the
//! next run waits until the launcher has missed us, too ([`RunLimits::lease`](super::RunLimits::lease)),
//! unless YARN says that its container is over.

use super::ranks::Ranks;
use super::{Cause, Loss, Run, RunAction, RunState};
use crate::{ContainerId, End, Millis};

impl Run {
    /// Whether the program may be started once more.
    pub(super) const fn may_repeat(&self) -> bool {
        self.number <= self.limits.restarts && !self.input_used
    }

    /// Whether a loss is made good: by another run, or, where none had `begun`, within the same.
    pub(super) const fn may_go_on(&self, begun: bool) -> bool {
        self.may_repeat()
            || (!begun && self.replaced < self.limits.replacements && !self.input_used)
    }

    /// No rank runs any more. The sound containers stay, the others are to be replaced; or all of them are, none
    /// of whose nodes is in doubt then: who lends containers knows his nodes.
    pub(super) fn repeat(&mut self, ranks: &Ranks, cause: Cause, begun: bool) -> Vec<RunAction> {
        if !begun && self.replaced < self.limits.replacements {
            self.replaced = self.replaced.saturating_add(1);
        } else {
            self.number = self.number.saturating_add(1);
            self.replaced = 0;
        }
        let (mut kept, mut lost) = (Vec::new(), Vec::new());
        let anew = self.limits.anew;
        for seat in ranks.seats() {
            let container = &seat.container;
            if !anew && self.launchers.is_sound(container) && !ranks.still_runs(container) {
                kept.push(container.clone());
                continue;
            }
            lost.push(Loss {
                container: container.clone(),
                node: seat.node.clone(),
                node_is_in_doubt: !anew && self.launchers.is_node_in_doubt(container),
            });
        }
        self.launchers.keep(&kept);
        self.lost = Some(cause.clone());
        self.state = RunState::Idle;
        vec![RunAction::Repeat {
            number: self.number,
            cause,
            kept,
            lost,
        }]
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
    run: &Run,
    is_to_be_repeated: bool,
    begun: bool,
) -> Option<Millis> {
    let limits = &run.limits;
    match cause {
        Cause::LinkLost { .. } if !begun => Some(now.plus(limits.settle)),
        Cause::ContainerEnded { .. } if !begun => None,
        Cause::LinkLost { .. } if is_to_be_repeated => Some(now.plus(limits.lease)),
        Cause::LinkLost { .. } => Some(now.plus(limits.settle)),
        Cause::ContainerEnded {
            container, status, ..
        } if is_to_be_repeated
            && hides_its_ranks(*status)
            && !run.launchers.is_there(container) =>
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
