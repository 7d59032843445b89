//! Attempts that change cores while they run.

use std::cmp::Reverse;

use super::{DyScale, JobClass, LiftBatch};
use crate::schedule::can_run::fits;
use crate::schedule::fifo::ONE_BY_ONE;
use crate::schedule::{
    Attempt, AttemptIx, ContainerIx, Decision, Event, Nanos, Session, Slot, SlotIx, SlotUse, Speed,
    Stage, remaining,
};

/// One that its launcher could not move is ordered elsewhere again after this at the earliest.
pub(super) const AGAIN: Nanos = Nanos::from_secs(10);

impl DyScale {
    /// Takes into account where attempts run.
    pub(super) fn note(&mut self, session: &Session, event: &Event) {
        match event {
            Event::Began(attempt) | Event::Moved { attempt, .. } => {
                if let Some(known) = session.attempt(*attempt) {
                    let class = self.class(session, known.job);
                    self.placed.put(session, *attempt, class);
                }
            }
            Event::Ended { attempt, .. } => self.placed.take(*attempt),
            Event::Lost(container) => {
                for (attempt, _) in self.placed.all_in(*container) {
                    self.placed.take(attempt);
                }
            }
            Event::Slots { container, .. } => {
                for (attempt, class) in self.placed.all_in(*container) {
                    self.placed.put(session, attempt, class);
                }
            }
            Event::Ordered(Decision::Move { attempt, to }) => {
                let moved = session.attempt(*attempt);
                let speed = |slot| session.slot(slot).map(|slot: &Slot| slot.speed);
                let leaves_fast = |moved: &&Attempt| {
                    speed(moved.slot) == Some(Speed::Fast) && speed(*to) != Some(Speed::Fast)
                };
                if let Some(moved) = moved.filter(leaves_fast) {
                    self.placed.returns(*attempt, moved.stage);
                }
            }
            Event::Ordered(Decision::Swap { one, other }) => self.placed.swaps(*one, *other),
            _ => {}
        }
    }

    /// Whether as many fast slots are being cleared as interactive tasks of a stage wait.
    pub(super) fn is_cleared(&self, session: &Session, stage: Stage) -> bool {
        let cleared = self.placed.returning(stage);
        if cleared == 0 {
            return false;
        }
        let mut waiting = 0_usize;
        for job in self.pending(session, stage, JobClass::Interactive) {
            let state = session.stage(job, stage);
            waiting = waiting.saturating_add(state.map_or(0, |state| state.pending as usize));
            if waiting > cleared {
                return false;
            }
        }
        true
    }

    /// A batch attempt goes down to a free slow slot, where an interactive task waits for its fast one.
    pub(super) fn back(&self, session: &Session) -> Option<Decision> {
        ONE_BY_ONE.into_iter().find_map(|stage| {
            let there = self.placed.at(JobClass::Batch, Speed::Fast, stage).next();
            there?;
            let waits = self.waits(session, stage, JobClass::Interactive);
            if !waits || self.is_cleared(session, stage) {
                return None;
            }
            let mut batch = self.placed.at(JobClass::Batch, Speed::Fast, stage);
            batch.find_map(|(container, attempt)| {
                let to = session.free_in(container, stage, Speed::Slow)?;
                let slot = session.attempt(attempt)?.slot;
                let is_used = self.could_use(session, stage, slot);
                (is_used && self.may_move(session, attempt))
                    .then_some(Decision::Move { attempt, to })
            })
        })
    }

    /// An interactive task waits that fits where a slot is, were it free.
    fn could_use(&self, session: &Session, stage: Stage, slot: SlotIx) -> bool {
        let mut jobs = self.pending(session, stage, JobClass::Interactive);
        jobs.any(|job| {
            let need = session.stage(job, stage).map(|state| &state.need);
            need.is_some_and(|need| fits(session, need, stage, slot).is_ok())
        })
    }

