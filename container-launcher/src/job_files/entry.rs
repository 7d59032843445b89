//! One file or tree of the cache, on its way into a job's folder.
//!
//! A small file is copied, and its copy proved: what the job writes to it stays in its folder. What is larger is linked
//! to, and so is a tree. Before that it is looked at:
//!
//! - a file is what this process has proved as long as its [`FileSeal`] is the same; else its digest is made again;
//! - a tree is what was unpacked as long as it has the seal that lies beside it.
//!
//! One that was changed is removed and brought anew, unless a job of this host is linked to it: that job keeps what it
//! has made of it, and the new one gets the next number. The link is made, under a hidden name, before the look, so
//! whatever passes is not removed by another launcher in between: removals have a lock and look once more themselves.
//!
//! Caveat: jobs that run at the same time see what each writes to one large file or tree.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use job::wire::StagedFile;
use nix::fcntl::{Flock, FlockArg};
use tokio_util::sync::CancellationToken;

use super::cache::PartialFolder;
use super::seal::{self, FileSeal};
use super::{FOLDER, FetchError, at, proof};

/// Where an archive is unpacked, in its folder.
pub(super) const TREE: &str = "files";
/// [`seal::of_tree`] of it, beside it.
pub(super) const SEAL: &str = "seal";
/// Files up to this length, bytes, are copied for each job: that takes a millisecond.
const COPIED: u64 = 1 << 20;
/// Changed ones of one name that lie side by side while their jobs run.
const NUMBERS: u32 = 16;
/// Held while a changed one is removed.
const LOCK: &str = ".lock";

/// What this process has proved, and what it looked like then.
#[derive(Debug, Default)]
pub(crate) struct Proved(Mutex<BTreeMap<PathBuf, FileSeal>>);

impl Proved {
    fn has(&self, path: &Path, seal: FileSeal) -> bool {
        let proved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        proved.get(path) == Some(&seal)
    }

    fn keep(&self, path: &Path, seal: FileSeal) {
        let mut proved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        proved.insert(path.to_owned(), seal);
    }
}

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
enum Found {
    Whole,
    Absent,
    Changed,
}

/// By what a job gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Copy,
    Link,
    Tree,
}

/// A file or tree, for one job.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    cache: PathBuf,
    name: String,
    way: Way,
    /// Its place in the job's folder.
    link: PathBuf,
    number: u32,
    proved: Arc<Proved>,
}

impl Entry {
    /// `name` is the file's in the cache; `link` is where the job finds it.
    pub(super) fn new(
        cache: &Path,
        name: &str,
        file: &StagedFile,
        link: &Path,
        proved: &Arc<Proved>,
    ) -> Self {
        Self {
            cache: cache.to_owned(),
            name: name.to_owned(),
            way: match file.unpack {
                true => Way::Tree,
                false if file.size <= COPIED => Way::Copy,
                false => Way::Link,
            },
            link: link.to_owned(),
            number: 0,
            proved: Arc::clone(proved),
        }
    }

    /// Where it lies in the cache.
    pub(super) fn cached(&self) -> PathBuf {
        let folder = match self.way {
            Way::Tree => ".d",
            Way::Copy | Way::Link => "",
        };
        self.cache.join(match self.number {
            0 => format!("{}{folder}", self.name),
            number => format!("{}.{number}{folder}", self.name),
        })
    }

    /// Hands it to the job, if it lies in the cache as it was brought.
    ///
    /// # Errors
    ///
    /// The file system's; too many of its name were changed.
    pub(super) async fn hand(&mut self) -> Result<Handed, FetchError> {
        match self.way {
            Way::Copy => self.hand_copy().await,
            Way::Link | Way::Tree => self.hand_link().await,
        }
    }

