//! Brings files to containers: checks them, keeps one copy of each, unpacks archives.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use proto_hadoop::yarn::{LocalResource, LocalResourceKind, ResourceUrl};
use tokio::sync::OnceCell;

/// Why a file could not be brought.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    #[error(
        "{url} has the scheme {}, and this node reads file: alone; stage on file: instead",
        url.scheme
    )]
    Scheme { url: ResourceUrl },
    #[error(
        "Resource {url} changed on src filesystem - expected: {wanted_ms} ms, was: {found_ms} ms"
    )]
    Changed {
        url: ResourceUrl,
        wanted_ms: i64,
        found_ms: i64,
    },
    #[error("Resource {url} has {found} bytes, {wanted} were announced")]
    Size {
        url: ResourceUrl,
        wanted: u64,
        found: u64,
    },
    #[error("{url} is no .tar, the one kind of archive that this node unpacks")]
    Archive { url: ResourceUrl },
    #[error("{doing} {}: {source}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{url} could not be brought: the task was broken off")]
    BrokenOff { url: ResourceUrl },
}

/// What makes two files the same.
type FileKey = (ResourceUrl, i64, LocalResourceKind);

/// Its number, and its place once it is there.
type Copy = (usize, Arc<OnceCell<PathBuf>>);

/// One copy of each file, for all containers of the node.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    known: Mutex<BTreeMap<FileKey, Copy>>,
}

impl Cache {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            known: Mutex::default(),
        }
    }

    /// Where the node's copy of a file is. Who asks for one that is just being brought waits for it.
    pub(super) async fn bring(&self, resource: &LocalResource) -> Result<PathBuf, FileError> {
        let key = (resource.url.clone(), resource.timestamp_ms, resource.kind);
        let (number, cell) = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let next = known.len() + 1;
            let (number, cell) = known.entry(key).or_insert_with(|| (next, Arc::default()));
            (*number, Arc::clone(cell))
        };
        let bring = || async {
            let folder = self.folder.join(number.to_string());
            let resource = resource.clone();
            let url = resource.url.clone();
            let copied = tokio::task::spawn_blocking(move || copy(&resource, &folder)).await;
            copied.unwrap_or(Err(FileError::BrokenOff { url }))
        };
        cell.get_or_try_init(bring).await.cloned()
    }
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    move |source| FileError::Io {
        doing,
        path,
        source,
    }
}

fn copy(resource: &LocalResource, folder: &Path) -> Result<PathBuf, FileError> {
    let url = &resource.url;
    if url.scheme != "file" {
        return Err(FileError::Scheme { url: url.clone() });
    }
    let source = Path::new(&url.path);
    let metadata = fs::metadata(source).map_err(failed("looking at", source))?;
    let found_ms = metadata
        .mtime()
        .saturating_mul(1000)
        .saturating_add(metadata.mtime_nsec() / 1_000_000);
    if found_ms != resource.timestamp_ms {
        return Err(FileError::Changed {
            url: url.clone(),
            wanted_ms: resource.timestamp_ms,
            found_ms,
        });
    }
    if metadata.len() != resource.size {
        return Err(FileError::Size {
            url: url.clone(),
            wanted: resource.size,
            found: metadata.len(),
        });
    }
    // What an earlier try left is of no use.
    let _none = fs::remove_dir_all(folder).is_err();
    fs::create_dir_all(folder).map_err(failed("making", folder))?;
    let name = source.file_name().unwrap_or(source.as_os_str());
    let target = folder.join(name);
    match resource.kind {
        LocalResourceKind::File => {
            // Of a file that goes with the cluster one more name is as good as a copy. One that stays must not be
            // within a job's reach, which may write to what it gets.
            let is_ours = folder
                .ancestors()
                .nth(3)
                .is_some_and(|run| source.starts_with(run));
            if !is_ours || fs::hard_link(source, &target).is_err() {
                fs::copy(source, &target).map_err(failed("copying to", &target))?;
            }
        }
        LocalResourceKind::Archive => {
            if source.extension().is_none_or(|end| end != "tar") {
                return Err(FileError::Archive { url: url.clone() });
            }
            fs::create_dir(&target).map_err(failed("making", &target))?;
            let file = File::open(source).map_err(failed("reading", source))?;
            // Names that lead out of the folder are left out.
            let unpacked = tar::Archive::new(file).unpack(&target);
            unpacked.map_err(failed("unpacking", source))?;
        }
    }
    Ok(target)
}
