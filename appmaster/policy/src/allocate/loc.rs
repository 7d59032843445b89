//! Mode `loc`: other nodes than the listed ones, each with a listed number of processes.
//!
//! Source: Xu, Li, Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III-C, Table II; §III-D3, Algorithm 2,
//! `ALGO_relax_loc`.
//!
//! | paper                   | here                          | unit, shape             |
//! |-------------------------|-------------------------------|-------------------------|
//! | nproc of each node      | `counts`                      | processes, by entry     |
//! | cluster_list            | `list`, see `cluster_list`    | nodes, freest first     |
//! | top_node                | `chosen`                      | place in `list`         |
//! | top_size                | [`crate::ClusterView::room`]  | MiB, vcores             |
//! | cluster_list.remove     | `taken`                       | flag by place in `list` |
//!
//! The largest listed number gets the freest node, equal ones in order of the list; a node that
//! holds a number whole now goes before one that does not (where memory alone is counted the freest
//! is that node). The answer stands in order of the list, so that ranks are blocks of the listed
//! sizes in the listed order.
//!
//! Differences from the paper: it gives the freest node to the first entry, which is never better
//! and the same when the file is sorted; nodes that could never hold an entry's processes are passed
//! over where nothing may be shared, and if too few are left that is an error at once; a full node is
//! asked for the whole size, within its ceiling, instead of one unit; the ApplicationMaster waits,
//! not the client before it; degraded is a fact of the grant. On request one rack is preferred, see
//! `rack`.
//!
//! Cost: O((nodes + entries) · log nodes).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::candidate::Candidate;
use super::rest::Rest;
use super::{listed, rack};
use crate::{NodeShare, Rejection};

pub(super) fn place(rest: &Rest<'_>) -> Result<Vec<NodeShare>, Rejection> {
    let counts = listed::counts(rest)?;
    listed::check_sum(rest, counts.iter().copied())?;
    let mut entries: Vec<usize> = (0..counts.len()).collect();
    sort::by_key(&mut entries, |entry| Reverse(counts[*entry]));

    let list = rack::prefer(rest, rest.cluster_list(), |on_rack| {
        hold_now(on_rack, entries.iter().map(|entry| counts[*entry]))
    });
    if list.len() < counts.len() {
        return Err(rest.too_few_nodes(counts.len(), list.len()));
    }
    // A node that the user does not want sorted is taken as it comes, room or not.
    let mut with_room = Opening::new(&list, |c| if rest.demand.sort_nodes { c.now } else { 0 });
    let mut large_enough = Opening::new(&list, |c| c.most);
    let mut taken = vec![false; list.len()];
    let mut chosen = vec![0usize; counts.len()];
    for entry in entries {
        let processes = counts[entry].into();
        let place = with_room
            .first(processes, &taken)
            .or_else(|| large_enough.first(processes, &taken))
            .ok_or_else(|| too_few_large_nodes(rest, &list, &counts, counts[entry]))?;
        taken[place] = true;
        chosen[entry] = place;
    }
    let shares = counts.iter().zip(chosen);
    Ok(shares
        .map(|(processes, place)| rest.share(&list[place], *processes))
        .collect())
}

/// Whether `nodes` hold `counts`, from the largest, whole and now.
fn hold_now(nodes: &[Candidate<'_>], counts: impl ExactSizeIterator<Item = u32>) -> bool {
    let mut rooms: Vec<u64> = nodes.iter().map(|candidate| candidate.now).collect();
    rooms.sort_unstable_by_key(|room| Reverse(*room));
    counts.len() <= rooms.len()
        && rooms
            .iter()
            .zip(counts)
            .all(|(room, k)| u64::from(k) <= *room)
}

fn too_few_large_nodes(
    rest: &Rest<'_>,
    list: &[Candidate<'_>],
    counts: &[u32],
    processes: u32,
) -> Rejection {
    let large = list.iter().filter(|c| c.most >= u64::from(processes));
    let ceilings = list.iter().map(|candidate| candidate.ceiling);
    let wanted = rest.demand.unit.times(processes).counts;
    let largest = ceilings.max_by_key(|ceiling| {
        let of_use = ceiling.counts.with(wanted, u64::min);
        (of_use, ceiling.memory, ceiling.vcores)
    });
    Rejection::TooFewLargeNodes {
        processes,
        unit: rest.demand.unit,
        wanted: counts.iter().filter(|count| **count >= processes).count(),
        usable: large.count(),
        largest: largest.unwrap_or_default(),
    }
}

/// The nodes that hold a number of processes, where the numbers asked for only fall, so that ever
/// more nodes come in.
struct Opening {
    /// What each node holds and its place in the list, the largest last.
    closed: Vec<(u64, usize)>,
    /// Places of the nodes that hold the last number asked for.
    open: BinaryHeap<Reverse<usize>>,
}

impl Opening {
    fn new(list: &[Candidate<'_>], holds: impl Fn(&Candidate<'_>) -> u64) -> Self {
        let places = list.iter().enumerate();
        let mut closed: Vec<(u64, usize)> = places.map(|(place, c)| (holds(c), place)).collect();
        closed.sort_unstable();
        Self {
            closed,
            open: BinaryHeap::new(),
        }
    }

    /// The first node of the list that is not `taken` and holds `processes`.
    fn first(&mut self, processes: u64, taken: &[bool]) -> Option<usize> {
        while let Some((_, place)) = self.closed.pop_if(|(holds, _)| *holds >= processes) {
            self.open.push(Reverse(place));
        }
        while let Some(Reverse(place)) = self.open.pop() {
            if !taken[place] {
                return Some(place);
            }
        }
        None
    }
}
