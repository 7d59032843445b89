//! Containers that YARN wants back: they go when no job uses them. Others are asked for at once, or, where YARN wants
//! them for another application, when that has had time to take them.

use std::collections::BTreeSet;

use policy::{ContainerId, Millis};

use super::place::PlaceState;
use super::{Pool, Want};

impl Pool {
    /// YARN wants a container back; `why` says what for, and `for_others` whether it is for another application.
    /// Another is asked for, as far as so many are to be there whatever jobs want. `None`: it is not here, or is leaving
    /// already.
    pub(crate) fn wanted_back(
        &mut self,
        now: Millis,
        container: &ContainerId,
        why: &str,
        for_others: bool,
    ) -> Option<Vec<Want>> {
        let number = self.number_of(container)?;
        let place = self.places.get_mut(&number)?;
        if place.leaving.is_some() {
            return None;
        }
        place.leaving = Some(why.to_owned());
        place.idle_since = None;
        if for_others {
            self.pause.begin(now);
        }
        let mut wants = match place.state {
            // Nothing of any job is there.
            PlaceState::Starting { .. } => self.close(number),
            PlaceState::Asked
            | PlaceState::Joined(_)
            | PlaceState::Nowhere { .. }
            | PlaceState::Pausing => Vec::new(),
        };
        self.note_gone(now);
        for _ in self.staying()..self.plan.containers.get() {
            wants.extend(self.open(now));
        }
        Some(wants)
    }

    /// Gives back what is wanted back and none of the jobs uses.
    pub(crate) fn leave(&mut self, now: Millis, used: &BTreeSet<ContainerId>) -> Vec<Want> {
        let places = self.places.iter();
        let leaving = places.filter(|(_, place)| {
            let of_no_use = place.container().is_some_and(|id| !used.contains(id));
            place.leaving.is_some() && of_no_use
        });
        let leaving: Vec<u32> = leaving.map(|(number, _)| *number).collect();
        let back = leaving.into_iter();
        let wants = back.flat_map(|number| self.close(number)).collect();
        self.note_gone(now);
        wants
    }

    /// All that was wanted back may be gone.
    pub(super) fn note_gone(&mut self, now: Millis) {
        if !self.is_leaving() {
            self.pause.gone(now);
        }
    }

    /// Whether something is to be asked for when another application has had time to take what YARN wanted back for it.
    pub(crate) fn pauses(&self) -> bool {
        let mut places = self.places.values();
        places.any(|place| matches!(place.state, PlaceState::Pausing))
    }

    /// Whether something is wanted back.
    pub(crate) fn is_leaving(&self) -> bool {
        self.places.values().any(|place| place.leaving.is_some())
    }

    /// What a container is wanted back for; `None`: it stays.
    pub(crate) fn leaves_for(&self, container: &ContainerId) -> Option<&str> {
        self.place_of(container)?.leaving.as_deref()
    }

    /// Places whose containers YARN does not want back.
    pub(super) fn staying(&self) -> u32 {
        let staying = self.places.values().filter(|place| place.leaving.is_none());
        u32::try_from(staying.count()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use policy::gang::GangEvent;

    use super::super::tests::{asked, granted, id, plan, released, view};
    use super::*;

    const NOW: Millis = Millis(0);

    /// Three containers, the last of which has not joined, of four nodes.
    fn pool() -> Pool {
        let mut pool = Pool::new(plan(3), 7);
        pool.begin(NOW);
        let wants = pool.snapshot(NOW, &Ok(view(4)));
        granted(&mut pool, NOW, wants, 1);
        pool.joined(&id(1), BTreeMap::new(), &[]);
        pool.joined(&id(2), BTreeMap::new(), &[]);
        pool
    }

    #[test]
    fn what_is_wanted_back_goes_when_nobody_uses_it_and_another_is_asked_for() {
        let mut pool = pool();
        let used = BTreeSet::from([id(1)]);
        assert!(!pool.is_leaving() && pool.leave(NOW, &used).is_empty());
        let wants = pool.wanted_back(NOW, &id(1), "its node", false).unwrap();
        assert_eq!(released(&wants), []);
        assert!(matches!(wants[..], [Want::Snapshot]), "{wants:?}");
        assert!(pool.wanted_back(NOW, &id(1), "again", false).is_none());
        assert!(pool.wanted_back(NOW, &id(9), "unknown", true).is_none());
        assert_eq!(pool.leaves_for(&id(1)), Some("its node"));
        assert_eq!(asked(&pool.snapshot(NOW, &Ok(view(4)))).len(), 1);
        assert!(pool.leave(NOW, &used).is_empty());
        let wants = pool.leave(NOW, &BTreeSet::new());
        assert!(matches!(&wants[0], Want::Withdraw(container) if *container == id(1)));
        assert_eq!(released(&wants), [id(1)]);
        assert!(!pool.is_leaving());
    }

    #[test]
    fn what_has_not_joined_goes_at_once_and_no_node_is_blamed() {
        let mut pool = pool();
        let wants = pool.wanted_back(NOW, &id(3), "preemption", true).unwrap();
        assert_eq!(released(&wants), [id(3)]);
        for number in [1, 2] {
            pool.wanted_back(NOW, &id(number), "preemption", true);
            pool.lost(NOW, &id(number), true);
        }
        let rested = pool.wakes_at().unwrap();
        pool.tick(rested);
        assert_eq!(asked(&pool.snapshot(rested, &Ok(view(3)))).len(), 3);
    }

    #[test]
    fn who_wants_it_back_has_it_before_another_is_asked_for() {
        let mut pool = pool();
        let wants = pool.snapshot(NOW, &Ok(view(4)));
        granted(&mut pool, NOW, wants, 3);
        pool.joined(&id(3), BTreeMap::new(), &[]);
        let (mut now, used) = (NOW, BTreeSet::from([id(1)]));
        let wants = pool.wanted_back(now, &id(1), "preemption", true).unwrap();
        assert!(wants.is_empty() && pool.pauses(), "{wants:?}");
        assert_eq!((pool.missing(), pool.is_complete()), (1, false));
        // While it is there, and for a while when it is gone, whatever else happens.
        now = now.plus(Millis(20_000));
        assert!(pool.leave(now, &used).is_empty() && pool.tick(now).is_empty());
        assert!(asked(&pool.snapshot(now, &Ok(view(4)))).is_empty());
        assert!(pool.wakes_at() > Some(now.plus(Millis(15_000))));
        let wants = pool.lost(now, &id(1), false);
        assert!(!wants.iter().any(|want| matches!(want, Want::Snapshot)));
        assert!(pool.all_hear(now, &GangEvent::Freed).is_empty());
        let rested = pool.wakes_at().unwrap();
        assert!(rested > now && rested < now.plus(Millis(15_000)));
        assert!(pool.tick(Millis(rested.0 - 1)).is_empty());
        let wants = pool.tick(rested);
        assert!(matches!(wants[..], [Want::Snapshot]) && !pool.pauses());
        assert_eq!(asked(&pool.snapshot(rested, &Ok(view(4)))).len(), 1);
        // One that stays because YARN does not take it is not waited for.
        pool.wanted_back(rested, &id(2), "preemption", true);
        let late = rested.plus(Millis(60_000));
        assert!(matches!(pool.tick(late)[..], [Want::Snapshot]));
    }
}
