//! How many bytes of some files each machine has.

use std::collections::BTreeMap;

use super::blocks::DataNode;
use crate::wire::hdfs;

/// Where files lie.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locations {
    /// Files that were looked at.
    pub files: usize,
    /// Their bytes, each counted once.
    pub bytes: u64,
    /// Bytes of them that each machine has.
    pub held: BTreeMap<DataNode, u64>,
    /// Not all were looked at, since there are too many.
    pub is_partial: bool,
}

impl Locations {
    pub(super) fn add(&mut self, file: hdfs::HdfsFileStatusProto) {
        self.files += 1;
        for block in file.locations.unwrap_or_default().blocks {
            let bytes = block.b.num_bytes();
            self.bytes = self.bytes.saturating_add(bytes);
            for place in block.locs {
                let held = self.held.entry(DataNode::of(place)).or_default();
                *held = held.saturating_add(bytes);
            }
        }
    }
}
