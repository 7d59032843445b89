//! Mode `loc+dist`: as many nodes as listed, any of them, processes spread by their room.
//!
//! Source: Xu, Li, Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III-C, Table II; §III-D3, Algorithm 1,
//! `round_robin`, and Algorithm 2, `ALGO_relax_loc+dist`.
//!
//! | paper                                   | here                         | unit, shape         |
//! |-----------------------------------------|------------------------------|---------------------|
//! | entries of hostfile, or number of nodes | `wanted`                     | nodes               |
//! | total_nproc                             | `rest.processes`             | processes           |
//! | cluster_list                            | `list`, see `cluster_list`   | nodes, freest first |
//! | local_list                              | `chosen`                     | nodes               |
//! | node_size                               | [`crate::ClusterView::room`] | MiB, vcores         |
//!
//! Differences from the paper: every node first gets one process, because Table II does not relax
//! the node count, and fewer processes than nodes is an error; the combined container of a node is
//! bounded by its ceiling; where nothing may be shared and the freest nodes could never hold the
//! job, the least free of them give way to the largest others, and if even the largest could not
//! hold it, that is an error at once; the ApplicationMaster waits, not the client before it;
//! degraded is a fact of the grant. On request one rack is preferred, see `rack`.
//!
//! Cost: O((nodes + processes) · log nodes).

use std::collections::BinaryHeap;

use super::rest::{Candidate, Rest, slots};
use super::{dist, rack};
use crate::{NodeShare, Rejection};

pub(super) fn place(rest: &Rest<'_>) -> Result<Vec<NodeShare>, Rejection> {
    let wanted = open_nodes(rest)?;
    let list = rack::prefer(rest, rest.cluster_list(), |on_rack| {
        let now = on_rack.iter().take(wanted).map(|candidate| candidate.now);
        on_rack.len() >= wanted
            && now.clone().all(|now| now > 0)
            && now.fold(0, u64::saturating_add) >= u64::from(rest.processes)
    });
    if wanted == 0 || list.len() < wanted {
        return Err(rest.too_few_nodes(wanted, list.len()));
    }
    let (chosen, others) = list.split_at(wanted);
    let mut chosen = chosen.to_vec();
    if rest.is_whole() {
        enlarge(&mut chosen, others, rest.processes.into());
        chosen.sort_by_key(|candidate| rest.list_key(candidate));
    }
    dist::spread(rest, &chosen)
}

/// How many nodes the processes without a container have to use.
fn open_nodes(rest: &Rest<'_>) -> Result<usize, Rejection> {
    let demand = rest.demand;
    let all = match (demand.listed.len(), demand.nodes) {
        (0, None) => return Err(Rejection::NoList { mode: demand.mode }),
        (0, Some(nodes)) => usize::try_from(nodes.get()).unwrap_or(usize::MAX),
        (listed, _) => listed,
    };
    Ok(all.saturating_sub(rest.held.len()))
}

/// Puts the largest of `others` in place of the last of `chosen`, one by one, until these may be
/// given `processes`, or are the largest there are.
fn enlarge<'a>(chosen: &mut [Candidate<'a>], others: &[Candidate<'a>], processes: u64) {
    let mut slots = slots(chosen);
    // The largest; of equals the first of the list.
    let mut heap: BinaryHeap<(u64, std::cmp::Reverse<usize>)> = others
        .iter()
        .enumerate()
        .map(|(place, candidate)| (candidate.most, std::cmp::Reverse(place)))
        .collect();
    for last in chosen.iter_mut().rev() {
        if slots >= processes {
            return;
        }
        let Some((most, place)) = heap.pop() else {
            return;
        };
        if most > last.most {
            slots = slots.saturating_sub(last.most).saturating_add(most);
            *last = others[place.0];
        } else {
            heap.push((most, place));
        }
    }
}
