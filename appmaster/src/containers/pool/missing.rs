//! Which containers of the pool are not there, and why.

use policy::ClusterView;
use policy::gang::GangPhase;

use super::Pool;
use super::nodes::NodesRead;
use super::place::{PlaceState, PooledContainer};

impl Pool {
    /// Why the ResourceManager refuses the containers that are missing, in its words.
    pub(crate) fn refusal(&self) -> Option<&str> {
        let refusal = self.refusal.as_deref();
        refusal.filter(|_| self.missing() > 0)
    }

    /// Containers whose launchers are not there.
    pub(crate) fn missing(&self) -> u32 {
        let is_missing = |place: &&PooledContainer| !matches!(place.state, PlaceState::Joined(_));
        let missing = self.places.values().filter(is_missing).count();
        u32::try_from(missing).unwrap_or(u32::MAX)
    }

    /// No node is left that has none: each has a container, or is left alone for a while.
    pub(crate) fn is_everywhere(&self) -> bool {
        self.is_everywhere && self.missing() > 0
    }

    /// Something is to be asked for, and no node could have it.
    pub(crate) fn has_no_node(&self) -> bool {
        let mut places = self.places.values();
        let is_nowhere = |place: &PooledContainer| match place.state {
            PlaceState::Nowhere { .. } => true,
            PlaceState::Asked => place.share.is_none(),
            PlaceState::Starting { .. } | PlaceState::Joined(_) | PlaceState::Pausing => false,
        };
        self.is_everywhere && places.any(is_nowhere)
    }

    /// No further node is to be expected: as many containers as there may be are there, or every node has one.
    pub(crate) fn is_complete(&self) -> bool {
        let all_there = self.missing() == 0 && self.staying() >= self.plan.most.get();
        // What was known of the nodes is old when it has paused.
        !self.pauses() && (all_there || self.is_everywhere())
    }

    /// Why one of them is not; `None`: they are, or it is not known.
    pub(crate) fn phase(&self) -> Option<&GangPhase> {
        let missing = self.places.values();
        missing
            .filter(|place| place.container().is_none())
            .find_map(|place| place.phase.as_ref())
    }

    /// The nodes as they were read last.
    pub(crate) fn view(&self) -> Option<&ClusterView> {
        self.nodes.as_ref().map(NodesRead::view)
    }
}