    async fn hand_copy(&self) -> Result<Handed, FetchError> {
        let part = PartialFolder::new(&self.cache).map_err(at(&self.cache))?;
        let copy = part.folder.join(&self.name);
        let (entry, to) = (self.clone(), copy.clone());
        let copied = self.on_a_thread(move |broken_off| entry.copy(&to, broken_off));
        let handed = match copied.await {
            Ok(Found::Whole) => fs::rename(&copy, &self.link)
                .map(|()| Handed::Done)
                .map_err(at(&self.link)),
            Ok(Found::Absent) => Ok(Handed::Absent),
            // Nobody else uses it.
            Ok(Found::Changed) => match fs::remove_file(self.cached()) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(at(&self.cached())(error)),
                Ok(()) | Err(_) => Ok(Handed::Absent),
            },
            Err(error) => Err(error),
        };
        part.remove().await;
        handed
    }

    async fn hand_link(&mut self) -> Result<Handed, FetchError> {
        let hidden = self.hidden();
        while self.number < NUMBERS {
            let cached = self.cached();
            let leads_to = match self.way {
                Way::Tree => cached.join(TREE),
                Way::Copy | Way::Link => cached,
            };
            linked(&leads_to, &hidden).map_err(at(&hidden))?;
            let entry = self.clone();
            let look = self.on_a_thread(move |broken_off| entry.look(broken_off));
            match look.await? {
                Found::Whole => {
                    return match fs::rename(&hidden, &self.link) {
                        Ok(()) => Ok(Handed::Done),
                        Err(error) => Err(at(&self.link)(error)),
                    };
                }
                Found::Absent => return Ok(Handed::Absent),
                Found::Changed if self.retire().await? => return Ok(Handed::Absent),
                Found::Changed => self.number += 1,
            }
        }
        Err(FetchError::Changed {
            link: self.shown(),
            times: NUMBERS,
        })
    }

    /// Its name in the job's folder.
    fn shown(&self) -> String {
        let name = self.link.file_name().unwrap_or_default();
        name.display().to_string()
    }

    /// The name of its link until that is the job's.
    fn hidden(&self) -> PathBuf {
        self.link
            .with_file_name(format!(".{}.coming", self.shown()))
    }

    /// Copies it, and proves the copy.
    fn copy(&self, to: &Path, broken_off: &CancellationToken) -> io::Result<Found> {
        let cached = self.cached();
        match fs::symlink_metadata(&cached) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Absent),
            Err(error) => return Err(error),
            Ok(metadata) if !metadata.is_file() || metadata.len() > COPIED => {
                return Ok(Found::Changed);
            }
            Ok(_) => {}
        }
        match fs::copy(&cached, to) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Absent),
            copied => copied?,
        };
        Ok(match proof::prove(to, &self.name, false, broken_off)? {
            Ok(()) => Found::Whole,
            Err(proof::Otherwise(_)) => Found::Changed,
        })
    }

    /// What lies there.
    fn look(&self, broken_off: &CancellationToken) -> io::Result<Found> {
        let cached = self.cached();
        let metadata = match fs::symlink_metadata(&cached) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Absent),
            metadata => metadata?,
        };
        let is_whole = match self.way {
            Way::Tree => is_sealed(&cached),
            Way::Copy | Way::Link => {
                let seal = FileSeal::of(&metadata);
                metadata.is_file()
                    && (self.proved.has(&cached, seal) || self.prove(&cached, seal, broken_off)?)
            }
        };
        Ok(match is_whole {
            true => Found::Whole,
            false => Found::Changed,
        })
    }

    /// Makes the digest of a file, and remembers what looked as `seal` before.
    fn prove(
        &self,
        cached: &Path,
        seal: FileSeal,
        broken_off: &CancellationToken,
    ) -> io::Result<bool> {
        let is_whole = proof::prove(cached, &self.name, false, broken_off)?.is_ok();
        if is_whole {
            self.proved.keep(cached, seal);
        }
        Ok(is_whole)
    }

    /// Removes it, if it is still changed and no other job is linked to it; whether there is room now.
    async fn retire(&self) -> Result<bool, FetchError> {
        let part = PartialFolder::new(&self.cache).map_err(at(&self.cache))?;
        let (entry, to) = (self.clone(), part.folder.join("changed"));
        let retired = self.on_a_thread(move |broken_off| entry.retire_to(&to, broken_off));
        let retired = retired.await;
        part.remove().await;
        retired
    }

    fn retire_to(&self, to: &Path, broken_off: &CancellationToken) -> io::Result<bool> {
        let cached = self.cached();
        let lock = File::create(self.cache.join(LOCK))?;
        let _held = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, errno)| errno)?;
        if self.look(broken_off)? == Found::Changed {
            if self.is_linked(&cached) {
                return Ok(false);
            }
            fs::rename(&cached, to)?;
        }
        Ok(true)
    }

    /// Whether a job of this host has it, this one aside.
    fn is_linked(&self, cached: &Path) -> bool {
        let application = self.cache.ancestors().nth(2).unwrap_or(&self.cache);
        let own = self.hidden();
        let jobs = folders(application).flat_map(|container| {
            // The job that the application was started for has the container's own folder.
            folders(&container.join(FOLDER)).chain([container])
        });
        jobs.flat_map(|job| entries(&job)).any(|link| {
            link != own && fs::read_link(&link).is_ok_and(|there| there.starts_with(cached))
        })
    }

    async fn on_a_thread<T: Send + 'static>(
        &self,
        what: impl FnOnce(&CancellationToken) -> io::Result<T> + Send + 'static,
    ) -> Result<T, FetchError> {
        let broken_off = CancellationToken::new();
        // Cancelled when nobody waits any more.
        let _waits = broken_off.clone().drop_guard();
        let done = tokio::task::spawn_blocking(move || what(&broken_off)).await;
        let done = done.map_err(|_panicked| FetchError::BrokenOff { link: self.shown() })?;
        done.map_err(at(&self.cached()))
    }
}

fn is_sealed(folder: &Path) -> bool {
    // A tree that cannot be read is not what was unpacked.
    let seal = seal::of_tree(&folder.join(TREE));
    seal.is_ok_and(|seal| fs::read(folder.join(SEAL)).is_ok_and(|kept| kept == seal))
}

/// Makes a link, in place of one that was broken off.
fn linked(to: &Path, link: &Path) -> io::Result<()> {
    match fs::remove_file(link) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    symlink(to, link)
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// Folders in a folder, links aside.
fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    entries(folder).filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()))
}
