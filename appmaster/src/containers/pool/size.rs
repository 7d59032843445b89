//! How many containers a session holds: more while jobs lack slots, fewer when some are of no use for a while.

use std::collections::BTreeSet;

use policy::{ContainerId, Millis};

use super::place::{PlaceState, PooledContainer};
use super::step::nothing;
use super::{Pool, Want};

/// Containers of no use are given back together, up to so many hundredths of the time before or after it is over:
/// not all sessions of a cluster at the same moment.
const SPREAD: u64 = 25;

impl Pool {
    /// Whether it is ever to be larger or smaller.
    pub(crate) const fn is_elastic(&self) -> bool {
        self.plan.most.get() > self.plan.containers.get()
    }

    /// Asks for more where jobs lack `slots`, and gives back what none of them uses.
    pub(crate) fn resize(
        &mut self,
        now: Millis,
        slots: u32,
        used: &BTreeSet<ContainerId>,
    ) -> Vec<Want> {
        if !self.is_elastic() {
            return Vec::new();
        }
        let mut wants = Vec::new();
        let joined = self.places.values();
        let joined = joined.filter(|place| place.is_joined() && place.leaving.is_none());
        let joined = u32::try_from(joined.count()).unwrap_or(u32::MAX);
        let lacking = slots.div_ceil(self.plan.slots.get());
        let (floor, most) = (self.plan.containers.get(), self.plan.most.get());
        let wanted = joined.saturating_add(lacking).clamp(floor, most);
        let staying = self.staying();
        for _ in staying..wanted {
            wants.extend(self.open(now));
        }
        for number in self.newest_not_there(staying.saturating_sub(wanted)) {
            wants.extend(self.close(number));
        }
        self.note_use(now, used);
        self.lacks = slots > 0;
        if !self.lacks {
            wants.extend(self.give_idle_back(now));
        }
        wants
    }

    /// When [`Pool::resize`] is due, though nothing happens: while jobs lack slots, nothing is given back.
    pub(crate) fn idle_until(&self) -> Option<Millis> {
        if self.lacks {
            return None;
        }
        let floor = self.plan.containers.get();
        let idle = self.places.values().filter_map(|place| place.idle_since);
        let first = idle.min().filter(|_| self.staying() > floor)?;
        Some(first.plus(self.patience()))
    }

    /// That of this session.
    fn patience(&self) -> Millis {
        let hundredths = (100 - SPREAD).saturating_add(self.seed % (2 * SPREAD + 1));
        Millis(self.plan.idle_container.0.saturating_mul(hundredths) / 100)
    }

    /// The newest places whose containers were not granted, so many at the most.
    fn newest_not_there(&self, most: u32) -> Vec<u32> {
        let places = self.places.iter().rev();
        let asked = places.filter(|(_, place)| place.container().is_none());
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        asked.take(most).map(|(number, _)| *number).collect()
    }

    /// A place is wanted no more.
    pub(super) fn close(&mut self, number: u32) -> Vec<Want> {
        let Some(mut place) = self.remove(number) else {
            return Vec::new();
        };
        let mut all: Vec<ContainerId> = place.container().cloned().into_iter().collect();
        all.extend(place.gang.end());
        let mut wants = Vec::new();
        match place.state {
            PlaceState::Asked => wants.push(Want::Ask(number, nothing())),
            PlaceState::Joined(container) => wants.push(Want::Withdraw(container)),
            PlaceState::Starting { .. } | PlaceState::Nowhere { .. } | PlaceState::Pausing => {}
        }
        wants.push(Want::Release(all));
        wants
    }

    fn note_use(&mut self, now: Millis, used: &BTreeSet<ContainerId>) {
        for place in self.places.values_mut() {
            let is_idle = match &place.state {
                PlaceState::Joined(container) => {
                    !used.contains(container) && place.leaving.is_none()
                }
                PlaceState::Asked
                | PlaceState::Starting { .. }
                | PlaceState::Nowhere { .. }
                | PlaceState::Pausing => false,
            };
            place.idle_since = match is_idle {
                true => Some(place.idle_since.unwrap_or(now)),
                false => None,
            };
        }
    }

