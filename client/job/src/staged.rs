//! Files that YARN puts into containers.

use serde::{Deserialize, Serialize};

/// A file that YARN puts into a container's working directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    /// Name of the link in the working directory.
    pub link: String,
    /// Where it lies: `hdfs://nameservice-or-host:port/path` or `file:/path`.
    pub url: String,
    /// Length, bytes.
    pub size: u64,
    /// Modification time, ms since 1970, exactly as the file system reports it: YARN compares it.
    pub modified_ms: i64,
    /// How YARN is to treat it.
    pub kind: StagedKind,
}

/// How YARN treats a staged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StagedKind {
    /// Linked as it is.
    File,
    /// Unpacked into a folder with the link's name.
    Archive,
}
