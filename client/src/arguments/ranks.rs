//! Which ranks the processes of a node are, as the user says it.

use job::BindUnit;

use super::binding::unit;
use crate::hostfile::PROCESSES_MAX;

/// `-rank-by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankBy {
    /// Node after node.
    Slot,
    /// One on each node in turn.
    Node,
    /// In the order of a node's processors: node after node, where they are mapped so.
    Unit(BindUnit),
}

/// The words of Open MPI, and those of srun's `--distribution`.
pub(super) fn rank_by(text: &str) -> Result<RankBy, String> {
    let of_nodes = text.split(':').next().unwrap_or(text);
    match of_nodes {
        "slot" | "block" | "fill" => Ok(RankBy::Slot),
        "node" | "cyclic" => Ok(RankBy::Node),
        word => match unit(word).filter(|_| word == text) {
            Some(unit) => Ok(RankBy::Unit(unit)),
            None => Err(format!(
                "{text}: ranks are numbered by slot (or block: node after node) or by node (or \
                 cyclic: one on each in turn); any other order is -rankmap"
            )),
        },
    }
}

/// `-rankmap`: the number of each rank's node, from 0; the list begins again where there are more ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankMap(pub Vec<u32>);

/// `0,0,1,1`, and with blocks of first node, number of nodes and ranks on each: `(0,2,2)`; both as
/// Hydra has them, `(vector,…)` around it or not.
pub(super) fn rank_map(text: &str) -> Result<RankMap, String> {
    let wrong =
        || format!("{text} is no map of ranks; write for example 0,1,0,1 or (0,2,1),(0,2,1)");
    let inner = text.strip_prefix("(vector,");
    let inner = match inner {
        Some(inner) => inner.strip_suffix(')').ok_or_else(wrong)?,
        None => text,
    };
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_no_number| wrong());
    let mut nodes = Vec::new();
    let mut rest = inner;
    while !rest.is_empty() {
        let after = match rest.strip_prefix('(') {
            Some(block) => {
                let (block, after) = block.split_once(')').ok_or_else(wrong)?;
                let numbers: Vec<u32> = block.split(',').map(number).collect::<Result<_, _>>()?;
                let [first, count, each] = numbers[..] else {
                    return Err(wrong());
                };
                let ranks = u64::from(count) * u64::from(each);
                let fits = nodes.len() as u64 + ranks <= u64::from(PROCESSES_MAX);
                let last = first
                    .checked_add(count)
                    .filter(|_| fits)
                    .ok_or_else(wrong)?;
                for node in first..last {
                    nodes.extend(std::iter::repeat_n(node, each as usize));
                }
                after
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let (one, after) = rest.split_at(end);
                nodes.push(number(one)?);
                after
            }
        };
        rest = match after.strip_prefix(',') {
            Some("") => return Err(wrong()),
            Some(more) => more,
            None if after.is_empty() => after,
            None => return Err(wrong()),
        };
    }
    match nodes.is_empty() {
        true => Err(wrong()),
        false => Ok(RankMap(nodes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_have_the_words_of_two_launchers() {
        for word in ["slot", "block", "fill", "block:cyclic"] {
            assert_eq!(rank_by(word), Ok(RankBy::Slot), "{word}");
        }
        for word in ["node", "cyclic", "cyclic:block"] {
            assert_eq!(rank_by(word), Ok(RankBy::Node), "{word}");
        }
        assert_eq!(rank_by("core"), Ok(RankBy::Unit(BindUnit::Core)));
        for word in ["plane=4", "core:x", "span", ""] {
            assert!(rank_by(word).unwrap_err().contains("-rankmap"), "{word}");
        }
    }

    #[test]
    fn maps_are_written_as_for_hydra() {
        for (text, nodes) in [
            ("0", &[0][..]),
            ("0,1,0,1", &[0, 1, 0, 1]),
            ("(0,2,2)", &[0, 0, 1, 1]),
            ("(vector,(0,2,1),(0,2,1))", &[0, 1, 0, 1]),
            ("(vector,1,0)", &[1, 0]),
            ("1,(0,2,1),1", &[1, 0, 1, 1]),
        ] {
            assert_eq!(rank_map(text), Ok(RankMap(nodes.to_vec())), "{text}");
        }
        for text in [
            "",
            "a",
            "0,",
            ",0",
            "(0,2)",
            "(0,2,2",
            "0 1",
            "(0,1,1)0",
            "-1",
            "(vector,0",
            "(0,4000000000,4000000000)",
            "(4294967295,2,1)",
            "(0,0,0)",
        ] {
            assert!(rank_map(text).is_err(), "{text}");
        }
    }
}
