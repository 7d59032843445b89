//! How long a board has had something to do.

use std::time::{Duration, Instant};

/// Times of a board since its driver began to serve it, brought up whenever a packet comes or goes.
#[derive(Debug)]
pub(super) struct BoardTimes {
    began: Instant,
    /// Up to when the others count.
    noted: Instant,
    is_busy: bool,
    is_waited_for: bool,
    busy: Duration,
    waited: Duration,
}

impl BoardTimes {
    pub(super) const fn begin(now: Instant) -> Self {
        Self {
            began: now,
            noted: now,
            is_busy: false,
            is_waited_for: false,
            busy: Duration::ZERO,
            waited: Duration::ZERO,
        }
    }

    /// From now on packets wait or none does, and some are on the card or none is.
    pub(super) fn note(&mut self, now: Instant, waiting: bool, on_card: bool) {
        let span = now.saturating_duration_since(self.noted);
        self.noted = now;
        if self.is_busy {
            self.busy += span;
        }
        if self.is_waited_for {
            self.waited += span;
        }
        (self.is_busy, self.is_waited_for) = (waiting || on_card, waiting);
    }

    /// All of it, what it was busy of that, and how long packets waited for it, µs.
    pub(super) fn all(&self) -> [u64; 3] {
        let served = self.noted.saturating_duration_since(self.began);
        [served, self.busy, self.waited].map(|of| u64::try_from(of.as_micros()).unwrap_or(u64::MAX))
    }
}

impl Default for BoardTimes {
    fn default() -> Self {
        Self::begin(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_is_busy_while_packets_wait_or_are_on_it() {
        let began = Instant::now();
        let at = |micros| began + Duration::from_micros(micros);
        let mut times = BoardTimes::begin(began);
        times.note(at(10), true, false);
        times.note(at(13), false, true);
        times.note(at(20), true, true);
        times.note(at(25), false, false);
        times.note(at(100), false, false);
        assert_eq!(times.all(), [100, 15, 8]);
    }
}
