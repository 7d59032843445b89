//! How large the one container of a node is for the processes on it.
//!
//! Source: Xu, Li, Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III-D1 and Algorithm 2.
//!
//! | paper               | here                            | unit        |
//! |---------------------|---------------------------------|-------------|
//! | {m, v}              | `demand.unit`                   | MiB, vcores |
//! | size = {m, v}·nproc | `whole`, k units                | MiB, vcores |
//! | node_size           | `candidate.room`                | MiB, vcores |
//! |                     | `candidate.ceiling`             | MiB, vcores |
//!
//! | room of the node     | asked for                                                    |
//! |----------------------|--------------------------------------------------------------|
//! | holds all k          | k units                                                      |
//! | holds one, not all   | the room: the container comes at once, the processes share it|
//! | holds not even one   | k units up to the ceiling: the wait is unavoidable           |
//!
//! Without oversubscription always k units: the job waits. Memory that the user gave explicitly is
//! k units always, and so is what is counted beside memory and cores; cores may be shared. Cores that the scheduler does not count are only capped at
//! the largest request it takes.
//!
//! Differences from the paper: the combined container is bounded by what its node and the queue can
//! ever give, beyond which it would never be granted; a full node is asked for the whole size, not
//! for one unit, which would overload a job that waits for an idle node anyway; whether a job is
//! degraded is decided when its containers are granted, not here.
//!
//! Cost: O(1).

use super::candidate::Candidate;
use crate::{ClusterView, Counted, Demand, Resources, Vcores};

/// The container to ask for on `candidate`, for `processes` of `demand`.
pub(super) fn container(
    demand: &Demand,
    cluster: &ClusterView,
    candidate: &Candidate<'_>,
    processes: u32,
) -> Resources {
    let whole = demand.unit.times(processes);
    let memory_waits = demand.memory_is_explicit && whole.memory > candidate.room.memory;
    let counts_wait = !whole.counts.fit(candidate.room.counts);
    let limit = if !demand.oversubscribe || cluster.fits(whole, candidate.room) {
        whole
    } else if candidate.now > 0 && !memory_waits && !counts_wait {
        candidate.room
    } else {
        candidate.ceiling
    };
    let memory = if demand.memory_is_explicit {
        whole.memory
    } else {
        whole.memory.min(limit.memory)
    };
    let vcores = match cluster.counted {
        // A scheduler that counts memory alone still refuses a request above the maximum in vcores.
        Counted::Memory => whole.vcores.min(cluster.maximum.vcores),
        Counted::MemoryAndVcores => whole.vcores.min(limit.vcores),
    };
    Resources {
        memory,
        vcores: vcores.max(Vcores(1)),
        counts: whole.counts,
    }
}
