//! The cores that attempts run on, by the words of their launchers, beside those of the slots that they have.
//!
//! ```text
//!  started ──▶ bound ──slot's cores are others──▶ ordered to its own slot ──done──▶ bound
//!                                                        │ ▲
//!                                               not done │ │ a pause later, twice as long each time
//!                                                        ▼ │
//!                                              waits ──after TRIES──▶ given up: stopped, and its task runs again
//! ```
//!
//! A launcher carries out orders in turn, and answers each once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::Millis;
use crate::schedule::AttemptIx;

/// Orders to its own slot that an attempt does not follow before it is given up.
pub(super) const TRIES: u32 = 6;
/// After the first of them.
const PAUSE: Millis = Millis(100);

/// Where an order sends an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whither {
    /// To another slot than its own.
    Elsewhere,
    /// To the slot that it has by the table.
    Home,
}

/// What is to be done about an attempt that is not on its slot's cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Astray {
    /// It is to be ordered there.
    Order,
    /// Its last order is not answered, or is repeated later.
    Waits,
    /// It has not followed [`TRIES`] orders.
    GivenUp,
}

/// A slot of a container, by its place there, and its cores; no cores: all of the launcher.
pub(super) type Bound = (u32, Vec<u32>);

#[derive(Debug, Default)]
struct Binding {
    /// `None`: it was started bound to nothing.
    at: Option<Bound>,
    /// Orders without an answer, in turn.
    orders: VecDeque<(Whither, Bound)>,
    /// Orders to its own slot that it has not followed since it was last on its slot's cores.
    failed: u32,
    /// When it is ordered there again.
    again: Option<Millis>,
}

/// Of all attempts that are bound, or were ordered somewhere.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    of: BTreeMap<AttemptIx, Binding>,
    again: BTreeSet<(Millis, AttemptIx)>,
}

impl Bindings {
    pub(super) fn started(&mut self, attempt: AttemptIx, at: Bound) {
        if !at.1.is_empty() {
            self.of.entry(attempt).or_default().at = Some(at);
        }
    }

    pub(super) fn ordered(&mut self, attempt: AttemptIx, whither: Whither, to: Bound) {
        self.wait_no_more(attempt);
        let binding = self.of.entry(attempt).or_default();
        binding.orders.push_back((whither, to));
    }

    /// The first order of an attempt without an answer was carried out, or not; `None`: there is none.
    pub(super) fn answered(
        &mut self,
        now: Millis,
        attempt: AttemptIx,
        ok: bool,
    ) -> Option<Whither> {
        let binding = self.of.get_mut(&attempt)?;
        let (whither, to) = binding.orders.pop_front()?;
        if ok {
            binding.at = Some(to);
        } else if whither == Whither::Home {
            let pause = PAUSE.0 << binding.failed.min(TRIES);
            binding.failed = binding.failed.saturating_add(1);
            if binding.failed < TRIES && binding.orders.is_empty() {
                let at = now.plus(Millis(pause));
                binding.again = Some(at);
                self.again.insert((at, attempt));
            }
        }
        Some(whither)
    }

    /// What is to be done about an attempt that has such a slot; `None`: it is there.
    pub(super) fn astray(&mut self, attempt: AttemptIx, slot: &Bound) -> Option<Astray> {
        let binding = self.of.get(&attempt);
        let at = binding.and_then(|binding| binding.at.as_ref());
        if at.map_or(slot.1.is_empty(), |at| at == slot) {
            self.wait_no_more(attempt);
            if let Some(binding) = self.of.get_mut(&attempt) {
                binding.failed = 0;
            }
            return None;
        }
        Some(match binding {
            None => Astray::Order,
            Some(of) if !of.orders.is_empty() || of.again.is_some() => Astray::Waits,
            Some(of) if of.failed >= TRIES => Astray::GivenUp,
            Some(_) => Astray::Order,
        })
    }

    /// Whether an answer is to come.
    pub(super) fn is_ordered(&self, attempt: AttemptIx) -> bool {
        let binding = self.of.get(&attempt);
        binding.is_some_and(|binding| !binding.orders.is_empty())
    }

    /// Attempts that were to be ordered again by now.
    pub(super) fn due(&mut self, now: Millis) -> Vec<AttemptIx> {
        let due = self.again.iter().take_while(|(at, _)| *at <= now);
        let due: Vec<AttemptIx> = due.map(|(_, attempt)| *attempt).collect();
        for attempt in &due {
            self.wait_no_more(*attempt);
        }
        due
    }

    /// When the first is to be ordered again.
    pub(super) fn wakes_at(&self) -> Option<Millis> {
        self.again.first().map(|(at, _)| *at)
    }

    /// It is over.
    pub(super) fn forget(&mut self, attempt: AttemptIx) {
        self.wait_no_more(attempt);
        self.of.remove(&attempt);
    }

    fn wait_no_more(&mut self, attempt: AttemptIx) {
        let again = self.of.get_mut(&attempt).and_then(|of| of.again.take());
        if let Some(at) = again {
            self.again.remove(&(at, attempt));
        }
    }

    /// No attempt is known, and none waits.
    #[cfg(test)]
    pub(super) fn are_at_rest(&self) -> bool {
        let mut all = self.of.values();
        self.again.is_empty() && all.all(|of| of.orders.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: AttemptIx = AttemptIx(1);

    fn slot(place: u32, cpus: &[u32]) -> Bound {
        (place, cpus.to_vec())
    }

    #[test]
    fn an_order_that_is_not_followed_is_repeated_so_often_and_ever_later() {
        let (here, there) = (slot(0, &[0]), slot(1, &[1]));
        let mut bindings = Bindings::default();
        bindings.started(ONE, here.clone());
        assert_eq!(bindings.astray(ONE, &here), None);
        let (mut now, mut pauses) = (Millis(0), Vec::new());
        while bindings.astray(ONE, &there) == Some(Astray::Order) {
            bindings.ordered(ONE, Whither::Home, there.clone());
            assert_eq!(bindings.astray(ONE, &there), Some(Astray::Waits));
            assert_eq!(bindings.answered(now, ONE, false), Some(Whither::Home));
            let Some(at) = bindings.wakes_at() else { break };
            assert_eq!(bindings.due(Millis(at.0 - 1)), []);
            assert_eq!(bindings.astray(ONE, &there), Some(Astray::Waits));
            pauses.push(at.0 - now.0);
            now = at;
            assert_eq!(bindings.due(now), [ONE]);
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1_600]);
        assert_eq!(bindings.astray(ONE, &there), Some(Astray::GivenUp));
        // Where its slot has the old cores again, it is there, and nothing counts any more.
        assert_eq!(bindings.astray(ONE, &here), None);
        assert_eq!(bindings.astray(ONE, &there), Some(Astray::Order));
        bindings.forget(ONE);
        assert_eq!(bindings.astray(ONE, &slot(0, &[])), None);
    }

    #[test]
    fn of_two_orders_the_first_is_answered_first() {
        let (home, elsewhere) = (slot(0, &[1]), slot(1, &[2]));
        let mut bindings = Bindings::default();
        bindings.ordered(ONE, Whither::Home, home);
        bindings.ordered(ONE, Whither::Elsewhere, elsewhere.clone());
        let mut answer = |ok| bindings.answered(Millis(0), ONE, ok);
        assert_eq!(answer(false), Some(Whither::Home));
        assert_eq!(answer(true), Some(Whither::Elsewhere));
        assert_eq!(answer(true), None);
        assert_eq!(bindings.astray(ONE, &elsewhere), None);
        assert!(bindings.are_at_rest());
    }
}
