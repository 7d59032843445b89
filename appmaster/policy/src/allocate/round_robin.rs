//! Deals processes to nodes, one at a time.
//!
//! Source: Xu, Li, Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III-D3, Algorithm 1, `round_robin` and
//! `combine_containers`: the processes of one node share one container.
//!
//! | paper                     | here                        | unit        |
//! |---------------------------|-----------------------------|-------------|
//! | list                      | `candidates`, in list order | nodes       |
//! | np                        | `processes`                 | processes   |
//! | {m, v}                    | `unit`                      | MiB, vcores |
//! | node_size, after requests | [`Preference`]              | MiB, vcores |
//!
//! Each process goes to the node with the most room left: one whose room still holds a whole unit
//! before one whose room does not, then most memory, then most vcores, then the smaller node id.
//! Room counts on below zero, so that an overload spreads evenly.
//!
//! Where the job is to be near its data, a node with room first counts by the bytes it has for each
//! process that it would run, so that processes are dealt in proportion to the data (the rule of
//! greatest averages, as seats are dealt to parties); only nodes that are equal in this are told
//! apart by their room.
//!
//! Differences from the paper: no node goes beyond its ceiling while another candidate is below its
//! own, since such a container would never be granted; where a list has to keep its node count every
//! node first gets one process; packing fills a node's room before it touches the next node, and
//! only the rest is dealt as above.
//!
//! Cost: O((nodes + processes) · log nodes).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::candidate::Candidate;
use crate::Resources;
use crate::quantities::how_often;

/// What comes before the dealing by room left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Every node gets one process, in list order, because all of them have to be used.
    pub one_each_first: bool,
    /// Each room is filled, in list order.
    pub pack: bool,
}

/// Order in the heap: the greatest gets the next process.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Preference {
    fits_room: bool,
    fits_ceiling: bool,
    /// Bytes of near data for each process, with this one.
    near: u64,
    /// MiB, negative when overloaded.
    memory_left: i64,
    vcores_left: i64,
    by_id: Reverse<usize>,
    index: usize,
}

impl Preference {
    fn new(candidate: &Candidate<'_>, index: usize, unit: Resources, dealt: u32) -> Self {
        let whole = unit.times(dealt);
        let left = |room: u64, dealt: u64| signed(room).saturating_sub(signed(dealt));
        Self {
            fits_room: u64::from(dealt) < candidate.now,
            fits_ceiling: u64::from(dealt) < candidate.ever,
            near: match u64::from(dealt) < candidate.now {
                true => how_often(u64::from(dealt).saturating_add(1), candidate.near),
                false => 0,
            },
            memory_left: left(candidate.room.memory.0, whole.memory.0),
            vcores_left: left(candidate.room.vcores.0.into(), whole.vcores.0.into()),
            by_id: Reverse(candidate.by_id),
            index,
        }
    }
}

/// No amount of memory comes near the bound.
fn signed(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

/// Deals `processes` to `candidates`: pairs of index and number, in order of first use. What is
/// beyond every candidate's `most` is not dealt.
pub(super) fn deal(
    candidates: &[Candidate<'_>],
    unit: Resources,
    processes: u32,
    rule: Rule,
) -> Vec<(usize, u32)> {
    let mut counts = vec![0u32; candidates.len()];
    let mut first_use = Vec::new();
    let mut left = processes;
    let mut give = |counts: &mut [u32], index: usize, number: u32| {
        if counts[index] == 0 && number > 0 {
            first_use.push(index);
        }
        counts[index] = counts[index].saturating_add(number);
    };

    if rule.one_each_first {
        for index in 0..candidates.len() {
            let one = left.min(1);
            give(&mut counts, index, one);
            left = left.saturating_sub(one);
        }
    }
    if rule.pack {
        for (index, candidate) in candidates.iter().enumerate() {
            let space = candidate.now.saturating_sub(counts[index].into());
            let number = u32::try_from(space).unwrap_or(u32::MAX).min(left);
            give(&mut counts, index, number);
            left = left.saturating_sub(number);
        }
    }
    let mut heap: BinaryHeap<Preference> = candidates
        .iter()
        .enumerate()
        .filter(|(index, candidate)| u64::from(counts[*index]) < candidate.most)
        .map(|(index, candidate)| Preference::new(candidate, index, unit, counts[index]))
        .collect();
    while left > 0 {
        let Some(mut top) = heap.peek_mut() else {
            break;
        };
        let index = top.index;
        give(&mut counts, index, 1);
        left = left.saturating_sub(1);
        if u64::from(counts[index]) < candidates[index].most {
            *top = Preference::new(&candidates[index], index, unit, counts[index]);
        } else {
            PeekMut::pop(top);
        }
    }
    first_use
        .into_iter()
        .map(|index| (index, counts[index]))
        .collect()
}
