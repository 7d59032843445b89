//! Which ranks the processes of a node are.

use serde::{Deserialize, Serialize};

use crate::Rank;

/// How ranks are numbered over the nodes of a job. Where the processes are is decided before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Numbering {
    /// Node after node: the ranks of a node are consecutive.
    #[default]
    Slot,
    /// One rank on each node in turn, as long as it has processes left.
    Node,
    /// The place of each rank's node among the nodes of the job.
    Map(Vec<u32>),
}

impl Numbering {
    /// The ranks of each node, ascending; `processes` are those of each node, in the order of the
    /// nodes. A map that does not fit these numbers is not followed: the ranks are then consecutive.
    ///
    /// ```
    /// use policy::{Numbering, Rank};
    ///
    /// let ranks = |numbering: &Numbering| {
    ///     let ranks = numbering.ranks(&[3, 1, 2]).into_iter();
    ///     let numbers = ranks.map(|of| of.into_iter().map(|Rank(rank)| rank).collect());
    ///     numbers.collect::<Vec<Vec<u32>>>()
    /// };
    /// assert_eq!(ranks(&Numbering::Slot), [vec![0, 1, 2], vec![3], vec![4, 5]]);
    /// assert_eq!(ranks(&Numbering::Node), [vec![0, 3, 5], vec![1], vec![2, 4]]);
    /// let map = Numbering::Map(vec![2, 2, 0, 1, 0, 0]);
    /// assert_eq!(ranks(&map), [vec![2, 4, 5], vec![3], vec![0, 1]]);
    /// ```
    #[must_use]
    pub fn ranks(&self, processes: &[u32]) -> Vec<Vec<Rank>> {
        match self {
            Self::Slot => consecutive(processes),
            Self::Node => in_turn(processes),
            Self::Map(nodes) => mapped(nodes, processes).unwrap_or_else(|| consecutive(processes)),
        }
    }
}

fn consecutive(processes: &[u32]) -> Vec<Vec<Rank>> {
    let mut next = 0u32;
    let ranks = processes.iter().map(|&processes| {
        let first = next;
        next = next.saturating_add(processes);
        (first..next).map(Rank).collect()
    });
    ranks.collect()
}

fn in_turn(processes: &[u32]) -> Vec<Vec<Rank>> {
    let mut ranks = vec![Vec::new(); processes.len()];
    let mut next = 0u32;
    // Those that have processes left, so that one large node costs no more than its own.
    let mut left: Vec<(usize, u32)> = processes.iter().copied().enumerate().collect();
    left.retain(|(_, processes)| *processes > 0);
    while !left.is_empty() {
        for (node, processes) in &mut left {
            if let Some(of_node) = ranks.get_mut(*node) {
                of_node.push(Rank(next));
            }
            next = next.saturating_add(1);
            *processes = processes.saturating_sub(1);
        }
        left.retain(|(_, processes)| *processes > 0);
    }
    ranks
}

fn mapped(nodes: &[u32], processes: &[u32]) -> Option<Vec<Vec<Rank>>> {
    let mut ranks = vec![Vec::new(); processes.len()];
    for (&node, rank) in nodes.iter().zip(0..) {
        ranks.get_mut(usize::try_from(node).ok()?)?.push(Rank(rank));
    }
    let fits = ranks
        .iter()
        .zip(processes)
        .all(|(ranks, &processes)| u32::try_from(ranks.len()) == Ok(processes));
    fits.then_some(ranks)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_map_of_other_numbers_is_not_followed() {
        for map in [vec![], vec![0], vec![0, 0, 0], vec![0, 1, 2], vec![1, 1, 0]] {
            let ranks = Numbering::Map(map.clone()).ranks(&[2, 1]);
            assert_eq!(ranks, Numbering::Slot.ranks(&[2, 1]), "{map:?}");
        }
    }

    proptest! {
        #[test]
        fn every_rank_is_on_one_node_and_nodes_have_their_numbers(
            processes in proptest::collection::vec(0u32..9, 0..9),
        ) {
            for numbering in [Numbering::Slot, Numbering::Node] {
                let ranks = numbering.ranks(&processes);
                let counts: Vec<usize> = ranks.iter().map(Vec::len).collect();
                let wanted: Vec<usize> = processes.iter().map(|&n| n as usize).collect();
                prop_assert_eq!(counts, wanted);
                prop_assert!(ranks.iter().all(|of_node| of_node.is_sorted()));
                let mut all: Vec<u32> = ranks.iter().flatten().map(|rank| rank.0).collect();
                all.sort_unstable();
                prop_assert_eq!(all, (0..processes.iter().sum()).collect::<Vec<u32>>());
            }
        }
    }
}
