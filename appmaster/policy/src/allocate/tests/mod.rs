//! The five modes on hand-made clusters.

use std::num::NonZeroU32;

use super::place;
use crate::{ClusterView, Counted, Demand, MiB, NodeId, NodeView, Placement, Rejection, Resources};

mod all;

/// A node with room for 64 vcores.
fn node(id: &str, capability_mib: u64, used_mib: u64) -> NodeView {
    NodeView {
        id: NodeId(id.into()),
        host: id.into(),
        rack: "/default-rack".into(),
        capability: Resources::new(capability_mib, 64),
        used: Resources::new(used_mib, 0),
    }
}

/// Steps of 1024 MiB, memory alone is counted.
fn cluster(nodes: Vec<NodeView>, maximum_mib: u64) -> ClusterView {
    ClusterView {
        nodes,
        maximum: Resources::new(maximum_mib, 64),
        step: MiB(1024),
        counted: Counted::Memory,
    }
}

/// Processes of 1024 MiB and a vcore, in mode `all`.
fn demand(processes: u32, oversubscribe: bool) -> Demand {
    let processes = NonZeroU32::new(processes).unwrap();
    Demand {
        oversubscribe,
        ..Demand::anywhere(processes, Resources::new(1024, 1))
    }
}

fn place_fresh(demand: &Demand, cluster: &ClusterView) -> Result<Placement, Rejection> {
    place(demand, cluster, &[])
}

/// Host, processes and memory of each share.
fn counts(placement: &Placement) -> Vec<(&str, u32, u64)> {
    let shares = placement.shares.iter();
    shares
        .map(|s| (s.host.as_str(), s.processes, s.ask.memory.0))
        .collect()
}
