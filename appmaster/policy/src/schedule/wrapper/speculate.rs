//! A second attempt at tasks that take much longer than others of their stage.
//!
//! Source: M. Zaharia et al., "Improving MapReduce Performance in Heterogeneous Environments",
//! OSDI 2008 (LATE): ranked by time left, and only a share of the attempts.

use crate::schedule::can_run::fits;
use crate::schedule::{
    Attempt, AttemptIx, Decision, Nanos, NodeIx, Saved, Scheduler, Session, SlotIx, SlotUse, Stage,
    Why, remaining,
};

/// How often running attempts are looked through.
const EVERY: Nanos = Nanos::from_secs(1);

/// Where the policy inside has nothing for a slot, the attempt with the most time left is tried again.
#[derive(Debug)]
pub struct Speculate {
    /// An attempt is slow when it has more than so many hundredths of its stage's mean left, as others take on slots as
    /// fast as its own.
    pub factor: u64,
    /// Copies are at most so many hundredths of the attempts under way, and at least one.
    pub share: u64,
    /// An attempt that has less left is not worth a copy.
    pub least: Nanos,
    /// The policy inside, which is asked first.
    pub inner: Box<dyn Scheduler>,
    /// When attempts are looked through again.
    pub look: Nanos,
    /// There is an attempt to look at.
    pub busy: bool,
}

impl Speculate {
    /// The rule around the policy `inner`.
    #[must_use]
    pub const fn new(factor: u64, share: u64, least: Nanos, inner: Box<dyn Scheduler>) -> Self {
        Self {
            factor,
            share,
            least,
            inner,
            look: Nanos(0),
            busy: false,
        }
    }

    fn copy(&self, session: &Session, node: NodeIx) -> Option<Decision> {
        let attempts = session.attempts().count();
        let copies = session
            .attempts()
            .filter(|(_, attempt)| session.twins(attempt).len() > 1)
            .count()
            / 2;
        let most = u64::try_from(attempts)
            .unwrap_or(u64::MAX)
            .saturating_mul(self.share)
            / 100;
        if u64::try_from(copies).unwrap_or(u64::MAX) >= most.max(1) {
            return None;
        }
        let speed = |slot| session.slot(slot).map(|slot| slot.speed);
        // Where it would be done no sooner, it is not tried.
        let slot = |attempt: &Attempt, left: Nanos| -> Option<SlotIx> {
            let stage = session.stage(attempt.job, attempt.stage)?;
            let fitting = session.free_slots(node).filter_map(|slot| {
                let takes = stage.mean(speed(slot)?).filter(|takes| *takes < left)?;
                fits(session, &stage.need, attempt.stage, slot).ok()?;
                Some((takes, slot))
            });
            fitting.min().map(|(_, slot)| slot)
        };
        let slow = session.attempts().filter_map(|(ix, attempt)| {
            let elsewhere = session.node_of(attempt.slot) != Some(node);
            let alone = session.twins(attempt).len() == 1 && !attempt.stopping;
            let bad = session.has_left(attempt.job) || session.avoids(attempt.job, node);
            if attempt.stage == Stage::Gang || !elsewhere || !alone || bad {
                return None;
            }
            let stage = session.stage(attempt.job, attempt.stage)?;
            let (left, sure) = remaining(session, ix).filter(|_| stage.speculative)?;
            let slow = left >= self.least
                && u128::from(left.0).saturating_mul(100)
                    > u128::from(stage.mean(speed(attempt.slot)?)?.0)
                        .saturating_mul(self.factor.into());
            if !(sure && slow) {
                return None;
            }
            // One that finds no slot here leaves those that are free to the next.
            Some((left, std::cmp::Reverse(ix), slot(attempt, left)?))
        });
        let (_, std::cmp::Reverse(of), slot) = slow.max_by_key(|(left, ix, _)| (*left, *ix))?;
        Some(Decision::Copy { of, slot })
    }
}

impl Scheduler for Speculate {
    fn inner(&self) -> Option<&dyn Scheduler> {
        Some(&*self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Scheduler> {
        Some(&mut *self.inner)
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::Speculate {
            factor: self.factor,
            share: self.share,
            least: self.least,
            look: self.look,
            busy: self.busy,
            inner: Box::new(self.inner.saved()?),
        })
    }

    fn next(&mut self, now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        if let Some(decision) = self.inner.next(now, session, node) {
            return Some(decision);
        }
        match node {
            Some(node) if now >= self.look => self.copy(session, node),
            Some(_) => None,
            None => {
                if now >= self.look {
                    self.look = now.plus(EVERY);
                }
                self.busy = session.attempts().next().is_some();
                twin_of_a_winner(session).map(|attempt| Decision::Stop {
                    attempt,
                    why: Why::TwinWon,
                })
            }
        }
    }

    fn looks_everywhere(&self, now: Nanos) -> bool {
        now >= self.look || self.inner.looks_everywhere(now)
    }

    fn wakes_at(&self, asked: Nanos) -> Option<Nanos> {
        let look = Some(self.look).filter(|look| self.busy && *look > asked);
        self.inner.wakes_at(asked).into_iter().chain(look).min()
    }
}

/// An attempt that still runs although the result of its task is there.
fn twin_of_a_winner(session: &Session) -> Option<AttemptIx> {
    let runs = |attempt: &Attempt| {
        let slot = session.slot(attempt.slot);
        slot.is_some_and(|slot| slot.taken != SlotUse::Free) && !attempt.stopping
    };
    let mut late = session.late();
    late.find(|(_, attempt)| runs(attempt)).map(|(ix, _)| ix)
}
