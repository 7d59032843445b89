//! Where a partition's input is gathered, where a policy does not care.

use super::dominant::Share;
use super::{NodeIx, Session, Stage};

/// The node with the fewest gathered bytes for each slot that runs reduces; ties to the lowest number.
/// Cost: O(nodes + slots).
#[must_use]
pub fn home(session: &Session) -> Option<NodeIx> {
    home_among(session, |_| true)
}

/// The same among the nodes that `may` be it.
pub(super) fn home_among(session: &Session, may: impl Fn(NodeIx) -> bool) -> Option<NodeIx> {
    let nodes = session.nodes().map(|(node, _)| node);
    let nodes = nodes.filter(|node| may(*node));
    let with_slots = nodes.filter_map(|node| {
        let slots = session
            .containers_of(node)
            .flat_map(|container| session.slots_of(container));
        let reduces = slots.filter_map(|slot| session.slot(*slot));
        let reduces = reduces
            .filter(|slot| slot.starts_tasks() && slot.stages.contains(&Stage::Reduce))
            .count();
        let whole = u64::try_from(reduces).ok().filter(|count| *count > 0)?;
        Some((
            Share {
                part: session.gathered_at(node),
                whole,
            },
            node,
        ))
    });
    with_slots.min().map(|(_, node)| node)
}
