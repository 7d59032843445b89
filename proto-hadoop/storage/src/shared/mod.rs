//! A folder that is mounted everywhere: the operating system's own calls.
//!
//! Behind the folder may be a server that is gone, and then each of these calls hangs: they are made on
//! threads that a deadline leaves behind. What is written is on the server's disk before it is called
//! written, and so is a new name.

mod rename;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs::{self, DirBuilder, FileTimes, Metadata, Permissions};
use std::io::{self, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::Uid;
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

pub(crate) use rename::{sync_folder, sync_names};

use crate::create::{CreateOptions, Readers};
use crate::{ANSWER, Address, MARK, MOVED, Owner, PIECE, Status, StorageError, parent};

/// Files and folders for the nodes: open to all, but only ours to write.
const OPEN_MODE: u32 = 0o755;
/// Those for nodes that run as the user.
const CLOSED_MODE: u32 = 0o700;

/// Folders that this process has made with a mode, or tried to.
static MADE: AtomicU64 = AtomicU64::new(0);

/// The mode of a folder that is made for these readers; `None`: what the user's mask leaves.
const fn folder_mode(readers: Readers) -> Option<u32> {
    match readers {
        Readers::ByMask => None,
        Readers::Nodes | Readers::Everybody => Some(OPEN_MODE),
        Readers::Own | Readers::OwnWith(_) => Some(CLOSED_MODE),
    }
}

/// That of a file, once it is written.
const fn file_mode(readers: Readers) -> Option<u32> {
    match readers {
        Readers::OwnWith(mode) => Some(mode & CLOSED_MODE),
        _ => folder_mode(readers),
    }
}

fn status(path: &str, metadata: &Metadata) -> Status {
    let modified_ms = milliseconds(metadata.mtime(), metadata.mtime_nsec());
    let accessed_ms = milliseconds(metadata.atime(), metadata.atime_nsec());
    Status {
        path: path.to_owned(),
        size: if metadata.is_dir() { 0 } else { metadata.len() },
        modified_ms,
        used_ms: (accessed_ms > modified_ms).then_some(accessed_ms),
        is_folder: metadata.is_dir(),
        owner: Owner::Numbered(metadata.uid()),
        is_ours: metadata.uid() == Uid::effective().as_raw(),
        mode: metadata.mode() & 0o7777,
    }
}

/// Milliseconds since 1970. Java's local file system gives seconds or milliseconds, by version; what is
/// made for nodes is the same in both.
fn milliseconds(seconds: i64, ns: i64) -> i64 {
    seconds.saturating_mul(1000).saturating_add(ns / 1_000_000)
}

/// What the operating system said of a path there.
fn refused(doing: &'static str, path: &Path, error: &io::Error) -> StorageError {
    let url = Address::Shared.url(&path.to_string_lossy());
    let said = error.to_string();
    match (error.kind(), error.raw_os_error().map(Errno::from_raw)) {
        (io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty, _) => {
            StorageError::Exists { url }
        }
        // The second: the folder above is a file.
        (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, _) => StorageError::Absent { url },
        (_, Some(Errno::EACCES | Errno::EPERM | Errno::EROFS)) => StorageError::Permission {
            doing,
            url,
            user: Owner::Numbered(Uid::effective().as_raw()).to_string(),
            said,
        },
        (_, Some(Errno::ENOSPC)) => StorageError::Full { doing, url, said },
        (_, Some(Errno::EDQUOT)) => StorageError::Quota { doing, url, said },
        _ => StorageError::Refused { doing, url, said },
    }
}

/// Waits for a call that may hang.
async fn within<T>(
    limit: Duration,
    doing: &'static str,
    path: &Path,
    call: impl Future<Output = io::Result<T>>,
) -> Result<T, StorageError> {
    match timeout(limit, call).await {
        Ok(done) => done.map_err(|error| refused(doing, path, &error)),
        Err(_elapsed) => Err(StorageError::Silent {
            doing,
            url: Address::Shared.url(&path.to_string_lossy()),
            seconds: limit.as_secs(),
        }),
    }
}

/// Makes calls that may hang, on a thread.
async fn on_a_thread<T: Send + 'static>(
    doing: &'static str,
    path: &str,
    calls: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> Result<T, StorageError> {
    let path = PathBuf::from(path);
    let there = path.clone();
    let thread = tokio::task::spawn_blocking(move || calls(&there));
    let done = async {
        thread
            .await
            .unwrap_or_else(|broken| Err(io::Error::other(broken)))
    };
    within(ANSWER, doing, &path, done).await
}

pub(crate) async fn stat(path: &str) -> Result<Option<Status>, StorageError> {
    let name = path.to_owned();
    on_a_thread("looking at", path, move |path| match fs::metadata(path) {
        Ok(metadata) => Ok(Some(status(&name, &metadata))),
        // Nothing is there where a file stands for a folder of its path, too.
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(error),
        },
    })
    .await
}

