//! For how long attempts have been on slots of each speed.

use std::collections::BTreeMap;

use policy::schedule::{AttemptIx, Nanos, Speed};

use super::WorkloadRun;

/// Time of attempts on slots, from the launcher's word to their end, by the speed of the slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BusyTime(BTreeMap<Speed, Nanos>);

impl BusyTime {
    /// On slots of a speed.
    #[must_use]
    pub fn of(&self, speed: Speed) -> Nanos {
        self.0.get(&speed).copied().unwrap_or(Nanos(0))
    }

    fn add(&mut self, speed: Speed, span: Nanos) {
        let sum = self.0.entry(speed).or_insert(Nanos(0));
        *sum = sum.plus(span);
    }
}

impl WorkloadRun<'_> {
    /// An attempt leaves its slot, or stays on it and is counted anew.
    pub(super) fn count_busy(&mut self, attempt: AttemptIx) {
        if let Some(load) = self.loads.get_mut(&attempt) {
            self.outcome.busy.add(load.on, self.now.since(load.since));
            load.since = self.now;
        }
    }
}
