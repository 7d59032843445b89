//! How large the one container of a node is for the processes dealt to it.
//!
//! | room of the node            | asked for                                             |
//! |-----------------------------|-------------------------------------------------------|
//! | holds all k processes       | k units                                               |
//! | holds one, not all          | the room: the container comes at once and the         |
//! |                             | processes share it                                    |
//! | holds not even one          | k units up to the ceiling: the wait is unavoidable    |
//!
//! Without oversubscription, and for memory that the user gave explicitly, always k units: the job
//! waits. Difference from the paper: a full node is asked for the whole size, not for one unit,
//! which would mark a job as overloaded that waits for an idle node anyway.

use crate::{ClusterView, Counted, Demand, NodeView, Resources, Vcores};

/// The container to ask for on `node`, for `processes` of `demand`.
pub(super) fn container(
    demand: &Demand,
    cluster: &ClusterView,
    node: &NodeView,
    processes: u32,
) -> Resources {
    let room = cluster.room(node);
    let ceiling = cluster.ceiling(node);
    let whole = demand.unit.times(processes);

    let shared = demand.oversubscribe && !cluster.fits(whole, room);
    let limit = if !shared {
        whole
    } else if cluster.fits(demand.unit, room) {
        room
    } else {
        ceiling
    };
    let memory = if demand.memory_is_explicit {
        whole.memory
    } else {
        whole.memory.min(limit.memory)
    };
    // A scheduler that counts memory alone still refuses a request above the maximum in vcores.
    let vcores = match cluster.counted {
        Counted::Memory => whole.vcores.min(cluster.maximum.vcores),
        Counted::MemoryAndVcores if demand.oversubscribe => whole.vcores.min(limit.vcores),
        Counted::MemoryAndVcores => whole.vcores,
    };
    Resources {
        memory,
        vcores: vcores.max(Vcores(1)),
    }
}
