//! The nodes that the user listed.

use std::collections::{BTreeMap, BTreeSet};

use super::candidate::Candidate;
use super::rest::Rest;
use crate::{ListedHost, Rejection};

/// The listed nodes that are not held, in order of the list, each with its listed processes. Of
/// several nodes of one host, the one with the smallest id is meant.
///
/// # Errors
/// There is no list, an entry names no host, a host has no node in the cluster, or its node could
/// never hold one process.
pub(super) fn nodes<'a>(rest: &Rest<'a>) -> Result<Vec<(Candidate<'a>, u32)>, Rejection> {
    let mode = rest.demand.mode;
    if rest.demand.listed.is_empty() {
        return Err(Rejection::NoList { mode });
    }
    // From the back, so that the smallest id stays.
    let by_host: BTreeMap<&str, &Candidate<'a>> = rest
        .candidates
        .iter()
        .rev()
        .map(|candidate| (candidate.node.host.as_str(), candidate))
        .collect();
    let held: BTreeSet<&str> = sort::set(rest.held.iter().map(|share| share.host.as_str()));
    let mut nodes = Vec::with_capacity(rest.demand.listed.len());
    for (index, entry) in rest.demand.listed.iter().enumerate() {
        let Some(host) = entry.host.as_deref() else {
            let entry = index.saturating_add(1);
            return Err(Rejection::HostNotGiven { mode, entry });
        };
        if held.contains(host) {
            continue;
        }
        let Some(candidate) = by_host.get(host) else {
            return Err(Rejection::HostAbsent {
                host: host.to_owned(),
                nodes: rest.cluster.nodes.len(),
            });
        };
        if candidate.ever == 0 {
            return Err(candidate.too_small(rest.cluster, rest.demand.unit, 1));
        }
        nodes.push((**candidate, entry.processes));
    }
    Ok(nodes)
}

/// The listed numbers of processes for which nothing is held, in order of the list. A held share
/// stands for the first entry of its number.
///
/// # Errors
/// There is no list.
pub(super) fn counts(rest: &Rest<'_>) -> Result<Vec<u32>, Rejection> {
    let demand = rest.demand;
    if demand.listed.is_empty() {
        return Err(Rejection::NoList { mode: demand.mode });
    }
    let mut held: BTreeMap<u32, usize> = BTreeMap::new();
    for share in rest.held {
        let number = held.entry(share.processes).or_default();
        *number = number.saturating_add(1);
    }
    let mut is_open = |entry: &ListedHost| match held.get_mut(&entry.processes) {
        Some(number @ 1..) => {
            *number = number.saturating_sub(1);
            false
        }
        _ => true,
    };
    let open = demand.listed.iter().filter(|entry| is_open(entry));
    Ok(open.map(|entry| entry.processes).collect())
}

/// That the listed numbers which are still open are those of the processes without a container.
///
/// # Errors
/// They are not.
pub(super) fn check_sum(rest: &Rest<'_>, open: impl Iterator<Item = u32>) -> Result<(), Rejection> {
    let listed = open.map(u64::from).fold(0, u64::saturating_add);
    if listed == u64::from(rest.processes) {
        Ok(())
    } else {
        Err(Rejection::ListDiffers {
            listed,
            processes: rest.processes,
        })
    }
}
