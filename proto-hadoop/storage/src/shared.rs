//! A folder that is mounted everywhere: the operating system's own calls.

use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::fs::{self, File};
use tokio::io::AsyncWriteExt as _;

use crate::error::local;
use crate::{Address, Status, StorageError, parent};

fn status(path: &str, metadata: &std::fs::Metadata) -> Status {
    let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    Status {
        path: path.to_owned(),
        size: if metadata.is_dir() { 0 } else { metadata.len() },
        modified_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        is_folder: metadata.is_dir(),
    }
}

pub(crate) async fn stat(path: &str) -> Result<Option<Status>, StorageError> {
    match fs::metadata(path).await {
        Ok(metadata) => Ok(Some(status(path, &metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(local("looking at", Path::new(path))(error)),
    }
}

pub(crate) async fn list(path: &str, most: usize) -> Result<Vec<Status>, StorageError> {
    let folder = Path::new(path);
    let mut entries = fs::read_dir(path).await.map_err(local("listing", folder))?;
    let mut all = Vec::new();
    while let Some(entry) = entries
        .next_entry()
        .await
        .map_err(local("listing", folder))?
    {
        if all.len() >= most {
            let path = path.to_owned();
            return Err(StorageError::TooMany { path, most });
        }
        let name = entry.file_name();
        let metadata = entry
            .metadata()
            .await
            .map_err(local("looking at", &entry.path()))?;
        all.push(status(&format!("{path}/{}", name.display()), &metadata));
    }
    Ok(all)
}

pub(crate) async fn make_folder(path: &str) -> Result<(), StorageError> {
    let made = fs::create_dir_all(path).await;
    made.map_err(local("making", Path::new(path)))
}

pub(crate) async fn put(from: &Path, path: &str) -> Result<u64, StorageError> {
    let mut reader = File::open(from).await.map_err(local("reading", from))?;
    let mut writer = create(path).await?;
    let copied = tokio::io::copy(&mut reader, &mut writer).await;
    let copied = copied.map_err(local("writing", Path::new(path)))?;
    writer
        .flush()
        .await
        .map_err(local("writing", Path::new(path)))?;
    Ok(copied)
}

pub(crate) async fn write(path: &str, bytes: Vec<u8>) -> Result<(), StorageError> {
    let mut writer = create(path).await?;
    let written = async {
        writer.write_all(&bytes).await?;
        writer.flush().await
    };
    written.await.map_err(local("writing", Path::new(path)))
}

async fn create(path: &str) -> Result<File, StorageError> {
    make_folder(parent(path)).await?;
    File::create_new(path)
        .await
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StorageError::Exists {
                url: Address::Shared.url(path),
            },
            _ => local("writing", Path::new(path))(error),
        })
}

pub(crate) async fn take(path: &str, to: &Path) -> Result<u64, StorageError> {
    let mut reader = File::open(path)
        .await
        .map_err(local("reading", Path::new(path)))?;
    let mut writer = create_here(to).await?;
    let copied = tokio::io::copy(&mut reader, &mut writer).await;
    let copied = copied.map_err(local("writing", to))?;
    writer.flush().await.map_err(local("writing", to))?;
    Ok(copied)
}

/// A new file of this machine, with the folders above it.
pub(crate) async fn create_here(path: &Path) -> Result<File, StorageError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .await
            .map_err(local("making", folder))?;
    }
    File::create_new(path).await.map_err(local("writing", path))
}

pub(crate) async fn read(path: &str, most: usize) -> Result<Vec<u8>, StorageError> {
    let file = Path::new(path);
    let size = fs::metadata(path)
        .await
        .map_err(local("reading", file))?
        .len();
    if size > most as u64 {
        let url = Address::Shared.url(path);
        return Err(StorageError::TooLarge { url, size, most });
    }
    fs::read(path).await.map_err(local("reading", file))
}

pub(crate) async fn rename(from: &str, to: &str) -> Result<(), StorageError> {
    // The system's own call would put a file in the place of another one.
    if stat(to).await?.is_some() {
        let url = Address::Shared.url(to);
        return Err(StorageError::Exists { url });
    }
    let renamed = fs::rename(from, to).await;
    renamed.map_err(local("renaming", Path::new(from)))
}

pub(crate) async fn remove(path: &str) -> Result<(), StorageError> {
    let removed = match stat(path).await? {
        None => return Ok(()),
        Some(Status {
            is_folder: true, ..
        }) => fs::remove_dir_all(path).await,
        Some(_) => fs::remove_file(path).await,
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(local("removing", Path::new(path))),
    }
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
        std::fs::write(&here, "12345").unwrap();
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
        assert_eq!(std::fs::read(back).unwrap(), b"12345");
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
    fn every_path_has_a_folder() {
        assert_eq!(parent("/a/b"), "/a");
        assert_eq!(parent("/a"), "/");
    }
}
