//! What the job's queue gives it, beside what the nodes have room for.

use crate::{MiB, Resources, Vcores};

/// What a queue gives to one job, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Its name, for sentences.
    pub name: String,
    /// The most that all containers of the queue may hold together; `None`: not known, or no limit.
    pub maximum: Option<Resources>,
    /// What the job's own ApplicationMaster holds, in the queue as on its node.
    pub appmaster: Resources,
    /// What the queue, and the user's part of it, still give now; `None`: not known.
    pub headroom: Option<Resources>,
    /// What a scheduler names that gives more where nobody else wants it: a FairScheduler's share, or its maximum.
    /// `None`: [`headroom`](Self::headroom) counts, or nothing was said.
    pub named: Option<Resources>,
    /// It has named no room at all of late: it is full, or has not counted yet. Either way it is no node's fault that
    /// nothing comes.
    pub names_no_room: bool,
}

impl Queue {
    /// The most that all containers of the job can ever hold together, its ApplicationMaster's aside.
    #[must_use]
    pub fn ever(&self) -> Option<Resources> {
        self.maximum.map(|maximum| maximum.minus(self.appmaster))
    }
}

/// Sizes after all above a level were cut to it, so that they are `limit` together: the largest give
/// first, none goes below `least`, and what is left over goes to the first of those that were cut, a `step`
/// each. `None` where not even `least` of each fits.
///
/// Cost: O(n · log(largest / step)).
pub(crate) fn level(sizes: &[u64], least: u64, step: u64, limit: u64) -> Option<Vec<u64>> {
    let step = step.max(1);
    let sum = |level: u64| {
        let cut = sizes.iter().map(|size| (*size).min(level));
        cut.fold(0, u64::saturating_add)
    };
    let steps = |size: u64| size.div_ceil(step);
    let largest = sizes.iter().copied().max().unwrap_or(0);
    if sum(least) > limit {
        return None;
    }
    if sum(largest) <= limit {
        return Some(sizes.to_vec());
    }
    // The invariant: `low` fits, `high` does not. In steps.
    let (mut low, mut high) = (least.checked_div(step).unwrap_or(0), steps(largest));
    while high.saturating_sub(low) > 1 {
        let middle = low.midpoint(high);
        match sum(middle.saturating_mul(step).max(least)) <= limit {
            true => low = middle,
            false => high = middle,
        }
    }
    let level = low.saturating_mul(step).max(least);
    let mut left = limit.saturating_sub(sum(level));
    let cut = sizes.iter().map(|size| {
        let more = step.min(size.saturating_sub(level));
        match more > 0 && more <= left {
            true => {
                left = left.saturating_sub(more);
                level.saturating_add(more)
            }
            false => (*size).min(level),
        }
    });
    Some(cut.collect())
}

/// The sum of `sizes`, each rounded up to whole steps of memory as the scheduler does.
pub(crate) fn together(sizes: impl Iterator<Item = Resources>, step: MiB) -> Resources {
    let rounded = sizes.map(|size| Resources {
        memory: MiB(size.memory.0.next_multiple_of(step.0.max(1))),
        vcores: Vcores(size.vcores.0.max(1)),
        ..size
    });
    rounded.fold(Resources::default(), Resources::plus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_give_first_and_nothing_is_left_over() {
        assert_eq!(level(&[3, 3, 3, 3], 1, 1, 7), Some(vec![2, 2, 2, 1]));
        assert_eq!(level(&[8, 2, 1], 1, 1, 7), Some(vec![4, 2, 1]));
        assert_eq!(level(&[3, 3], 1, 1, 9), Some(vec![3, 3]));
        assert_eq!(level(&[3, 3], 2, 1, 3), None);
        assert_eq!(
            level(&[4096, 4096], 1024, 1024, 5120),
            Some(vec![3072, 2048])
        );
        assert_eq!(
            level(&[4096, 4096], 1024, 1024, 5000),
            Some(vec![2048, 2048])
        );
        assert_eq!(level(&[], 1, 1, 0), Some(vec![]));
    }
}
