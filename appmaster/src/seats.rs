//! Who runs what, once the ranks are handed out.

use std::collections::BTreeMap;

use policy::lifecycle::Seat;
use policy::{ContainerId, Rank};

/// The containers of the running job, in order of their ranks, to be found by their ids.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    all: Vec<Seat>,
    places: BTreeMap<ContainerId, usize>,
}

impl Seats {
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
        let seats = Seats::new(vec![seat("a", &[0, 1]), seat("b", &[2])]);
        let runs = |id: &str, rank| seats.runs(&ContainerId(id.into()), Rank(rank));
        assert!(runs("a", 1) && runs("b", 2));
        assert!(!runs("a", 2) && !runs("b", 0) && !runs("c", 0));
    }
}
