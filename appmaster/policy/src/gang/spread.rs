//! Nodes for containers that are of use one by one: as many nodes as possible, chosen for all of them in one pass over
//! the nodes.
//!
//! ```text
//! nodes without a container, where one has room ─▶ else beside one, where the node has room ─▶ else those without one
//! ```
//!
//! Of these the first as the allocator orders them, those last that are suspected of not answering. What is asked for at
//! that node, or why nothing can be, is for the allocator to say.
//!
//! Cost: O(nodes · log nodes) to begin, O(log nodes) a container.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::{
    ClusterView, Demand, MiB, NodeId, NodeView, Placement, Rejection, Resources, Vcores, allocate,
};

/// What is known of a node beside what YARN shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// It comes after those that are suspected less.
    pub suspicion: Suspicion,
    /// One container may lie beside another.
    pub is_shared: bool,
}

/// Why a node may not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suspicion {
    /// Nothing speaks against it.
    None,
    /// Nodes that look like it do not answer.
    LooksSilent,
    /// Its word on its health is old, or another application took its room.
    Quiet,
    /// It does not answer.
    Silent,
}

/// In the order of the allocator's list: less suspected, with room, more memory, more cores, by id.
type Turn = (Suspicion, bool, Reverse<MiB>, Reverse<Vcores>, usize);

/// The nodes, and what is on them by what was chosen so far.
#[derive(Debug)]
pub struct Spread<'a> {
    cluster: &'a ClusterView,
    demand: &'a Demand,
    /// By id.
    nodes: Vec<SpreadNode<'a>>,
    places: BTreeMap<&'a NodeId, usize>,
    /// Nodes without a container that could hold one.
    empty: BTreeSet<Turn>,
    /// Of those, how many have room now.
    with_room: usize,
    /// Nodes with one that have room for another, and may have it.
    shared: BTreeSet<Turn>,
    /// Nodes without a container, whatever their size.
    empty_count: usize,
    /// Why no node without a container can have one, once that was asked.
    why_not: Option<Rejection>,
    looks: u64,
}

#[derive(Debug)]
struct SpreadNode<'a> {
    view: &'a NodeView,
    spot: Spot,
    is_large_enough: bool,
    /// Containers that are there or asked for.
    containers: u32,
    /// Asked for there, and not granted.
    asked: Resources,
    /// Where it stands in a list.
    listed: Option<Turn>,
}

impl<'a> Spread<'a> {
    /// For containers of `demand`, one process each, on those nodes of `cluster` of which `spot` knows something: others
    /// are left alone.
    #[must_use]
    pub fn new(
        cluster: &'a ClusterView,
        demand: &'a Demand,
        spot: impl Fn(&NodeView) -> Option<Spot>,
    ) -> Self {
        let known = cluster.nodes.iter();
        let mut nodes: Vec<SpreadNode<'a>> = known
            .filter_map(|view| {
                Some(SpreadNode {
                    view,
                    spot: spot(view)?,
                    is_large_enough: cluster.units_in(demand.unit, cluster.ceiling(view)) > 0,
                    containers: 0,
                    asked: Resources::default(),
                    listed: None,
                })
            })
            .collect();
        nodes.sort_by(|one, other| one.view.id.cmp(&other.view.id));
        let places = nodes.iter().enumerate();
        let places = places.map(|(place, node)| (&node.view.id, place)).collect();
        let count = nodes.len();
        let mut spread = Self {
            cluster,
            demand,
            nodes,
            places,
            empty: BTreeSet::new(),
            with_room: 0,
            shared: BTreeSet::new(),
            empty_count: count,
            why_not: None,
            looks: 0,
        };
        (0..count).for_each(|place| spread.list(place));
        spread
    }

    /// A container is at a node, or is asked for: what of it YARN does not count yet.
    pub fn takes(&mut self, node: &NodeId, asked: Resources) {
        self.change(node, |node| {
            node.containers = node.containers.saturating_add(1);
            node.asked = node.asked.plus(asked);
        });
    }

