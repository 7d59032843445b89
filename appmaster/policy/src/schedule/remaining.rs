//! How long an attempt still takes.

use super::session::ScheduleState;
use super::{AttemptIx, Nanos, Session};

/// Progress is told once a second while there is some: an attempt that is silent for longer stands still.
const SILENT: Nanos = Nanos::from_secs(3);

/// The time left of an attempt, and whether anything vouches for it.
///
/// From the mean of the stage's attempts that ended well on slots as fast as its own, scaled by its own rate on this slot
/// where it has told its progress there (of one that stands still the rate falls as time goes by); before any has ended,
/// from its progress alone, which is not sure. Of one that was moved what is left of the work counts from then on. Nothing
/// is known of one that is stopped.
#[must_use]
pub fn remaining(session: &Session, attempt: AttemptIx) -> Option<(Nanos, bool)> {
    session.state.remaining(attempt)
}

impl ScheduleState {
    /// See [`remaining`].
    pub(super) fn remaining(&self, attempt: AttemptIx) -> Option<(Nanos, bool)> {
        let attempt = self.attempts.get(&attempt)?;
        let stay = attempt.stay?;
        let now = self.now;
        let spent = now.since(stay.since);
        let slot = self.slots.get(&attempt.slot)?;
        let speed = slot.starts_tasks().then_some(slot.speed)?;
        let job = &self.jobs.get(&attempt.job)?.job;
        let mean = job.stages.get(&attempt.stage)?.mean(speed);
        let mean = mean.map(|mean| Nanos(stay.left_of(mean.0)));
        let told_here = attempt.progress.filter(|(.., told)| *told >= stay.since);
        let by_rate = told_here.and_then(|(_, done, of, told)| {
            let silent = now.since(told);
            let stands = silent > SILENT;
            let so_far = if stands {
                spent
            } else {
                told.since(stay.since)
            };
            let left = of.saturating_sub(done);
            // What it had done elsewhere says nothing of how fast it is here.
            let done_here = stay.left_of(of).checked_sub(left)?;
            let left = u128::from(so_far.0).checked_mul(u128::from(left))?;
            let left = u64::try_from(left.checked_div(u128::from(done_here))?).ok()?;
            let since = if stands { 0 } else { silent.0 };
            Some(Nanos(left.saturating_sub(since)))
        });
        match (by_rate, mean) {
            (Some(left), mean) => Some((left, mean.is_some())),
            // Nothing told: as long as the others, and twice that once it is over their time.
            (None, Some(mean)) if spent <= mean => Some((mean.since(spent), true)),
            (None, Some(_)) => Some((spent, true)),
            (None, None) => None,
        }
    }
}
