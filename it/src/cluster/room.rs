//! Whether the disk has room for a cluster.
//!
//! On a disk that is full stock daemons run and do nothing: DataNodes take no block, NodeManagers no
//! container, and every test would fail for a reason of its own.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use nix::sys::statvfs::statvfs;

/// Some blocks of HDFS (128 MiB each), what nodes localize, and logs.
const WANTED_MIB: u64 = 2048;
const BYTES_PER_MIB: u64 = 1024 * 1024;

/// # Errors
///
/// There is too little room in `folder`.
pub(super) fn check(folder: &Path) -> Result<()> {
    let disk = statvfs(folder).with_context(|| format!("looking at {}", folder.display()))?;
    let free = disk.blocks_available() * disk.fragment_size() / BYTES_PER_MIB;
    is_enough(folder, free)
}

fn is_enough(folder: &Path, free_mib: u64) -> Result<()> {
    ensure!(
        free_mib >= WANTED_MIB,
        "{}: {free_mib} MiB are free on this disk, and a cluster wants {WANTED_MIB}: make room, or name \
         another folder with TMPDIR",
        folder.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_is_told_with_what_there_is() {
        let folder = Path::new("/tmp/cluster");
        is_enough(folder, 2048).unwrap();
        let words = is_enough(folder, 300).unwrap_err().to_string();
        assert!(
            words.starts_with("/tmp/cluster: 300 MiB are free") && words.contains("wants 2048"),
            "{words}"
        );
    }
}
