//! One turn of a call at all addresses, and the pause after it.

use std::time::Duration;

use super::error::CallError;

/// Pauses double up to so many times the first: a server that is too busy gets air.
const PAUSE_GROWTH_MAX: u32 = 8;

/// What was tried since the last pause.
#[derive(Default)]
pub(super) struct RetryRound {
    /// Rounds before this one.
    earlier: u32,
    tried: usize,
    failed: Vec<(usize, CallError)>,
}

impl RetryRound {
    /// The round after this one.
    pub(super) fn next(self) -> Self {
        Self {
            earlier: self.earlier.saturating_add(1),
            ..Self::default()
        }
    }

    /// The pause after this round, where `first` is that after the first.
    pub(super) fn pause(&self, first: Duration) -> Duration {
        let growth = 1_u32.checked_shl(self.earlier).unwrap_or(PAUSE_GROWTH_MAX);
        first.saturating_mul(growth.clamp(1, PAUSE_GROWTH_MAX))
    }

    /// No server listened at any address.
    pub(super) fn found_nobody(&self) -> bool {
        let absent = |error: &CallError| matches!(error, CallError::Connect { .. });
        self.failed.iter().all(|(_, error)| absent(error))
    }

    /// Some server has not answered in time.
    pub(super) fn found_late(&self) -> bool {
        let late = |error: &CallError| matches!(error, CallError::Deadline { .. });
        self.failed.iter().any(|(_, error)| late(error))
    }

    /// Some server has said that it does not serve, or was not there to be asked.
    pub(super) fn found_other(&self) -> bool {
        let late = |error: &CallError| matches!(error, CallError::Deadline { .. });
        self.failed.iter().any(|(_, error)| !late(error))
    }

    /// A connection that was found dead is opened again at once, but only once; true is a pause.
    pub(super) fn retry(&mut self, error: &CallError) -> bool {
        let at_once = matches!(error, CallError::Lost { .. }) && self.failed.is_empty();
        !at_once
    }

    /// True is a pause: all addresses had their turn.
    pub(super) fn failover(&mut self, addresses: usize) -> bool {
        self.tried += 1;
        self.tried >= addresses
    }

    /// Keeps the last failure of each address.
    pub(super) fn keep(&mut self, at: usize, error: CallError) {
        self.failed.retain(|(index, _)| *index != at);
        self.failed.push((at, error));
    }

    pub(super) fn into_error(mut self, method: &'static str) -> CallError {
        if self.failed.len() == 1
            && let Some((_, error)) = self.failed.pop()
        {
            return error;
        }
        self.failed.sort_by_key(|(index, _)| *index);
        CallError::NoneAnswered {
            method,
            tried: self.failed.into_iter().map(|(_, error)| error).collect(),
        }
    }
}

/// Between half and all of `pause`: callers that were turned away together do not come back together.
pub(super) fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(rand::random_range(0.5..=1.0))
}
