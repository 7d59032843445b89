//! How long to wait between two looks at an application that waits.

use std::time::Duration;

/// How often somebody looks who has not waited for long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Between two looks at first.
    pub soon: Duration,
    /// When "at first" is over.
    pub soon_ends: Duration,
}

/// From then on a sixteenth of the time that was waited, within these bounds: many jobs may wait in a queue, each
/// with its client, and what begins late is seen late by no more than that part of the waiting.
const PART: u32 = 16;
const LATER: Duration = Duration::from_millis(250);
const SELDOM: Duration = Duration::from_secs(5);

impl Pace {
    /// Before the next look at what has `waited` for so long.
    pub(crate) fn pause(self, waited: Duration) -> Duration {
        self.by_chance(waited, rand::random())
    }

    /// Up to a quarter is left to `chance`, so that clients that wait for the same do not look in step.
    fn by_chance(self, waited: Duration, chance: u8) -> Duration {
        if waited < self.soon_ends {
            return self.soon;
        }
        let whole = (waited / PART).clamp(LATER, SELDOM);
        let part = whole / 4;
        whole.saturating_sub(part) + part.mul_f32(f32::from(chance) / f32::from(u8::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_long_looks_the_more_seldom_and_not_in_step_with_others() {
        let pace = Pace {
            soon: Duration::from_millis(25),
            soon_ends: Duration::from_secs(3),
        };
        let span = |seconds: u64| {
            let waited = Duration::from_secs(seconds);
            [0, u8::MAX].map(|chance| pace.by_chance(waited, chance).as_millis())
        };
        assert_eq!(span(2), [25, 25]);
        assert_eq!(span(4), [187, 250]);
        assert_eq!(span(32), [1_500, 2_000]);
        assert_eq!(span(86_400), [3_750, 5_000]);
    }
}
