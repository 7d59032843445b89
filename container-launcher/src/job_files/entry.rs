//! One file or tree of the cache, on its way into a job's folder.
//!
//! A small file is copied, and its copy proved: what the job writes to it stays in its folder. A large file and a tree
//! are linked to. Before that they are looked at: they are what was brought as long as they have the seal that lies
//! beside them ([`seal`]). A file that has another one is proved again, for other times are not other contents.
//!
//! One that was changed is removed and brought anew, unless a job of this host is linked to it: that job keeps what it
//! has made of it, in each of its launchers, and the new one gets the next number.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use job::wire::StagedFile;
use nix::fcntl::{Flock, FlockArg};
use tokio_util::sync::CancellationToken;

use super::cache::PartialFolder;
use super::linked::{COMING, Linked, linked};
use super::on_a_thread::on_a_thread;
use super::{FetchError, at, proof, seal};

/// What jobs are linked to, in its folder of the cache: an archive, unpacked, or the folder of a large file.
pub(super) const TREE: &str = "files";
/// Files up to this length, bytes, are copied for each job: that takes a millisecond.
const COPIED: u64 = 1 << 20;
/// Bytes that are copied so that jobs which run at the same time have each their own: that takes a quarter of a second.
const COPIED_FOR_ITS_OWN: u64 = 256 << 20;
/// Held while a changed one is removed, and while it is decided who has one.
const LOCK: &str = ".lock";

/// How far it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Handed {
    /// The job has it.
    Done,
    /// It is to be brought first.
    Absent,
}

/// What lies in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CachedFile {
    Whole,
    Absent,
    Changed,
}

/// What becomes of a changed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retired {
    /// There is room for a new one.
    Room,
    /// This job alone has it, in other containers, and may have changed it itself.
    ThisJobs,
    /// Others have it, or may take it.
    Others,
}

/// By what a job gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryWay {
    Copy,
    Link,
    Tree,
}

/// A file or tree, for one job.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) cache: PathBuf,
    /// Of the file in the staging cache.
    pub(super) name: String,
    pub(super) way: EntryWay,
    /// Its place in the job's folder.
    pub(super) link: PathBuf,
    /// Of those side by side.
    pub(super) number: u32,
    /// Bytes that may be copied for one more of them.
    pub(super) may_copy: u64,
}

impl Entry {
    /// `name` is the file's in the cache; `link` is where the job finds it.
    pub(super) fn new(cache: &Path, name: &str, file: &StagedFile, link: &Path) -> Self {
        Self {
            cache: cache.to_owned(),
            name: name.to_owned(),
            way: match file.unpack {
                true => EntryWay::Tree,
                false if file.size <= COPIED => EntryWay::Copy,
                false => EntryWay::Link,
            },
            link: link.to_owned(),
            number: 0,
            may_copy: COPIED_FOR_ITS_OWN,
        }
    }

    /// Where it lies in the cache.
    pub(super) fn cached(&self) -> PathBuf {
        let folder = match self.way {
            EntryWay::Tree => ".d",
            EntryWay::Link => ".f",
            EntryWay::Copy => "",
        };
        self.cache.join(match self.number {
            0 => format!("{}{folder}", self.name),
            number => format!("{}.{number}{folder}", self.name),
        })
    }

    /// The file or folder that the job is to have.
    pub(super) fn contents(&self) -> PathBuf {
        match self.way {
            EntryWay::Tree => self.cached().join(TREE),
            EntryWay::Link => self.cached().join(TREE).join(&self.name),
            EntryWay::Copy => self.cached(),
        }
    }

    /// Hands it to the job, if it lies in the cache as it was brought.
    ///
    /// # Errors
    ///
    /// The file system's; too many of its name were changed.
    pub(super) async fn hand(&mut self) -> Result<Handed, FetchError> {
        match self.way {
            EntryWay::Copy => self.hand_copy().await,
            EntryWay::Link | EntryWay::Tree => self.hand_link().await,
        }
    }

    async fn hand_copy(&self) -> Result<Handed, FetchError> {
        let part = PartialFolder::new(&self.cache).map_err(at(&self.cache))?;
        let copy = part.folder.join(&self.name);
        let (entry, to, its) = (self.clone(), copy.clone(), part.clone());
        let copied = self.on_a_thread(move |broken_off| {
            let _in_use = its;
            entry.copy(&to, broken_off)
        });
        let handed = match copied.await {
            Ok(CachedFile::Whole) => fs::rename(&copy, &self.link)
                .map(|()| Handed::Done)
                .map_err(at(&self.link)),
            Ok(CachedFile::Absent) => Ok(Handed::Absent),
            Ok(CachedFile::Changed) => self.retire().await.map(|_room| Handed::Absent),
            Err(error) => Err(error),
        };
        part.remove().await;
        handed
    }

