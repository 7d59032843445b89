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

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::candidate::{Candidate, slots};
use super::rest::Rest;
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
    let chosen = if rest.is_whole() {
        large_enough(&list, wanted, rest.processes.into())
    } else {
        list[..wanted].to_vec()
    };
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

/// The first `wanted` of `list`, of which the last give way to the largest others, one by one, until
/// they may be given `processes`, or are the largest there are. In order of the list.
fn large_enough<'a>(list: &[Candidate<'a>], wanted: usize, processes: u64) -> Vec<Candidate<'a>> {
    // The largest on top; of equals the first of the list.
    let by_size = |place: usize| (list[place].most, Reverse(place));
    let mut others: BinaryHeap<(u64, Reverse<usize>)> = (wanted..list.len()).map(by_size).collect();
    let mut chosen: Vec<usize> = (0..wanted).collect();
    let mut slots = slots(&list[..wanted]);
    for place in chosen.iter_mut().rev() {
        if slots >= processes {
            break;
        }
        let Some(mut top) = others.peek_mut() else {
            break;
        };
        let (most, Reverse(larger)) = *top;
        let own = list[*place].most;
        if most > own {
            // What is dropped may still be larger than what comes next.
            *top = by_size(*place);
            *place = larger;
            slots = slots.saturating_sub(own).saturating_add(most);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|place| list[place]).collect()
}