    /// All that are above the floor and of no use for long enough, the newest first.
    fn give_idle_back(&mut self, now: Millis) -> Vec<Want> {
        let patience = self.patience();
        let is_due = |place: &PooledContainer| {
            let since = place.idle_since;
            since.is_some_and(|since| now >= since.plus(patience))
        };
        let idle = self.places.iter().rev().filter(|(_, place)| is_due(place));
        let idle: Vec<u32> = idle.map(|(number, _)| *number).collect();
        let floor = usize::try_from(self.plan.containers.get()).unwrap_or(usize::MAX);
        let staying = usize::try_from(self.staying()).unwrap_or(usize::MAX);
        let most = staying.saturating_sub(floor);
        let back = idle.into_iter().take(most);
        back.flat_map(|number| self.close(number)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{granted, id, plan, released, view};
    use super::*;
    use std::collections::BTreeMap;
    use std::num::NonZeroU32;

    const NOW: Millis = Millis(0);

    /// One container of two slots, which has joined, of three at most.
    fn pool() -> Pool {
        let mut plan = plan(1);
        plan.most = NonZeroU32::new(3).unwrap();
        plan.idle_container = Millis(1_000);
        let mut pool = Pool::new(plan, 7);
        pool.begin(NOW);
        let wants = pool.snapshot(NOW, &Ok(view(4)));
        granted(&mut pool, NOW, wants, 1);
        pool.joined(&id(1), BTreeMap::new(), &[]);
        pool
    }

    #[test]
    fn as_many_are_asked_for_as_jobs_lack_slots_and_no_more_than_the_most() {
        let mut pool = pool();
        let none = BTreeSet::new();
        assert!(pool.resize(NOW, 0, &none).is_empty());
        assert!(matches!(pool.resize(NOW, 3, &none)[..], [Want::Snapshot]));
        assert_eq!(pool.missing(), 2);
        assert!(pool.resize(NOW, 100, &none).is_empty());
        assert_eq!(pool.missing(), 2);
        let wants = pool.snapshot(NOW, &Ok(view(4)));
        // No job lacks slots any more: what was asked for is not.
        let back = pool.resize(NOW, 0, &none);
        assert_eq!(pool.missing(), 0);
        let asked = back.iter().filter(|want| matches!(want, Want::Ask(..)));
        assert_eq!(asked.count(), 2);
        // What is granted all the same goes back.
        let late = granted(&mut pool, NOW, wants, 2);
        assert_eq!(released(&late), [id(2), id(3)]);
    }

    #[test]
    fn what_is_of_no_use_for_a_while_goes_back_but_for_the_floor() {
        let mut pool = pool();
        pool.resize(NOW, 4, &BTreeSet::new());
        let wants = pool.snapshot(NOW, &Ok(view(4)));
        granted(&mut pool, NOW, wants, 2);
        pool.joined(&id(2), BTreeMap::new(), &[]);
        pool.joined(&id(3), BTreeMap::new(), &[]);
        let used = BTreeSet::from([id(2)]);
        assert!(pool.resize(NOW, 0, &used).is_empty());
        let due = pool.idle_until().unwrap();
        assert!((750..=1250).contains(&due.0), "{due:?}");
        // Slots are lacking somewhere: nothing goes.
        assert!(pool.resize(due, 1, &used).is_empty());
        assert_eq!(pool.idle_until(), None);
        let back = pool.resize(due, 0, &used);
        assert_eq!(released(&back), [id(3), id(1)]);
        assert!(matches!(&back[0], Want::Withdraw(container) if *container == id(3)));
        assert_eq!(pool.idle_until(), None);
        // The last one stays, used or not.
        let later = due.plus(Millis(100_000));
        pool.resize(due, 0, &BTreeSet::new());
        assert!(pool.resize(later, 0, &BTreeSet::new()).is_empty());
    }
}
