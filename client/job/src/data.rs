//! What a job keeps of its files: results at its end, checkpoints on its way.

use serde::{Deserialize, Serialize};
use storage::Address;

use crate::wire;

/// Files of the containers that become results when every rank has returned 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageOut {
    /// A file or folder in the containers' working directories.
    pub local: String,
    /// The file system of the results.
    pub address: Address,
    /// Where they come to lie; `%h` stands for a node's host, `%p` for its place among the nodes.
    pub path: String,
    /// The option that asked for it, for sentences about it.
    pub option: String,
}

/// How a job is saved on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoints {
    /// Folder in the working directories in which each rank has one of its own, named by its number.
    pub folder: String,
    /// The signal that asks the ranks to write into it.
    pub signal: i32,
    /// From one checkpoint to the next, ms; `None`: only when somebody asks.
    pub interval_ms: Option<u64>,
    /// The file system of the checkpoints.
    pub address: Address,
    /// The folder of all jobs' checkpoints there.
    pub root: String,
    /// The checkpoint that the ranks begin from, and its file system.
    pub restore: Option<(Address, String)>,
}

/// The file in a complete checkpoint that says what it is, JSON.
pub const MANIFEST: &str = "MANIFEST";
/// Bytes of a manifest, at most.
pub const MANIFEST_MAX: usize = 64 << 20;
/// The file in a job's folder of checkpoints by which somebody asks for one.
pub const WANTED: &str = "wanted";
/// The file there that says why the one that was asked for was not taken.
pub const REFUSED: &str = "refused";
/// The file that a rank makes in its folder when all others there are whole.
pub const DONE: &str = "done";

/// What a checkpoint is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// YARN's id of the job.
    pub application: String,
    /// Its number among the job's checkpoints, from 1.
    pub number: u32,
    /// For each rank, its files: path inside the rank's folder, and bytes.
    pub ranks: Vec<Vec<(String, u64)>>,
}

impl Manifest {
    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.ranks.iter().flatten().map(|(_, size)| size).sum()
    }
}

/// The folder of a job's checkpoints.
#[must_use]
pub fn of_job(root: &str, application: &str) -> String {
    format!("{root}/{application}")
}

/// The number of a complete checkpoint in a job's folder, by its name there.
#[must_use]
pub fn number(name: &str) -> Option<u32> {
    let number = name.parse().ok()?;
    (number > 0 && name == u32::to_string(&number)).then_some(number)
}

impl wire::Move {
    /// How to reach the file system of `copy`.
    #[must_use]
    pub fn address(&self, copy: &wire::Copy) -> Option<Address> {
        let index = usize::try_from(copy.address).ok()?;
        serde_json::from_str(self.addresses.get(index)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_called_after_its_number() {
        assert_eq!(number("12"), Some(12));
        for other in ["0", "12.tmp", "012", "+1", "wanted", ""] {
            assert_eq!(number(other), None, "{other}");
        }
    }

    #[test]
    fn an_address_survives_the_wire() {
        let copy = |address| wire::Copy {
            local: "a".into(),
            remote: "/a".into(),
            address,
            size: 0,
        };
        let order = wire::Move {
            addresses: vec![serde_json::to_string(&Address::Shared).unwrap()],
            ..wire::Move::default()
        };
        assert_eq!(order.address(&copy(0)), Some(Address::Shared));
        assert_eq!(order.address(&copy(1)), None);
    }
}
