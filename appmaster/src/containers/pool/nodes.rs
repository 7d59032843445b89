//! On which nodes a container may be asked for.
//!
//! Those without one come first, whatever they have: as many nodes as possible, and every device of the cluster
//! within reach. Where none of them has room, another container may lie beside one of the session's own: the
//! largest that YARN gives is often a fraction of a node. A node with devices has one container only, so that
//! no other container offers them.

use std::collections::BTreeSet;

use policy::elements::{Trust, is_taken_whole};
use policy::{ClusterView, MiB, Millis, NodeId, NodeView, Resources};

use super::place::PlaceState;
use super::{AVOID, AVOID_ALONE, Pool};

impl Pool {
    /// The nodes on which a place may be; those that have lost a container are left alone, but where that leaves
    /// none and the session holds nothing, those that have been for a while.
    pub(super) fn free_for(&mut self, now: Millis, number: u32, view: &ClusterView) -> ClusterView {
        let mut sound = view.clone();
        self.leave_alone(now, &mut sound.nodes);
        let others = self.places.iter().filter(|(other, _)| **other != number);
        let taken: BTreeSet<&NodeId> = others
            .filter_map(|(_, place)| Some(&place.share.as_ref()?.node))
            .collect();
        // Nodes are many, and are copied once.
        let all = std::mem::take(&mut sound.nodes).into_iter();
        let (own, others): (Vec<NodeView>, Vec<NodeView>) =
            all.partition(|node| taken.contains(&node.id));
        let is_everywhere = others.is_empty() && !view.nodes.is_empty();
        let wanted = self.plan.slot.times(self.plan.room.get());
        let has_room = |node: &NodeView| view.fits(wanted, view.room(node));
        let mut free = ClusterView {
            nodes: others,
            ..sound
        };
        if !free.nodes.iter().any(has_room) {
            let beside = own.into_iter().map(|node| self.beside(number, node, view));
            let mut beside = beside.filter(|node| has_room(node) && !self.has_elements(view, node));
            if let Some(first) = beside.next() {
                free.nodes = vec![first];
                free.nodes.extend(beside);
            }
        }
        self.is_everywhere |= is_everywhere;
        free
    }

    /// Takes those away that have lost a container.
    fn leave_alone(&self, now: Millis, nodes: &mut Vec<NodeView>) {
        let is_sound = |node: &NodeView| !self.avoided.contains_key(&node.id);
        let is_alone = self.places.values().all(|place| place.granted.is_none());
        if is_alone && !nodes.iter().any(is_sound) {
            let rested = now.plus(AVOID).0.saturating_sub(AVOID_ALONE.0);
            let has_rested = |until: &Millis| until.0 <= rested;
            nodes.retain(|node| self.avoided.get(&node.id).is_none_or(has_rested));
        } else {
            nodes.retain(is_sound);
        }
    }

    /// The node with what the other places there have asked for and not been granted.
    pub(super) fn beside(&self, number: u32, mut node: NodeView, view: &ClusterView) -> NodeView {
        let step = view.step.0.max(1);
        for (other, place) in &self.places {
            let Some(asked) = place.asked.as_ref().filter(|_| *other != number) else {
                continue;
            };
            if !matches!(place.state, PlaceState::Asked) {
                continue;
            }
            for share in asked.fresh().filter(|share| share.node == node.id) {
                let rounded = Resources {
                    memory: MiB(share.ask.memory.0.next_multiple_of(step)),
                    ..share.ask
                };
                node.used = node.used.plus(rounded);
            }
        }
        node
    }

    /// Whether the container that is there has elements of its node, or may have.
    fn has_elements(&self, view: &ClusterView, node: &NodeView) -> bool {
        let mut counts = view.types.iter();
        let counted = self.plan.elements != Trust::Scan
            && counts
                .any(|(index, name)| is_taken_whole(name) && node.capability.counts.of(index) > 0);
        let mut places = self.places.values();
        counted
            || !node.elements.is_empty()
            || places.any(|place| {
                let there = place.share.as_ref().map(|share| &share.node);
                place.has_elements && there == Some(&node.id)
            })
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
