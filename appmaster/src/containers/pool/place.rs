//! A place for one container, from its wish to its end.

use holding::Asking;
use policy::gang::{Gang, GangPhase};
use policy::{ContainerId, Millis, NodeId, NodeShare, Resources};

use super::Pool;

/// A place for one container.
#[derive(Debug)]
pub(super) struct PooledContainer {
    pub(super) gang: Gang,
    /// Where it is asked for, or is.
    pub(super) share: Option<NodeShare>,
    pub(super) state: PlaceState,
    /// Why it is not there.
    pub(super) phase: Option<GangPhase>,
    /// What is asked for.
    pub(super) asked: Option<Asking>,
    /// What has come.
    pub(super) granted: Option<Resources>,
    /// It has joined, and no job has used it since.
    pub(super) idle_since: Option<Millis>,
    /// Wanted back, and by whom, in words: it goes when no job uses it.
    pub(super) leaving: Option<String>,
    /// Its launcher has found elements, which are its alone.
    pub(super) has_elements: bool,
}

#[derive(Debug)]
pub(super) enum PlaceState {
    Asked,
    /// Its launcher has been started.
    Starting {
        container: ContainerId,
        join_by: Millis,
    },
    Joined(ContainerId),
    /// No node is left for it.
    Nowhere {
        until: Millis,
    },
    /// It is asked for when the pause is over.
    Pausing,
}

impl PooledContainer {
    pub(super) const fn container(&self) -> Option<&ContainerId> {
        match &self.state {
            PlaceState::Starting { container, .. } | PlaceState::Joined(container) => {
                Some(container)
            }
            PlaceState::Asked | PlaceState::Nowhere { .. } | PlaceState::Pausing => None,
        }
    }

    pub(super) const fn is_joined(&self) -> bool {
        matches!(self.state, PlaceState::Joined(_))
    }
}

impl Pool {
    /// The number of the place that has this container. Cost: O(log places).
    pub(super) fn number_of(&self, container: &ContainerId) -> Option<u32> {
        let number = *self.numbers.get(container)?;
        let has_it = self.places.get(&number)?.container() == Some(container);
        has_it.then_some(number)
    }

    /// That place.
    pub(super) fn place_of(&self, container: &ContainerId) -> Option<&PooledContainer> {
        self.places.get(&self.number_of(container)?)
    }

    /// The same, to be changed.
    pub(super) fn place_of_mut(&mut self, container: &ContainerId) -> Option<&mut PooledContainer> {
        self.places.get_mut(&self.number_of(container)?)
    }

    /// A place's container is asked for here, or is here; `None`: nowhere.
    pub(super) fn set_share(&mut self, number: u32, share: Option<NodeShare>) {
        let Some(place) = self.places.get_mut(&number) else {
            return;
        };
        let after = share.as_ref().map(|share| share.node.clone());
        let before = std::mem::replace(&mut place.share, share);
        if let Some(before) = before {
            self.leave_node(number, &before.node);
        }
        if let Some(after) = after {
            self.at.entry(after).or_default().insert(number);
        }
    }

    fn leave_node(&mut self, number: u32, node: &NodeId) {
        if let Some(there) = self.at.get_mut(node) {
            there.remove(&number);
            if there.is_empty() {
                self.at.remove(node);
            }
        }
    }

    /// A place is no more.
    pub(super) fn remove(&mut self, number: u32) -> Option<PooledContainer> {
        let place = self.places.remove(&number)?;
        if let Some(share) = &place.share {
            self.leave_node(number, &share.node);
        }
        if let Some(container) = place.container() {
            self.numbers.remove(container);
        }
        Some(place)
    }
}
