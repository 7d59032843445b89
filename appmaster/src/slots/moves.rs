//! Attempts that are moved between slots of a session: how often, and how often that could not be done.

use policy::Millis;
use policy::schedule::AttemptIx;

use super::Slots;

/// How often so far.
#[derive(Debug, Default)]
pub(super) struct Moves {
    done: u64,
    failed: u64,
}

impl Moves {
    /// What became of an order; `why_not`: it could not be carried out, of which the 1st, 2nd, 4th, 8th and so on are
    /// said.
    fn heard(&mut self, attempt: AttemptIx, why_not: Option<&str>) {
        let Some(why) = why_not else {
            self.done = self.done.saturating_add(1);
            return;
        };
        self.failed = self.failed.saturating_add(1);
        if self.failed.is_power_of_two() {
            let (done, failed) = (self.done, self.failed);
            tracing::warn!(
                "attempt {attempt} stays on its cores: {why}; {failed} stayed so far, {done} were moved"
            );
        }
    }
}

impl Slots {
    /// A launcher has moved an attempt as it was ordered; `why_not`: it could not.
    pub(crate) fn moved(&mut self, now: Millis, attempt: AttemptIx, why_not: Option<&str>) {
        self.moves.heard(attempt, why_not);
        self.change(now, |lending| {
            lending.moved(now, attempt, why_not.is_none())
        });
    }
}
