//! Attempts that change slots while they run: each is ordered, and is there once its launcher says so.
//!
//! ```text
//! Move                            one order     its answer settles it
//! Swap                            two orders    both done, or neither: settled
//!   one is done, one is not       the first is ordered back; settled when it is there
//!   one ends                      the other has its slot to itself: as if it had been ordered there alone
//! a slot has other cores          its attempt is ordered to them
//! ```
//!
//! An order to the own slot is repeated ([`bindings`](super::bindings)); an attempt that does not follow is stopped,
//! and its task runs again: no attempt stays on other cores than its slot has.

use super::Lending;
use super::bindings::{Astray, Bound, Whither};
use super::messages::{TaskMove, Word};
use crate::Millis;
use crate::schedule::{AttemptIx, ContainerIx, Decision, Event, SlotIx, Speed, Why};

/// Two attempts that change places.
#[derive(Debug)]
pub(super) struct PendingSwap {
    pair: [AttemptIx; 2],
    /// What was answered of each.
    heard: [Option<bool>; 2],
    /// Of one that had come there, and is ordered back: its place in the pair.
    strayed: Option<usize>,
}

impl PendingSwap {
    fn place(&self, attempt: AttemptIx) -> Option<usize> {
        self.pair.iter().position(|of| *of == attempt)
    }

    fn hear(&mut self, place: usize, ok: bool) -> SwapStep {
        if let Some(heard) = self.heard.get_mut(place) {
            heard.get_or_insert(ok);
        }
        let [one, other] = self.pair;
        match self.heard {
            [Some(true), Some(true)] => SwapStep::Settled(one, true),
            [Some(false), Some(false)] => SwapStep::Settled(one, false),
            [Some(true), Some(false)] => self.stray(0, one),
            [Some(false), Some(true)] => self.stray(1, other),
            _ => SwapStep::Waits,
        }
    }

    const fn stray(&mut self, place: usize, attempt: AttemptIx) -> SwapStep {
        self.strayed = Some(place);
        SwapStep::Back(attempt)
    }
}

/// What follows from an answer.
enum SwapStep {
    /// The other's is to come.
    Waits,
    /// Both are where this one's being moved, or not, says.
    Settled(AttemptIx, bool),
    /// One goes back.
    Back(AttemptIx),
}

impl Lending {
    /// A launcher has moved an attempt as it was ordered, or could not.
    pub fn moved(&mut self, now: Millis, attempt: AttemptIx, ok: bool) -> Vec<Word> {
        // What was ordered of one that has ended is known no more.
        match self.bindings.answered(now, attempt, ok) {
            Some(Whither::Elsewhere) => self.came(now, attempt, ok),
            Some(Whither::Home) => self.came_home(now, attempt, ok),
            None => Vec::new(),
        }
    }

    fn came(&mut self, now: Millis, attempt: AttemptIx, ok: bool) -> Vec<Word> {
        let of = |(at, swap): (usize, &PendingSwap)| Some((at, swap.place(attempt)?));
        let Some((at, place)) = self.swaps.iter().enumerate().find_map(of) else {
            return self.settled(now, &[attempt], attempt, ok);
        };
        let step = self.swaps.get_mut(at).map(|swap| swap.hear(place, ok));
        match step {
            None | Some(SwapStep::Waits) => Vec::new(),
            Some(SwapStep::Settled(one, ok)) => {
                let pair = self.swaps.remove(at).pair;
                self.settled(now, &pair, one, ok)
            }
            Some(SwapStep::Back(attempt)) => self.home(attempt).into_iter().collect(),
        }
    }

    fn came_home(&mut self, now: Millis, attempt: AttemptIx, ok: bool) -> Vec<Word> {
        match self.swap_strayed_from(attempt) {
            Some(at) if ok => {
                let pair = self.swaps.remove(at).pair;
                // Of the other, which could not.
                let other = pair.into_iter().find(|of| *of != attempt);
                self.settled(now, &pair, other.unwrap_or(attempt), false)
            }
            Some(_) => self.go_home(now, attempt),
            // The one that it was to change places with has ended: it is where that was, or at home.
            None if self.is_on_its_way(attempt) && !self.bindings.is_ordered(attempt) => {
                self.settled(now, &[attempt], attempt, !ok)
            }
            None => self.go_home(now, attempt),
        }
    }

    /// The swap of which an attempt is ordered back.
    fn swap_strayed_from(&self, attempt: AttemptIx) -> Option<usize> {
        let is_it = |swap: &PendingSwap| {
            let strayed = swap.strayed.and_then(|at| swap.pair.get(at));
            strayed == Some(&attempt)
        };
        self.swaps.iter().position(is_it)
    }

    fn is_on_its_way(&self, attempt: AttemptIx) -> bool {
        let known = self.driver.session().attempt(attempt);
        known.is_some_and(|known| known.to.is_some())
    }

    /// The table has these where they are.
    fn settled(
        &mut self,
        now: Millis,
        attempts: &[AttemptIx],
        of: AttemptIx,
        ok: bool,
    ) -> Vec<Word> {
        self.tell_moved(now, of, ok);
        let mut words: Vec<Word> = Vec::new();
        for attempt in attempts {
            words.extend(self.go_home(now, *attempt));
        }
        words.extend(self.decided(now));
        words
    }

    fn tell_moved(&mut self, now: Millis, attempt: AttemptIx, ok: bool) {
        let moved = Event::Moved { attempt, ok };
        self.driver.tell(super::nanos(now), &moved);
    }

