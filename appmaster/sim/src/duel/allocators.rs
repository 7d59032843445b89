//! Allocators so simple that their answers can be told in advance.

#![expect(
    clippy::result_large_err,
    reason = "the shape of an allocator is policy's"
)]

use policy::{ClusterView, Demand, NodeShare, NodeView, Placement, Rejection};

fn share(demand: &Demand, node: &NodeView) -> NodeShare {
    NodeShare {
        node: node.id.clone(),
        host: node.host.clone(),
        rack: node.rack.clone(),
        processes: 1,
        ask: demand.unit,
    }
}

/// One process a node, on the first nodes of `candidates` that are not held.
fn first_of<'a>(
    demand: &Demand,
    candidates: impl Iterator<Item = &'a NodeView>,
    held: &[NodeShare],
) -> Result<Placement, Rejection> {
    let wanted = usize::try_from(demand.processes.get()).unwrap_or(usize::MAX);
    let others = candidates.filter(|node| held.iter().all(|share| share.node != node.id));
    let fresh = others.map(|node| share(demand, node));
    let shares: Vec<NodeShare> = held.iter().cloned().chain(fresh).take(wanted).collect();
    if shares.len() < wanted {
        return Err(Rejection::NoRoomNow {
            unit: demand.unit,
            freest: policy::MiB(0),
            most: policy::Counts::default(),
        });
    }
    Ok(Placement { shares })
}

/// One process a node, on the first nodes with room; like the modes that relax the location.
///
/// # Errors
/// There are fewer such nodes.
pub fn where_there_is_room(
    demand: &Demand,
    view: &ClusterView,
    held: &[NodeShare],
) -> Result<Placement, Rejection> {
    let free = view.nodes.iter();
    let free = free.filter(|node| view.fits(demand.unit, view.room(node)));
    first_of(demand, free, held)
}

/// One process a node, on the first nodes, full or not: a job that rather waits than shares.
///
/// # Errors
/// There are fewer such nodes.
pub fn full_or_not(
    demand: &Demand,
    view: &ClusterView,
    held: &[NodeShare],
) -> Result<Placement, Rejection> {
    first_of(demand, view.nodes.iter(), held)
}

/// One process on every listed host; shrinks to the room where that is not nothing. A host that is
/// gone can never come back.
///
/// # Errors
/// There are fewer such nodes.
pub fn as_listed(
    demand: &Demand,
    view: &ClusterView,
    held: &[NodeShare],
) -> Result<Placement, Rejection> {
    let mut shares = held.to_vec();
    for entry in &demand.listed {
        if held
            .iter()
            .any(|share| Some(&share.host) == entry.host.as_ref())
        {
            continue;
        }
        let mut nodes = view.nodes.iter();
        let Some(node) = nodes.find(|node| Some(&node.host) == entry.host.as_ref()) else {
            return Err(Rejection::TooFewSlots {
                wanted: demand.processes.get(),
                unit: demand.unit,
                slots: 0,
                nodes: view.nodes.len(),
            });
        };
        let room = view.room(node);
        let mut share = share(demand, node);
        if room.memory.0 > 0 {
            share.ask.memory = share.ask.memory.min(room.memory);
        }
        shares.push(share);
    }
    Ok(Placement { shares })
}
