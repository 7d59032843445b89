//! How long an attempt still takes.

use super::{AttemptIx, Nanos, Session};

/// Progress is told once a second while there is some: an attempt that is silent for longer stands still.
const SILENT: Nanos = Nanos::from_secs(3);

/// The time left of an attempt, and whether anything vouches for it.
///
/// From the mean of the stage's attempts that ended well on slots as fast as its own, scaled by its own rate where it
/// has told its progress (of one that stands still the rate falls as time goes by); before any has ended, from its
/// progress alone, which is not sure.
#[must_use]
pub fn remaining(session: &Session, attempt: AttemptIx) -> Option<(Nanos, bool)> {
    let attempt = session.attempt(attempt)?;
    let began = attempt.began?;
    let now = session.now();
    let spent = now.since(began);
    let speed = session.slot(attempt.slot)?.speed;
    let mean = session.stage(attempt.job, attempt.stage)?.mean(speed);
    let by_rate = attempt.progress.and_then(|(_, done, of, told)| {
        let silent = now.since(told);
        let stands = silent > SILENT;
        let so_far = if stands { spent } else { told.since(began) };
        let left = u128::from(so_far.0).checked_mul(u128::from(of.saturating_sub(done)))?;
        let left = u64::try_from(left.checked_div(u128::from(done))?).ok()?;
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
