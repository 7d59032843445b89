//! How long to wait between two allocate calls, where nothing new is to be said.

use std::time::Duration;

/// Between two calls while containers are waited for, or something has just broken: every
/// NodeManager's heartbeat, one a second, may bring what is waited for.
const BUSY: Duration = Duration::from_millis(50);
/// The same when it lasts, and how long that is: two rounds of heartbeats.
const BUSY_LONG: Duration = Duration::from_millis(250);
const BUSY_ENDS: Duration = Duration::from_secs(2);
/// From then on a job that waits calls the more seldom the longer nothing has come, after a sixteenth of
/// that time within these bounds: what comes late is late by no more than that part of the waiting.
const WAITING: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(15)];
const WAITING_BEGINS: Duration = Duration::from_secs(10);
const PART: u32 = 16;
/// Between two calls otherwise. YARN expects one within ten minutes; each costs the ResourceManager as
/// much as a NodeManager's heartbeat, and a job may run for days.
pub(super) const IDLE: Duration = Duration::from_secs(3);
/// After a call that brought no answer; it doubles with each, up to the second: a ResourceManager that
/// is too busy has a whole cluster's calls to make up for.
const FAILED_PAUSE: Duration = Duration::from_millis(200);
const FAILED_PAUSE_MAX: Duration = Duration::from_secs(2);
/// Before the next call of an application that has waited for containers `since` something came or was
/// asked for. `hurry`: something is about to come.
pub(super) fn busy(since: Duration, hurry: bool, patience: Duration) -> Duration {
    if since < BUSY_ENDS {
        BUSY
    } else if hurry || since < WAITING_BEGINS {
        BUSY_LONG
    } else {
        waiting(since, patience, rand::random())
    }
}

/// After so many calls in a row without an answer.
pub(super) fn failed(failures: u32) -> Duration {
    let doubled = FAILED_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(8));
    doubled.min(FAILED_PAUSE_MAX)
}

/// The pause before the next call of a job that has waited for so long in vain. Up to a quarter of it is
/// left to `chance`, so that jobs that wait for the same do not call in step.
fn waiting(waited: Duration, patience: Duration, chance: u8) -> Duration {
    let [shortest, longest] = WAITING;
    let longest = longest.min(patience / 4).max(shortest);
    let whole = (waited / PART).clamp(shortest, longest);
    let part = whole / 4;
    whole.saturating_sub(part) + part.mul_f32(f32::from(chance) / f32::from(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn who_waits_for_long_calls_the_more_seldom_and_never_in_step() {
        let patience = 300 * SECOND;
        assert_eq!(busy(SECOND, false, patience), BUSY);
        assert_eq!(busy(3 * SECOND, false, patience), BUSY_LONG);
        assert_eq!(busy(3_600 * SECOND, true, patience), BUSY_LONG);
        let span =
            |waited: u32| [0, u8::MAX].map(|chance| waiting(waited * SECOND, patience, chance));
        assert_eq!(span(10), [SECOND.mul_f32(0.75), SECOND]);
        assert_eq!(span(160), [SECOND.mul_f32(7.5), 10 * SECOND]);
        assert_eq!(span(86_400), [SECOND.mul_f32(11.25), 15 * SECOND]);
        // Whom YARN misses soon calls in time.
        assert_eq!(waiting(86_400 * SECOND, 8 * SECOND, u8::MAX), 2 * SECOND);
    }

    #[test]
    fn calls_without_an_answer_are_repeated_ever_later_up_to_a_bound() {
        let pauses = [1, 2, 3, 4, 5, 6, 60].map(|failures| failed(failures).as_millis());
        assert_eq!(pauses, [200, 400, 800, 1600, 2000, 2000, 2000]);
    }
}
