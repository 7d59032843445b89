//! Which rank is on which node, as MPICH reads it from the key `PMI_process_mapping`.

use crate::VALUE_MAX;

/// The value of `PMI_process_mapping` for nodes that hold `ranks[i]` consecutive ranks each.
///
/// MPICH reads `(vector,(first node,nodes,ranks a node),…)`: neighbours with the same number of
/// ranks share one block. Nodes without ranks do not count. The answer is empty when the text
/// would not fit into a PMI value (some hundred changes of the number of ranks): MPICH then finds
/// out by exchanging host names.
#[must_use]
pub fn process_mapping(ranks: &[u32]) -> String {
    let used = ranks.iter().filter(|&&count| count > 0);
    let blocks: Vec<(usize, u32)> = used.copied().enumerate().collect();
    mapping_of_blocks(&blocks)
}

/// The same for ranks that come back to a node: consecutive ranks on each node, as (node, ranks).
/// Nodes are numbered from 0 without gaps.
#[must_use]
pub fn mapping_of_blocks(runs: &[(usize, u32)]) -> String {
    let mut blocks: Vec<(usize, usize, u32)> = Vec::new();
    for &(node, count) in runs {
        match blocks.last_mut() {
            Some((first, nodes, ranks)) if *ranks == count && *first + *nodes == node => {
                *nodes += 1;
            }
            _ => blocks.push((node, 1, count)),
        }
    }
    let mut text = String::from("(vector");
    for (first, nodes, ranks) in blocks {
        text.push_str(&format!(",({first},{nodes},{ranks})"));
        // One byte is left for C's terminator.
        if text.len() + 2 > VALUE_MAX {
            return String::new();
        }
    }
    text.push(')');
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Ranks per node, read as MPICH does.
    fn decoded(text: &str) -> Vec<u32> {
        let inner = text
            .strip_prefix("(vector,(")
            .and_then(|rest| rest.strip_suffix("))"))
            .unwrap();
        let mut ranks = Vec::new();
        for block in inner.split("),(") {
            let numbers: Vec<usize> = block.split(',').map(|n| n.parse().unwrap()).collect();
            let [first, nodes, count] = numbers.try_into().unwrap();
            assert_eq!(first, ranks.len());
            ranks.extend(std::iter::repeat_n(u32::try_from(count).unwrap(), nodes));
        }
        ranks
    }

    #[test]
    fn ranks_may_come_back_to_a_node() {
        assert_eq!(
            mapping_of_blocks(&[(0, 1), (1, 1), (0, 1)]),
            "(vector,(0,2,1),(0,1,1))"
        );
    }

    #[test]
    fn equal_neighbours_share_a_block() {
        assert_eq!(process_mapping(&[4]), "(vector,(0,1,4))");
        assert_eq!(process_mapping(&[2, 2, 2]), "(vector,(0,3,2))");
        assert_eq!(process_mapping(&[3, 3, 2]), "(vector,(0,2,3),(2,1,2))");
    }

    #[test]
    fn a_mapping_that_does_not_fit_is_left_out() {
        let jagged: Vec<u32> = (0..1000).map(|node| 1 + node % 2).collect();
        assert_eq!(process_mapping(&jagged), "");
        assert_eq!(
            process_mapping(&vec![64; 100_000]),
            "(vector,(0,100000,64))"
        );
    }

    proptest! {
        #[test]
        fn the_mapping_decodes_back(ranks in prop::collection::vec(1u32..5, 1..60)) {
            prop_assert_eq!(decoded(&process_mapping(&ranks)), ranks);
        }

        #[test]
        fn the_mapping_always_fits(ranks in prop::collection::vec(any::<u32>(), 0..400)) {
            prop_assert!(process_mapping(&ranks).len() < VALUE_MAX);
        }
    }
}
