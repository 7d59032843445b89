//! Nodes that YARN counts as running and that do not answer.
//!
//! A NodeManager that is dead is missed by the ResourceManager after ten minutes, by Hadoop's default.
//! Until then its node stands among the running ones, looks free, and is given no container: the
//! scheduler gives containers on a node's heartbeat. Two signs tell it sooner: a request for which the
//! node has room, and the queue too, stays unanswered for some heartbeats; and the node's last word on its
//! health is older than those of the others. Either may be wrong, so such a node is only left alone, where
//! the mode allows another, until it shows a sign of life.
//!
//! One that shows it so late most likely has its room for somebody else: a scheduler that has reserved it for an
//! application that waits counts it as free. It comes last for a while, longer each time; that it has answered in the
//! end, to this job, is not told from that, and costs no more than a preference.

use std::collections::{BTreeMap, BTreeSet};

use super::Silent;
use crate::{ClusterView, Millis, NodeId, Resources};

/// Nodes look at their own health, and tell, every two minutes by default; one whose word is older than
/// the newest by half as much again has missed its turn.
const OLD: u64 = 180_000;
/// Where so many nodes have an old word, the intervals are other ones: one of so many may.
const ONE_OF: usize = 4;
/// For how long a node comes last whose room was somebody else's, the first time and at the most, ms.
const SPOKEN_FOR: (u64, u64) = (15_000, 240_000);

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

/// A node whose room was somebody else's.
#[derive(Debug)]
struct SpokenFor {
    until: Millis,
    /// For how long it came last then, ms.
    span: u64,
}

/// The nodes that have not answered.
#[derive(Debug, Default)]
pub(super) struct Silence {
    silent: BTreeMap<NodeId, Quiet>,
    spoken_for: BTreeMap<NodeId, SpokenFor>,
}

impl Silence {
    /// Takes in a look at the cluster: who has shown a sign of life is silent no more, and these have
    /// not answered. Returns the hosts that are new.
    pub(super) fn look(
        &mut self,
        now: Millis,
        view: &ClusterView,
        unanswered: Vec<Unanswered>,
    ) -> Vec<String> {
        let nodes: BTreeMap<_, _> = sort::map(view.nodes.iter().map(|node| (&node.id, node)));
        let spoken_for = &mut self.spoken_for;
        spoken_for.retain(|id, _| nodes.contains_key(id));
        self.silent.retain(|id, silent| {
            nodes.get(id).is_some_and(|node| {
                let grew = node.used.memory > silent.used.memory;
                // What is given back is counted down without the node.
                silent.used = silent.used.least(node.used);
                let lives = node.heard > silent.heard || grew;
                if lives {
                    let (first, most) = SPOKEN_FOR;
                    let span = spoken_for
                        .get(id)
                        .map_or(first, |last| last.span.saturating_mul(2).min(most));
                    let until = now.plus(Millis(span));
                    spoken_for.insert(id.clone(), SpokenFor { until, span });
                }
                !lives
            })
        });
        let mut new = Vec::new();
        for Unanswered { node, host, asked } in unanswered {
            let Some(seen) = nodes.get(&node) else {
                continue;
            };
            if let std::collections::btree_map::Entry::Vacant(vacant) = self.silent.entry(node) {
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
        self.silent.contains_key(node)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.silent.is_empty()
    }

    /// The nodes that come last: whoever lives and has his room for somebody else.
    pub(super) fn spoken_for(&self, now: Millis) -> BTreeSet<NodeId> {
        let there = self.spoken_for.iter().filter(|(_, one)| now < one.until);
        there.map(|(node, _)| node.clone()).collect()
    }

    /// Who of `nodes` is silent, and for how long; `None`: nobody.
    pub(super) fn among(&self, now: Millis, nodes: &BTreeSet<NodeId>) -> Option<Silent> {
        let silent = || nodes.iter().filter_map(|node| self.silent.get(node));
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
    let old: BTreeSet<NodeId> = sort::set(old.map(|node| node.id.clone()));
    match old.len().saturating_mul(ONE_OF) <= view.nodes.len() {
        true => old,
        false => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeView;

    #[test]
    fn whose_room_is_somebody_elses_comes_last_for_longer_each_time() {
        let node = NodeId("n1:1".into());
        let view = |heard: u64| ClusterView {
            nodes: vec![NodeView {
                id: node.clone(),
                host: "n1".into(),
                heard: Millis(heard),
                ..NodeView::default()
            }],
            ..ClusterView::default()
        };
        let asked = |at: u64| {
            vec![Unanswered {
                node: node.clone(),
                host: "n1".into(),
                asked: Millis(at),
            }]
        };
        let mut silence = Silence::default();
        let mut spans = Vec::new();
        for round in 1..=6 {
            let now = round * 1_000_000;
            let silent = silence.look(Millis(now), &view(round), asked(now));
            assert_eq!(silent, ["n1"]);
            assert!(silence.spoken_for(Millis(now)).is_empty());
            assert!(
                silence
                    .look(Millis(now), &view(round + 1), Vec::new())
                    .is_empty()
            );
            let lasts = (0..600_u64).find(|seconds| {
                let at = Millis(now + seconds * 1000);
                !silence.spoken_for(at).contains(&node)
            });
            spans.push(lasts.unwrap());
        }
        assert_eq!(spans, [15, 30, 60, 120, 240, 240]);
    }
}
