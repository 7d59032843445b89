//! A folder that is mounted on every node under the same path.
//!
//! What is staged there is readable by everybody: NodeManagers run as a user of their own. Whether
//! the folder is indeed mounted on the nodes cannot be seen from here.

use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use nix::errno::Errno;
use nix::unistd::{Uid, User};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use super::{ANSWER, FileSystem, MARK, PIECE, Published, Status};
use crate::stage::error::StageError;

/// Folders are open to all, but only ours to write in.
const FOLDER_MODE: u32 = 0o755;
/// Files too.
const FILE_MODE: u32 = 0o755;

/// A shared `file:` root.
#[derive(Debug)]
pub struct Shared {
    root: String,
    user: String,
}

impl Shared {
    /// The given root, an absolute path.
    ///
    /// # Errors
    ///
    /// [`StageError::NotReadableByNodes`] when a folder on the way is closed to others.
    pub fn open(root: &str, user: &str) -> Result<Self, StageError> {
        let shared = Self {
            root: root.into(),
            user: user.into(),
        };
        shared.check_open(Path::new(root))?;
        Ok(shared)
    }

    /// Every folder from the top down to `path` may be entered by others, as far as it exists.
    fn check_open(&self, path: &Path) -> Result<(), StageError> {
        let mut folders: Vec<&Path> = path.ancestors().collect();
        folders.reverse();
        for folder in folders {
            let metadata = match fs::metadata(folder) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(self.failed("looking at", folder, error)),
            };
            let mode = metadata.mode() & 0o7777;
            if !metadata.is_dir() {
                return Err(StageError::BadRoot {
                    root: self.root.clone(),
                    why: format!("{} is not a folder", folder.display()),
                });
            }
            if mode & 0o1002 == 0o002 {
                return Err(StageError::BadRoot {
                    root: self.root.clone(),
                    why: format!(
                        "anybody may put something else in the place of what lies in {} (its mode is \
                         {mode:04o}); try: chmod +t {}; or give --staging another folder",
                        folder.display(),
                        folder.display()
                    ),
                });
            }
            if mode & 0o001 == 0 {
                return Err(StageError::NotReadableByNodes {
                    folder: folder.to_path_buf(),
                    mode,
                    root: self.root.clone(),
                });
            }
        }
        Ok(())
    }

    fn failed(&self, doing: &'static str, path: &Path, source: io::Error) -> StageError {
        let sentence = format!("{doing} {}", path.display());
        let said = source.to_string();
        let code = source.raw_os_error().map(Errno::from_raw);
        match code {
            Some(Errno::EACCES | Errno::EPERM | Errno::EROFS) => StageError::Permission {
                user: self.user.clone(),
                doing: sentence,
                said,
            },
            Some(Errno::ENOSPC) => StageError::Full {
                doing: sentence,
                said,
            },
            Some(Errno::EDQUOT) => StageError::Quota {
                doing: sentence,
                said,
            },
            _ => StageError::Local {
                doing,
                path: path.to_path_buf(),
                source,
            },
        }
    }

    /// Runs what may block on a server that is gone.
    async fn within<T: Send + 'static>(
        &self,
        doing: &'static str,
        path: &Path,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, StageError> {
        match timeout(ANSWER, tokio::task::spawn_blocking(work)).await {
            Ok(Ok(done)) => done.map_err(|error| self.failed(doing, path, error)),
            Ok(Err(_panicked)) => Err(StageError::BrokenOff { doing }),
            Err(_elapsed) => Err(self.failed(doing, path, io::ErrorKind::TimedOut.into())),
        }
    }
}

/// Milliseconds since 1970. Java's local file system gives seconds or milliseconds, by version;
/// [`FileSystem::publish`] sees to it that both are the same.
fn milliseconds(seconds: i64, ns: i64) -> i64 {
    seconds.saturating_mul(1000).saturating_add(ns / 1_000_000)
}

fn status(name: String, metadata: &fs::Metadata) -> Status {
    let modified_ms = milliseconds(metadata.mtime(), metadata.mtime_nsec());
    let accessed_ms = milliseconds(metadata.atime(), metadata.atime_nsec());
    Status {
        name,
        size: metadata.len(),
        modified_ms,
        used_ms: (accessed_ms > modified_ms).then_some(accessed_ms),
        is_folder: metadata.is_dir(),
        owner: owner(metadata.uid()),
        is_ours: metadata.uid() == Uid::effective().as_raw(),
        mode: metadata.mode() & 0o7777,
    }
}