    /// What makes use of fast slots that nothing is to start on, or that batch attempts have.
    pub(super) fn lift_or_exchange(&self, session: &Session) -> Option<Decision> {
        ONE_BY_ONE.into_iter().find_map(|stage| {
            let waits = self.waits(session, stage, JobClass::Interactive);
            let lift = |class| self.lift(session, class, stage);
            let interactive = (!waits).then(|| lift(JobClass::Interactive)).flatten();
            let batch = || {
                self.lifts_batch(session, stage, waits)
                    .then(|| lift(JobClass::Batch))
            };
            interactive
                .or_else(|| batch().flatten())
                .or_else(|| self.exchange(session, stage))
        })
    }

    fn lifts_batch(&self, session: &Session, stage: Stage, waits: bool) -> bool {
        let batch_waits = || self.waits(session, stage, JobClass::Batch);
        let none_unfinished = || {
            let mut jobs = session.unfinished().map(|(job, _)| job);
            jobs.all(|job| self.class(session, job) != JobClass::Interactive)
        };
        let by_setting = match self.lift_batch {
            LiftBatch::Off => false,
            LiftBatch::Always => !waits,
            LiftBatch::Idle => !waits && none_unfinished(),
        };
        by_setting && !batch_waits()
    }

    /// Of the attempts of a class on slow slots beside a free fast one, that with most left goes up.
    fn lift(&self, session: &Session, class: JobClass, stage: Stage) -> Option<Decision> {
        let slow = self.placed.at(class, Speed::Slow, stage);
        // The youngest has most left, where nothing is known of how long they take.
        let each = slow.filter_map(|(container, attempt)| {
            let to = session.free_in(container, stage, Speed::Fast)?;
            let left = self.left(session, attempt)?;
            Some((left, attempt, to))
        });
        let (_, attempt, to) =
            each.max_by_key(|(left, attempt, to)| (*left, *attempt, Reverse(*to)))?;
        Some(Decision::Move { attempt, to })
    }

    /// An interactive attempt on a slow slot and a batch attempt on a fast one of the same container change places.
    fn exchange(&self, session: &Session, stage: Stage) -> Option<Decision> {
        let mut slow = self.placed.at(JobClass::Interactive, Speed::Slow, stage);
        slow.find_map(|(container, one)| {
            let other = self.beside(session, stage, container)?;
            let may = self.may_move(session, one) && keeps_its_slot(session, one, stage);
            may.then_some(Decision::Swap { one, other })
        })
    }

    fn beside(&self, session: &Session, stage: Stage, container: ContainerIx) -> Option<AttemptIx> {
        let (batch, fast) = (JobClass::Batch, Speed::Fast);
        let mut there = self.placed.in_container(batch, fast, stage, container);
        there.find(|attempt| {
            self.may_move(session, *attempt) && keeps_its_slot(session, *attempt, stage)
        })
    }

    pub(super) fn may_move(&self, session: &Session, attempt: AttemptIx) -> bool {
        self.left(session, attempt).is_some()
    }

    /// The time left of an attempt that may be moved: it runs, nothing is ordered of it, and it is worth while.
    fn left(&self, session: &Session, ix: AttemptIx) -> Option<Nanos> {
        let attempt = session.attempt(ix)?;
        let slot = session.slot(attempt.slot)?;
        let settled = slot.taken == SlotUse::Busy(ix) && !attempt.stopping;
        let stuck = attempt
            .stuck
            .is_some_and(|at| session.now().since(at) < AGAIN);
        let left = remaining(session, ix).map_or(Nanos(u64::MAX), |(left, _)| left);
        (settled && !stuck && left >= self.move_least).then_some(left)
    }
}

/// Whether the slot of an attempt is there for others, too: one that its container has no more, since it was cut anew,
/// goes with the attempt.
fn keeps_its_slot(session: &Session, attempt: AttemptIx, stage: Stage) -> bool {
    let slot = session.attempt(attempt).map(|attempt| attempt.slot);
    let slot = slot.and_then(|slot| session.slot(slot));
    slot.is_some_and(|slot| slot.stages.contains(&stage))
}
