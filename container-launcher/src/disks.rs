//! The disks of the container: where tasks spill, and where what they fetch lies.
//!
//! YARN gives a container a folder on each of the node's disks, and removes all of them with it. What tasks keep there
//! are files without a name, which are gone with whoever has them open: how many bytes that are is found among the open
//! files of the launcher and its tasks. How much they may be is decided in [`policy::scratch`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::sys::statvfs::{Statvfs, fstatvfs, statvfs};
use policy::scratch::{Disk, Exceeded, Limits, victim};

use crate::surroundings::Surroundings;

/// Folders of the application, one a disk, as YARN names them.
const LOCAL_DIRS: &str = "LOCAL_DIRS";
/// Bytes of a block, as files count them.
const BLOCK: u64 = 512;
/// Bytes that a task fetches to a disk whether tasks leave it or not: as much as one keeps in memory.
const LITTLE: u64 = 16 << 20;
/// Bytes that tasks of a container write in a millisecond, at the most that is reckoned with.
const WRITTEN: u64 = 2_000_000;

/// Those of a container. Its clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Disks(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// One a disk, the container's working directory first.
    folders: Vec<PathBuf>,
    /// Processes of tasks.
    tasks: Mutex<BTreeSet<i32>>,
    /// Bytes that are on their way here from other launchers.
    promised: AtomicU64,
}

/// A disk that has one of the folders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) disk: Disk,
    /// Its number, as files tell it.
    device: u64,
}

/// Bytes of files without a name, of one process, by the number of the disk.
pub(crate) type Held = BTreeMap<u64, u64>;

/// The process of a task.
#[derive(Debug)]
pub(crate) struct Begun {
    disks: Disks,
    pid: i32,
}

/// Room for what comes from another launcher, as far as that has not come.
#[derive(Debug)]
pub(crate) struct Promise<'a> {
    promised: &'a AtomicU64,
    left: u64,
}

