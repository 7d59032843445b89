//! What a task may have of the disks: where it begins, what is promised to it, and which task is to end.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::statvfs::fstatvfs;
use policy::scratch::{Disk, Exceeded, ScratchLimits, victim};

use super::{Disks, SeenDisk, of, sum};

/// Bytes that a task fetches to a disk whether tasks leave it or not: as much as one keeps in memory.
const LITTLE: u64 = 16 << 20;
/// Bytes that tasks of a container write in a millisecond, at the most that is reckoned with.
pub(super) const WRITTEN: u64 = 2_000_000;

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
    limits: ScratchLimits,
    /// Bytes that it was promised on disks that tasks leave.
    little: Arc<AtomicU64>,
}

impl Room {
    pub(crate) fn new(disks: Disks, limits: ScratchLimits) -> Self {
        Self {
            disks,
            limits,
            little: Arc::default(),
        }
    }

    /// For what nobody needs yet.
    pub(crate) fn ahead(disks: Disks, limits: ScratchLimits) -> Self {
        Self {
            disks,
            limits: limits.ahead(),
            // Of the little that a task has in any case it has nothing.
            little: Arc::new(AtomicU64::new(LITTLE)),
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
        let has_room =
            |limits: ScratchLimits| limits.room(disk, own).saturating_sub(before) >= bytes;
        let anywhere = ScratchLimits {
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
    fn none(&self, seen: &[SeenDisk<'_>]) -> String {
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
        let disks = seen.iter().map(SeenDisk::words);
        let disks = disks.collect::<Vec<_>>().join(", ");
        match limits.fullness {
            None => format!("no disk has room: {disks}"),
            Some(percent) => format!(
                "no disk has room: {disks}, and tasks leave one at {percent} %, before YARN gives its node up"
            ),
        }
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

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        self.kept(self.left);
    }
}

/// As people read it.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_promised_is_not_given_twice() {
        let folder = tempfile::tempdir().unwrap();
        let disks = Disks::at(vec![folder.path().to_owned()]);
        let file = tempfile::tempfile_in(folder.path()).unwrap();
        // Other tests of this process have some there, too, but not that much.
        let room = |most: u64| {
            let limits = ScratchLimits {
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
        let limits = ScratchLimits {
            most: None,
            fullness: Some(0),
        };
        let left = Room::new(disks, limits);
        drop(left.promise(&file, LITTLE - 1).unwrap());
        let refused = left.promise(&file, 2).unwrap_err().to_string();
        assert!(refused.contains("tasks leave one at 0 %"), "{refused}");
    }

    #[test]
    fn what_cannot_be_looked_at_is_not_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let folders = vec![folder.path().join("gone"), folder.path().to_owned()];
        let disks = Disks::at(folders);
        let room = |disks| Room::new(disks, ScratchLimits::default());
        assert_eq!(room(disks).folder(), Ok(folder.path()));
        assert!(room(Disks::at(Vec::new())).folder().is_err());
    }
}
