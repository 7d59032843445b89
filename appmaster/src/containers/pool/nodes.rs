//! On which nodes a container may be asked for.
//!
//! Those without one come first, whatever they have: as many nodes as possible, and every device of the cluster
//! within reach. Where none of them has room, another container may lie beside one of the session's own: the
//! largest that YARN gives is often a fraction of a node. A node with devices has one container only, so that
//! no other container offers them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use policy::elements::Trust;
use policy::gang::{Chosen, GangEvent, Spot, Spread, Suspected};
use policy::{ClusterView, Demand, MiB, Millis, NodeId, NodeView, Resources};

use super::place::PlaceState;
use super::{AVOID, AVOID_ALONE, Pool, Want};

/// The nodes as they were read, which all places see.
#[derive(Debug)]
pub(super) struct NodesRead {
    view: Arc<ClusterView>,
    places: BTreeMap<NodeId, usize>,
}

impl NodesRead {
    pub(super) fn new(view: ClusterView) -> Self {
        let nodes = view.nodes.iter().enumerate();
        Self {
            places: nodes
                .map(|(place, node)| (node.id.clone(), place))
                .collect(),
            view: Arc::new(view),
        }
    }

    pub(super) fn view(&self) -> &ClusterView {
        &self.view
    }

    pub(super) fn node(&self, node: &NodeId) -> Option<&NodeView> {
        self.view.nodes.get(*self.places.get(node)?)
    }
}

impl Pool {
    /// Chooses nodes for all places that wait for them, in one pass.
    pub(super) fn choose(&mut self, now: Millis) -> Vec<Want> {
        let Some(view) = self.nodes.as_ref().map(|nodes| Arc::clone(&nodes.view)) else {
            return Vec::new();
        };
        let gangs = self.places.values().map(|place| &place.gang);
        let waiting = gangs.filter(|gang| gang.awaits_nodes());
        let suspected = self.suspects.look(now, &view, waiting);
        let demand = self.demand();
        let mut spread = self.spread(now, &view, &demand, &suspected);
        let numbers: Vec<u32> = self.places.keys().copied().collect();
        for (node, asked) in numbers
            .iter()
            .filter_map(|number| self.takes(*number, view.step))
        {
            spread.takes(&node, asked);
        }
        let mut wants = Vec::new();
        for number in numbers {
            if let Some((node, asked)) = self.takes(number, view.step) {
                spread.leaves(&node, asked);
            }
            self.is_everywhere |= spread.is_everywhere() && !view.nodes.is_empty();
            let place = self.places.get(&number);
            if let Some(place) = place.filter(|place| place.gang.awaits_nodes()) {
                let chosen = Chosen {
                    view: Arc::clone(&view),
                    answer: spread.choose(),
                    silent: self.suspects.silent(now, &place.gang),
                };
                wants.extend(self.step(now, number, GangEvent::Chosen(chosen)));
            }
            if let Some((node, asked)) = self.takes(number, view.step) {
                spread.takes(&node, asked);
            }
        }
        wants
    }

