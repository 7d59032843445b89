//! Mode `none`: the listed nodes, each with its listed number of processes.
//!
//! Source: Xu, Li, Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III-C, Table II; §III-D3, Algorithm 2,
//! `ALGO_relax_none`.
//!
//! | paper                      | here                             | unit, shape           |
//! |----------------------------|----------------------------------|-----------------------|
//! | hostfile: (node, nproc)    | `demand.listed`                  | hosts; processes each |
//! | {m, v}                     | `demand.unit`                    | MiB, vcores           |
//! | size = {m, v}·nproc        | `unit.times(processes)`          | MiB, vcores           |
//! | node_size                  | [`crate::ClusterView::room`]     | MiB, vcores           |
//! | request_container(node, s) | [`NodeShare::ask`]               | MiB, vcores           |
//!
//! Differences from the paper: a full node is asked for the whole size instead of one unit; no
//! container is larger than its node and the queue can ever give; where nothing may be shared, a
//! listed number beyond that is an error at once; the ApplicationMaster waits, not the client before
//! it; degraded is a fact of the grant.
//!
//! Cost: O(nodes · log nodes).

use super::candidate::Candidate;
use super::listed;
use super::rest::Rest;
use crate::{NodeShare, Rejection};

pub(super) fn place(rest: &Rest<'_>) -> Result<Vec<NodeShare>, Rejection> {
    let nodes = listed::nodes(rest)?;
    listed::check_sum(rest, nodes.iter().map(|(_, processes)| *processes))?;
    let share = |(candidate, processes): &(Candidate<'_>, u32)| {
        if u64::from(*processes) > candidate.most {
            return Err(candidate.too_small(rest.cluster, rest.demand.unit, *processes));
        }
        Ok(rest.share(candidate, *processes))
    };
    nodes.iter().map(share).collect()
}
