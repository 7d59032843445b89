//! A large file or tree of the cache becomes that of a job, which is linked to it.
//!
//! No other job has it while that one runs: what it writes to it, others do not see. Where others have it, one more with
//! the next number is copied from it, and is there for later jobs as well; files whose blocks the file system can share
//! cost nothing.
//!
//! The link is made, under a hidden name, before the look, so whatever passes is not removed by another launcher in
//! between: removals have a lock and look once more themselves. With the lock it becomes the job's.
//!
//! Caveat: jobs that run at the same time share what has too many bytes to be copied, and what there is no more number
//! for.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::fcntl::Flock;
use tokio_util::sync::CancellationToken;

use super::bring::{closed, named_folder, sealed};
use super::cache::PartialFolder;
use super::copy::{Copied, copy};
use super::entry::{CachedFile, Entry, EntryWay, Handed, Retired, TREE};
use super::linked::Linked;
use super::{FetchError, at, proof};

/// Those of one name that lie side by side while their jobs run.
const NUMBERS: u32 = 16;
/// Looks at one of them each, where others change or remove them meanwhile.
const LOOKS: u32 = 4 * NUMBERS;

/// Whether the job may have the one that it looks at.
enum Seen {
    /// As long as the lock is held.
    Free(Flock<File>),
    /// It is what was brought, and another job has it.
    OfOthers,
    Changed,
    Absent,
}

impl Entry {
    pub(super) async fn hand_link(&mut self) -> Result<Handed, FetchError> {
        let hidden = self.hidden();
        // One that is what was brought, and that another job has.
        let mut whole = None;
        let mut shares = false;
        for _look in 0..LOOKS {
            if self.number >= NUMBERS {
                let (Some(number), false) = (whole, shares) else {
                    break;
                };
                (self.number, shares) = (number, true);
            }
            make_link(&self.contents(), &hidden).map_err(at(&hidden))?;
            let entry = self.clone();
            let see = self.on_a_thread(move |broken_off| entry.see(shares, broken_off));
            let _held = match see.await? {
                Seen::Free(lock) => Some(lock),
                Seen::OfOthers => {
                    whole = whole.or(Some(self.number));
                    self.number += 1;
                    continue;
                }
                Seen::Absent => match whole {
                    Some(number) if !shares => {
                        if !self.copy_from(number).await? {
                            (self.number, shares) = (number, true);
                        }
                        continue;
                    }
                    Some(_) | None => return Ok(Handed::Absent),
                },
                Seen::Changed => match self.retire().await? {
                    Retired::Room if whole.is_none() => return Ok(Handed::Absent),
                    Retired::Room => continue,
                    Retired::ThisJobs => None,
                    Retired::Others => {
                        self.number += 1;
                        continue;
                    }
                },
            };
            let renamed = fs::rename(&hidden, &self.link);
            return renamed.map(|()| Handed::Done).map_err(at(&self.link));
        }
        Err(FetchError::Changed {
            link: self.shown(),
            times: NUMBERS,
        })
    }

    /// What lies there, and who has it.
    fn see(&self, shares: bool, broken_off: &CancellationToken) -> io::Result<Seen> {
        Ok(match self.look(broken_off)? {
            CachedFile::Absent => Seen::Absent,
            CachedFile::Changed => Seen::Changed,
            CachedFile::Whole => {
                let lock = self.lock()?;
                match !shares && self.linked() == Linked::Others {
                    true => Seen::OfOthers,
                    false => Seen::Free(lock),
                }
            }
        })
    }

    /// Makes it of the one with another number; whether it could.
    async fn copy_from(&self, number: u32) -> Result<bool, FetchError> {
        let part = PartialFolder::new(&self.cache).map_err(at(&self.cache))?;
        let (entry, its) = (self.clone(), part.clone());
        let copied = self.on_a_thread(move |broken_off| {
            let from = Self {
                number,
                ..entry.clone()
            };
            let copied = entry.copy_tree(&from, &its.folder.join("copy"), broken_off);
            Ok(copied.unwrap_or_else(|error| {
                let shown = entry.shown();
                crate::say(&format!("cannot copy {shown} for one more job: {error}"));
                false
            }))
        });
        let copied = copied.await;
        part.remove().await;
        copied
    }

    fn copy_tree(
        &self,
        from: &Self,
        ready: &Path,
        broken_off: &CancellationToken,
    ) -> io::Result<bool> {
        fs::create_dir(ready)?;
        let (tree, its) = (ready.join(TREE), from.cached().join(TREE));
        if copy(&its, &tree, self.may_copy, broken_off)? == Copied::TooLarge {
            return Ok(false);
        }
        let is_whole = match self.way {
            // Not changed meanwhile.
            EntryWay::Tree => from.look(broken_off)? == CachedFile::Whole,
            EntryWay::Copy | EntryWay::Link => {
                let file = tree.join(&self.name);
                closed(&file)?;
                from.is_sealed() || proof::prove(&file, &self.name, false, broken_off)?.is_ok()
            }
        };
        if is_whole {
            sealed(ready)?;
            named_folder(ready, &self.cached())?;
        }
        Ok(is_whole)
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
