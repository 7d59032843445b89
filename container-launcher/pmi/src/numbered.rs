//! The key `PMI_process_mapping` for ranks that are numbered in any way over their nodes.

use crate::VALUE_MAX;

/// A block as MPICH reads it: so many neighbouring nodes from `first`, each with so many consecutive
/// ranks.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Block {
    first: u32,
    nodes: u32,
    ranks: u32,
}

/// The value of `PMI_process_mapping` where `nodes[r]` is the node of rank `r`.
///
/// MPICH begins with the first block again when the blocks are used up before the ranks, so that what
/// repeats itself is told once. The answer is empty when the text would not fit into a PMI value:
/// MPICH then finds out by exchanging host names.
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
    let blocks = blocks(nodes);
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

fn blocks(nodes: &[u32]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for run in nodes.chunk_by(|one, next| one == next) {
        let Some(&node) = run.first() else { continue };
        let ranks = u32::try_from(run.len()).unwrap_or(u32::MAX);
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
    use crate::process_mapping;

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

    #[test]
    fn consecutive_ranks_are_told_as_ever() {
        for ranks in [vec![4], vec![2, 2, 2], vec![3, 3, 2], vec![1, 2, 1]] {
            let nodes: Vec<u32> = (0..)
                .zip(&ranks)
                .flat_map(|(node, &count)| std::iter::repeat_n(node, count as usize))
                .collect();
            assert_eq!(mapping_of_nodes(&nodes), process_mapping(&ranks));
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let jagged: Vec<u32> = (0..5000).map(|rank| rank * rank % 7 + rank % 3).collect();
        assert_eq!(mapping_of_nodes(&jagged), "");
    }

    proptest! {
        #[test]
        fn what_is_told_is_what_is_so(nodes in proptest::collection::vec(0u32..4, 1..40)) {
            let text = mapping_of_nodes(&nodes);
            prop_assert!(!text.is_empty());
            prop_assert_eq!(decoded(&text, nodes.len()), nodes);
        }
    }
}
