//! Which cores of a node are fast and which are slow, as they are given when a session is started: `node3=fast=0-3,slow=4-11`.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// No machine has a core of a higher number.
const HIGHEST: u32 = 8_191;

/// The cores of each class, of one node or of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenCores {
    /// The host, as its node registered it; `None`: every one of which nothing else is said.
    pub node: Option<String>,
    /// Numbers, ascending.
    pub fast: Vec<u32>,
    /// Numbers, ascending; none: all are alike.
    pub slow: Vec<u32>,
}

impl GivenCores {
    /// What is said of a host.
    #[must_use]
    pub fn at<'a>(all: &'a [Self], host: &str) -> Option<&'a Self> {
        let own = all.iter().find(|of| of.node.as_deref() == Some(host));
        own.or_else(|| all.iter().find(|of| of.node.is_none()))
    }
}

/// `[NODE=]fast=LIST,slow=LIST`, where a list goes on after a comma as long as numbers follow.
impl FromStr for GivenCores {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (node, classes) = match text.split_once('=') {
            Some((node, rest)) if !is_class(node) => (Some(node), rest),
            _ => (None, text),
        };
        if node == Some("") {
            return Err(format!("{text:?} names no node before its first ="));
        }
        let (mut fast, mut slow) = (Vec::new(), Vec::new());
        let mut class = None;
        for part in classes.split(',') {
            let list = match part.split_once('=') {
                Some((name, list)) if is_class(name) => {
                    if class == Some(name) || (name == "fast" && !fast.is_empty()) {
                        return Err(format!("{name} cores are given twice"));
                    }
                    class = Some(name);
                    list
                }
                Some((name, _)) => {
                    return Err(format!("{name:?} is no class of cores: fast or slow"));
                }
                None => part,
            };
            let cores = match class {
                Some("fast") => &mut fast,
                Some(_) => &mut slow,
                None => return Err(format!("{part:?} belongs to no class: fast={part}")),
            };
            cores.extend(range(list)?);
        }
        let mut all: Vec<u32> = fast.iter().chain(&slow).copied().collect();
        let count = all.len();
        all.sort_unstable();
        if let Some(twice) = all.windows(2).find(|pair| pair.first() == pair.last()) {
            let core = twice.first().copied().unwrap_or_default();
            return Err(format!("core {core} is given twice"));
        }
        if fast.is_empty() || count == fast.len() {
            let missing = if fast.is_empty() { "fast" } else { "slow" };
            return Err(format!("{missing}=CORES is missing"));
        }
        fast.sort_unstable();
        slow.sort_unstable();
        Ok(Self {
            node: node.map(str::to_owned),
            fast,
            slow,
        })
    }
}

/// Ascending numbers of cores as the kernel writes them, and `--cores` takes them: `0-3,8`.
#[must_use]
pub fn core_list(cores: &[u32]) -> String {
    let runs = cores.chunk_by(|one, next| one.checked_add(1) == Some(*next));
    let shown = runs.filter_map(|run| match run {
        [] => None,
        [one] => Some(one.to_string()),
        [first, .., last] => Some(format!("{first}-{last}")),
    });
    shown.collect::<Vec<_>>().join(",")
}

fn is_class(name: &str) -> bool {
    matches!(name, "fast" | "slow")
}

fn range(text: &str) -> Result<std::ops::RangeInclusive<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse::<u32>().ok().filter(|core| *core <= HIGHEST);
    let range = number(first).zip(number(last));
    let range = range.filter(|(first, last)| first <= last);
    let (first, last) = range.ok_or_else(|| {
        format!("{text:?} names no cores: a number, or a range such as 4-11, up to {HIGHEST}")
    })?;
    Ok(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> GivenCores {
        text.parse().unwrap()
    }

    #[test]
    fn cores_are_given_for_all_nodes_or_for_one() {
        let all = given("fast=0-1,8,slow=2-4,6");
        assert_eq!(all.node, None);
        assert_eq!(
            (all.fast.as_slice(), all.slow.as_slice()),
            (&[0, 1, 8][..], &[2, 3, 4, 6][..])
        );
        let one = given("node3=slow=1,fast=0");
        assert_eq!(one.node.as_deref(), Some("node3"));
        assert_eq!(
            (one.fast.as_slice(), one.slow.as_slice()),
            (&[0][..], &[1][..])
        );
        let both = [all.clone(), one.clone()];
        assert_eq!(GivenCores::at(&both, "node3"), Some(&one));
        assert_eq!(GivenCores::at(&both, "node4"), Some(&all));
        assert_eq!(GivenCores::at(&both[1..], "node4"), None);
    }

    #[test]
    fn cores_are_listed_as_they_are_given() {
        assert_eq!(core_list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(core_list(&[]), "");
    }

    #[test]
    fn what_names_no_cores_is_refused_with_what_is_wrong() {
        let refused = |text: &str| text.parse::<GivenCores>().unwrap_err();
        assert_eq!(refused("fast=0"), "slow=CORES is missing");
        assert_eq!(refused("slow=0-3"), "fast=CORES is missing");
        assert_eq!(refused("fast=0-3,slow=3"), "core 3 is given twice");
        assert_eq!(
            refused("fast=0,slow=1,fast=2"),
            "fast cores are given twice"
        );
        assert_eq!(
            refused("fast=0,quick=1"),
            "\"quick\" is no class of cores: fast or slow"
        );
        assert_eq!(refused("0-3"), "\"0-3\" belongs to no class: fast=0-3");
        for odd in [
            "fast=,slow=1",
            "fast=3-1,slow=5",
            "fast=9999,slow=1",
            "fast=0-x,slow=1",
            "=fast=0,slow=1",
        ] {
            assert!(!refused(odd).is_empty(), "{odd}");
        }
    }
}
