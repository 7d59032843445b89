//! One file or tree of the cache, on its way into a job's folder.
//!
//! A small file is copied, and its copy proved: what the job writes to it stays in its folder. A large file and a tree
//! are linked to. Before that they are looked at: they are what was brought as long as they have the seal that lies
//! beside them ([`seal`]). A file that has another one is proved again, for other times are not other contents.
//!
//! One that was changed is removed and brought anew, unless a job of this host is linked to it: that job keeps what it
//! has made of it, in each of its launchers, and the new one gets the next number. The link is made, under a hidden
//! name, before the look, so whatever passes is not removed by another launcher in between: removals have a lock and
//! look once more themselves.
//!
//! Caveat: jobs that run at the same time see what each writes to one large file or tree.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
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
/// Changed ones of one name that lie side by side while their jobs run.
const NUMBERS: u32 = 16;
/// Held while a changed one is removed.
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
enum Found {
    Whole,
    Absent,
    Changed,
}

/// What becomes of a changed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retired {
    /// There is room for a new one.
    Room,
    /// This job alone has it, in other containers, and may have changed it itself.
    ThisJobs,
    /// Others have it, or may take it.
    Others,
}

/// By what a job gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
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
    pub(super) way: Way,
    /// Its place in the job's folder.
    link: PathBuf,
    number: u32,
}

impl Entry {
    /// `name` is the file's in the cache; `link` is where the job finds it.
    pub(super) fn new(cache: &Path, name: &str, file: &StagedFile, link: &Path) -> Self {
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
        }
    }

    /// Where it lies in the cache.
    pub(super) fn cached(&self) -> PathBuf {
        let folder = match self.way {
            Way::Tree => ".d",
            Way::Link => ".f",
            Way::Copy => "",
        };
        self.cache.join(match self.number {
            0 => format!("{}{folder}", self.name),
            number => format!("{}.{number}{folder}", self.name),
        })
    }

    /// The file or folder that the job is to have.
    fn contents(&self) -> PathBuf {
        match self.way {
            Way::Tree => self.cached().join(TREE),
            Way::Link => self.cached().join(TREE).join(&self.name),
            Way::Copy => self.cached(),
        }
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
        let (entry, to, its) = (self.clone(), copy.clone(), part.clone());
        let copied = self.on_a_thread(move |broken_off| {
            let _in_use = its;
            entry.copy(&to, broken_off)
        });
        let handed = match copied.await {
            Ok(Found::Whole) => fs::rename(&copy, &self.link)
                .map(|()| Handed::Done)
                .map_err(at(&self.link)),
            Ok(Found::Absent) => Ok(Handed::Absent),
            Ok(Found::Changed) => self.retire().await.map(|_room| Handed::Absent),
            Err(error) => Err(error),
        };
        part.remove().await;
        handed
    }

    async fn hand_link(&mut self) -> Result<Handed, FetchError> {
        let hidden = self.hidden();
        while self.number < NUMBERS {
            make_link(&self.contents(), &hidden).map_err(at(&hidden))?;
            let entry = self.clone();
            let look = self.on_a_thread(move |broken_off| entry.look(broken_off));
            let is_handed = match look.await? {
                Found::Whole => true,
                Found::Absent => return Ok(Handed::Absent),
                Found::Changed => match self.retire().await? {
                    Retired::Room => return Ok(Handed::Absent),
                    Retired::ThisJobs => true,
                    Retired::Others => false,
                },
            };
            match is_handed {
                true => {
                    let renamed = fs::rename(&hidden, &self.link);
                    return renamed.map(|()| Handed::Done).map_err(at(&self.link));
                }
                false => self.number += 1,
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
            .with_file_name(format!(".{}{COMING}", self.shown()))
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
        match fs::symlink_metadata(&cached) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Absent),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        // A tree that cannot be read is not what was unpacked.
        let seal = match self.way {
            Way::Copy => None,
            Way::Link | Way::Tree => seal::of_tree(&cached.join(TREE)).ok(),
        };
        let is_whole = seal.is_some_and(|seal| seal::is_kept(&cached, seal))
            || (self.way != Way::Tree && self.prove(seal, broken_off)?);
        Ok(match is_whole {
            true => Found::Whole,
            false => Found::Changed,
        })
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
    async fn retire(&self) -> Result<Retired, FetchError> {
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
        let lock = File::create(self.cache.join(LOCK))?;
        let _held = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, errno)| errno)?;
        if self.look(broken_off)? == Found::Changed {
            let application = self.cache.ancestors().nth(2).unwrap_or(&self.cache);
            match linked(application, &cached, &self.hidden()) {
                Linked::Nobody => fs::rename(&cached, to)?,
                Linked::ThisJob => return Ok(Retired::ThisJobs),
                Linked::Others => return Ok(Retired::Others),
            }
        }
        Ok(Retired::Room)
    }

    async fn on_a_thread<T: Send + 'static>(
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

/// Makes a link, in place of one that was broken off.
fn make_link(to: &Path, link: &Path) -> io::Result<()> {
    match fs::remove_file(link) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    symlink(to, link)
}
