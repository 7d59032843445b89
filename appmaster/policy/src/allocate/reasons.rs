//! Why a placement is as it is, a sentence a node.

use std::collections::BTreeSet;

use crate::{ClusterView, Demand, NodeId, Placement};

/// The reasons of one placement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// For each share, in the order of the shares: why this node, this number and this size.
    pub used: Vec<String>,
    /// The nodes that got nothing, by id, and why.
    pub passed_over: Vec<(NodeId, String)>,
}

/// Puts into words why [`super::place`] answered `placement` to `demand` on `cluster`.
#[must_use]
pub fn reasons(demand: &Demand, cluster: &ClusterView, placement: &Placement) -> Reasons {
    let used = placement.shares.iter().map(|share| {
        let node = cluster.nodes.iter().find(|node| node.id == share.node);
        match node.map(|node| cluster.room(node)) {
            Some(room) if cluster.fits(demand.unit.times(share.processes), room) => {
                format!("has room for all ({room} left)")
            }
            Some(room) => format!("has {room} left"),
            None => "is no longer there".into(),
        }
    });
    let taken: BTreeSet<&NodeId> = placement.shares.iter().map(|share| &share.node).collect();
    let mut passed_over: Vec<(NodeId, String)> = cluster
        .nodes
        .iter()
        .filter(|node| !taken.contains(&node.id))
        .map(|node| (node.id.clone(), format!("{} left", cluster.room(node))))
        .collect();
    passed_over.sort();
    Reasons {
        used: used.collect(),
        passed_over,
    }
}
