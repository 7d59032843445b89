//! Mode `dist`: the listed nodes, processes spread over them by their room.
//!
//! Source: Xu, Li, Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III-C, Table II; §III-D3, Algorithm 1,
//! `round_robin`, and Algorithm 2, `ALGO_relax_dist`.
//!
//! | paper                   | here                         | unit, shape |
//! |-------------------------|------------------------------|-------------|
//! | hostfile: (node, nproc) | hosts of `demand.listed`     | nodes       |
//! | total_nproc             | `rest.processes`             | processes   |
//! | local_list              | `candidates`, in list order  | nodes       |
//! | node_size               | [`crate::ClusterView::room`] | MiB, vcores |
//!
//! Differences from the paper: every listed node first gets one process, because Table II does not
//! relax the node count, while the paper's loop may leave a full node without any; fewer processes
//! than nodes is an error for the same reason; the combined container of a node is bounded by its
//! ceiling, and so is the number of processes while another node is below its own; the
//! ApplicationMaster waits, not the client before it; degraded is a fact of the grant.
//!
//! Cost: O((nodes + processes) · log nodes).

use super::candidate::{Candidate, slots};
use super::listed;
use super::rest::Rest;
use crate::{NodeShare, Rejection};

pub(super) fn place(rest: &Rest<'_>) -> Result<Vec<NodeShare>, Rejection> {
    let nodes = listed::nodes(rest)?;
    let candidates: Vec<Candidate<'_>> =
        nodes.into_iter().map(|(candidate, _)| candidate).collect();
    spread(rest, &candidates)
}

/// Deals the processes to all of `candidates`, one to each first.
///
/// # Errors
/// There are fewer processes than nodes, or the nodes cannot hold what must not be shared.
pub(super) fn spread<'a>(
    rest: &Rest<'a>,
    candidates: &[Candidate<'a>],
) -> Result<Vec<NodeShare>, Rejection> {
    let nodes = candidates.len();
    if u64::from(rest.processes) < nodes as u64 {
        return Err(Rejection::TooFewProcesses {
            mode: rest.demand.mode,
            processes: rest.processes,
            nodes,
        });
    }
    let slots = slots(candidates);
    if slots < u64::from(rest.processes) {
        return Err(rest.too_few_slots(slots, nodes));
    }
    Ok(rest.deal(candidates, true))
}
