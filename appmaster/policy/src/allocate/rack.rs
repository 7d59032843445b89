//! Prefers one rack, for the modes that may choose their nodes.
//!
//! A rack is taken when it holds the whole job now and unshared. Of several, the one with most whole
//! units of room wins, equal ones by name. Shares that are held already decide the rack: when all of
//! them are on one, only that one may be taken; when they are not, none is. Without such a rack the
//! job is placed as if it had not been asked for.
//!
//! Source: own; the paper leaves the closeness of nodes to the host file (§III-C).
//!
//! Cost: O(nodes · log nodes).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::candidate::Candidate;
use super::rest::Rest;

/// The part of `list` on the rack that is to be taken, in the same order; all of it when there is
/// none. `hold` says whether the nodes of a rack, in order of the list, hold the job now.
pub(super) fn prefer<'a>(
    rest: &Rest<'a>,
    list: Vec<Candidate<'a>>,
    hold: impl Fn(&[Candidate<'a>]) -> bool,
) -> Vec<Candidate<'a>> {
    if !rest.demand.same_rack {
        return list;
    }
    let mut racks: BTreeMap<&str, Vec<Candidate<'a>>> = BTreeMap::new();
    for candidate in &list {
        let rack = racks.entry(candidate.node.rack.as_str()).or_default();
        rack.push(*candidate);
    }
    racks.retain(|rack, _| rest.held.iter().all(|share| share.rack == **rack));
    racks
        .into_iter()
        .filter(|(_, on_rack)| hold(on_rack))
        .max_by_key(|(rack, on_rack)| (units_now(on_rack), Reverse(*rack)))
        .map_or(list, |(_, on_rack)| on_rack)
}

/// Whole units that the rooms of `candidates` hold together.
pub(super) fn units_now(candidates: &[Candidate<'_>]) -> u64 {
    let now = candidates.iter().map(|candidate| candidate.now);
    now.fold(0, u64::saturating_add)
}
