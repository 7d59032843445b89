//! Mode `all`: any nodes, any number of processes on each, any number of nodes.
//!
//! Source: Xu, Li, Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III-C, Table II; §III-D3, Algorithm 1,
//! `round_robin`, and Algorithm 2, `ALGO_relax_all`.
//!
//! | paper        | here                         | unit        |
//! |--------------|------------------------------|-------------|
//! | total_nproc  | `rest.processes`             | processes   |
//! | {m, v}       | `demand.unit`                | MiB, vcores |
//! | cluster_list | `candidates`, see below      | nodes       |
//! | node_size    | [`crate::ClusterView::room`] | MiB, vcores |
//!
//! Candidates: with oversubscription the nodes whose room holds at least one process, and no other
//! node once there is one; when there is none the job waits, looks again, and goes without it when it has waited for
//! [`GangLimits::ask_full`](crate::gang::GangLimits::ask_full). Without it all nodes,
//! full ones included, and fewer slots than processes in all ceilings together is a rejection at
//! once. Memory that the user gave explicitly cannot be shared, so it takes full nodes too when those
//! with room could never hold the job.
//!
//! Differences from the paper: a combined container is never larger than its node and the queue can
//! ever give, since such a request would wait for ever; nodes without room for one process are left
//! out where sharing is allowed, instead of blocking the job; the ApplicationMaster waits, not the
//! client before it; whether a job is degraded is a fact of what was granted, not of the plan. On
//! request nodes are filled one after the other, or one rack is preferred, see `rack`.
//!
//! Cost: O((nodes + processes) · log nodes).

use super::budget::Budget;
use super::candidate::{Candidate, freest, most_counts, slots};
use super::rack;
use super::rest::Rest;
use crate::{NodeShare, Rejection};

pub(super) fn place(rest: &Rest<'_>) -> Result<Vec<NodeShare>, Rejection> {
    let usable = rest.cluster_list();
    if usable.is_empty() {
        return Err(rest.too_few_nodes(1, 0));
    }
    let wanted = u64::from(rest.processes);
    let most = slots(&usable);
    if most < wanted {
        return Err(rest.too_few_slots(most, usable.len()));
    }
    let mut candidates = usable;
    if rest.demand.oversubscribe {
        let has_room = |candidate: &&Candidate<'_>| candidate.now > 0;
        let free: Vec<Candidate<'_>> = candidates.iter().filter(has_room).copied().collect();
        if free.is_empty() {
            return Err(Rejection::NoRoomNow {
                unit: rest.demand.unit,
                freest: freest(&candidates),
                most: most_counts(&candidates),
            });
        }
        if slots(&free) >= wanted {
            candidates = free;
        }
    }
    if !rest.is_whole()
        && let Some(most) = Budget::new(rest).nodes(rest)?
    {
        candidates.truncate(most);
    }
    let candidates = rack::prefer(rest, candidates, |on_rack| {
        rack::units_now(on_rack) >= wanted
    });
    Ok(rest.deal(&candidates, false))
}
