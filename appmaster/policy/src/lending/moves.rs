//! Attempts that change slots while they run: each is ordered, and is there once its launcher says so.
//!
//! ```text
//! Move          one order     its answer settles it
//! Swap          two orders    both done: settled; one not: the other is ordered back
//! one that is to change places ends: the other is ordered back
//! ```
//!
//! A launcher carries out orders in turn, and answers each once. What is ordered back settles nothing more.

use super::Lending;
use super::messages::{TaskMove, Word};
use crate::Millis;
use crate::schedule::{AttemptIx, Event, SlotIx};

/// Two attempts that change places.
#[derive(Debug)]
pub(super) struct PendingSwap {
    pair: [AttemptIx; 2],
    /// What was answered of one of them.
    heard: Option<(AttemptIx, bool)>,
}

impl PendingSwap {
    fn beside(&self, attempt: AttemptIx) -> Option<AttemptIx> {
        match self.pair {
            [one, other] if one == attempt => Some(other),
            [one, other] if other == attempt => Some(one),
            _ => None,
        }
    }

    fn has_answered(&self, attempt: AttemptIx) -> bool {
        self.heard.is_some_and(|(whose, _)| whose == attempt)
    }
}

impl Lending {
    /// A launcher has moved an attempt as it was ordered, or could not.
    pub fn moved(&mut self, now: Millis, attempt: AttemptIx, ok: bool) -> Vec<Word> {
        if let Some(left) = self.ordered_back.get_mut(&attempt) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.ordered_back.remove(&attempt);
            }
            return Vec::new();
        }
        let known = self.driver.session().attempt(attempt);
        if known.is_none_or(|known| known.to.is_none()) {
            // It has ended meanwhile, or was not ordered anywhere.
            return Vec::new();
        }
        let mut swaps = self.swaps.iter();
        let Some(place) = swaps.position(|swap| swap.beside(attempt).is_some()) else {
            return self.settled(now, attempt, ok, Vec::new());
        };
        let Some(swap) = self.swaps.get_mut(place) else {
            return Vec::new();
        };
        let Some((first, first_ok)) = swap.heard.filter(|(first, _)| *first != attempt) else {
            swap.heard = Some((attempt, ok));
            return Vec::new();
        };
        self.swaps.remove(place);
        match (first_ok, ok) {
            (true, true) | (false, false) => self.settled(now, attempt, ok, Vec::new()),
            (true, false) => {
                let back = self.back(first, 1);
                self.settled(now, attempt, false, back)
            }
            (false, true) => {
                let back = self.back(attempt, 1);
                self.settled(now, first, false, back)
            }
        }
    }

    fn settled(
        &mut self,
        now: Millis,
        attempt: AttemptIx,
        ok: bool,
        mut words: Vec<Word>,
    ) -> Vec<Word> {
        words.extend(self.happened(now, &Event::Moved { attempt, ok }));
        words
    }

    /// The order to the launcher.
    pub(super) fn move_of(&mut self, attempt: AttemptIx, to: SlotIx) -> Option<Word> {
        let session = self.driver.session();
        let (known, slot) = (session.attempt(attempt)?, session.slot(to)?);
        let container = self.offers.get(&slot.container)?;
        Some(Word::Move(TaskMove {
            job: *self.numbers.get(&known.job)?,
            attempt,
            container: container.container.clone(),
            slot: self.place_of(to)?,
            cpus: slot.cpus.clone(),
        }))
    }

    pub(super) fn swap_of(&mut self, one: AttemptIx, other: AttemptIx) -> Vec<Word> {
        let slot = |of: AttemptIx| Some(self.driver.session().attempt(of)?.slot);
        let (Some(first), Some(second)) = (slot(one), slot(other)) else {
            return Vec::new();
        };
        self.swaps.push(PendingSwap {
            pair: [one, other],
            heard: None,
        });
        let words = [self.move_of(one, second), self.move_of(other, first)];
        words.into_iter().flatten().collect()
    }

    /// Orders an attempt to the slot that it has by the table, wherever it is; as many answers of it settle nothing.
    fn back(&mut self, attempt: AttemptIx, answers: u32) -> Vec<Word> {
        let own = self.driver.session().attempt(attempt).map(|of| of.slot);
        let back = own.and_then(|own| self.move_of(attempt, own));
        if back.is_some() {
            let left = self.ordered_back.entry(attempt).or_default();
            *left = left.saturating_add(answers);
        }
        back.into_iter().collect()
    }

    /// Of two that were to change places one is over: the other goes back.
    pub(super) fn end_swaps(&mut self) -> Vec<Word> {
        if self.swaps.is_empty() && self.ordered_back.is_empty() {
            return Vec::new();
        }
        let session = self.driver.session();
        let is_there = |attempt: &AttemptIx| session.attempt(*attempt).is_some();
        self.ordered_back.retain(|attempt, _| is_there(attempt));
        let mut left = Vec::new();
        self.swaps.retain(|swap| {
            let both = swap.pair.iter().all(is_there);
            if !both {
                let alone = swap.pair.into_iter().filter(|of| is_there(of));
                left.extend(alone.map(|of| (of, swap.has_answered(of))));
            }
            both
        });
        let left = left.into_iter();
        // The answer to the order back, and the one to the first order where that has not come.
        left.flat_map(|(attempt, answered)| self.back(attempt, if answered { 1 } else { 2 }))
            .collect()
    }
}