    /// The order to the launcher.
    pub(super) fn move_of(&mut self, attempt: AttemptIx, to: SlotIx) -> Option<Word> {
        let bound = self.bound_to(to)?;
        let session = self.driver.session();
        let (known, slot) = (session.attempt(attempt)?, session.slot(to)?);
        let container = self.offers.get(&slot.container)?;
        let order = TaskMove {
            job: *self.numbers.get(&known.job)?,
            attempt,
            container: container.container.clone(),
            slot: bound.0,
            cpus: bound.1.clone(),
            speed: slot.speed,
            parked: slot.speed == Speed::Parked,
        };
        let whither = match known.slot == to {
            true => Whither::Home,
            false => Whither::Elsewhere,
        };
        self.bindings.ordered(attempt, whither, bound);
        Some(Word::Move(order))
    }

    fn bound_to(&mut self, slot: SlotIx) -> Option<Bound> {
        let place = self.place_of(slot)?;
        Some((place, self.driver.session().slot(slot)?.cpus.clone()))
    }

    pub(super) fn swap_of(&mut self, one: AttemptIx, other: AttemptIx) -> Vec<Word> {
        let slot = |of: AttemptIx| Some(self.driver.session().attempt(of)?.slot);
        let (Some(first), Some(second)) = (slot(one), slot(other)) else {
            return Vec::new();
        };
        self.swaps.push(PendingSwap {
            pair: [one, other],
            heard: [None; 2],
            strayed: None,
        });
        let words = [self.move_of(one, second), self.move_of(other, first)];
        words.into_iter().flatten().collect()
    }

    fn home(&mut self, attempt: AttemptIx) -> Option<Word> {
        let own = self.driver.session().attempt(attempt)?.slot;
        self.move_of(attempt, own)
    }

    /// Orders an attempt that is on other cores than its slot has to these, or gives it up.
    fn go_home(&mut self, now: Millis, attempt: AttemptIx) -> Vec<Word> {
        let session = self.driver.session();
        let Some(known) = session.attempt(attempt).filter(|known| !known.stopping) else {
            return Vec::new();
        };
        let swap = self.swap_strayed_from(attempt);
        if known.to.is_some() && swap.is_none() {
            // Its answer comes first.
            return Vec::new();
        }
        let own = known.slot;
        let Some(bound) = self.bound_to(own) else {
            return Vec::new();
        };
        let astray = self.bindings.astray(attempt, &bound);
        let mut words = Vec::new();
        if matches!(astray, Some(Astray::GivenUp) | None)
            && let Some(swap) = swap.map(|at| self.swaps.remove(at))
            && let Some(other) = swap.pair.into_iter().find(|of| *of != attempt)
        {
            self.tell_moved(now, other, false);
            words = self.go_home(now, other);
        }
        match astray {
            Some(Astray::Order) => words.extend(self.home(attempt)),
            Some(Astray::GivenUp) => words.extend(self.stray_ends(now, attempt)),
            Some(Astray::Waits) | None => {}
        }
        words
    }

    fn stray_ends(&mut self, now: Millis, attempt: AttemptIx) -> Vec<Word> {
        let known = self.driver.session().attempt(attempt);
        let job = known.and_then(|known| self.numbers.get(&known.job).copied());
        let why = Why::OffItsCores;
        let stop = Event::Ordered(Decision::Stop { attempt, why });
        self.driver.tell(super::nanos(now), &stop);
        job.into_iter()
            .map(|job| Word::Stop { job, attempt, why })
            .collect()
    }

    /// What is due of attempts that are on other cores than their slots have.
    pub(super) fn strays(&mut self, now: Millis) -> Vec<Word> {
        let due = self.bindings.due(now).into_iter();
        due.flat_map(|attempt| self.go_home(now, attempt)).collect()
    }

    /// The slots of a container may have other cores than before.
    pub(super) fn rebind(&mut self, now: Millis, container: ContainerIx) -> Vec<Word> {
        let session = self.driver.session();
        let bound = |attempt: &AttemptIx| {
            let known = session.attempt(*attempt);
            let slot = known.and_then(|known| session.slot(known.slot));
            slot.is_some_and(|slot| slot.container == container)
        };
        let tasks = self.jobs.values().filter(|of| of.is_of_tasks());
        let there = tasks.flat_map(|of| &of.attempts).copied().filter(bound);
        let there: Vec<AttemptIx> = there.collect();
        let there = there.into_iter();
        there
            .flat_map(|attempt| self.go_home(now, attempt))
            .collect()
    }

    /// Of two that were to change places one is over: the other is to have the slot of that one, or its own, as its
    /// launcher says.
    pub(super) fn end_swaps(&mut self, now: Millis) -> Vec<Word> {
        let session = self.driver.session();
        let is_there = |attempt: AttemptIx| session.attempt(attempt).is_some();
        let mut alone = Vec::new();
        self.swaps.retain(|swap| {
            let [one, other] = swap.pair;
            let place = match (is_there(one), is_there(other)) {
                (true, true) => return true,
                (false, false) => return false,
                (true, false) => 0,
                (false, true) => 1,
            };
            let attempt = if place == 0 { one } else { other };
            alone.push((attempt, swap.heard.get(place).copied().flatten()));
            false
        });
        let mut words = Vec::new();
        for (attempt, heard) in alone {
            // Where its launcher has an order of it, the answer tells.
            if let Some(ok) = heard.filter(|_| !self.bindings.is_ordered(attempt)) {
                self.tell_moved(now, attempt, ok);
                words.extend(self.go_home(now, attempt));
            }
        }
        words
    }

    /// These are over.
    pub(super) fn unbind(&mut self, attempts: impl IntoIterator<Item = AttemptIx>) {
        for attempt in attempts {
            self.bindings.forget(attempt);
        }
    }
}
