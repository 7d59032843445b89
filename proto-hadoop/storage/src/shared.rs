//! A folder that is mounted everywhere: the operating system's own calls.
//!
//! Behind the folder may be a server that is gone, and then each of these calls hangs: they are made on
//! threads that a deadline leaves behind. What is written is on the server's disk before it is called
//! written, and so is a new name.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, RenameFlags, renameat2};
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::error::local;
use crate::{ANSWER, Address, MOVED, PIECE, Status, StorageError, parent};

fn status(path: &str, metadata: &Metadata) -> Status {
    let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    Status {
        path: path.to_owned(),
        size: if metadata.is_dir() { 0 } else { metadata.len() },
        modified_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        is_folder: metadata.is_dir(),
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
        Ok(done) => done.map_err(local(doing, path)),
        Err(_elapsed) => Err(StorageError::Silent {
            doing,
            url: format!("file:{}", path.display()),
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
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    })
    .await
}

pub(crate) async fn list(path: &str, most: usize) -> Result<Vec<Status>, StorageError> {
    let folder = path.to_owned();
    let listed = on_a_thread("listing", path, move |path| {
        let mut all = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if all.len() >= most {
                return Ok(None);
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
        Ok(Some(all))
    });
    let path = path.to_owned();
    let many = || StorageError::TooMany { path, most };
    listed.await?.ok_or_else(many)
}

pub(crate) async fn make_folder(path: &str) -> Result<(), StorageError> {
    on_a_thread("making", path, |path| fs::create_dir_all(path)).await
}

/// Opens a file for reading. A pipe or a device in its place is not waited for.
pub(crate) async fn open(path: &Path) -> Result<File, StorageError> {
    let opened = async {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
        let file = options.open(path).await?;
        match file.metadata().await?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other("it is no regular file")),
        }
    };
    within(ANSWER, "reading", path, opened).await
}

/// Copies a file to where it ends, which is not yet on a disk; how many bytes it has.
async fn copy(
    (from, mut reader): (&Path, File),
    (to, writer): (&Path, &mut File),
) -> Result<u64, StorageError> {
    let mut piece = vec![0; PIECE];
    let mut length = 0;
    loop {
        let read = within(MOVED, "reading", from, reader.read(&mut piece)).await?;
        let bytes = piece.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(length);
        }
        within(MOVED, "writing", to, writer.write_all(bytes)).await?;
        length += bytes.len() as u64;
    }
}

pub(crate) async fn put(from: &Path, path: &str) -> Result<u64, StorageError> {
    let reader = open(from).await?;
    let mut writer = create(path).await?;
    let to = Path::new(path);
    let copied = copy((from, reader), (to, &mut writer)).await?;
    finish(writer, to).await?;
    Ok(copied)
}

pub(crate) async fn write(path: &str, bytes: Vec<u8>) -> Result<(), StorageError> {
    let mut writer = create(path).await?;
    let to = Path::new(path);
    within(MOVED, "writing", to, writer.write_all(&bytes)).await?;
    finish(writer, to).await
}

/// Waits until all of it is on a disk, and says what a server says only then: that it was full.
async fn finish(mut writer: File, path: &Path) -> Result<(), StorageError> {
    let finished = async {
        writer.flush().await?;
        writer.sync_all().await
    };
    within(MOVED, "writing", path, finished).await
}

async fn create(path: &str) -> Result<File, StorageError> {
    make_folder(parent(path)).await?;
    let to = Path::new(path);
    match within(ANSWER, "writing", to, File::create_new(path)).await {
        Err(StorageError::Local { source, .. })
            if source.kind() == io::ErrorKind::AlreadyExists =>
        {
            let url = Address::Shared.url(path);
            Err(StorageError::Exists { url })
        }
        other => other,
    }
}

pub(crate) async fn take(path: &str, to: &Path) -> Result<u64, StorageError> {
    let from = Path::new(path);
    let reader = open(from).await?;
    let mut writer = create_here(to).await?;
    let copied = copy((from, reader), (to, &mut writer)).await?;
    within(MOVED, "writing", to, writer.flush()).await?;
    Ok(copied)
}

/// A new file of this machine, with the folders above it.
pub(crate) async fn create_here(path: &Path) -> Result<File, StorageError> {
    if let Some(folder) = path.parent() {
        let made = tokio::fs::create_dir_all(folder);
        within(ANSWER, "making", folder, made).await?;
    }
    within(ANSWER, "writing", path, File::create_new(path)).await
}

pub(crate) async fn read(path: &str, most: usize) -> Result<Vec<u8>, StorageError> {
    let from = Path::new(path);
    let reader = open(from).await?;
    let size = within(ANSWER, "reading", from, reader.metadata())
        .await?
        .len();
    if size > most as u64 {
        let url = Address::Shared.url(path);
        return Err(StorageError::TooLarge { url, size, most });
    }
    let mut bytes = Vec::new();
    let mut reader = reader.take(most as u64);
    within(MOVED, "reading", from, reader.read_to_end(&mut bytes)).await?;
    Ok(bytes)
}

