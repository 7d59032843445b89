//! Whose count of a node's elements holds: what its launcher has found, or what YARN has granted.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::schedule::Speed;

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

/// The speed of the cores that a type counts, which sessions with slots on fast and on slow cores take whole; `None`: it counts
/// something else.
#[must_use]
pub fn cores_counted_by(type_name: &str) -> Option<Speed> {
    match type_name {
        "slot/fast" => Some(Speed::Fast),
        "slot/slow" => Some(Speed::Slow),
        _ => None,
    }
}

/// Whether a session takes, with a container, all that its node has free of this type.
#[must_use]
pub fn is_taken_whole(type_name: &str) -> bool {
    counted_by(type_name).is_some() || type_name.starts_with(ACCELERATORS)
}

/// Whether a type counts functions of accelerators, of which each task takes its own.
#[must_use]
pub fn is_function(type_name: &str) -> bool {
    counted_by(type_name).is_none() && type_name.starts_with(ACCELERATORS)
}

/// So many of an element, as a task needs it: `gpu`, `acc/kmeans-map`, `acc/kmeans-map=2`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ElementNeed {
    /// As policies call it.
    pub name: String,
    /// At least 1.
    pub count: u64,
}

impl ElementNeed {
    /// One of it.
    pub fn one(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            count: 1,
        }
    }

    /// Whether each task takes its own of them; else all tasks on a node wait in turn for what is there.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        ![GPU, FPGA].contains(&self.name.as_str())
    }
}

impl fmt::Display for ElementNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => f.write_str(&self.name),
            count => write!(f, "{}={count}", self.name),
        }
    }
}

impl From<ElementNeed> for String {
    fn from(need: ElementNeed) -> Self {
        need.to_string()
    }
}

impl TryFrom<String> for ElementNeed {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl std::str::FromStr for ElementNeed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, count)) = text.rsplit_once('=') else {
            return Ok(Self::one(text));
        };
        let need = Self {
            name: name.to_owned(),
            count: count
                .parse()
                .ok()
                .filter(|count| *count > 0)
                .ok_or_else(|| {
                    format!("{text}: {count:?} is no number of {name}; write {name}=N, N from 1")
                })?,
        };
        match need.is_counted() || need.count == 1 {
            true => Ok(need),
            false => Err(format!(
                "{text}: tasks use each {name} of a node in turn, and need no number of them; write {name}"
            )),
        }
    }
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
    fn a_need_is_a_name_and_a_number_which_devices_that_are_used_in_turn_have_not() {
        let read = |text: &str| text.parse::<ElementNeed>();
        let two = ElementNeed {
            name: "acc/kmeans-map".into(),
            count: 2,
        };
        assert_eq!(read("acc/kmeans-map=2"), Ok(two.clone()));
        assert_eq!(read("acc/kmeans-map=1"), read("acc/kmeans-map"));
        assert!(two.is_counted() && !ElementNeed::one(GPU).is_counted());
        let json = serde_json::to_string(&two).unwrap();
        assert_eq!(json, "\"acc/kmeans-map=2\"");
        assert_eq!(serde_json::from_str::<ElementNeed>(&json).unwrap(), two);
        assert_eq!(read("gpu=1"), read("gpu"));
        for (bad, why) in [
            ("acc/kmeans-map=0", "no number of acc/kmeans-map"),
            ("acc/kmeans-map=", "write acc/kmeans-map=N"),
            ("acc/kmeans-map=-1", "\"-1\" is no number"),
            ("gpu=2", "in turn"),
        ] {
            let said = read(bad).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
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
