//! Where the blocks of a file are, and by what its DataNodes are asked for them.

use std::collections::BTreeMap;

use crate::wire::hdfs;

/// An access control list: among the flags, and among the bits of the permission.
const HAS_LIST: u32 = 1;
const OLD_HAS_LIST: u32 = 1 << 12;

/// A machine that stores blocks, as it registered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataNode {
    /// Its name.
    pub host: String,
    /// Its address.
    pub address: String,
}

/// A file, and where each part of it lies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileBlocks {
    /// Absolute.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// ms since 1970; 0: not told.
    pub modified_ms: u64,
    /// It has a writer. Its DataNodes have at least the bytes of its last block that the NameNode lists.
    pub is_open: bool,
    /// In the order of the file.
    pub blocks: Vec<Block>,
}

/// A part of a file, and who stores it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// Where it begins in the file, bytes.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// As the NameNode orders them.
    pub nodes: Vec<DataNode>,
    /// What its DataNodes are asked for it by; `None`: not everybody may read it so, or it is not simply there.
    pub plain: Option<PlainBlock>,
}

/// A block that is as its file has it, and that DataNodes give to whoever asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlainBlock {
    /// Its block pool.
    pub pool: String,
    /// Its number there.
    pub id: u64,
    /// Its generation stamp.
    pub generation: u64,
    /// Where blocks are given, one for each of its DataNodes.
    pub ports: Vec<u16>,
    /// Their racks; an empty one is not known.
    pub racks: Vec<String>,
}

impl FileBlocks {
    /// An entry of the listing of `listed`, which the user who asked may read or not.
    pub(super) fn of(listed: &str, entry: hdfs::HdfsFileStatusProto, is_readable: bool) -> Self {
        let (path, is_open) = (path_of(listed, &entry), is_open(&entry));
        let is_coded = entry.file_encryption_info.is_some() || entry.ec_policy.is_some();
        let located = entry.locations.unwrap_or_default();
        let is_plain = is_readable
            && !is_coded
            && located.file_encryption_info.is_none()
            && located.ec_policy.is_none();
        let blocks = located.blocks.into_iter();
        Self {
            path,
            size: entry.length,
            modified_ms: entry.modification_time.unwrap_or_default(),
            is_open,
            blocks: blocks.map(|block| Block::of(block, is_plain)).collect(),
        }
    }

    /// Bytes by machine of the part of the file that is `length` bytes from `offset` on.
    #[must_use]
    pub fn held(&self, offset: u64, length: u64) -> BTreeMap<&DataNode, u64> {
        let end = offset.saturating_add(length);
        let mut held = BTreeMap::new();
        for block in &self.blocks {
            let begin = block.offset.max(offset);
            let bytes = (block.offset.saturating_add(block.length).min(end)).saturating_sub(begin);
            if bytes > 0 {
                for node in &block.nodes {
                    let sum: &mut u64 = held.entry(node).or_default();
                    *sum = sum.saturating_add(bytes);
                }
            }
        }
        held
    }
}

/// The path of an entry of the listing of `listed`: that of a file which is itself has no name.
pub(super) fn path_of(listed: &str, entry: &hdfs::HdfsFileStatusProto) -> String {
    let name = String::from_utf8_lossy(&entry.path);
    match name.is_empty() {
        true => listed.to_owned(),
        false => format!("{}/{name}", listed.trim_end_matches('/')),
    }
}

/// Whether a file has a writer.
pub(super) fn is_open(entry: &hdfs::HdfsFileStatusProto) -> bool {
    let located = entry.locations.as_ref();
    located.is_some_and(|located| located.under_construction)
}

/// Whether a user is sure to be allowed to read a file: DataNodes do not ask. Which groups a user is in only the
/// NameNode knows.
pub(super) fn is_readable(entry: &hdfs::HdfsFileStatusProto, user: &str) -> bool {
    let allowed = |bits| entry.permission.perm & bits == bits;
    let has_list = entry.flags() & HAS_LIST != 0 || allowed(OLD_HAS_LIST);
    !has_list && (allowed(0o444) || (entry.owner == user && allowed(0o400)))
}

impl Block {
    /// Of a file that is or is not as its blocks are.
    fn of(block: hdfs::LocatedBlockProto, is_plain: bool) -> Self {
        let is_plain = is_plain
            && !block.corrupt
            && block.block_token.identifier.is_empty()
            && block.block_indices.is_none();
        let ports = || {
            let ports = block.locs.iter().map(|place| place.id.xfer_port);
            ports.map(|port| u16::try_from(port).ok()).collect()
        };
        let ports: Option<Vec<u16>> = is_plain.then(ports).flatten();
        let racks = block.locs.iter().map(|place| place.location().to_owned());
        Self {
            offset: block.offset,
            length: block.b.num_bytes(),
            plain: ports.map(|ports| PlainBlock {
                racks: racks.collect(),
                id: block.b.block_id,
                generation: block.b.generation_stamp,
                pool: block.b.pool_id,
                ports,
            }),
            nodes: block.locs.into_iter().map(DataNode::of).collect(),
        }
    }
}

impl DataNode {
    pub(super) fn of(place: hdfs::DatanodeInfoProto) -> Self {
        Self {
            host: place.id.host_name,
            address: place.id.ip_addr,
        }
    }
}
