//! The disks of the container: where tasks spill, and where what they fetch lies.
//!
//! YARN gives a container a folder on each of the node's disks, and removes all of them with it. What tasks keep there
//! are files without a name, which are gone with whoever has them open: how many bytes that are is found among the open
//! files of the launcher and its tasks. How much they may be is decided in [`policy::scratch`].

mod filled;
mod room;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::statvfs::{Statvfs, statvfs};
use policy::scratch::{Disk, ScratchLimits};

use crate::surroundings::Surroundings;

pub(crate) use filled::{DiskLook, Suspect};
pub(crate) use room::Room;

/// Folders of the application, one a disk, as YARN names them.
const LOCAL_DIRS: &str = "LOCAL_DIRS";
/// Bytes of a block, as files count them.
const BLOCK: u64 = 512;
/// Those of a container. Its clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Disks(Arc<SharedDisks>);

#[derive(Debug)]
struct SharedDisks {
    /// One a disk, the container's working directory first.
    folders: Vec<PathBuf>,
    /// Processes of tasks.
    tasks: Mutex<BTreeSet<i32>>,
    /// Bytes that are on their way here from other launchers.
    promised: AtomicU64,
}

/// A disk that has one of the folders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenDisk<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) disk: Disk,
    /// Its number, as files tell it.
    device: u64,
}

/// Bytes of files without a name, of one process, by the number of the disk.
pub(crate) type UnnamedFiles = BTreeMap<u64, u64>;

/// The process of a task.
#[derive(Debug)]
pub(crate) struct Begun {
    disks: Disks,
    pid: i32,
}

impl Disks {
    /// Those of the container `id`.
    pub(crate) fn of(around: &Surroundings, id: &str) -> Self {
        let mut folders = vec![around.folder.clone()];
        let named = around.text(LOCAL_DIRS).unwrap_or_default().split(',');
        let others = named.filter(|of| !of.is_empty());
        for other in others.map(|of| Path::new(of).join(id)) {
            if other != around.folder && other.is_dir() {
                folders.push(other);
            }
        }
        Self::at(folders)
    }

    /// With these folders.
    pub(crate) fn at(folders: Vec<PathBuf>) -> Self {
        Self(Arc::new(SharedDisks {
            folders,
            tasks: Mutex::default(),
            promised: AtomicU64::new(0),
        }))
    }

    /// The process of a task has begun; dropped: it has ended.
    pub(crate) fn begun(&self, pid: i32) -> Begun {
        self.tasks().insert(pid);
        Begun {
            disks: self.clone(),
            pid,
        }
    }

    /// All of them, as they are now. One that cannot be looked at is left out.
    pub(crate) fn look(&self) -> Vec<SeenDisk<'_>> {
        let folders = self.0.folders.iter();
        let seen = folders.filter_map(|folder| {
            Some(SeenDisk {
                folder,
                disk: of(&statvfs(folder).ok()?),
                device: fs::metadata(folder).ok()?.dev(),
            })
        });
        seen.collect()
    }

    /// What each process has: a task's by its number, the launcher's by its own.
    pub(crate) fn held(&self) -> BTreeMap<i32, UnnamedFiles> {
        let devices: BTreeSet<u64> = sort::set(self.look().iter().map(|seen| seen.device));
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        let mut all: BTreeSet<i32> = self.tasks().clone();
        all.insert(own);
        // A map's output is open in both for a moment.
        let mut counted = BTreeSet::new();
        let held = all.into_iter().map(|pid| {
            let mut held = UnnamedFiles::new();
            for (device, inode, bytes) in nameless(pid) {
                if devices.contains(&device) && counted.insert((device, inode)) {
                    let there = held.entry(device).or_default();
                    *there = there.saturating_add(bytes);
                }
            }
            (pid, held)
        });
        held.collect()
    }

    /// What all have together, where that matters.
    pub(crate) fn taken(&self, limits: ScratchLimits) -> u64 {
        match limits.most {
            None => 0,
            Some(_) => sum(self.held().values().flat_map(BTreeMap::values)),
        }
    }

    fn tasks(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        // Nothing in here panics while it holds the lock.
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeenDisk<'_> {
    /// What somebody has there.
    pub(crate) fn of(&self, held: &UnnamedFiles) -> u64 {
        held.get(&self.device).copied().unwrap_or_default()
    }

    pub(crate) fn words(&self) -> String {
        format!(
            "{} is {} % full",
            self.folder.display(),
            self.disk.percent()
        )
    }
}

impl Begun {
    pub(crate) const fn pid(&self) -> i32 {
        self.pid
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.disks.tasks().remove(&self.pid);
    }
}

fn of(found: &Statvfs) -> Disk {
    let bytes = |blocks: u64| blocks.saturating_mul(found.fragment_size());
    Disk {
        size: bytes(found.blocks()),
        // As YARN reckons, without what root may have.
        free: bytes(found.blocks_available()),
    }
}

/// The open files of a process that have no name: disk, number and bytes of each. A process that is gone has none.
fn nameless(pid: i32) -> Vec<(u64, u64, u64)> {
    let open = fs::read_dir(format!("/proc/{pid}/fd"));
    let open = open.into_iter().flatten().flatten();
    let files = open.filter_map(|entry| fs::metadata(entry.path()).ok());
    let nameless = files.filter(|file| file.is_file() && file.nlink() == 0);
    nameless
        .map(|file| {
            let bytes = file.blocks().saturating_mul(BLOCK);
            (file.dev(), file.ino(), bytes)
        })
        .collect()
}

fn sum<'a>(all: impl Iterator<Item = &'a u64>) -> u64 {
    all.fold(0, |sum, one| sum.saturating_add(*one))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn files_without_a_name_are_counted_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let mut named = File::create(folder.path().join("named")).unwrap();
        let mut nameless = tempfile::tempfile_in(folder.path()).unwrap();
        for file in [&mut named, &mut nameless] {
            file.write_all(&vec![1; 1 << 20]).unwrap();
            file.sync_all().unwrap();
        }
        let own = i32::try_from(std::process::id()).unwrap();
        let all = super::nameless(own);
        let bytes = |file: &File| {
            let file = file.metadata().unwrap();
            let found = all
                .iter()
                .find(|of| (of.0, of.1) == (file.dev(), file.ino()));
            found.map(|(_, _, bytes)| *bytes)
        };
        assert_eq!(bytes(&named), None);
        assert!(bytes(&nameless).unwrap() >= 1 << 20);
        let disks = Disks::at(vec![folder.path().to_owned()]);
        let held = disks.held();
        let there: u64 = held[&own].values().sum();
        assert!(there >= 1 << 20, "{held:?}");
        assert!(super::nameless(i32::MAX).is_empty());
    }
}