fn owner(uid: u32) -> String {
    match User::from_uid(Uid::from_raw(uid)) {
        Ok(Some(user)) => user.name,
        Ok(None) | Err(_) => format!("the user of number {uid}"),
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

impl FileSystem for Shared {
    fn url(&self, path: &str) -> String {
        format!("file:{path}")
    }

    async fn stat(&self, path: &str) -> Result<Option<Status>, StageError> {
        let path = PathBuf::from(path);
        let looked_at = path.clone();
        self.within("looking at", &looked_at, move || {
            match fs::metadata(&path) {
                Ok(metadata) => Ok(Some(status(name_of(&path), &metadata))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        })
        .await
    }

    async fn ensure_folder(&self, path: &str) -> Result<(), StageError> {
        let made = PathBuf::from(path);
        let folder = made.clone();
        self.within("making", &made, move || make_folder(&folder))
            .await?;
        self.check_open(&made)
    }

    async fn upload(
        &self,
        path: &str,
        _size: u64,
        mut pieces: Receiver<Result<Bytes, StageError>>,
    ) -> Result<u64, StageError> {
        const DOING: &str = "writing";
        let path = PathBuf::from(path);
        let failed = |error| self.failed(DOING, &path, error);
        let elapsed = |_elapsed| self.failed(DOING, &path, io::ErrorKind::TimedOut.into());
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(FILE_MODE);
        let opened = timeout(ANSWER, tokio::fs::OpenOptions::from(options).open(&path)).await;
        let mut file = opened.map_err(elapsed)?.map_err(failed)?;
        let mut length = 0;
        while let Some(piece) = pieces.recv().await {
            let piece = piece?;
            length += piece.len() as u64;
            let written = timeout(PIECE, file.write_all(&piece)).await;
            written.map_err(elapsed)?.map_err(failed)?;
        }
        let finished = async {
            // The mask of new files must not close it to others.
            file.set_permissions(Permissions::from_mode(FILE_MODE))
                .await?;
            file.sync_all().await
        };
        let finished = timeout(PIECE, finished).await;
        finished.map_err(elapsed)?.map_err(failed)?;
        Ok(length)
    }

    async fn publish(&self, temporary: &str, name: &str) -> Result<Published, StageError> {
        let (temporary, name) = (PathBuf::from(temporary), PathBuf::from(name));
        let target = name.clone();
        self.within("naming", &target, move || {
            round_time(&temporary)?;
            match fs::hard_link(&temporary, &name) {
                Ok(()) => {
                    fs::remove_file(&temporary)?;
                    Ok(Published::Renamed)
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Ok(Published::Existed)
                }
                // No hard links here. A rename would replace a file of the same name, and with it
                // the time that running jobs know; between the look and the rename lies little.
                Err(_) if name.exists() => Ok(Published::Existed),
                Err(_) => fs::rename(&temporary, &name).map(|()| Published::Renamed),
            }
        })
        .await
    }

    async fn mark_used(&self, path: &str, at_ms: i64) {
        let path = PathBuf::from(path);
        let at = Duration::from_millis(u64::try_from(at_ms).unwrap_or(0));
        let times = FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH + at);
        let mark = tokio::task::spawn_blocking(move || File::open(&path)?.set_times(times));
        // Only its owner may do that. A file of another user is that user's to collect.
        let _unmarked = timeout(MARK, mark).await;
    }

    async fn delete(&self, path: &str) -> Result<(), StageError> {
        let path = PathBuf::from(path);
        let removed = path.clone();
        self.within("removing", &removed, move || {
            let gone = match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&path),
                Ok(_) => fs::remove_file(&path),
                Err(error) => Err(error),
            };
            match gone {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                other => other,
            }
        })
        .await
    }

    async fn list(&self, path: &str) -> Result<Vec<Status>, StageError> {
        let path = PathBuf::from(path);
        let listed = path.clone();
        self.within("listing", &listed, move || {
            let mut found = Vec::new();
            for entry in fs::read_dir(&path)? {
                let entry = entry?;
                // Somebody else may have removed it meanwhile.
                if let Ok(metadata) = entry.metadata() {
                    found.push(status(name_of(&entry.path()), &metadata));
                }
            }
            Ok(found)
        })
        .await
    }
}

/// Makes what is missing, and opens only what it made: the mask of new files closes folders.
fn make_folder(path: &Path) -> io::Result<()> {
    let mut missing: Vec<&Path> = path.ancestors().take_while(|path| !path.exists()).collect();
    missing.reverse();
    for folder in missing {
        match fs::DirBuilder::new().mode(FOLDER_MODE).create(folder) {
            Ok(()) => fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Cuts the modification time to a whole second, so that every Java reads the same: up to Java 8 a
/// local file's time comes in seconds, and the NodeManager compares exactly.
fn round_time(path: &Path) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    let modified = file.metadata()?.modified()?;
    let since = modified
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(since.as_secs()))
}
