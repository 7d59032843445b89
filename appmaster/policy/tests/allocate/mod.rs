//! The five modes on hand-made clusters.

use std::num::NonZeroU32;

use policy::allocate::{Reasons, place, reasons, reasons_beside};
use policy::{
    ClusterView, Counted, Demand, GPU, ListedHost, MiB, Mode, NodeId, NodeShare, NodeView,
    Placement, Rejection, ResourceTypes, Resources,
};

mod all;
mod countable;
mod held;
mod listed;
mod near;
mod preferences;
mod queue;
mod rejections;
mod table_iii;
mod why;

/// A node with room for 64 vcores.
fn node(id: &str, capability_mib: u64, used_mib: u64) -> NodeView {
    NodeView {
        id: NodeId(id.into()),
        host: id.into(),
        rack: "/default-rack".into(),
        capability: Resources::new(capability_mib, 64),
        used: Resources::new(used_mib, 0),
        ..NodeView::default()
    }
}

/// Steps of 1024 MiB, memory alone is counted.
fn cluster(nodes: Vec<NodeView>, maximum_mib: u64) -> ClusterView {
    ClusterView {
        nodes,
        maximum: Resources::new(maximum_mib, 64),
        step: MiB(1024),
        counted: Counted::Memory,
        ..ClusterView::default()
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

/// As the user reads it.
fn sentence(rejection: &Rejection) -> String {
    sentences::rejection(rejection, &types())
}

/// The types that the cases with further resources count.
fn types() -> ResourceTypes {
    ResourceTypes::new([GPU, "acc/kmeans-map"])
}

/// Host, processes and memory of each share.
fn counts(placement: &Placement) -> Vec<(&str, u32, u64)> {
    let shares = placement.shares.iter();
    shares
        .map(|s| (s.host.as_str(), s.processes, s.ask.memory.0))
        .collect()
}

/// Hosts, each with a number of processes, in `mode`.
fn list(mode: Mode, entries: &[(&str, u32)]) -> Demand {
    let processes = entries.iter().map(|(_, processes)| processes).sum();
    Demand {
        mode,
        listed: entries
            .iter()
            .map(|(host, processes)| ListedHost {
                host: Some((*host).into()),
                processes: *processes,
            })
            .collect(),
        ..demand(processes, true)
    }
}

/// Nodes without a list, in mode `loc+dist`.
fn nodes(number: u32, processes: u32) -> Demand {
    Demand {
        mode: Mode::LocDist,
        nodes: NonZeroU32::new(number),
        ..demand(processes, true)
    }
}

/// A node of 8 units, so many of them free.
fn free(id: &str, units: u64) -> NodeView {
    node(id, 8192, 8192 - units * 1024)
}
