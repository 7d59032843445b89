//! Who runs what, once the ranks are handed out.

use std::collections::BTreeMap;

use policy::lifecycle::Seat;
use policy::{ContainerId, Rank};

/// The containers of the running job, in order of their ranks, to be found by their ids.
#[derive(Debug, Default)]
pub(crate) struct RunningSeats {
    all: Vec<Seat>,
    places: BTreeMap<ContainerId, usize>,
}

impl RunningSeats {
    pub(crate) fn new(all: Vec<Seat>) -> Self {
        let places = all.iter().enumerate();
        let places = places.map(|(place, seat)| (seat.container.clone(), place));
        Self {
            places: places.collect(),
            all,
        }
    }

    pub(crate) fn all(&self) -> &[Seat] {
        &self.all
    }

    pub(crate) fn of(&self, container: &ContainerId) -> Option<&Seat> {
        self.all.get(*self.places.get(container)?)
    }

    /// More ranks for the container at `place` in [`RunningSeats::all`], numbered on from all there are.
    pub(crate) fn add(&mut self, place: usize, ranks: &[Rank]) {
        if let Some(seat) = self.all.get_mut(place) {
            seat.ranks.extend(ranks);
        }
    }

    /// Takes the ranks away that `gone` says.
    pub(crate) fn remove(&mut self, gone: impl Fn(Rank) -> bool) {
        for seat in &mut self.all {
            seat.ranks.retain(|rank| !gone(*rank));
        }
    }

    /// Whether `rank` is one of `container`'s. A seat's ranks ascend.
    pub(crate) fn runs(&self, container: &ContainerId, rank: Rank) -> bool {
        let seat = self.of(container);
        seat.is_some_and(|seat| seat.ranks.binary_search(&rank).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use policy::{NodeId, Resources};

    use super::*;

    #[test]
    fn a_container_runs_its_own_ranks_and_no_others() {
        let seat = |id: &str, ranks: &[u32]| Seat {
            container: ContainerId(id.into()),
            node: NodeId("n:1".into()),
            host: "n".into(),
            ranks: ranks.iter().copied().map(Rank).collect(),
            resources: Resources::default(),
        };
        let mut seats = RunningSeats::new(vec![seat("a", &[0, 1]), seat("b", &[2])]);
        let runs = |id: &str, rank| seats.runs(&ContainerId(id.into()), Rank(rank));
        assert!(runs("a", 1) && runs("b", 2));
        assert!(!runs("a", 2) && !runs("b", 0) && !runs("c", 0));
        seats.add(0, &[Rank(3), Rank(4)]);
        seats.remove(|rank| rank == Rank(3));
        let runs = |id: &str, rank| seats.runs(&ContainerId(id.into()), Rank(rank));
        assert!(runs("a", 4) && !runs("a", 3) && !runs("b", 4));
    }
}
