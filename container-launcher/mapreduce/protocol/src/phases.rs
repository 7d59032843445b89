//! How long a task was in each of its phases, as counters.

use std::time::Duration;

use crate::counters::Counters;

/// Group of these counters.
const GROUP: &str = "gerbil";

/// What a task does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TaskPhase {
    /// A map reads its split, and finds records in it.
    Read,
    /// The mapper has a record, or sets up or cleans up.
    Map,
    /// What a mapper emits is put into memory.
    Collect,
    /// Memory is sorted, combined and written.
    Spill,
    /// Spills are merged.
    Merge,
    /// A reduce's launcher brings its input.
    Shuffle,
    /// A reduce merges what is too much for one merge.
    Sort,
    /// The reducer has a group, whose values are merged meanwhile, or sets up or cleans up.
    Reduce,
    /// Output is written: by a reduce, or by a map of a job without any.
    Write,
}

impl TaskPhase {
    /// In the order in which a job goes through them.
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::Map,
        Self::Collect,
        Self::Spill,
        Self::Merge,
        Self::Shuffle,
        Self::Sort,
        Self::Reduce,
        Self::Write,
    ];

    /// Its counter, of milliseconds.
    #[must_use]
    pub const fn counter(self) -> &'static str {
        match self {
            Self::Read => "READ_MILLISECONDS",
            Self::Map => "MAP_MILLISECONDS",
            Self::Collect => "COLLECT_MILLISECONDS",
            Self::Spill => "SPILL_MILLISECONDS",
            Self::Merge => "MERGE_MILLISECONDS",
            Self::Shuffle => "SHUFFLE_MILLISECONDS",
            Self::Sort => "SORT_MILLISECONDS",
            Self::Reduce => "REDUCE_MILLISECONDS",
            Self::Write => "WRITE_MILLISECONDS",
        }
    }
}

/// Adds what a task took, phase by phase in their order. What is below a millisecond counts for the phase after it, so
/// that the sum is that of all; a phase that nothing counts for has no counter.
pub fn count_phases(counters: &mut Counters, took: &[(TaskPhase, Duration)]) {
    let mut all = Duration::ZERO;
    for (phase, time) in took {
        let before = all.as_millis();
        all = all.saturating_add(*time);
        let millis = u64::try_from(all.as_millis() - before).unwrap_or(u64::MAX);
        if millis > 0 {
            let group = counters.entry(GROUP.to_owned()).or_default();
            let sum = group.entry(phase.counter().to_owned()).or_default();
            *sum = sum.saturating_add_unsigned(millis);
        }
    }
}

/// How long a task, or all tasks of a job, were in each phase; none that nothing was counted for.
pub fn phases(counters: &Counters) -> impl Iterator<Item = (TaskPhase, Duration)> {
    let group = counters.get(GROUP);
    TaskPhase::ALL.into_iter().filter_map(move |phase| {
        let millis = group?.get(phase.counter())?;
        Some((phase, Duration::from_millis(u64::try_from(*millis).ok()?)))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Counters, TaskPhase, count_phases, phases};

    #[test]
    fn nothing_of_a_task_is_lost_however_short_its_phases_are() {
        let mut counters = Counters::new();
        let took = [
            (TaskPhase::Read, Duration::from_micros(700)),
            (TaskPhase::Map, Duration::from_micros(2_600)),
            (TaskPhase::Collect, Duration::from_micros(400)),
            (TaskPhase::Spill, Duration::from_micros(5_300)),
        ];
        count_phases(&mut counters, &took);
        let told: Vec<_> = phases(&counters).collect();
        let millis = Duration::from_millis;
        assert_eq!(
            told,
            [(TaskPhase::Map, millis(3)), (TaskPhase::Spill, millis(6))]
        );
        count_phases(&mut counters, &[(TaskPhase::Shuffle, millis(7))]);
        count_phases(&mut counters, &[(TaskPhase::Spill, millis(1))]);
        let told: Vec<_> = phases(&counters).map(|(_, took)| took).collect();
        assert_eq!(told, [millis(3), millis(7), millis(7)]);
        assert_eq!(counters["gerbil"]["SPILL_MILLISECONDS"], 7);
        assert_eq!(phases(&Counters::new()).count(), 0);
    }
}