    /// The nodes on which a place may be; those that have lost a container are left alone, but where that leaves
    /// none and the session holds nothing, those that have been for a while.
    fn spread<'a>(
        &self,
        now: Millis,
        view: &'a ClusterView,
        demand: &'a Demand,
        suspected: &Suspected,
    ) -> Spread<'a> {
        let is_sound = |node: &NodeView| !self.avoided.contains_key(&node.id);
        let is_alone = self.places.values().all(|place| place.granted.is_none());
        let rested = (is_alone && !view.nodes.iter().any(is_sound)).then(|| {
            let rested = now.plus(AVOID).0.saturating_sub(AVOID_ALONE.0);
            Millis(rested)
        });
        let found = self.places.values().filter(|place| place.has_elements);
        let found: BTreeSet<&NodeId> = found
            .filter_map(|place| Some(&place.share.as_ref()?.node))
            .collect();
        Spread::new(view, demand, |node| {
            let until = self.avoided.get(&node.id);
            let is_meant = until.is_none_or(|until| rested.is_some_and(|rested| *until <= rested));
            is_meant.then(|| Spot {
                suspicion: suspected.of(&node.id),
                is_shared: !found.contains(&node.id) && !self.has_elements(view, node),
            })
        })
    }

    /// The node that a place takes, and what of it is asked for and not granted.
    fn takes(&self, number: u32, step: MiB) -> Option<(NodeId, Resources)> {
        let place = self.places.get(&number)?;
        let node = &place.share.as_ref()?.node;
        let asks = matches!(place.state, PlaceState::Asked);
        let asked = place.asked.as_ref().filter(|_| asks);
        let shares = asked.into_iter().flat_map(|asked| asked.fresh());
        let there = shares.filter(|share| share.node == *node);
        let rounded = there.map(|share| Resources {
            memory: MiB(share.ask.memory.0.next_multiple_of(step.0.max(1))),
            ..share.ask
        });
        let sum = rounded.fold(Resources::default(), Resources::plus);
        Some((node.clone(), sum))
    }

    /// The node with what the other places there have asked for and not been granted.
    pub(super) fn beside(&self, number: u32, mut node: NodeView, step: MiB) -> NodeView {
        let there = self.at.get(&node.id).into_iter().flatten();
        let others = there.filter(|other| **other != number);
        for (_, asked) in others.filter_map(|other| self.takes(*other, step)) {
            node.used = node.used.plus(asked);
        }
        node
    }

    /// Whether YARN counts elements of a node, or its attributes do.
    fn has_elements(&self, view: &ClusterView, node: &NodeView) -> bool {
        let mut counts = view.types.iter();
        let counted = self.plan.elements != Trust::Scan
            && counts.any(|(index, name)| {
                self.takes_whole(name) && node.capability.counts.of(index) > 0
            });
        counted || !node.elements.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use policy::ContainerId;

    use super::super::Want;
    use super::super::tests::{asked, granted, id, plan, used, view};
    use super::*;

    const NOW: Millis = Millis(0);

    fn node(number: u32) -> NodeId {
        NodeId(format!("n{number}:1"))
    }

    #[test]
    fn containers_share_nodes_when_each_has_one() {
        let mut pool = Pool::new(plan(5), 1);
        pool.begin(NOW);
        // Containers of 1 GiB on two nodes of 4 and one of which half is in use.
        let wants = pool.snapshot(NOW, &Ok(used(view(3), &[0, 0, 2048])));
        let mut nodes = asked(&wants);
        nodes.sort();
        assert_eq!(nodes[..], [1, 1, 2, 2, 3].map(node));
        granted(&mut pool, NOW, wants, 1);
        for number in 1..=5 {
            pool.joined(&id(number), BTreeMap::new(), &[]);
        }
        assert_eq!(pool.missing(), 0);
        assert!(pool.is_complete());
    }

    #[test]
    fn no_more_are_asked_for_at_a_node_than_it_has_room_for() {
        let mut pool = Pool::new(plan(4), 1);
        pool.begin(NOW);
        let wants = pool.snapshot(NOW, &Ok(used(view(1), &[1024])));
        assert_eq!(asked(&wants), [1, 1, 1].map(node));
        assert!(pool.is_everywhere());
        // The ResourceManager counts what it has granted, and the pool does not count it again.
        granted(&mut pool, NOW, wants, 1);
        for number in 1..=3 {
            pool.joined(&id(number), BTreeMap::new(), &[]);
        }
        let wants = pool.tick(pool.wakes_at().unwrap());
        assert!(matches!(wants[..], [Want::Snapshot]));
        let now = Millis(1_000_000);
        assert_eq!(asked(&pool.snapshot(now, &Ok(used(view(1), &[4096])))), []);
        let wants = pool.tick(pool.wakes_at().unwrap());
        assert!(matches!(wants[..], [Want::Snapshot]));
        let later = Millis(2_000_000);
        assert_eq!(
            asked(&pool.snapshot(later, &Ok(used(view(1), &[3072])))),
            [node(1)]
        );
    }

    #[test]
    fn a_node_that_has_none_is_waited_for_only_where_no_other_has_room() {
        let full = |first| Ok(used(view(2), &[first, 4096]));
        let mut pool = Pool::new(plan(2), 1);
        pool.begin(NOW);
        assert_eq!(asked(&pool.snapshot(NOW, &full(0))), [1, 1].map(node));
        let mut pool = Pool::new(plan(2), 1);
        pool.begin(NOW);
        assert_eq!(asked(&pool.snapshot(NOW, &full(3072))), [1, 2].map(node));
        assert!(!pool.is_everywhere());
    }

    #[test]
    fn devices_are_lent_by_one_container() {
        let place = |elements: &[(&str, u64)]| {
            let mut pool = Pool::new(plan(1), 1);
            pool.begin(NOW);
            let wants = pool.snapshot(NOW, &Ok(view(1)));
            granted(&mut pool, NOW, wants, 1);
            let elements = elements
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count));
            pool.joined(&ContainerId("c1".into()), elements.collect(), &[]);
            pool.open(NOW);
            asked(&pool.snapshot(NOW, &Ok(used(view(1), &[1024]))))
        };
        assert_eq!(place(&[]), [node(1)]);
        assert_eq!(place(&[("gpu", 1)]), []);
    }
}
