//! A place for one container, from its wish to its end.

use holding::Asking;
use policy::gang::{Gang, GangPhase};
use policy::{ContainerId, Millis, NodeShare, Resources};

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