    /// It is not, any more.
    pub fn leaves(&mut self, node: &NodeId, asked: Resources) {
        self.change(node, |node| {
            node.containers = node.containers.saturating_sub(1);
            node.asked = node.asked.minus(asked);
        });
    }

    /// Whether each of the nodes has a container.
    #[must_use]
    pub const fn is_everywhere(&self) -> bool {
        self.empty_count == 0
    }

    /// How often a node was looked at so far: what choosing costs, counted.
    #[must_use]
    pub const fn looks(&self) -> u64 {
        self.looks
    }

    /// Where the next container is asked for. It is not [taken](Self::takes) by that.
    ///
    /// # Errors
    ///
    /// Nowhere, and why.
    pub fn choose(&mut self) -> Result<Placement, Rejection> {
        let list = match self.with_room > 0 || self.shared.is_empty() {
            true => &self.empty,
            false => &self.shared,
        };
        let first = list.first().and_then(|turn| self.nodes.get(turn.4));
        let Some(node) = first else {
            return Err(self.why_not());
        };
        self.looks = self.looks.saturating_add(1);
        let there = NodeView {
            used: node.view.used.plus(node.asked),
            ..node.view.clone()
        };
        allocate::place(self.demand, &self.with_nodes(vec![there]), &[])
    }

    fn why_not(&mut self) -> Rejection {
        if let Some(why) = &self.why_not {
            return why.clone();
        }
        let empty = self.nodes.iter().filter(|node| node.containers == 0);
        let empty: Vec<NodeView> = empty.map(|node| node.view.clone()).collect();
        let looks = u64::try_from(empty.len()).unwrap_or(u64::MAX);
        self.looks = self.looks.saturating_add(looks);
        let placed = allocate::place(self.demand, &self.with_nodes(empty), &[]);
        let why = placed.err().unwrap_or(Rejection::NoNodes);
        self.why_not.insert(why).clone()
    }

    fn with_nodes(&self, nodes: Vec<NodeView>) -> ClusterView {
        ClusterView {
            types: self.cluster.types.clone(),
            nodes,
            maximum: self.cluster.maximum,
            step: self.cluster.step,
            counted: self.cluster.counted,
            queue: self.cluster.queue.clone(),
        }
    }

    fn change(&mut self, node: &NodeId, change: impl FnOnce(&mut SpreadNode<'a>)) {
        let Some(place) = self.places.get(node).copied() else {
            return;
        };
        let Some(node) = self.nodes.get_mut(place) else {
            return;
        };
        let was_empty = node.containers == 0;
        change(node);
        let is_empty = node.containers == 0;
        if was_empty != is_empty {
            self.why_not = None;
            self.empty_count = match is_empty {
                true => self.empty_count.saturating_add(1),
                false => self.empty_count.saturating_sub(1),
            };
        }
        self.list(place);
    }

    /// Brings the lists in line with what is on a node.
    fn list(&mut self, place: usize) {
        let Some(node) = self.nodes.get_mut(place) else {
            return;
        };
        self.looks = self.looks.saturating_add(1);
        if let Some(before) = node.listed.take() {
            self.shared.remove(&before);
            if self.empty.remove(&before) && !before.1 {
                self.with_room = self.with_room.saturating_sub(1);
            }
        }
        let room = self.cluster.room(&NodeView {
            capability: node.view.capability,
            used: node.view.used.plus(node.asked),
            ..NodeView::default()
        });
        let has_room = self.cluster.fits(self.demand.unit, room);
        let turn = (
            node.spot.suspicion,
            !has_room,
            Reverse(room.memory),
            Reverse(room.vcores),
            place,
        );
        let is_empty = node.containers == 0;
        if is_empty && node.is_large_enough {
            self.with_room = self.with_room.saturating_add(usize::from(has_room));
            self.empty.insert(turn);
        } else if !is_empty && has_room && node.spot.is_shared {
            self.shared.insert(turn);
        } else {
            return;
        }
        node.listed = Some(turn);
    }
}

#[cfg(test)]
mod tests;
