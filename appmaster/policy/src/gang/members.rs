//! The shares of a gang: wanted, asked for, there.

use std::collections::{BTreeMap, BTreeSet};

use super::messages::{Grant, Member};
use super::shortfall::Missing;
use super::silence::Unanswered;
use crate::{ClusterView, ContainerId, Millis, NodeId, NodeShare, NodeView, Placement, Resources};

/// What is wanted, what is asked for and what has come.
///
/// A share of the placement is *held* (its container is there), *outstanding* (asked for), or
/// neither: its container was lost, and it is to be placed again.
#[derive(Debug, Default)]
pub(super) struct Members {
    placement: Placement,
    outstanding: BTreeMap<NodeId, OpenRequest>,
    granted: BTreeMap<NodeId, Grant>,
}

/// One request that has not been served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OpenRequest {
    round: u32,
    size: Resources,
    since: Millis,
}

/// What a new placement changes.
#[derive(Debug)]
pub(super) struct Change {
    /// Nodes whose containers are there.
    pub held: BTreeSet<NodeId>,
    /// Nodes whose requests of earlier rounds stand.
    pub kept: BTreeSet<NodeId>,
    /// Requests are to be cleared or made.
    pub asks: bool,
    /// Containers that the placement has no use for.
    pub dropped: Vec<ContainerId>,
}

impl Members {
    /// Wants `placement` from `now` on; what it newly asks for belongs to `round`.
    pub(super) fn want(&mut self, placement: Placement, round: u32, now: Millis) -> Change {
        let nodes: BTreeSet<&NodeId> = sort::set(placement.shares.iter().map(|share| &share.node));
        let mut dropped = Vec::new();
        self.granted.retain(|node, grant| {
            let of_use = nodes.contains(node);
            if !of_use {
                dropped.push(grant.container.clone());
            }
            of_use
        });

        let mut kept = BTreeSet::new();
        let mut outstanding = BTreeMap::new();
        for share in &placement.shares {
            if self.granted.contains_key(&share.node) {
                continue;
            }
            let standing = self.outstanding.get(&share.node);
            let asked = match standing.filter(|asked| asked.size == share.ask) {
                Some(asked) => {
                    kept.insert(share.node.clone());
                    *asked
                }
                None => OpenRequest {
                    round,
                    size: share.ask,
                    since: now,
                },
            };
            outstanding.insert(share.node.clone(), asked);
        }
        let asks = outstanding != self.outstanding;
        self.outstanding = outstanding;
        self.placement = placement;
        Change {
            held: self.granted.keys().cloned().collect(),
            kept,
            asks,
            dropped,
        }
    }

    /// Takes a grant in, or hands back the one that nobody asked for: of a request that was replaced,
    /// on another node, or the second on one node.
    pub(super) fn take(&mut self, grant: Grant) -> Result<(), Grant> {
        match self.outstanding.get(&grant.node) {
            Some(asked) if asked.round == grant.round => {
                self.outstanding.remove(&grant.node);
                self.granted.insert(grant.node.clone(), grant);
                Ok(())
            }
            _ => Err(grant),
        }
    }

    /// A container is gone: whether it was one of ours.
    pub(super) fn lose(&mut self, container: &ContainerId) -> bool {
        let before = self.granted.len();
        self.granted
            .retain(|_, grant| grant.container != *container);
        self.granted.len() < before
    }

    /// Of what has come, nothing is there any more but what is `known`: what the rest was.
    pub(super) fn forget(&mut self, known: impl Fn(&ContainerId) -> bool) -> Vec<ContainerId> {
        let granted = std::mem::take(&mut self.granted).into_iter();
        let (kept, forgotten) = granted.partition(|(_, grant)| known(&grant.container));
        self.granted = kept;
        let forgotten: BTreeMap<NodeId, Grant> = forgotten;
        forgotten
            .into_values()
            .map(|grant| grant.container)
            .collect()
    }

    /// What is wanted.
    pub(super) const fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Whether some share's container is neither there nor asked for.
    pub(super) fn has_a_gap(&self) -> bool {
        self.granted.len().saturating_add(self.outstanding.len()) < self.placement.shares.len()
    }

    /// Whether something asked for before `before` does not come because the queue names less than that, though the node has
    /// room for it.
    pub(super) fn is_kept_back(
        &self,
        view: &ClusterView,
        nodes: &BTreeMap<&NodeId, &NodeView>,
        before: Millis,
    ) -> bool {
        let Some(named) = view.queue.named else {
            return false;
        };
        self.outstanding.iter().any(|(id, asked)| {
            let has_room = nodes
                .get(id)
                .is_some_and(|node| view.fits(asked.size, view.room(node)));
            asked.since <= before && has_room && !view.fits(asked.size, named)
        })
    }

    /// Requests that have not been served since `before`, though node and queue have room for them in
    /// `view`; of a queue that names none nobody knows whether it has.
    pub(super) fn unanswered(
        &self,
        view: &ClusterView,
        nodes: &BTreeMap<&NodeId, &NodeView>,
        before: Millis,
    ) -> Vec<Unanswered> {
        let queue = view.queue.headroom.or(view.queue.named);
        if view.queue.names_no_room {
            return Vec::new();
        }
        let waiting = self.outstanding.iter().filter_map(|(id, asked)| {
            let node = nodes.get(id)?;
            let has_room = view.fits(asked.size, view.room(node))
                && queue.is_none_or(|left| view.fits(asked.size, left));
            (asked.since <= before && has_room).then(|| Unanswered {
                node: id.clone(),
                host: node.host.clone(),
                asked: asked.since,
            })
        });
        waiting.collect()
    }

    /// The nodes whose containers are asked for and not there.
    pub(super) fn outstanding(&self) -> BTreeSet<NodeId> {
        self.outstanding.keys().cloned().collect()
    }

    /// The containers that are there.
    pub(super) fn held(&self) -> Vec<ContainerId> {
        let grants = self.granted.values();
        grants.map(|grant| grant.container.clone()).collect()
    }

    /// The shares whose containers are there.
    pub(super) fn held_shares(&self) -> Vec<NodeShare> {
        let shares = self.placement.shares.iter();
        shares
            .filter(|share| self.granted.contains_key(&share.node))
            .cloned()
            .collect()
    }

    /// The shares whose containers are not there, with their nodes' room in `view`.
    pub(super) fn missing(&self, view: &ClusterView) -> Vec<Missing> {
        let nodes = view.nodes.iter().map(|node| (&node.id, node));
        let nodes: BTreeMap<&NodeId, &NodeView> = sort::map(nodes);
        let shares = self.placement.shares.iter();
        shares
            .filter(|share| !self.granted.contains_key(&share.node))
            .map(|share| Missing {
                host: share.host.clone(),
                ask: share.ask,
                room: nodes.get(&share.node).map(|node| view.room(node)),
            })
            .collect()
    }

    /// Granted, wanted.
    pub(super) fn progress(&self) -> (usize, usize) {
        (self.granted.len(), self.placement.shares.len())
    }

    /// All of them, once every container is there.
    pub(super) fn complete(&self) -> Option<Vec<Member>> {
        if self.granted.len() < self.placement.shares.len() {
            return None;
        }
        let member = |share: &NodeShare| {
            Some(Member {
                share: share.clone(),
                grant: self.granted.get(&share.node)?.clone(),
            })
        };
        self.placement.shares.iter().map(member).collect()
    }
}
