//! Containers that YARN wants back: they go when no job uses them, and others are asked for meanwhile.

use std::collections::BTreeSet;

use policy::{ContainerId, Millis};

use super::place::PlaceState;
use super::{Pool, Want};

impl Pool {
    /// YARN wants a container back; `why` says what for. Another is asked for, as far as so many are to be there
    /// whatever jobs want. `None`: it is not here, or is leaving already.
    pub(crate) fn wanted_back(
        &mut self,
        now: Millis,
        container: &ContainerId,
        why: &str,
    ) -> Option<Vec<Want>> {
        let mut places = self.places.iter_mut();
        let (number, place) = places
            .find(|(_, place)| place.container() == Some(container) && place.leaving.is_none())?;
        let number = *number;
        place.leaving = Some(why.to_owned());
        place.idle_since = None;
        let mut wants = match place.state {
            // Nothing of any job is there.
            PlaceState::Starting { .. } => self.close(number),
            _ => Vec::new(),
        };
        while self.staying() < self.plan.containers.get() {
            wants.extend(self.open(now));
        }
        Some(wants)
    }

    /// Gives back what is wanted back and none of the jobs uses.
    pub(crate) fn leave(&mut self, used: &BTreeSet<ContainerId>) -> Vec<Want> {
        let places = self.places.iter();
        let leaving = places.filter(|(_, place)| {
            let of_no_use = place.container().is_some_and(|id| !used.contains(id));
            place.leaving.is_some() && of_no_use
        });
        let leaving: Vec<u32> = leaving.map(|(number, _)| *number).collect();
        let back = leaving.into_iter();
        back.flat_map(|number| self.close(number)).collect()
    }

    /// Whether something is wanted back.
    pub(crate) fn is_leaving(&self) -> bool {
        self.places.values().any(|place| place.leaving.is_some())
    }

    /// What a container is wanted back for; `None`: it stays.
    pub(crate) fn leaves_for(&self, container: &ContainerId) -> Option<&str> {
        let mut places = self.places.values();
        let place = places.find(|place| place.container() == Some(container))?;
        place.leaving.as_deref()
    }

    /// Places whose containers nobody wants back.
    pub(super) fn staying(&self) -> u32 {
        let staying = self.places.values().filter(|place| place.leaving.is_none());
        u32::try_from(staying.count()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tests::{asked, granted, id, plan, released, view};
    use super::*;

    const NOW: Millis = Millis(0);

    /// Three containers, the last of which has not joined, of four nodes.
    fn pool() -> Pool {
        let mut pool = Pool::new(plan(3), 7);
        pool.begin(NOW);
        let wants = pool.snapshot(NOW, &Ok(view(4)));
        granted(&mut pool, NOW, wants, 1);
        pool.joined(&id(1), BTreeMap::new());
        pool.joined(&id(2), BTreeMap::new());
        pool
    }

    #[test]
    fn what_is_wanted_back_goes_when_nobody_uses_it_and_another_is_asked_for() {
        let mut pool = pool();
        let used = BTreeSet::from([id(1)]);
        assert!(!pool.is_leaving() && pool.leave(&used).is_empty());
        let wants = pool.wanted_back(NOW, &id(1), "preemption").unwrap();
        assert_eq!(released(&wants), []);
        assert!(matches!(wants[..], [Want::Snapshot]), "{wants:?}");
        assert!(pool.wanted_back(NOW, &id(1), "again").is_none());
        assert!(pool.wanted_back(NOW, &id(9), "unknown").is_none());
        assert_eq!(pool.leaves_for(&id(1)), Some("preemption"));
        assert_eq!(asked(&pool.snapshot(NOW, &Ok(view(4)))).len(), 1);
        assert!(pool.leave(&used).is_empty());
        let wants = pool.leave(&BTreeSet::new());
        assert!(matches!(&wants[0], Want::Withdraw(container) if *container == id(1)));
        assert_eq!(released(&wants), [id(1)]);
        assert!(!pool.is_leaving());
    }

    #[test]
    fn what_has_not_joined_goes_at_once_and_no_node_is_blamed() {
        let mut pool = pool();
        let wants = pool.wanted_back(NOW, &id(3), "preemption").unwrap();
        assert_eq!(released(&wants), [id(3)]);
        for number in [1, 2] {
            pool.wanted_back(NOW, &id(number), "preemption");
            pool.lost(NOW, &id(number), true);
        }
        assert_eq!(asked(&pool.snapshot(NOW, &Ok(view(3)))).len(), 3);
    }
}
