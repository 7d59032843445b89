//! What the policy has cost so far, and how often it was at fault.

use std::time::{Duration, Instant};

/// Its costs and faults.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deciding {
    /// How often something was told to it.
    told: u64,
    /// How long it took to decide after that, all together.
    took: Duration,
    /// What it decided that could not be carried out.
    refused: u64,
}

impl Deciding {
    /// Once more, since `began`.
    pub(super) fn took(&mut self, began: Instant) {
        self.told = self.told.saturating_add(1);
        self.took = self.took.saturating_add(began.elapsed());
    }

    /// How often something was told to it, and the microseconds that it took to decide.
    pub(super) fn cost(&self) -> (u64, u64) {
        let took = u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX);
        (self.told, took)
    }

    /// What it decided could not be carried out: its faults, of which the 1st, 2nd, 4th, 8th and so on are said.
    pub(super) fn refused(&mut self, faults: Vec<String>) {
        for fault in faults {
            self.refused = self.refused.saturating_add(1);
            if self.refused.is_power_of_two() {
                let count = self.refused;
                tracing::error!(
                    "the policy decides what cannot be carried out, {count} times so far: {fault}"
                );
            }
        }
    }
}