    /// Its name in the job's folder.
    pub(super) fn shown(&self) -> String {
        let name = self.link.file_name().unwrap_or_default();
        name.display().to_string()
    }

    /// The name of its link until that is the job's.
    pub(super) fn hidden(&self) -> PathBuf {
        self.link
            .with_file_name(format!(".{}{COMING}", self.shown()))
    }

    /// Copies it, and proves the copy.
    fn copy(&self, to: &Path, broken_off: &CancellationToken) -> io::Result<CachedFile> {
        let cached = self.cached();
        match fs::symlink_metadata(&cached) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(CachedFile::Absent),
            Err(error) => return Err(error),
            Ok(metadata) if !metadata.is_file() || metadata.len() > COPIED => {
                return Ok(CachedFile::Changed);
            }
            Ok(_) => {}
        }
        match fs::copy(&cached, to) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(CachedFile::Absent),
            copied => copied?,
        };
        Ok(match proof::prove(to, &self.name, false, broken_off)? {
            Ok(()) => CachedFile::Whole,
            Err(proof::Otherwise(_)) => CachedFile::Changed,
        })
    }

    /// What lies there.
    pub(super) fn look(&self, broken_off: &CancellationToken) -> io::Result<CachedFile> {
        let cached = self.cached();
        match fs::symlink_metadata(&cached) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(CachedFile::Absent),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        let seal = self.seal();
        let is_whole = seal.is_some_and(|seal| seal::is_kept(&cached, seal))
            || (self.way != EntryWay::Tree && self.prove(seal, broken_off)?);
        Ok(match is_whole {
            true => CachedFile::Whole,
            false => CachedFile::Changed,
        })
    }

    /// That of what lies there now. A tree that cannot be read is not what was unpacked.
    fn seal(&self) -> Option<[u8; 32]> {
        match self.way {
            EntryWay::Copy => None,
            EntryWay::Link | EntryWay::Tree => seal::of_tree(&self.cached().join(TREE)).ok(),
        }
    }

    /// Whether it has the seal that lies beside it.
    pub(super) fn is_sealed(&self) -> bool {
        self.seal()
            .is_some_and(|seal| seal::is_kept(&self.cached(), seal))
    }

    /// Makes the digest of a file, and keeps the seal that it had before, for the next who looks.
    fn prove(&self, seal: Option<[u8; 32]>, broken_off: &CancellationToken) -> io::Result<bool> {
        let file = self.contents();
        let Ok(metadata) = fs::symlink_metadata(&file) else {
            return Ok(false);
        };
        let is_whole =
            metadata.is_file() && proof::prove(&file, &self.name, false, broken_off)?.is_ok();
        if let (true, Some(seal)) = (is_whole && seal::is_quiet(&metadata), seal) {
            seal::keep(&self.cached(), seal)?;
        }
        Ok(is_whole)
    }

    /// Removes it, if it is still changed and no job is linked to it.
    pub(super) async fn retire(&self) -> Result<Retired, FetchError> {
        let part = PartialFolder::new(&self.cache).map_err(at(&self.cache))?;
        let (entry, its) = (self.clone(), part.clone());
        let retired = self.on_a_thread(move |broken_off| {
            entry.retire_to(&its.folder.join("changed"), broken_off)
        });
        let retired = retired.await;
        part.remove().await;
        retired
    }

    fn retire_to(&self, to: &Path, broken_off: &CancellationToken) -> io::Result<Retired> {
        let cached = self.cached();
        let _held = self.lock()?;
        if self.look(broken_off)? == CachedFile::Changed {
            match self.linked() {
                Linked::Nobody => fs::rename(&cached, to)?,
                Linked::ThisJob => return Ok(Retired::ThisJobs),
                Linked::Coming | Linked::Others => return Ok(Retired::Others),
            }
        }
        Ok(Retired::Room)
    }

    /// Waits until no other launcher removes one, or decides who has one.
    pub(super) fn lock(&self) -> io::Result<Flock<File>> {
        let lock = File::create(self.cache.join(LOCK))?;
        let held = Flock::lock(lock, FlockArg::LockExclusive);
        held.map_err(|(_, errno)| errno.into())
    }

    /// Which jobs have it, the link of this one aside.
    pub(super) fn linked(&self) -> Linked {
        let application = self.cache.ancestors().nth(2).unwrap_or(&self.cache);
        linked(application, &self.cached(), &self.hidden())
    }

    pub(super) async fn on_a_thread<T: Send + 'static>(
        &self,
        what: impl FnOnce(&CancellationToken) -> io::Result<T> + Send + 'static,
    ) -> Result<T, FetchError> {
        let done = on_a_thread(what)
            .await
            .map_err(|source| FetchError::Thread {
                link: self.shown(),
                source,
            })?;
        done.map_err(at(&self.cached()))
    }
}
