//! `--local-disk 20g,node3=5g`: what tasks may have of the disks of every node, and of some.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::values::memory;

/// One of the amounts, as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiskAmount {
    /// The node, as typed; none: every node.
    node: Option<String>,
    mib: u64,
}

impl FromStr for DiskAmount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (node, amount) = match text.split_once('=') {
            None => (None, text),
            Some((node, amount)) => (Some(node.trim()), amount),
        };
        let amount = amount.trim();
        let no_amount = || {
            format!("{text:?} is no amount of disk; write for example 20g, or node3=5g for a node")
        };
        if amount.is_empty() || node == Some("") {
            return Err(no_amount());
        }
        Ok(Self {
            node: node.map(str::to_owned),
            mib: memory(amount).map_err(|_why| no_amount())?,
        })
    }
}

/// What was given of all nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocalDisk {
    /// MiB of every node that is not named; 0: as much as there is.
    pub every: u64,
    /// The same of nodes, by the names as typed.
    pub nodes: BTreeMap<String, u64>,
}

impl LocalDisk {
    /// All amounts together.
    ///
    /// # Errors
    ///
    /// What is given twice, in words.
    pub(crate) fn of(given: &[DiskAmount]) -> Result<Self, String> {
        let mut all = Self::default();
        for DiskAmount { node, mib } in given {
            match node {
                None if all.every > 0 => return Err("an amount for every node".to_owned()),
                None => all.every = *mib,
                Some(node) => {
                    if all.nodes.insert(node.clone(), *mib).is_some() {
                        return Err(format!("an amount for {node}"));
                    }
                }
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_for_every_node_and_for_some() {
        let of = |words: &[&str]| {
            let amounts: Result<Vec<DiskAmount>, String> =
                words.iter().map(|word| word.parse()).collect();
            LocalDisk::of(&amounts?)
        };
        assert_eq!(of(&[]), Ok(LocalDisk::default()));
        let all = LocalDisk {
            every: 20 << 10,
            nodes: [("node3".to_owned(), 5 << 10), ("10.0.0.7".to_owned(), 512)].into(),
        };
        assert_eq!(of(&["node3=5G", "20g", "10.0.0.7=512"]), Ok(all));
        assert_eq!(of(&["1g", "2g"]), Err("an amount for every node".into()));
        let twice = of(&["n=1g", "n=1g"]);
        assert_eq!(twice, Err("an amount for n".into()));
        for wrong in [
            "much", "=5g", "node3=", "node3=-1", "node3=5q", "0", "a=b=1g", "",
        ] {
            let why = wrong.parse::<DiskAmount>().unwrap_err();
            let wanted = format!(
                "{wrong:?} is no amount of disk; write for example 20g, or node3=5g for a node"
            );
            assert_eq!(why, wanted);
        }
    }
}
