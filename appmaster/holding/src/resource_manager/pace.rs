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
/// Between two calls otherwise, and the shortest where nothing is held or asked for. YARN expects one within ten minutes; each costs the ResourceManager as
/// much as a NodeManager's heartbeat, and a job may run for days.
const IDLE: Duration = Duration::from_secs(3);
/// After a call that brought no answer; it doubles with each, up to the second: a ResourceManager that
/// is too busy has a whole cluster's calls to make up for.
const FAILED_PAUSE: Duration = Duration::from_millis(200);
const FAILED_PAUSE_MAX: Duration = Duration::from_secs(2);
/// What an application has and waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// Calls in a row that brought no answer.
    pub failures: u32,
    /// Something is about to come.
    pub hurry: bool,
    /// Containers are asked for.
    pub asks: bool,
    /// It holds containers.
    pub holds: bool,
}

impl Standing {
    /// Before the next call, `since` something came or was written last. It has `waited` for containers since
    /// the last came, or since it had all. YARN takes us for dead after twice `patience`.
    pub(super) fn pause(self, since: Duration, waited: Duration, patience: Duration) -> Duration {
        match self {
            Self { failures: 1.., .. } => failed(self.failures),
            Self { hurry, asks, .. } if hurry || asks => busy(since, waited, hurry, patience),
            Self { holds: true, .. } => IDLE,
            Self { .. } => without(since.max(waited), patience),
        }
    }
}

/// Before the next call of an application that has waited for containers `since` something came or was
/// asked for. `hurry`: something is about to come.
///
/// Who has `waited` for long asks for the same again and again, elsewhere or in another order, and looks
/// less closely for it each time: as often as nodes report, at the most.
fn busy(since: Duration, waited: Duration, hurry: bool, patience: Duration) -> Duration {
    let long = waited >= WAITING_BEGINS;
    let [shortest, _] = WAITING;
    match since < BUSY_ENDS {
        true if long && !hurry => waiting(waited, [shortest; 2], patience, rand::random()),
        true => BUSY,
        false if long && !hurry => waiting(waited, WAITING, patience, rand::random()),
        false => BUSY_LONG,
    }
}

/// Before the next call of an application that holds no container and asks for none, `since` it last did:
/// it waits for room, and the call only tells whether there may be more.
fn without(since: Duration, patience: Duration) -> Duration {
    let [_, longest] = WAITING;
    waiting(since, [IDLE, longest], patience, rand::random())
}

/// After so many calls in a row without an answer.
fn failed(failures: u32) -> Duration {
    let doubled = FAILED_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(8));
    doubled.min(FAILED_PAUSE_MAX)
}

/// The pause before the next call of a job that has waited for so long in vain. Up to a quarter of it is
/// left to `chance`, so that jobs that wait for the same do not call in step.
fn waiting(waited: Duration, bounds: [Duration; 2], patience: Duration, chance: u8) -> Duration {
    let [shortest, longest] = bounds;
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
        assert_eq!(busy(SECOND, SECOND, false, patience), BUSY);
        assert_eq!(busy(3 * SECOND, 3 * SECOND, false, patience), BUSY_LONG);
        let hour = 3_600 * SECOND;
        assert_eq!(busy(hour, hour, true, patience), BUSY_LONG);
        // Asked again: as many do that wait for the same, and let each other go first, several times a minute.
        let again = busy(SECOND, hour, false, patience);
        assert!(
            again <= SECOND && again >= SECOND.mul_f32(0.75),
            "{again:?}"
        );
        assert!(busy(3 * SECOND, hour, false, patience) > 11 * SECOND);
        let span = |waited: u32| {
            [0, u8::MAX].map(|chance| waiting(waited * SECOND, WAITING, patience, chance))
        };
        assert_eq!(span(10), [SECOND.mul_f32(0.75), SECOND]);
        assert_eq!(span(160), [SECOND.mul_f32(7.5), 10 * SECOND]);
        assert_eq!(span(86_400), [SECOND.mul_f32(11.25), 15 * SECOND]);
        // Whom YARN misses soon calls in time.
        assert_eq!(
            waiting(86_400 * SECOND, WAITING, 8 * SECOND, u8::MAX),
            2 * SECOND
        );
        let first = without(SECOND, patience);
        assert!(first <= IDLE && first >= IDLE.mul_f32(0.75), "{first:?}");
        let late = without(600 * SECOND, patience);
        assert!(
            late <= 15 * SECOND && late >= SECOND.mul_f32(11.25),
            "{late:?}"
        );
    }

    #[test]
    fn who_has_nothing_and_asks_for_nothing_calls_the_more_seldom_too() {
        let patience = 300 * SECOND;
        let nothing = Standing {
            failures: 0,
            hurry: false,
            asks: false,
            holds: false,
        };
        let calls = |standing: Standing, span: u32| {
            let mut at = Duration::ZERO;
            let mut calls = 0;
            while at < span * SECOND {
                at += standing.pause(at, Duration::ZERO, patience);
                calls += 1;
            }
            calls
        };
        // A minute of three seconds each has 20.
        assert!(calls(nothing, 3_600) < 350, "{}", calls(nothing, 3_600));
        assert!(calls(nothing, 60) >= 18);
        let runs = Standing {
            holds: true,
            ..nothing
        };
        assert_eq!(runs.pause(3_600 * SECOND, Duration::ZERO, patience), IDLE);
        let ends = Standing {
            hurry: true,
            ..nothing
        };
        assert_eq!(
            ends.pause(3_600 * SECOND, Duration::ZERO, patience),
            BUSY_LONG
        );
        let unheard = Standing {
            failures: 60,
            ..nothing
        };
        assert_eq!(
            unheard.pause(3_600 * SECOND, Duration::ZERO, patience),
            FAILED_PAUSE_MAX
        );
    }

    #[test]
    fn calls_without_an_answer_are_repeated_ever_later_up_to_a_bound() {
        let pauses = [1, 2, 3, 4, 5, 6, 60].map(|failures| failed(failures).as_millis());
        assert_eq!(pauses, [200, 400, 800, 1600, 2000, 2000, 2000]);
    }
}
