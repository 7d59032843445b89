//! Containers that are of use only together.

use std::collections::BTreeMap;

use super::words::{Grant, Seat};
use crate::{ContainerId, NodeId, Placement};

/// One round of asking: what was wanted and what has come.
#[derive(Debug)]
pub(super) struct Gang {
    round: u32,
    placement: Placement,
    granted: BTreeMap<NodeId, Grant>,
}

impl Gang {
    pub(super) const fn new(round: u32, placement: Placement) -> Self {
        Self {
            round,
            placement,
            granted: BTreeMap::new(),
        }
    }

    /// Takes a grant in, or gives back the container that nobody asked for: of an earlier round,
    /// on another node, or the second on one node.
    pub(super) fn take(&mut self, grant: Grant) -> Result<(), ContainerId> {
        let wanted = self.placement.shares.iter().any(|s| s.node == grant.node);
        if grant.round != self.round || !wanted || self.granted.contains_key(&grant.node) {
            return Err(grant.container);
        }
        self.granted.insert(grant.node.clone(), grant);
        Ok(())
    }

    pub(super) fn holds(&self, container: &ContainerId) -> bool {
        self.granted.values().any(|g| g.container == *container)
    }

    pub(super) fn held(&self) -> Vec<ContainerId> {
        let grants = self.granted.values();
        grants.map(|grant| grant.container.clone()).collect()
    }

    /// Granted, wanted.
    pub(super) fn progress(&self) -> (usize, usize) {
        (self.granted.len(), self.placement.shares.len())
    }

    /// The seats of the job, once every container is there.
    pub(super) fn complete(&self) -> Option<Vec<Seat>> {
        let seat = |(share, ranks): (&crate::NodeShare, Vec<crate::Rank>)| {
            let grant = self.granted.get(&share.node)?;
            Some(Seat {
                container: grant.container.clone(),
                node: share.node.clone(),
                host: share.host.clone(),
                ranks,
                resources: grant.resources,
            })
        };
        self.placement.ranks().map(seat).collect()
    }
}
