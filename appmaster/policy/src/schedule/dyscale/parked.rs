//! Batch attempts that are stopped for interactive tasks, and go on later. Each keeps its memory.

use super::moves::AGAIN;
use super::{DyScale, JobClass};
use crate::schedule::can_run::fits;
use crate::schedule::fifo::ONE_BY_ONE;
use crate::schedule::{
    AttemptIx, ContainerIx, Decision, Event, Nanos, Session, SlotIx, Speed, Stage,
};

impl DyScale {
    /// One that could not be continued is ordered again even if nothing else happens.
    pub(super) fn note_parked(&mut self, now: Nanos, session: &Session, event: &Event) {
        let Event::Moved { attempt, ok: false } = event else {
            return;
        };
        let slot = session.attempt(*attempt).map(|attempt| attempt.slot);
        let slot = slot.and_then(|slot| session.slot(slot));
        if slot.is_some_and(|slot| slot.speed == Speed::Parked) {
            self.again = Some(now.plus(AGAIN));
        }
    }

    /// A batch attempt is stopped, where an interactive task waits that would start on its fast slot, and no other slot is
    /// free for it. It has to find a slot again without that: its container has slow ones.
    pub(super) fn park(&self, session: &Session) -> Option<Decision> {
        ONE_BY_ONE.into_iter().find_map(|stage| {
            let there_are = session.free_count(stage, Speed::Parked) > 0;
            let waits = || self.waits(session, stage, JobClass::Interactive);
            if !there_are || !waits() || self.is_cleared(session, stage) {
                return None;
            }
            let mut batch = self.placed.at(JobClass::Batch, Speed::Fast, stage);
            batch.find_map(|(container, attempt)| {
                let to = session.free_in(container, stage, Speed::Parked)?;
                let slot = session.attempt(attempt)?.slot;
                let makes_room = !has_device(session, attempt)
                    && has_slots(session, container, stage, Speed::Slow)
                    && self.may_move(session, attempt)
                    && self.is_waited_for(session, stage, slot);
                makes_room.then_some(Decision::Move { attempt, to })
            })
        })
    }

    /// Whether an interactive task waits that is to have a fast slot, were it free, and batch tasks are stopped for such:
    /// what is spare for others is theirs.
    pub(super) fn is_waited_for(&self, session: &Session, stage: Stage, slot: SlotIx) -> bool {
        let is_fast = |slot: SlotIx| {
            let slot = session.slot(slot);
            slot.is_some_and(|slot| slot.speed == Speed::Fast)
        };
        if self.park == 0 || !is_fast(slot) {
            return false;
        }
        let Some(node) = session.node_of(slot) else {
            return false;
        };
        let mut jobs = self.pending(session, stage, JobClass::Interactive);
        jobs.any(|job| {
            let need = session.stage(job, stage).map(|state| &state.need);
            need.is_some_and(|need| fits(session, need, stage, slot).is_ok())
                && !session.avoids(job, node)
        })
    }

    /// Attempts that are stopped in a container, for lack of a slot that they may have.
    fn stopped_in(
        &self,
        session: &Session,
        container: ContainerIx,
        stage: Stage,
    ) -> Option<AttemptIx> {
        let each = JobClass::BOTH.into_iter().flat_map(|class| {
            self.placed
                .in_container(class, Speed::Parked, stage, container)
        });
        each.filter(|attempt| self.may_move(session, *attempt))
            .min()
    }

    /// One that is stopped goes on on this free slot before anything starts there: on a fast one only where there are no
    /// others.
    pub(super) fn goes_on(&self, session: &Session, slot: SlotIx) -> Option<Decision> {
        if self.park == 0 {
            return None;
        }
        let place = session.slot(slot)?;
        let of_stage = |stage: &Stage| {
            let attempt = self.stopped_in(session, place.container, *stage)?;
            let only = || {
                let others = [Speed::Slow, Speed::Plain].into_iter();
                let mut others =
                    others.filter(|speed| has_slots(session, place.container, *stage, *speed));
                others.next().is_none()
            };
            let may = place.speed != Speed::Fast || only();
            may.then_some(Decision::Move { attempt, to: slot })
        };
        place.stages.iter().find_map(of_stage)
    }

    /// One that is stopped goes on, wherever a slot is free for it.
    pub(super) fn go_on(&self, session: &Session) -> Option<Decision> {
        let each = ONE_BY_ONE
            .into_iter()
            .flat_map(|stage| JobClass::BOTH.map(|class| (stage, class)));
        let mut stopped = each.flat_map(|(stage, class)| {
            let stopped = self.placed.at(class, Speed::Parked, stage);
            stopped.map(move |(container, attempt)| (stage, container, attempt))
        });
        stopped.find_map(|(stage, container, attempt)| {
            let free = |speed| session.free_in(container, stage, speed);
            let spare = |slot: &SlotIx| !self.is_waited_for(session, stage, *slot);
            let to = free(Speed::Slow)
                .or_else(|| free(Speed::Plain))
                .or_else(|| free(Speed::Fast).filter(spare))?;
            self.may_move(session, attempt)
                .then_some(Decision::Move { attempt, to })
        })
    }
}

/// Whether an attempt may have a device, which others would wait for.
fn has_device(session: &Session, attempt: AttemptIx) -> bool {
    let class = session.attempt(attempt).and_then(|attempt| attempt.class);
    let need = class.and_then(|class| session.need(class));
    need.is_some_and(|need| !need.locks.is_empty())
}

/// Whether a container has slots of a stage on cores of this speed, free or taken. Cost: O(its slots).
fn has_slots(session: &Session, container: ContainerIx, stage: Stage, speed: Speed) -> bool {
    let slots = session.slots_of(container).iter();
    let mut slots = slots.filter_map(|slot| session.slot(*slot));
    slots.any(|slot| slot.speed == speed && slot.stages.contains(&stage))
}
