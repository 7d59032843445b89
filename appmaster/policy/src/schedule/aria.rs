//! How long a stage takes on so many slots: ARIA's bounds.
//!
//! Source: A. Verma, L. Cherkasova, R. H. Campbell, "ARIA: Automatic Resource Inference and Allocation for MapReduce
//! Environments", ICAC 2011: the makespan of tasks that are given greedily to slots, each to the first that is free.
//!
//! ```text
//! least = n · avg / s          most = (n − 1) · avg / s + max          estimate: the mean of both
//! ```
//!
//! | paper | here | unit |
//! |---|---|---|
//! | n | `tasks` | |
//! | S | `slots` | |
//! | avg, max | `mean`, `longest` | ns of one task |
//!
//! Slots are alike, and tasks do not wait for each other.

use super::Nanos;

/// Between which times a stage ends, from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageSpan {
    /// No greedy schedule is faster.
    pub least: Nanos,
    /// None is slower.
    pub most: Nanos,
}

impl StageSpan {
    /// Of so many tasks on so many slots, of which one takes `mean`, and none more than `longest`; `None` of tasks that
    /// have no slot.
    #[must_use]
    pub fn of(tasks: u32, slots: u32, mean: Nanos, longest: Nanos) -> Option<Self> {
        if tasks == 0 {
            let none = Nanos(0);
            return Some(Self {
                least: none,
                most: none,
            });
        }
        let on_all = |tasks: u32| {
            let work = u128::from(mean.0).saturating_mul(tasks.into());
            let span = work.checked_div(slots.into())?;
            Some(Nanos(u64::try_from(span).unwrap_or(u64::MAX)))
        };
        Some(Self {
            least: on_all(tasks)?,
            most: on_all(tasks.saturating_sub(1))?.plus(longest),
        })
    }

    /// The estimate.
    #[must_use]
    pub const fn middle(self) -> Nanos {
        Nanos(self.least.0.midpoint(self.most.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn s(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    #[test]
    fn by_hand() {
        // Ten tasks of 6 s in the mean and 9 at most, on four slots: 15 s at least, 13.5 + 9 at most.
        let span = StageSpan::of(10, 4, s(6), s(9)).unwrap();
        assert_eq!((span.least, span.most), (s(15), Nanos::from_millis(22_500)));
        assert_eq!(span.middle(), Nanos::from_millis(18_750));
        // One task takes as long as it does, but for what its kind takes.
        let one = StageSpan::of(1, 4, s(6), s(9)).unwrap();
        assert_eq!((one.least, one.most), (Nanos::from_millis(1500), s(9)));
        assert_eq!(StageSpan::of(0, 0, s(6), s(9)).unwrap().middle(), Nanos(0));
        assert_eq!(StageSpan::of(1, 0, s(6), s(9)), None);
        let most = Nanos(u64::MAX);
        assert_eq!(StageSpan::of(u32::MAX, 1, most, most).unwrap().least, most);
    }

    proptest! {
        /// Whatever tasks take, and in whichever order they come.
        #[test]
        fn a_greedy_schedule_ends_between_both(
            takes in prop::collection::vec(0..1_000_u64, 1..60),
            slots in 1..12_u32,
        ) {
            let mut free = vec![0_u64; slots as usize];
            for takes in &takes {
                let first = free.iter_mut().min().unwrap();
                *first += takes;
            }
            let (end, longest) = (*free.iter().max().unwrap(), *takes.iter().max().unwrap());
            let tasks = u32::try_from(takes.len()).unwrap();
            let (sum, of) = (takes.iter().sum::<u64>(), u64::from(tasks));
            let span = |mean| StageSpan::of(tasks, slots, Nanos(mean), Nanos(longest)).unwrap();
            // The mean is no whole number.
            prop_assert!(span(sum / of).least.0 <= end);
            prop_assert!(end <= span(sum.div_ceil(of)).most.0);
        }
    }
}
