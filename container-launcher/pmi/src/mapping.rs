//! Which rank is on which node, as MPICH reads it from the key `PMI_process_mapping`.
//!
//! The text is `(vector,(first node,nodes,ranks a node),…)`: neighbouring nodes with the same number of
//! consecutive ranks share one block. MPICH begins with the first block again when the blocks are used
//! up before the ranks, so that what repeats itself is told once. Where the text would not fit into a PMI
//! value it is left out, as an empty one: MPICH then finds out by exchanging host names.

use crate::VALUE_MAX;

/// A block as MPICH reads it: so many neighbouring nodes from `first`, each with so many consecutive
/// ranks.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Block {
    first: u32,
    nodes: u32,
    ranks: u32,
}

/// The value for nodes that hold `ranks[i]` consecutive ranks each. Nodes without ranks do not count.
#[must_use]
pub fn process_mapping(ranks: &[u32]) -> String {
    let used = ranks.iter().copied().filter(|&count| count > 0);
    mapping_of_runs((0..).zip(used))
}

/// The value where `nodes[r]` is the node of rank `r`.
///
/// ```
/// use pmi::mapping_of_nodes;
///
/// assert_eq!(mapping_of_nodes(&[0, 0, 1, 1]), "(vector,(0,2,2))");
/// assert_eq!(mapping_of_nodes(&[0, 1, 0, 1, 0, 1]), "(vector,(0,2,1))");
/// assert_eq!(mapping_of_nodes(&[0, 1, 2, 0, 1, 0]), "(vector,(0,3,1),(0,2,1),(0,1,1))");
/// assert_eq!(mapping_of_nodes(&[1, 0, 0]), "(vector,(1,1,1),(0,1,2))");
/// ```
#[must_use]
pub fn mapping_of_nodes(nodes: &[u32]) -> String {
    mapping_of_runs(nodes.iter().map(|&node| (node, 1)))
}

/// The value for runs of consecutive ranks, each as its node and how many ranks it has. Nodes are numbered
/// from 0 without gaps; a run may come back to one.
#[must_use]
pub fn mapping_of_runs(runs: impl IntoIterator<Item = (u32, u32)>) -> String {
    let blocks = blocks(runs);
    let mut text = String::from("(vector");
    for block in blocks.iter().take(period(&blocks)) {
        let Block {
            first,
            nodes,
            ranks,
        } = block;
        text.push_str(&format!(",({first},{nodes},{ranks})"));
        // One byte is left for C's terminator.
        if text.len() + 2 > VALUE_MAX {
            return String::new();
        }
    }
    text.push(')');
    text
}

fn blocks(runs: impl IntoIterator<Item = (u32, u32)>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut runs = runs.into_iter().peekable();
    while let Some((node, mut ranks)) = runs.next() {
        while let Some((_, more)) = runs.next_if(|(next, _)| *next == node) {
            ranks = ranks.saturating_add(more);
        }
        match blocks.last_mut() {
            Some(last)
                if last.ranks == ranks && last.first.checked_add(last.nodes) == Some(node) =>
            {
                last.nodes += 1;
            }
            _ => blocks.push(Block {
                first: node,
                nodes: 1,
                ranks,
            }),
        }
    }
    blocks
}

/// How many blocks there are before they repeat themselves to the end, without a rest.
fn period(blocks: &[Block]) -> usize {
    let all = blocks.len();
    // Each try is as long as the list; what does not repeat soon is told in full.
    const TRIES: usize = 64;
    let tried = (1..=all.min(TRIES)).filter(|length| all.is_multiple_of(*length));
    let repeats = |length: &usize| {
        let shifted = blocks.get(*length..).unwrap_or_default();
        blocks.iter().zip(shifted).all(|(one, other)| one == other)
    };
    tried.into_iter().find(repeats).unwrap_or(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The node of each of so many ranks, read as MPICH does.
    fn decoded(text: &str, ranks: usize) -> Vec<u32> {
        let inner = text
            .strip_prefix("(vector,(")
            .and_then(|rest| rest.strip_suffix("))"))
            .unwrap();
        let mut nodes = Vec::new();
        while nodes.len() < ranks {
            for block in inner.split("),(") {
                let numbers: Vec<u32> = block.split(',').map(|n| n.parse().unwrap()).collect();
                let [first, count, each] = numbers.try_into().unwrap();
                let block = (first..first + count)
                    .flat_map(|node| std::iter::repeat_n(node, each as usize));
                nodes.extend(block);
            }
        }
        nodes.truncate(ranks);
        nodes
    }

    /// The node of each rank, where nodes hold so many consecutive ones.
    fn consecutive(ranks: &[u32]) -> Vec<u32> {
        (0..)
            .zip(ranks)
            .flat_map(|(node, &count)| std::iter::repeat_n(node, count as usize))
            .collect()
    }

    #[test]
    fn ranks_may_come_back_to_a_node() {
        assert_eq!(
            mapping_of_runs([(0, 1), (1, 1), (0, 1)]),
            "(vector,(0,2,1),(0,1,1))"
        );
        assert_eq!(
            mapping_of_runs([(0, 1), (0, 1), (1, 2)]),
            "(vector,(0,2,2))"
        );
    }

    #[test]
    fn equal_neighbours_share_a_block() {
        assert_eq!(process_mapping(&[4]), "(vector,(0,1,4))");
        assert_eq!(process_mapping(&[2, 2, 2]), "(vector,(0,3,2))");
        assert_eq!(process_mapping(&[3, 0, 3, 2]), "(vector,(0,2,3),(2,1,2))");
        for ranks in [vec![4], vec![2, 2, 2], vec![3, 3, 2], vec![1, 2, 1]] {
            assert_eq!(
                mapping_of_nodes(&consecutive(&ranks)),
                process_mapping(&ranks)
            );
        }
    }

    #[test]
    fn a_mapping_that_does_not_fit_is_left_out() {
        let jagged: Vec<u32> = (0..1000).map(|node| 1 + node % 2).collect();
        assert_eq!(process_mapping(&jagged), "");
        assert_eq!(
            process_mapping(&vec![64; 100_000]),
            "(vector,(0,100000,64))"
        );
        let jagged: Vec<u32> = (0..5000).map(|rank| rank * rank % 7 + rank % 3).collect();
        assert_eq!(mapping_of_nodes(&jagged), "");
    }

    proptest! {
        #[test]
        fn what_is_told_is_what_is_so(nodes in prop::collection::vec(0u32..4, 1..40)) {
            let text = mapping_of_nodes(&nodes);
            prop_assert!(!text.is_empty());
            prop_assert_eq!(decoded(&text, nodes.len()), nodes);
        }

        #[test]
        fn the_mapping_decodes_back(ranks in prop::collection::vec(1u32..5, 1..60)) {
            let nodes = consecutive(&ranks);
            prop_assert_eq!(decoded(&process_mapping(&ranks), nodes.len()), nodes);
        }

        #[test]
        fn the_mapping_always_fits(ranks in prop::collection::vec(any::<u32>(), 0..400)) {
            prop_assert!(process_mapping(&ranks).len() < VALUE_MAX);
        }
    }
}
