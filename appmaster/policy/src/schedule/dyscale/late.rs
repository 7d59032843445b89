//! Interactive jobs that would miss their deadlines on fast slots alone, where the policy goes by deadlines
//! (`order=deadline`): they have slow slots before batch does.
//!
//! Whether a job would is ARIA's estimate of its stage ([`StageSpan`]) on all fast slots, from the mean and the longest of its
//! first tasks there, after the work of those whose deadlines are earlier. Of a job that has ended no such task nothing is
//! known, and of its reduces nothing before one of them has ended.
//!
//! Cost: O(interactive jobs that wait and have a deadline) a slow slot; O(slots) where a container comes, goes or is cut anew.

use super::{DyScale, JobClass};
use crate::schedule::aria::StageSpan;
use crate::schedule::can_run::fits;
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

    /// A task of the first interactive job, by deadline, that would be late, starts on this slow slot, where it would not be.
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
        let mut before = 0_u128;
        with_deadline.into_iter().find_map(|(_, job, deadline)| {
            let state = session.stage(job, stage)?;
            let measured = |speed| state.measured.get(&speed);
            let known = measured(Speed::Fast)?;
            let tasks = state.pending.saturating_add(state.running);
            let span = StageSpan::of(tasks, fast, known.mean, known.longest);
            let waits = before.checked_div(fast.into());
            let waits = waits.and_then(|waits| u64::try_from(waits).ok());
            let work = u128::from(known.mean.0).saturating_mul(tasks.into());
            before = before.saturating_add(work);
            let is_late = span
                .zip(waits)
                .is_none_or(|(span, waits)| now.plus(Nanos(waits)).plus(span.middle()) > deadline);
            let in_time = measured(Speed::Slow).is_none_or(|slow| now.plus(slow.mean) <= deadline);
            let may = is_late
                && in_time
                && fits(session, &state.need, stage, slot).is_ok()
                && !session.avoids(job, node);
            may.then_some(job)
        })
    }
}
