//! Which ranks the processes of a node are.

use std::num::NonZeroU32;

use policy::{Mode, Numbering};

use super::{Contradiction, NodeProcesses, PlacementRequest, number};
use crate::arguments::{Placement, RankBy, RankMap};

/// Numbers the ranks of a job whose processes are placed by the other flags.
pub(super) fn by_order(order: Option<RankBy>) -> Numbering {
    match order {
        // Processes take the processors of a node in the order of their ranks.
        None | Some(RankBy::Slot | RankBy::Unit(_)) => Numbering::Slot,
        Some(RankBy::Node) => Numbering::Node,
    }
}

/// A map says how many processes each node has, and which.
pub(super) fn by_map(
    given: &Placement,
    map: &RankMap,
    mode: Mode,
    auto: bool,
) -> Result<PlacementRequest, Contradiction> {
    let list = given.list();
    let implied = match list {
        Some(_) => Mode::None,
        None => Mode::Loc,
    };
    let mode = match given.relax {
        None => implied,
        Some(_) => mode,
    };
    if auto || !matches!(mode, Mode::None | Mode::Loc) {
        return Err(Contradiction::MapIsRelaxed);
    }
    if given.processes_per_node.is_some() || given.nodes.is_some() {
        return Err(Contradiction::MapAndNumbers);
    }
    let RankMap(nodes) = map;
    let processes = given.processes.map_or(nodes.len() as u64, u64::from);
    let processes = number(processes)?;
    let ranks = nodes.iter().copied().cycle();
    let nodes: Vec<u32> = ranks.take(processes.get() as usize).collect();
    let most = nodes.iter().copied().max().unwrap_or(0);
    let hosts = list.map(|list| &list.hosts);
    if let Some(hosts) = hosts.filter(|hosts| most as usize >= hosts.len()) {
        return Err(Contradiction::MapBeyondList {
            node: most,
            hosts: hosts.len(),
        });
    }
    // No longer than the list, or than the ranks: a node without ranks has no place among them.
    let mut counts = vec![0u32; hosts.map_or(processes.get() as usize, Vec::len)];
    for &node in &nodes {
        let Some(count) = counts.get_mut(node as usize) else {
            return Err(Contradiction::MapLeavesOut { node });
        };
        *count += 1;
    }
    let used = counts.iter().filter(|count| **count > 0).count();
    if hosts.is_none() && used <= most as usize {
        return Err(Contradiction::MapLeavesOut { node: most });
    }
    // Hosts of the list that get none are not among the job's nodes.
    let mut place = 0u32;
    let places: Vec<u32> = counts
        .iter()
        .map(|count| {
            let own = place;
            place += u32::from(*count > 0);
            own
        })
        .collect();
    let listed = counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(node, &processes)| NodeProcesses {
            name: hosts.and_then(|hosts| Some(hosts.get(node)?.name.clone())),
            processes,
        });
    let listed = listed.collect();
    let map = nodes
        .iter()
        .filter_map(|&node| places.get(node as usize).copied());
    Ok(PlacementRequest {
        processes: NonZeroU32::new(processes.get()).unwrap_or(NonZeroU32::MIN),
        mode,
        auto: false,
        listed,
        nodes: None,
        numbering: Numbering::Map(map.collect()),
    })
}
