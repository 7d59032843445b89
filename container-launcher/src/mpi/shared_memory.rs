//! Shared memory that MPICH leaves on the node when its ranks are killed or abort.
//!
//! MPICH 5 names a node's segments `/dev/shm/mpich_shm_HASH_NODE` and `mpich_vci_HASH_NODE`, where
//! HASH is the 32-bit FNV-1a of the key-value space's name, in hexadecimal. It removes them in
//! `MPI_Finalize` alone, so a job that ends otherwise would keep memory of the node for good.

use std::path::Path;

/// Where POSIX shared memory lies on Linux.
const FOLDER: &str = "/dev/shm";
const KINDS: [&str; 2] = ["mpich_shm_", "mpich_vci_"];

/// Removes what the ranks of one key-value space have left. Nothing else can have these names: the
/// name of the space is the job's own.
pub(crate) fn remove(kvs_name: &str) {
    remove_from(Path::new(FOLDER), kvs_name);
}

fn remove_from(folder: &Path, kvs_name: &str) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let hash = fnv_1a(kvs_name);
    let prefixes = KINDS.map(|kind| format!("{kind}{hash:x}_"));
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ours = prefixes.iter().any(|prefix| {
            name.strip_prefix(prefix.as_str()).is_some_and(|node| {
                !node.is_empty() && node.bytes().all(|byte| byte.is_ascii_digit())
            })
        });
        if ours {
            // Another launcher of the job on this node may have been faster.
            std::fs::remove_file(entry.path()).ok();
        }
    }
}

const fn fnv_1a(text: &str) -> u32 {
    const BASIS: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    let mut hash = BASIS;
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        hash = (hash ^ *byte as u32).wrapping_mul(PRIME);
        rest = tail;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_that_mpich_gives() {
        // Seen with MPICH 5.0.2.
        assert_eq!(fnv_1a("kvs_0"), 0x7f2d_381a);
    }

    #[test]
    fn only_the_job_s_own_files_go() {
        let folder = tempfile::tempdir().unwrap();
        let name = |name: &str| folder.path().join(name);
        let gone = ["mpich_shm_7f2d381a_0", "mpich_vci_7f2d381a_12"];
        let kept = [
            "mpich_shm_7f2d381b_0",
            "mpich_shm_7f2d381a_",
            "mpich_shm_7f2d381a_0.bak",
            "data",
        ];
        for file in gone.iter().chain(&kept) {
            std::fs::write(name(file), "").unwrap();
        }
        remove_from(folder.path(), "kvs_0");
        assert!(gone.iter().all(|file| !name(file).exists()));
        assert!(kept.iter().all(|file| name(file).exists()));
    }
}
