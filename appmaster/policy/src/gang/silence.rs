//! Nodes that YARN counts as running and that do not answer.
//!
//! A NodeManager that is dead is missed by the ResourceManager after ten minutes, by Hadoop's default.
//! Until then its node stands among the running ones, looks free, and is given no container: the
//! scheduler gives containers on a node's heartbeat. Two signs tell it sooner: a request for which the
//! node has room, and the queue too, stays unanswered for some heartbeats; and the node's last word on its
//! health is older than those of the others. Either may be wrong, so such a node is only left alone, where
//! the mode allows another, until it shows a sign of life.

use std::collections::{BTreeMap, BTreeSet};

use super::Silent;
use crate::{ClusterView, Millis, NodeId, Resources};

/// Nodes look at their own health, and tell, every two minutes by default; one whose word is older than
/// the newest by half as much again has missed its turn.
const OLD: u64 = 180_000;
/// Where so many nodes have an old word, the intervals are other ones: one of so many may.
const ONE_OF: usize = 4;
/// A request that its node has not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unanswered {
    pub node: NodeId,
    pub host: String,
    /// When it was made.
    pub asked: Millis,
}

#[derive(Debug)]
struct Quiet {
    host: String,
    asked: Millis,
    /// As the node's entry was then.
    heard: Millis,
    used: Resources,
}

/// The nodes that have not answered.
#[derive(Debug, Default)]
pub(super) struct Silence(BTreeMap<NodeId, Quiet>);

impl Silence {
    /// Takes in a look at the cluster: who has shown a sign of life is silent no more, and these have
    /// not answered. Returns the hosts that are new.
    pub(super) fn look(&mut self, view: &ClusterView, unanswered: Vec<Unanswered>) -> Vec<String> {
        let nodes: BTreeMap<_, _> = view.nodes.iter().map(|node| (&node.id, node)).collect();
        self.0.retain(|id, silent| {
            nodes.get(id).is_some_and(|node| {
                let grew = node.used.memory > silent.used.memory;
                // What is given back is counted down without the node.
                silent.used = silent.used.least(node.used);
                node.heard <= silent.heard && !grew
            })
        });
        let mut new = Vec::new();
        for Unanswered { node, host, asked } in unanswered {
            let Some(seen) = nodes.get(&node) else {
                continue;
            };
            if let std::collections::btree_map::Entry::Vacant(vacant) = self.0.entry(node) {
                new.push(host.clone());
                vacant.insert(Quiet {
                    host,
                    asked,
                    heard: seen.heard,
                    used: seen.used,
                });
            }
        }
        new
    }

    pub(super) fn has(&self, node: &NodeId) -> bool {
        self.0.contains_key(node)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Who of `nodes` is silent, and for how long; `None`: nobody.
    pub(super) fn among(&self, now: Millis, nodes: &BTreeSet<NodeId>) -> Option<Silent> {
        let silent = || nodes.iter().filter_map(|node| self.0.get(node));
        let since = silent().map(|one| one.asked).min()?;
        Some(Silent {
            hosts: silent().map(|one| one.host.clone()).collect(),
            span: Millis(now.0.saturating_sub(since.0)),
        })
    }
}

/// The nodes whose last word on their health is old while the others' is not.
pub(super) fn quiet(view: &ClusterView) -> BTreeSet<NodeId> {
    let newest = view
        .nodes
        .iter()
        .map(|node| node.heard.0)
        .max()
        .unwrap_or(0);
    let old = view
        .nodes
        .iter()
        .filter(|node| node.heard.0 > 0 && newest.saturating_sub(node.heard.0) > OLD);
    let old: BTreeSet<NodeId> = old.map(|node| node.id.clone()).collect();
    match old.len().saturating_mul(ONE_OF) <= view.nodes.len() {
        true => old,
        false => BTreeSet::new(),
    }
}
