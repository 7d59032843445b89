//! An attempt's time on one slot: where it is moved, what it does there tells nothing of how fast it is elsewhere.

use serde::{Deserialize, Serialize};

use crate::schedule::Nanos;

/// All that an attempt has to do.
const WHOLE: u64 = 1_000_000;

/// Since when an attempt runs on its slot, and how much it had done before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stay {
    /// When it began there, or came from another.
    pub since: Nanos,
    /// Millionths of all that it has to do which were done by then.
    done: u64,
}

impl Stay {
    /// Where it begins.
    pub(in crate::schedule) const fn first(since: Nanos) -> Self {
        Self { since, done: 0 }
    }

    /// On another slot, from `now` on, when it would have had `left` here; `None`: nobody knows.
    pub(in crate::schedule) fn next(self, now: Nanos, left: Option<Nanos>) -> Self {
        let spent = now.since(self.since);
        let share = left.and_then(|left| {
            let all = u128::from(spent.0).saturating_add(left.0.into());
            let here = u128::from(self.left_of(WHOLE)).saturating_mul(spent.0.into());
            u64::try_from(here.checked_div(all)?).ok()
        });
        Self {
            since: now,
            done: self.done.saturating_add(share.unwrap_or(0)).min(WHOLE),
        }
    }

    /// What was left of `all` when it came, be that bytes or a time.
    pub(in crate::schedule) fn left_of(self, all: u64) -> u64 {
        let left = u128::from(WHOLE.saturating_sub(self.done)).saturating_mul(all.into());
        let left = left.checked_div(WHOLE.into()).unwrap_or_default();
        u64::try_from(left).unwrap_or(u64::MAX)
    }

    /// How long it would have been here for all that it had to do, by the `spent` that what was left took; `None`: too
    /// little was.
    pub(in crate::schedule) fn for_all(self, spent: Nanos) -> Option<Nanos> {
        let left = self.left_of(WHOLE);
        let all = u128::from(spent.0).saturating_mul(WHOLE.into());
        let all = u64::try_from(all.checked_div(left.into())?).ok()?;
        (left.saturating_mul(2) >= WHOLE).then_some(Nanos(all))
    }
}
