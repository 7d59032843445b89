//! Interactive jobs that would miss their deadlines on fast slots alone, where the policy goes by deadlines
//! (`order=deadline`): they have slow slots before batch does.
//!
//! Whether a job would is ARIA's estimate ([`StageSpan`]) of what it has left of its stage, on all fast slots, after the work of
//! jobs with earlier deadlines. Its first tasks on fast slots tell their mean and their longest, and before they have ended those
//! of an earlier run of the job; a stage of which nothing is known is not estimated. What runs on slow slots already is no work for fast ones.
//!
//! Cost of a slow slot, where interactive jobs with deadlines wait: O(such jobs + attempts). Where a container comes, goes or is
//! cut anew: O(slots).

use std::collections::BTreeMap;

use super::{DyScale, JobClass};
use crate::schedule::aria::StageSpan;
use crate::schedule::can_run::{can_run, fits};
use crate::schedule::fifo::{ONE_BY_ONE, start};
use crate::schedule::{Decision, Event, JobIx, Nanos, NodeIx, Session, SlotIx, Speed, Stage};

/// Fast slots for maps, and for reduces.
pub(super) type FastSlots = [u32; 2];

impl DyScale {
    /// Counts fast slots, where there are others than before.
    pub(super) fn note_fast(&mut self, session: &Session, event: &Event) {
        let is_of_slots = matches!(
            event,
            Event::Joined(..) | Event::Lost(_) | Event::Slots { .. }
        );
        if !is_of_slots || !session.goes_by_deadline() {
            return;
        }
        self.fast = ONE_BY_ONE.map(|stage| {
            let slots = session.slots().map(|(_, slot)| slot);
            let fast =
                slots.filter(|slot| slot.speed == Speed::Fast && slot.stages.contains(&stage));
            u32::try_from(fast.count()).unwrap_or(u32::MAX)
        });
    }

    /// Starts a task of the first interactive job, by deadline, that would be late on fast slots, and whose task can still end in
    /// time on this slow one.
    pub(super) fn late(&self, session: &Session, slot: SlotIx, node: NodeIx) -> Option<Decision> {
        let is_slow = session.slot(slot)?.speed == Speed::Slow;
        if !is_slow || !session.goes_by_deadline() {
            return None;
        }
        let mut stages = ONE_BY_ONE.into_iter().zip(self.fast);
        stages.find_map(|(stage, fast)| {
            let job = self.late_of(session, stage, fast, slot)?;
            start(session, job, stage, slot, node)
        })
    }

    fn late_of(&self, session: &Session, stage: Stage, fast: u32, slot: SlotIx) -> Option<JobIx> {
        let now = session.now();
        let node = session.node_of(slot)?;
        let waiting = self.pending(session, stage, JobClass::Interactive);
        let with_deadline = waiting.filter_map(|ix| {
            let job = session.job(ix)?;
            Some((job.seq, ix, job.deadline?))
        });
        let mut with_deadline: Vec<(u64, JobIx, Nanos)> = with_deadline.collect();
        with_deadline.sort_unstable();
        if with_deadline.is_empty() {
            return None;
        }
        let on_slow = on_slow(session, stage);
        let mut before = 0_u128;
        with_deadline.into_iter().find_map(|(_, job, deadline)| {
            let state = session.stage(job, stage)?;
            let measured = |speed| state.measured.get(&speed);
            let before_it = || session.job(job)?.profile.of(stage, Speed::Fast);
            let known = measured(Speed::Fast).or_else(before_it)?;
            let on_fast = state
                .running
                .saturating_sub(on_slow.get(&job).copied().unwrap_or(0));
            let tasks = state.pending.saturating_add(on_fast);
            let span = StageSpan::of(tasks, fast, known.mean, known.longest);
            let waits = before.checked_div(fast.into());
            let waits = waits.and_then(|waits| u64::try_from(waits).ok());
            let work = u128::from(known.mean.0).saturating_mul(tasks.into());
            before = before.saturating_add(work);
            // One task takes as long as it does, however many slots there are.
            let is_late = span.zip(waits).is_none_or(|(span, waits)| {
                let takes = span.middle().max(known.mean);
                now.plus(Nanos(waits)).plus(takes) > deadline
            });
            let slow = measured(Speed::Slow).unwrap_or(known);
            let in_time = now.plus(slow.mean) <= deadline;
            let has_fast = || {
                let mut free = session.free_for(stage, Speed::Fast);
                free.any(|(_, free)| can_run(session, job, stage, free).is_ok())
            };
            let may = is_late
                && in_time
                && !has_fast()
                && fits(session, &state.need, stage, slot).is_ok()
                && !session.avoids(job, node);
            may.then_some(job)
        })
    }
}

/// Attempts of each job that are on slow slots, or on their way there.
fn on_slow(session: &Session, stage: Stage) -> BTreeMap<JobIx, u32> {
    let mut counts = BTreeMap::new();
    let of_stage = session
        .attempts()
        .map(|(_, attempt)| attempt)
        .filter(|attempt| attempt.stage == stage);
    for attempt in of_stage {
        let slot = session.slot(attempt.to.unwrap_or(attempt.slot));
        if slot.is_some_and(|slot| slot.speed == Speed::Slow) {
            let count: &mut u32 = counts.entry(attempt.job).or_default();
            *count = count.saturating_add(1);
        }
    }
    counts
}