/// The first `most` of what a folder has, and whether that is all.
pub(crate) async fn list(path: &str, most: usize) -> Result<(Vec<Status>, bool), StorageError> {
    let folder = path.trim_end_matches('/').to_owned();
    on_a_thread("listing", path, move |path| {
        let mut all = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if all.len() >= most {
                return Ok((all, false));
            }
            let name = entry.file_name();
            match entry.metadata() {
                Ok(metadata) => {
                    all.push(status(&format!("{folder}/{}", name.display()), &metadata));
                }
                // Somebody else has removed it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok((all, true))
    })
    .await
}

pub(crate) async fn make_folder(path: &str, readers: Readers) -> Result<(), StorageError> {
    on_a_thread("making", path, move |path| {
        // Only what is made here is opened to others.
        let mut missing: Vec<&Path> = path.ancestors().take_while(|path| !path.exists()).collect();
        missing.reverse();
        for folder in missing {
            // The last one is for its readers alone. Those above it are also others' way.
            let mode = match folder == path {
                true => folder_mode(readers),
                false => folder_mode(readers).map(|_fixed| OPEN_MODE),
            };
            let made = match mode {
                Some(mode) => make_with_mode(folder, mode),
                None => DirBuilder::new().create(folder),
            };
            match made {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            sync_folder(folder)?;
        }
        match path.is_dir() {
            true => Ok(()),
            false => Err(io::ErrorKind::AlreadyExists.into()),
        }
    })
    .await
}

/// Makes a folder that has this mode whenever others see it by its name, whatever the user's mask is: another run that makes
/// the same looks at it at the same moment.
fn make_with_mode(folder: &Path, mode: u32) -> io::Result<()> {
    let name = folder.file_name().ok_or(io::ErrorKind::AlreadyExists)?;
    let mut new_name = OsString::from(".");
    new_name.push(name);
    // Of this process, and of the other machines that have the same disk.
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let tick = since.unwrap_or_default().as_nanos();
    new_name.push(format!(".new-{}-{number}-{tick}", std::process::id()));
    let new = folder.with_file_name(new_name);
    DirBuilder::new().mode(mode & CLOSED_MODE).create(&new)?;
    let set = fs::set_permissions(&new, Permissions::from_mode(mode));
    let done = set.and_then(|()| rename::without_replacing(&new, folder));
    if done.is_err() {
        // Ours, and empty.
        fs::remove_dir(&new).ok();
    }
    done
}

/// Opens a file for reading. A pipe or a device in its place is not waited for.
pub(crate) async fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
    let file = options.open(path).await?;
    match file.metadata().await?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// A file that is being read.
#[derive(Debug)]
pub(crate) struct Reading {
    path: PathBuf,
    file: File,
    size: u64,
}

pub(crate) async fn open(path: &str, from: u64) -> Result<Reading, StorageError> {
    let path = PathBuf::from(path);
    let opened = async {
        let mut file = open_regular(&path).await?;
        let size = file.metadata().await?.len();
        file.seek(SeekFrom::Start(from)).await?;
        Ok((file, size))
    };
    let (file, size) = within(ANSWER, "reading", &path, opened).await?;
    Ok(Reading { path, file, size })
}

impl Reading {
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The next piece; an empty one is the end.
    pub(crate) async fn next(&mut self) -> Result<Bytes, StorageError> {
        let mut piece = BytesMut::with_capacity(PIECE);
        let read = self.file.read_buf(&mut piece);
        within(MOVED, "reading", &self.path, read).await?;
        Ok(piece.freeze())
    }
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Writing {
    path: PathBuf,
    file: File,
    readers: Readers,
}

pub(crate) async fn create(path: &str, options: CreateOptions) -> Result<Writing, StorageError> {
    let CreateOptions {
        readers, overwrite, ..
    } = options;
    if options.makes_folders() {
        make_folder(parent(path), readers).await?;
    }
    let path = PathBuf::from(path);
    let mut how = OpenOptions::new();
    how.write(true);
    match overwrite {
        true => how.create(true).truncate(true),
        false => how.create_new(true),
    };
    if let Some(mode) = folder_mode(readers) {
        how.mode(mode);
    }
    let file = within(ANSWER, "writing", &path, how.open(&path)).await?;
    Ok(Writing {
        path,
        file,
        readers,
    })
}

pub(crate) async fn append(path: &str) -> Result<Writing, StorageError> {
    let path = PathBuf::from(path);
    let mut how = OpenOptions::new();
    let opened = how.append(true).open(&path);
    let file = within(ANSWER, "writing", &path, opened).await?;
    Ok(Writing {
        path,
        file,
        readers: Readers::ByMask,
    })
}

impl Writing {
    pub(crate) async fn write(&mut self, piece: Bytes) -> Result<(), StorageError> {
        let written = self.file.write_all(&piece);
        within(MOVED, "writing", &self.path, written).await
    }

    /// Waits until all of it is on a disk, and says what a server says only then: that it was full.
    pub(crate) async fn close(mut self) -> Result<(), StorageError> {
        let (path, readers) = (self.path.clone(), self.readers);
        let finished = async {
            self.file.flush().await?;
            let file = self.file.into_std().await;
            let thread = tokio::task::spawn_blocking(move || {
                if let Some(mode) = file_mode(readers) {
                    // The mask of new files must not close it to its readers.
                    file.set_permissions(Permissions::from_mode(mode))?;
                    round_time(&file)?;
                }
                file.sync_all()?;
                sync_folder(&path)
            });
            thread
                .await
                .unwrap_or_else(|broken| Err(io::Error::other(broken)))
        };
        within(MOVED, "writing", &self.path, finished).await
    }
}

/// Cuts the modification time to a whole second.
fn round_time(file: &fs::File) -> io::Result<()> {
    let modified = file.metadata()?.modified()?;
    let since = modified.duration_since(SystemTime::UNIX_EPOCH);
    let seconds = since.unwrap_or_default().as_secs();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

pub(crate) async fn rename(from: &str, to: &str) -> Result<(), StorageError> {
    let target = PathBuf::from(to);
    let renamed = on_a_thread("renaming", from, move |from| {
        rename::without_replacing(from, &target)
    });
    match renamed.await {
        // It is the new name that is taken.
        Err(StorageError::Exists { .. }) => Err(StorageError::Exists {
            url: Address::Shared.url(to),
        }),
        other => other,
    }
}

pub(crate) async fn remove(path: &str) -> Result<bool, StorageError> {
    on_a_thread("removing", path, |path| {
        let removed = match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            other => other.map(|()| true),
        }
    })
    .await
}

pub(crate) async fn make_one_folder(path: &str) -> Result<(), StorageError> {
    on_a_thread("making", path, |path| {
        match DirBuilder::new().mode(0o777).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            Ok(()) => sync_folder(path),
            other => other,
        }
    })
    .await
}

pub(crate) async fn remove_empty(path: &str) -> Result<bool, StorageError> {
    on_a_thread("removing", path, |path| match fs::remove_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    })
    .await
}

pub(crate) async fn mark_used(path: &str, at_ms: i64) {
    let path = PathBuf::from(path);
    let at = Duration::from_millis(u64::try_from(at_ms).unwrap_or(0));
    let times = FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH + at);
    let mark = tokio::task::spawn_blocking(move || fs::File::open(&path)?.set_times(times));
    // Only its owner may do that. A file of another user is that user's to collect.
    let _unmarked = timeout(MARK, mark).await;
}
