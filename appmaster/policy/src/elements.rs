//! Whose count of a node's elements holds: what its launcher has found, or what YARN has granted.

use serde::{Deserialize, Serialize};

/// Policies' name of graphics processors.
pub const GPU: &str = "gpu";
/// Policies' name of cards of programmable logic.
pub const FPGA: &str = "fpga";

/// As clusters name their types.
const GPUS: [&str; 2] = ["acc/gpu", crate::GPU];
const FPGAS: [&str; 2] = ["acc/fpga", "yarn.io/fpga"];
/// Before the name of every type that counts accelerators.
const ACCELERATORS: &str = "acc/";

/// What a cluster's type counts, as policies call it; `None`: something else.
#[must_use]
pub fn counted_by(type_name: &str) -> Option<&'static str> {
    if GPUS.contains(&type_name) {
        Some(GPU)
    } else if FPGAS.contains(&type_name) {
        Some(FPGA)
    } else {
        None
    }
}

/// Whether a session takes, with a container, all that its node has free of this type.
#[must_use]
pub fn is_taken_whole(type_name: &str) -> bool {
    counted_by(type_name).is_some() || type_name.starts_with(ACCELERATORS)
}

/// Whose count of a node's elements holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// What the launcher has found.
    Scan,
    /// What YARN has granted.
    Yarn,
    /// The smaller of both, and of what the node's attributes say; where YARN counts none, what the launcher has
    /// found.
    #[default]
    Both,
}

impl std::str::FromStr for Trust {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "scan" => Ok(Self::Scan),
            "yarn" => Ok(Self::Yarn),
            "both" => Ok(Self::Both),
            _ => Err(format!(
                "{text} is none of scan (what launchers find), yarn (what YARN grants) and both (the smaller)"
            )),
        }
    }
}

/// How many elements of one kind a node has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// What the launcher has found and can use.
    pub scanned: u64,
    /// What YARN has granted; `None`: the cluster has no such type.
    pub granted: Option<u64>,
    /// Told by the node's attributes; `None`: they tell nothing of it.
    pub attributed: Option<u64>,
}

impl Count {
    /// How many are used.
    #[must_use]
    pub fn used(self, trust: Trust) -> u64 {
        match trust {
            Trust::Scan => self.scanned,
            Trust::Yarn => self.granted.unwrap_or(0),
            Trust::Both => {
                let others = self.granted.into_iter().chain(self.attributed);
                others.fold(self.scanned, u64::min)
            }
        }
    }

    /// Whether some count is there that is not the launcher's.
    #[must_use]
    pub fn differs(self) -> bool {
        let mut others = self.granted.into_iter().chain(self.attributed);
        others.any(|count| count != self.scanned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_count_is_used_unless_one_of_them_alone_is_believed() {
        let count = |scanned, granted| Count {
            scanned,
            granted,
            attributed: None,
        };
        let used = |scanned, granted, trust| count(scanned, granted).used(trust);
        for (scanned, granted, both, yarn) in [
            (2, Some(1), 1, 1),
            (1, Some(2), 1, 2),
            (0, Some(1), 0, 1),
            (2, Some(0), 0, 0),
            (2, None, 2, 0),
        ] {
            assert_eq!(used(scanned, granted, Trust::Both), both);
            assert_eq!(used(scanned, granted, Trust::Yarn), yarn);
            assert_eq!(used(scanned, granted, Trust::Scan), scanned);
        }
        assert!(count(2, Some(1)).differs() && !count(1, Some(1)).differs());
        assert!(!count(1, None).differs());
        let told = Count {
            attributed: Some(1),
            ..count(3, Some(2))
        };
        assert_eq!((told.used(Trust::Both), told.used(Trust::Yarn)), (1, 2));
        let alike = Count {
            attributed: Some(2),
            ..count(1, None)
        };
        assert!(alike.differs());
    }

    #[test]
    fn types_are_known_by_their_names() {
        assert_eq!(counted_by("yarn.io/gpu"), Some(GPU));
        assert_eq!(counted_by("acc/fpga"), Some(FPGA));
        assert_eq!(counted_by("acc/kmeans-map"), None);
        assert!(is_taken_whole("acc/kmeans-map") && !is_taken_whole("license"));
        assert!("all".parse::<Trust>().unwrap_err().contains("none of scan"));
    }
}
