//! Files on their way to Hadoop's file systems, several at a time.
//!
//! A small file costs little but time: its NameNode is asked five times, and told of the block a few milliseconds after
//! it is written. What is said of files is said in the order in which they were named.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use follow::timing::now_us;
use storage::{CreateOptions, Readers, Storage, StorageError};
use tokio::fs::File;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::failure::Failure;
use crate::system::system;
use job::exit::Exit;

/// What the name of a file ends with while it is written, as Hadoop's shell has it.
pub(super) const COPYING: &str = "._COPYING_";
/// How often a file is replaced that others replace, too.
const TRIES: u32 = 5;
/// Files that are written at once: more do not make a NameNode faster.
const AT_ONCE: usize = 16;
/// For what is left of files whose writing was ended.
const CLEARED: Duration = Duration::from_secs(5);

/// Where the bytes of a file come from.
pub(super) enum PutSource {
    /// A file of this machine.
    Local(PathBuf),
    /// Whatever is written into it until it is closed.
    Pipe(File),
}

/// How a file's writing ended, where nothing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PutEnd {
    Written,
    /// Something has its name.
    IsThere,
}

/// A file that is being written, and what it is called until it is whole.
struct Running {
    storage: Arc<Storage>,
    path: String,
    partial: String,
    end: JoinSet<Result<PutEnd, StorageError>>,
}

/// Files that are being written, the first begun first.
#[derive(Default)]
pub(super) struct Puts {
    running: VecDeque<Running>,
}

impl Puts {
    /// Begins one more.
    pub(super) fn begin(
        &mut self,
        storage: &Arc<Storage>,
        source: PutSource,
        path: &str,
        replaces: bool,
    ) {
        let (process, since) = (std::process::id(), now_us());
        let partial = format!("{path}.{process}-{since}{COPYING}");
        let to = (Arc::clone(storage), path.to_owned(), partial.clone());
        let mut end = JoinSet::new();
        end.spawn(put(to, source, replaces));
        self.running.push_back(Running {
            storage: Arc::clone(storage),
            path: path.to_owned(),
            partial,
            end,
        });
    }

    /// Whether one must have ended before another may begin.
    pub(super) fn are_full(&self) -> bool {
        self.running.len() >= AT_ONCE
    }

    /// Whether what becomes of `path` depends on one: it is written there, or `path` lies below it.
    pub(super) fn reach(&self, path: &str) -> bool {
        let reaches = |written: &str| {
            let rest = path.strip_prefix(written);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.running.iter().any(|running| reaches(&running.path))
    }

    /// Waits for the one that was begun first; its path, and how it ended. `None`: there is none.
    pub(super) async fn next(&mut self) -> Option<Result<(String, PutEnd), Failure>> {
        let first = self.running.front_mut()?;
        let end = first.end.join_next().await?;
        let path = self.running.pop_front()?.path;
        Some(match end {
            Ok(Ok(end)) => Ok((path, end)),
            Ok(Err(error)) => Err(error.into()),
            Err(broken) => Err(system("write files", Exit::Lost)(broken.into()).into()),
        })
    }

    /// Ends all of them where they are, and leaves none of their halves.
    pub(super) async fn end(&mut self) {
        for running in &mut self.running {
            running.end.abort_all();
        }
        let cleared = async {
            for mut running in self.running.drain(..) {
                running.end.shutdown().await;
                let _removed = running.storage.remove(&running.partial).await;
            }
        };
        let _cleared = timeout(CLEARED, cleared).await;
    }
}

/// Writes a file to (its file system, its name, what it is called until it is whole).
async fn put(
    (storage, path, partial): (Arc<Storage>, String, String),
    source: PutSource,
    replaces: bool,
) -> Result<PutEnd, StorageError> {
    match storage.stat(&path).await? {
        Some(there) if there.is_folder || !replaces => return Ok(PutEnd::IsThere),
        Some(_) | None => {}
    }
    // Nobody takes half of it for the file, no other -put writes into it, and the old one stays until the new one is
    // whole.
    let written = async {
        match source {
            PutSource::Local(local) => storage.put(&local, &partial).await?,
            PutSource::Pipe(pipe) => {
                let options = CreateOptions {
                    readers: Readers::ByMask,
                    ..CreateOptions::default()
                };
                let mut to = storage.create(&partial, options).await?;
                to.fill(pipe).await?;
                to.close().await?
            }
        };
        for _ in 0..TRIES {
            if replaces {
                storage.remove(&path).await?;
            }
            match storage.rename(&partial, &path).await {
                // Another one with -f was between.
                Err(StorageError::Exists { .. }) if replaces => {}
                done => return done,
            }
        }
        storage.rename(&partial, &path).await
    };
    match written.await {
        Ok(()) => Ok(PutEnd::Written),
        Err(error) => {
            // It is the first error that counts.
            let _removed = storage.remove(&partial).await.is_ok();
            match error {
                StorageError::Exists { .. } => Ok(PutEnd::IsThere),
                error => Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use storage::{Address, Storage};

    use super::{AT_ONCE, PutEnd, PutSource, Puts};

    #[tokio::test]
    async fn files_end_in_the_order_in_which_they_were_begun() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let storage = Arc::new(Storage::open(&Address::Shared).unwrap());
        fs::write(path("from"), "text").unwrap();
        let mut puts = Puts::default();
        fs::write(path("to3"), "old").unwrap();
        for number in 0..AT_ONCE {
            assert!(!puts.are_full());
            let source = PutSource::Local(path("from").into());
            puts.begin(&storage, source, &path(&format!("to{number}")), false);
        }
        assert!(puts.are_full());
        for (name, reached) in [
            ("to1", true),
            ("to1/below", true),
            ("to", false),
            ("to1x", false),
        ] {
            assert_eq!(puts.reach(&path(name)), reached, "{name}");
        }
        for number in 0..AT_ONCE {
            let end = if number == 3 {
                PutEnd::IsThere
            } else {
                PutEnd::Written
            };
            let name = path(&format!("to{number}"));
            assert_eq!(puts.next().await.unwrap().unwrap(), (name, end));
        }
        assert!(puts.next().await.is_none());
        assert_eq!(fs::read_to_string(path("to3")).unwrap(), "old");
        assert_eq!(fs::read_to_string(path("to15")).unwrap(), "text");
    }

    #[tokio::test]
    async fn what_is_ended_leaves_no_halves() {
        let folder = tempfile::tempdir().unwrap();
        let storage = Arc::new(Storage::open(&Address::Shared).unwrap());
        let (read, mut write) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut write, b"half").unwrap();
        let pipe = fs::File::from(std::os::fd::OwnedFd::from(read));
        let mut puts = Puts::default();
        let path = folder.path().join("to").to_str().unwrap().to_owned();
        puts.begin(&storage, PutSource::Pipe(pipe.into()), &path, false);
        while fs::read_dir(folder.path()).unwrap().count() == 0 {
            tokio::task::yield_now().await;
        }
        puts.end().await;
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        drop(write);
    }
}
