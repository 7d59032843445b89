//! How long decisions take, without looking at the clock at each.

use std::time::Duration;

use crate::bench::processor_time;

/// One event of so many is timed: two calls of the kernel cost about as much as one event. It is odd, since what is told
/// comes in pairs: begun and ended.
pub const TIMED_OF: u64 = 17;

/// The time of some calls, and how many there were.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallTiming {
    calls: u64,
    timed: u32,
    took: Duration,
}

impl CallTiming {
    pub(super) const fn new() -> Self {
        Self {
            calls: 0,
            timed: 0,
            took: Duration::ZERO,
        }
    }

    /// Makes a call, the first and each [`TIMED_OF`]th one by the clock.
    pub(super) fn of<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let is_timed = self.calls.is_multiple_of(TIMED_OF);
        self.calls = self.calls.saturating_add(1);
        if !is_timed {
            return call();
        }
        let began = processor_time();
        let done = call();
        let took = processor_time().saturating_sub(began);
        self.took = self.took.saturating_add(took);
        self.timed = self.timed.saturating_add(1);
        done
    }

    /// What all calls took, if those that were timed stand for the others.
    pub(super) fn all(&self) -> Duration {
        let mean = self.took.checked_div(self.timed).unwrap_or_default();
        mean.saturating_mul(u32::try_from(self.calls).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{CallTiming, TIMED_OF};

    #[test]
    fn those_that_are_timed_stand_for_all() {
        let mut timing = CallTiming::new();
        assert_eq!(timing.all(), Duration::ZERO);
        let numbers: Vec<u64> = (0..100).map(|number| timing.of(|| number)).collect();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        assert_eq!(u64::from(timing.timed), 100_u64.div_ceil(TIMED_OF));
        timing.took = Duration::from_micros(60);
        assert_eq!(timing.all(), Duration::from_micros(1000));
    }
}
