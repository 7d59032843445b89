//! Deals processes to nodes, one at a time.
//!
//! Each goes to the node with the most room left, where room counts on below zero so that an
//! overload spreads evenly; never beyond a node's ceiling while another candidate is below its
//! own. Most room: most memory, then most vcores, then the smaller node id.
//!
//! Cost: O((nodes + processes) · log nodes).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{ClusterView, Demand, NodeView, Resources};

/// How many processes one candidate gets.
#[derive(Debug)]
pub(super) struct Dealt<'a> {
    pub node: &'a NodeView,
    pub processes: u32,
}

/// Order in the heap: below its ceiling first, then memory left, then vcores left, then the
/// candidate's place in the list that is sorted by node id.
type Preference = (bool, i128, i128, Reverse<usize>);

/// Deals all processes of `demand` to `candidates`, in order of first use. Without candidates
/// nothing is dealt.
pub(super) fn deal<'a>(
    demand: &Demand,
    cluster: &ClusterView,
    mut candidates: Vec<&'a NodeView>,
) -> Vec<Dealt<'a>> {
    candidates.sort_by(|a, b| a.id.cmp(&b.id));
    let preference = |index: usize, dealt: u32| -> Preference {
        let node = candidates[index];
        let left = |room: u64, unit: u64| i128::from(room) - i128::from(unit) * i128::from(dealt);
        let room = cluster.room(node);
        (
            cluster.fits(
                demand.unit.times(dealt.saturating_add(1)),
                cluster.ceiling(node),
            ),
            left(room.memory.0, demand.unit.memory.0),
            left(u64::from(room.vcores.0), u64::from(demand.unit.vcores.0)),
            Reverse(index),
        )
    };

    let mut counts = vec![0u32; candidates.len()];
    let mut first_use = Vec::new();
    let mut heap: BinaryHeap<Preference> = (0..candidates.len())
        .map(|index| preference(index, 0))
        .collect();
    for _ in 0..demand.processes.get() {
        let Some((_, _, _, Reverse(index))) = heap.pop() else {
            break;
        };
        if counts[index] == 0 {
            first_use.push(index);
        }
        counts[index] += 1;
        heap.push(preference(index, counts[index]));
    }
    first_use
        .into_iter()
        .map(|index| Dealt {
            node: candidates[index],
            processes: counts[index],
        })
        .collect()
}

/// How many whole processes the ceilings of `nodes` hold together.
pub(super) fn slots<'a>(
    unit: Resources,
    cluster: &ClusterView,
    nodes: impl Iterator<Item = &'a NodeView>,
) -> u64 {
    nodes
        .map(|node| cluster.units_in(unit, cluster.ceiling(node)))
        .fold(0, u64::saturating_add)
}
