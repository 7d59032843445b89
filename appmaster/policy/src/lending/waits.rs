//! Why a job has no slots.

use super::Lending;
use super::sizes;
use super::words::{Waits, Wants};
use crate::schedule::{Stage, Taken, can_run};

impl Lending {
    /// Why `job` waits; `None`: it does not.
    #[must_use]
    pub fn waits(&self, job: u32) -> Option<Waits> {
        let borrower = self.jobs.get(&job)?;
        if !borrower.attempts.is_empty() {
            return None;
        }
        let session = self.driver.session();
        let (stage, wanted, unit) = match &borrower.wish.wants {
            Wants::Gang(processes) => (Stage::Gang, *processes, borrower.wish.unit),
            Wants::Tasks { map, reduce, .. } => {
                let pending = |stage, unit| {
                    let pending = session.stage(borrower.ix, stage)?.pending;
                    (pending > 0).then_some((stage, pending, unit))
                };
                pending(Stage::Map, map.unit).or_else(|| pending(Stage::Reduce, reduce.unit))?
            }
        };
        let (mut free, mut all) = (0_u32, 0_u32);
        for (ix, slot) in session.slots() {
            let offer = self.offers.get(&slot.container);
            let stays = !session.is_leaving(slot.container);
            if stays && offer.is_some_and(|offer| sizes::fits(unit, offer.pool)) {
                all = all.saturating_add(1);
                let fits = can_run(session, borrower.ix, stage, ix).is_ok();
                free = free.saturating_add(u32::from(fits && slot.taken == Taken::Free));
            }
        }
        let mut holders: Vec<(u32, u32)> = (self.jobs.iter())
            .map(|(job, other)| {
                (
                    *job,
                    u32::try_from(other.attempts.len()).unwrap_or(u32::MAX),
                )
            })
            .filter(|(_, slots)| *slots > 0)
            .collect();
        holders.sort_by_key(|(job, slots)| (std::cmp::Reverse(*slots), *job));
        let ahead = self.jobs.values();
        let ahead = ahead.filter(|other| other.attempts.is_empty() && other.ix < borrower.ix);
        Some(Waits {
            wanted,
            unit,
            free,
            all,
            holders,
            ahead: u32::try_from(ahead.count()).unwrap_or(u32::MAX),
        })
    }
}
