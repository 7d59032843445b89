//! What tells whether a file or a tree was touched since it was proved: what the file system keeps of it.
//!
//! The time of the last change of an inode cannot be set by those who write to a file, so a file that has the same
//! inode, length and times has the same contents. A write within one tick of the file system's clock leaves no
//! trace of its own, so what is sealed has a modification time that lies in the past ([`age`]).

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

/// Where the seal of a tree is kept, in the folder that the tree is in.
const KEPT: &str = "seal";
/// Longer than any tick of a file system's clock.
const PAST: Duration = Duration::from_secs(2);
/// Where Python keeps what it has compiled, whenever a program is run.
pub(super) const COMPILED: &str = "__pycache__";
/// All who may write.
const WRITABLE: u32 = 0o222;

/// What a file system keeps of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileSeal {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds: contents, then inode.
    times: [i64; 4],
}

impl FileSeal {
    /// Of a file or link itself.
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            times: [
                metadata.mtime(),
                metadata.mtime_nsec(),
                metadata.ctime(),
                metadata.ctime_nsec(),
            ],
        }
    }

    fn add_to(self, hash: &mut Sha256) {
        for number in [self.device, self.inode, self.size] {
            hash.update(number.to_le_bytes());
        }
        for number in self.times {
            hash.update(number.to_le_bytes());
        }
    }
}

/// Keeps the seal of a tree in the folder that it is in.
pub(super) fn keep(folder: &Path, seal: [u8; 32]) -> io::Result<()> {
    fs::write(folder.join(KEPT), seal)
}

/// Whether that is the seal which is kept there.
pub(super) fn is_kept(folder: &Path, seal: [u8; 32]) -> bool {
    fs::read(folder.join(KEPT)).is_ok_and(|kept| kept == seal)
}

/// Whether a file was not touched so shortly ago that one more touch would leave no trace.
pub(super) fn is_quiet(metadata: &Metadata) -> bool {
    let touched = metadata.mtime().max(metadata.ctime());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = i64::try_from(now.unwrap_or_default().as_secs()).unwrap_or(i64::MAX);
    let past = i64::try_from(PAST.as_secs()).unwrap_or(i64::MAX);
    touched < now.saturating_sub(past)
}

/// Puts the modification time of a file into the past.
pub(super) fn age(path: &Path) -> io::Result<()> {
    let now = SystemTime::now();
    File::open(path)?.set_modified(now.checked_sub(PAST).unwrap_or(now))
}

/// Takes the permission to write from all files below `folder`; folders stay open to their owner, so that
/// YARN can remove them.
pub(super) fn close(folder: &Path) -> io::Result<()> {
    walk(folder, &mut |path, metadata| {
        let mode = metadata.mode();
        match metadata.is_file() && mode & WRITABLE != 0 {
            true => fs::set_permissions(path, Permissions::from_mode(mode & !WRITABLE)),
            false => Ok(()),
        }
    })
}

/// One number over all that is below `folder`: names, links and [`FileSeal`]s. What Python compiles is left out.
pub(super) fn of_tree(folder: &Path) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    walk(folder, &mut |path, metadata| {
        let name = path.strip_prefix(folder).unwrap_or(path).as_os_str();
        hash.update(u64::try_from(name.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(name.as_bytes());
        match metadata.is_dir() {
            // Its times change with what Python compiles; what is in it is looked at itself.
            true => hash.update(b"folder"),
            false => FileSeal::of(metadata).add_to(&mut hash),
        }
        Ok(())
    })?;
    Ok(hash.finalize().into())
}

/// Everything below a folder in the order of the names; no link is followed.
fn walk(folder: &Path, each: &mut dyn FnMut(&Path, &Metadata) -> io::Result<()>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    sort::by_key(&mut entries, fs::DirEntry::file_name);
    for entry in entries {
        let (path, metadata) = (entry.path(), entry.metadata()?);
        if metadata.is_dir() && entry.file_name() == OsStr::new(COMPILED) {
            continue;
        }
        each(&path, &metadata)?;
        if metadata.is_dir() {
            walk(&path, each)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_below_a_folder_is_seen_and_what_python_compiles_is_none() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        fs::create_dir_all(path("a/b")).unwrap();
        for name in ["a/b/one", "a/two"] {
            fs::write(path(name), "text").unwrap();
            age(&path(name)).unwrap();
        }
        let mut seal = of_tree(top.path()).unwrap();
        let mut is_changed = |by: &str| {
            let now = of_tree(top.path()).unwrap();
            let changed = now != seal;
            seal = now;
            assert!(changed, "{by}");
        };
        fs::write(path("a/two"), "next").unwrap();
        is_changed("as long as before");
        fs::write(path("a/new"), "").unwrap();
        is_changed("one more");
        fs::remove_file(path("a/new")).unwrap();
        is_changed("one less");
        fs::rename(path("a/b"), path("a/c")).unwrap();
        is_changed("another name");
        std::os::unix::fs::symlink("c", path("a/b")).unwrap();
        is_changed("a link");
        let seal = of_tree(top.path()).unwrap();
        fs::create_dir(path("a/__pycache__")).unwrap();
        fs::write(path("a/__pycache__/two.pyc"), "compiled").unwrap();
        assert_eq!(of_tree(top.path()).unwrap(), seal);
    }

    #[test]
    fn nobody_may_write_to_the_files_of_a_closed_tree() {
        let top = tempfile::tempdir().unwrap();
        let (folder, file) = (top.path().join("a"), top.path().join("a/file"));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "text").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o775)).unwrap();
        close(top.path()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&file), 0o555);
        assert_eq!(mode(&folder) & 0o200, 0o200);
    }
}
