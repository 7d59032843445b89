//! The machine's clock, which all its processes share.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// From when to when, in nanoseconds of [`now`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// It begins.
    pub begin: u64,
    /// It has ended.
    pub end: u64,
}

impl Span {
    /// How long it is.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }
}

/// Nanoseconds since the machine began.
#[must_use]
pub fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let now = Duration::try_from(now).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// Waits for a point of [`now`].
pub(crate) fn wait_until(end: u64) {
    loop {
        let left = end.saturating_sub(now());
        if left == 0 {
            return;
        }
        std::thread::park_timeout(Duration::from_nanos(left));
    }
}
