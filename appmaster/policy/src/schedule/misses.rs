//! Jobs that miss their deadlines whatever the policy does: not even all slots, given to the job alone, would do.
//!
//! Each slot ends tasks at the rate of its speed, the mean of the job's own tasks there; where none has been measured, at
//! that of the fastest speed that has. So many slots take at least
//!
//! ```text
//! tasks / Σ 1/mean(slot)        and no less than one task on the fastest
//! ```
//!
//! ([`StageSpan`](super::StageSpan)'s lower bound, for slots of several speeds). Only tasks that wait count, and only those of
//! the stage that is under way: what is said is true even if all else takes no time.
//!
//! Cost: O(slots) a job with tasks that wait.

use super::can_run::could_run;
use super::fifo::ONE_BY_ONE;
use super::{JobIx, Measured, Nanos, Need, Session, Speed, Stage};
use crate::Few;

/// Why a job is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlineMiss {
    /// The stage whose tasks wait.
    pub stage: Stage,
    /// How many wait.
    pub tasks: u32,
    /// Slots that run them.
    pub slots: u32,
    /// What the tasks take on all of these, at least.
    pub takes: Nanos,
    /// How long there is; 0: the deadline has passed.
    pub left: Nanos,
}

/// How a job misses its deadline for certain; `None`: it may keep it, has none, or has measured no task of its stage.
#[must_use]
pub fn deadline_miss(session: &Session, now: Nanos, job: JobIx) -> Option<DeadlineMiss> {
    let deadline = session.job(job)?.deadline?;
    let mut stages = ONE_BY_ONE.into_iter();
    let (stage, state) = stages.find_map(|stage| {
        let state = session.stage(job, stage)?;
        (state.pending > 0).then_some((stage, state))
    })?;
    let fastest = state.measured.iter().map(|(_, of)| of.mean).min()?;
    let all = AllSlots::of(session, &state.need, stage, &state.measured)?;
    let takes = Nanos(all.least(state.pending).0.max(fastest.0));
    let miss = DeadlineMiss {
        stage,
        tasks: state.pending,
        slots: all.slots,
        takes,
        left: deadline.since(now),
    };
    (now.plus(takes) > deadline).then_some(miss)
}

/// All slots of a session that serve a stage.
pub(super) struct AllSlots {
    pub(super) slots: u32,
    /// Tasks in 2^64 ns: as many as each slot does alone, rounded up.
    rate: u128,
}

impl AllSlots {
    /// For tasks that take so much, and were measured so; `None`: there is no slot, or none was measured.
    pub(super) fn of(
        session: &Session,
        need: &Need,
        stage: Stage,
        measured: &Few<Speed, Measured>,
    ) -> Option<Self> {
        let fastest = measured.iter().map(|(_, of)| of.mean).min()?;
        let slots = session.slots();
        let serving = slots.filter(|(ix, _)| could_run(session, need, stage, *ix));
        let (mut slots, mut rate) = (0_u32, 0_u128);
        for (_, slot) in serving {
            let own = measured.get(&slot.speed).map(|of| of.mean);
            let mean = own.unwrap_or(fastest).0.max(1);
            slots = slots.saturating_add(1);
            rate = rate.saturating_add(u128::from(u64::MAX).div_ceil(mean.into()));
        }
        (slots > 0).then_some(Self { slots, rate })
    }

    /// How long so many tasks take on all of them at least.
    pub(super) fn least(&self, tasks: u32) -> Nanos {
        let work = u128::from(tasks) << u64::BITS;
        let takes = work.checked_div(self.rate).unwrap_or(u128::MAX);
        Nanos(u64::try_from(takes).unwrap_or(u64::MAX))
    }
}