/// What a task may have of the disks.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    disks: Disks,
    limits: Limits,
    /// Bytes that it was promised on disks that tasks leave.
    little: Arc<AtomicU64>,
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
        Self(Arc::new(Shared {
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
    pub(crate) fn look(&self) -> Vec<Seen<'_>> {
        let folders = self.0.folders.iter();
        let seen = folders.filter_map(|folder| {
            Some(Seen {
                folder,
                disk: of(&statvfs(folder).ok()?),
                device: fs::metadata(folder).ok()?.dev(),
            })
        });
        seen.collect()
    }

    /// What each process has: a task's by its number, the launcher's by its own.
    pub(crate) fn held(&self) -> BTreeMap<i32, Held> {
        let devices: BTreeSet<u64> = self.look().iter().map(|seen| seen.device).collect();
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        let mut all: BTreeSet<i32> = self.tasks().clone();
        all.insert(own);
        // A map's output is open in both for a moment.
        let mut counted = BTreeSet::new();
        let held = all.into_iter().map(|pid| {
            let mut held = Held::new();
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
    pub(crate) fn taken(&self, limits: Limits) -> u64 {
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

impl Room {
    pub(crate) fn new(disks: Disks, limits: Limits) -> Self {
        Self {
            disks,
            limits,
            little: Arc::default(),
        }
    }

    /// Whether there is any limit.
    pub(crate) const fn is_limited(&self) -> bool {
        self.limits.most.is_some() || self.limits.fullness.is_some()
    }

    /// When disks are to be looked at again, so that tasks that write as fast as disks do are met in time.
    pub(crate) fn pause(&self) -> Duration {
        let own = self.disks.taken(self.limits);
        let rooms = self.disks.look().into_iter();
        let least = rooms.map(|seen| self.limits.room(seen.disk, own)).min();
        Duration::from_millis(least.unwrap_or_default() / WRITTEN)
    }

    /// The number of the task to end, of these and their processes, and why: a limit is passed, and it frees the
    /// most.
    pub(crate) fn victim(&self, tasks: &[(u32, i32)]) -> Option<(u32, String)> {
        let own = self.disks.taken(self.limits);
        let seen = self.disks.look();
        let passed = seen.iter().filter_map(|seen| {
            let exceeded = self.limits.exceeded(seen.disk, own)?;
            Some((seen, exceeded))
        });
        let held = self.disks.held();
        passed.into_iter().find_map(|(seen, exceeded)| {
            let has = |pid: i32| match (held.get(&pid), exceeded) {
                (None, _) => 0,
                (Some(held), Exceeded::Fullness(_)) => seen.of(held),
                (Some(held), Exceeded::Most(_)) => sum(held.values()),
            };
            let number = victim(tasks.iter().map(|(number, pid)| (*number, has(*pid))))?;
            let pid = tasks.iter().find(|(of, _)| *of == number)?.1;
            let has = megabytes(has(pid));
            let why = match exceeded {
                Exceeded::Fullness(percent) => format!(
                    "{}, and tasks leave a disk at {percent} %, before YARN gives its node up; it had {has} there",
                    seen.words()
                ),
                Exceeded::Most(most) => format!(
                    "tasks of this container have {} on its disks, of {} that --local-disk gives them; it had {has}",
                    megabytes(own),
                    megabytes(most)
                ),
            };
            Some((number, why))
        })
    }

    /// The folder that what comes next is to lie in: where there is the most room. Where there is none it may be
    /// that little comes.
    ///
    /// # Errors
    ///
    /// No disk can be looked at, a sentence.
    pub(crate) fn folder(&self) -> Result<&Path, String> {
        let seen = self.disks.look();
        let disks: Vec<Disk> = seen.iter().map(|seen| seen.disk).collect();
        let chosen = self.limits.choose(&disks, self.disks.taken(self.limits));
        let chosen = chosen.and_then(|index| seen.get(index)).or(seen.first());
        chosen.map(|seen| seen.folder).ok_or_else(|| self.none(&[]))
    }

    /// Room for so many bytes where `file` lies. A task has a little also on a disk that tasks leave, so that those
    /// that need hardly any run on every node.
    ///
    /// # Errors
    ///
    /// There is too little, or it cannot be found out.
    pub(crate) fn promise(&self, file: &File, bytes: u64) -> io::Result<Promise<'_>> {
        let disk = of(&fstatvfs(file).map_err(io::Error::from)?);
        let promised = &self.disks.0.promised;
        // What others were promised is not there yet.
        let before = promised.fetch_add(bytes, Ordering::Relaxed);
        let promise = Promise {
            promised,
            left: bytes,
        };
        let own = self.disks.taken(self.limits);
        let has_room = |limits: Limits| limits.room(disk, own).saturating_sub(before) >= bytes;
        let anywhere = Limits {
            fullness: None,
            ..self.limits
        };
        let is_little = || {
            let before = self.little.fetch_add(bytes, Ordering::Relaxed);
            before.saturating_add(bytes) <= LITTLE
        };
        match has_room(self.limits) || (has_room(anywhere) && is_little()) {
            true => Ok(promise),
            false => Err(io::Error::new(
                io::ErrorKind::StorageFull,
                self.none(&self.disks.look()),
            )),
        }
    }

    /// That there is none, in words.
    fn none(&self, seen: &[Seen<'_>]) -> String {
        let limits = self.limits;
        let taken = self.disks.taken(limits);
        if let Some(most) = limits.most.filter(|most| taken >= *most) {
            return format!(
                "tasks of this container have {} on its disks, of {} that --local-disk gives them",
                megabytes(taken),
                megabytes(most)
            );
        }
        if seen.is_empty() {
            let folders = self.disks.0.folders.iter();
            let folders: Vec<_> = folders.map(|of| of.display().to_string()).collect();
            return format!("the disk of {} cannot be looked at", folders.join(", "));
        }
        let disks = seen.iter().map(Seen::words);
        let disks = disks.collect::<Vec<_>>().join(", ");
        match limits.fullness {
            None => format!("no disk has room: {disks}"),
            Some(percent) => format!(
                "no disk has room: {disks}, and tasks leave one at {percent} %, before YARN gives its node up"
            ),
        }
    }
}

impl Seen<'_> {
    /// What somebody has there.
    pub(crate) fn of(&self, held: &Held) -> u64 {
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

impl Promise<'_> {
    /// So many bytes are there.
    pub(crate) fn kept(&mut self, bytes: u64) {
        let bytes = bytes.min(self.left);
        self.left = self.left.saturating_sub(bytes);
        self.promised.fetch_sub(bytes, Ordering::Relaxed);
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

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        self.kept(self.left);
    }
}

/// As people read it.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
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
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_is_promised_is_not_given_twice() {
        let folder = tempfile::tempdir().unwrap();
        let disks = Disks::at(vec![folder.path().to_owned()]);
        let file = tempfile::tempfile_in(folder.path()).unwrap();
        // Other tests of this process have some there, too, but not that much.
        let room = |most: u64| {
            let limits = Limits {
                most: Some(most),
                fullness: None,
            };
            Room::new(disks.clone(), limits)
        };
        let wide = room(1 << 30);
        assert_eq!(wide.folder(), Ok(folder.path()));
        let mut half = wide.promise(&file, 1 << 29).unwrap();
        let refused = wide.promise(&file, (1 << 29) + 1).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
        half.kept(1 << 28);
        drop(wide.promise(&file, 1 << 29).unwrap());
        drop(half);
        assert_eq!(disks.0.promised.load(Ordering::Relaxed), 0);
        let refused = room(0).promise(&file, 1).unwrap_err().to_string();
        assert!(
            refused.contains("that --local-disk gives them"),
            "{refused}"
        );
        // Whatever else is there, this one is fuller than nothing.
        let limits = Limits {
            most: None,
            fullness: Some(0),
        };
        let left = Room::new(disks, limits);
        drop(left.promise(&file, LITTLE - 1).unwrap());
        let refused = left.promise(&file, 2).unwrap_err().to_string();
        assert!(refused.contains("tasks leave one at 0 %"), "{refused}");
    }

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

    #[test]
    fn what_cannot_be_looked_at_is_not_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let folders = vec![folder.path().join("gone"), folder.path().to_owned()];
        let disks = Disks::at(folders);
        let room = |disks| Room::new(disks, Limits::default());
        assert_eq!(room(disks).folder(), Ok(folder.path()));
        assert!(room(Disks::at(Vec::new())).folder().is_err());
    }
}