pub(crate) async fn rename(from: &str, to: &str) -> Result<(), StorageError> {
    let target = PathBuf::from(to);
    let renamed = on_a_thread("renaming", from, move |from| {
        let renamed = match renameat2(
            AT_FDCWD,
            from,
            AT_FDCWD,
            &target,
            RenameFlags::RENAME_NOREPLACE,
        ) {
            // File systems that cannot, among them NFS.
            Err(Errno::EINVAL | Errno::ENOSYS | Errno::ENOTSUP) => claim(from, &target),
            other => other.map_err(io::Error::from),
        };
        renamed?;
        // The names too are to be on a disk.
        for name in [from, &target] {
            sync_folder(name)?;
        }
        Ok(())
    });
    match renamed.await {
        Err(StorageError::Local { source, .. })
            if source.kind() == io::ErrorKind::AlreadyExists =>
        {
            let url = Address::Shared.url(to);
            Err(StorageError::Exists { url })
        }
        other => other,
    }
}

/// Gives a new name in steps none of which takes the name from anything: a file gets a second name
/// before it loses the first, and a folder takes the place of an empty one that was made for it.
fn claim(from: &Path, to: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(from)?.is_dir() {
        fs::hard_link(from, to)?;
        return fs::remove_file(from);
    }
    fs::create_dir(to)?;
    fs::rename(from, to).map_err(|error| match error.kind() {
        // Somebody has put something into it.
        io::ErrorKind::DirectoryNotEmpty => io::ErrorKind::AlreadyExists.into(),
        _ => {
            // Ours, and still empty.
            fs::remove_dir(to).ok();
            error
        }
    })
}

/// Waits until the names in the folder of `path` are on a disk, where the file system can say so.
fn sync_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    match fs::File::open(folder)?.sync_all() {
        Err(error) if error.raw_os_error() == Some(Errno::EINVAL as i32) => Ok(()),
        other => other,
    }
}

pub(crate) async fn remove(path: &str) -> Result<(), StorageError> {
    on_a_thread("removing", path, |path| {
        let removed = match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage;

    #[tokio::test]
    async fn a_file_goes_there_and_back_and_never_over_another() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().to_str().unwrap();
        let storage = Storage::open(&Address::Shared).unwrap();
        let (here, there) = (folder.path().join("here"), format!("{top}/a/b"));
        fs::write(&here, "12345").unwrap();
        assert_eq!(storage.put(&here, &there).await.unwrap(), 5);
        let again = storage.put(&here, &there).await.unwrap_err();
        assert!(matches!(again, StorageError::Exists { .. }), "{again}");
        storage
            .write(&format!("{top}/a/c/d"), b"1".to_vec())
            .await
            .unwrap();
        let found = storage.walk(&format!("{top}/a"), 3).await.unwrap();
        let names: Vec<_> = found.iter().map(|f| (f.name(), f.size)).collect();
        assert_eq!(names, [("b", 5), ("d", 1)]);
        let many = storage.walk(&format!("{top}/a"), 2).await.unwrap_err();
        assert!(
            matches!(many, StorageError::TooMany { most: 2, .. }),
            "{many}"
        );
        let taken = storage
            .rename(&there, &format!("{top}/a/c"))
            .await
            .unwrap_err();
        assert!(matches!(taken, StorageError::Exists { .. }), "{taken}");
        storage
            .rename(&format!("{top}/a"), &format!("{top}/z"))
            .await
            .unwrap();
        let back = folder.path().join("x/y");
        assert_eq!(storage.take(&format!("{top}/z/b"), &back).await.unwrap(), 5);
        assert_eq!(fs::read(back).unwrap(), b"12345");
        let large = storage.read(&format!("{top}/z/b"), 4).await.unwrap_err();
        assert!(
            matches!(large, StorageError::TooLarge { size: 5, .. }),
            "{large}"
        );
        storage.remove(&format!("{top}/z")).await.unwrap();
        storage.remove(&format!("{top}/z")).await.unwrap();
        assert_eq!(storage.stat(&format!("{top}/z")).await.unwrap(), None);
    }

    #[test]
    fn a_name_is_claimed_without_taking_it_from_anything() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["file", "other"] {
            fs::write(path(name), name).unwrap();
        }
        fs::create_dir_all(path("result/part")).unwrap();
        fs::create_dir_all(path("full/part")).unwrap();
        fs::create_dir(path("empty")).unwrap();
        for (from, to) in [
            ("file", "other"),
            ("file", "empty"),
            ("result", "other"),
            ("result", "empty"),
            ("result", "full"),
        ] {
            let error = claim(&path(from), &path(to)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{from} {to}");
            assert!(path(from).exists());
        }
        claim(&path("file"), &path("new")).unwrap();
        claim(&path("result"), &path("made")).unwrap();
        assert_eq!(fs::read(path("new")).unwrap(), b"file");
        assert!(path("made/part").is_dir());
        assert!(!path("file").exists() && !path("result").exists());
    }

    #[tokio::test]
    async fn a_pipe_in_place_of_a_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let storage = Storage::open(&Address::Shared).unwrap();
        let name = pipe.to_str().unwrap();
        let there = format!("{name}.out");
        let put = storage.put(&pipe, &there).await.unwrap_err();
        assert!(put.to_string().contains("no regular file"), "{put}");
        assert!(storage.read(name, 10).await.is_err());
        let here = folder.path().join("here");
        assert!(storage.take(name, &here).await.is_err());
        assert!(!here.exists() && !Path::new(&there).exists());
    }

    #[test]
    fn every_path_has_a_folder() {
        assert_eq!(parent("/a/b"), "/a");
        assert_eq!(parent("/a"), "/");
    }
}
