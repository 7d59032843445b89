//! What a job of a session needs on the node: brought once a host, linked into the job's own folder.
//!
//! After a container's start nothing comes by YARN's localization, so the launcher brings files itself:
//!
//! ```text
//! appcache/APPLICATION/gerbil/files/NAME       one for all launchers of the application on this host
//! appcache/APPLICATION/gerbil/files/NAME.d/    an archive, unpacked
//! CONTAINER/jobs/NUMBER/LINK ─▶ there          the job's working directory
//! ```
//!
//! NAME is the one in the client's staging cache: for a file the SHA-256 of its contents, which is proved
//! before anybody sees it ([`proof`]); two launchers that bring the same at the same time each write a file of their
//! own, and the second rename changes nothing. YARN removes all of it with the application.

mod cache;
mod proof;
mod remove;

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use job::JobId;
use job::wire::{FetchFiles, FilesFetched, StagedFile};
use storage::{Address, Storage};
use tokio_util::sync::CancellationToken;

use self::cache::PartialFolder;
use self::proof::Breakable;
use crate::node_facts;

/// Folder in the container's working directory with one for each job.
const FOLDER: &str = "jobs";

/// Why a file is not there.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error("{name:?} is no name of a file")]
    Name { name: String },
    #[error("the order names no file system for {link}")]
    NoAddress { link: String },
    #[error(transparent)]
    Storage(#[from] storage::StorageError),
    #[error("{link} has {got} bytes, and {wanted} were staged")]
    Size { link: String, got: u64, wanted: u64 },
    #[error("{link} is not what was staged: its SHA-256 is {got}")]
    Digest { link: String, got: String },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} belongs to user {owner}, not to {own} as whom this container runs; remove it", path.display())]
    Foreign { path: PathBuf, owner: u32, own: u32 },
    #[error("the task that unpacks {link} was broken off")]
    BrokenOff { link: String },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> FetchError {
    let path = path.to_owned();
    move |source| FetchError::Io { path, source }
}

/// The working directory of a job: below that of the container, which is itself that of the job that the
/// application was started for.
pub(crate) fn folder(container: &Path, job: JobId) -> PathBuf {
    match job.is_of_session() {
        true => container.join(FOLDER).join(job.0.to_string()),
        false => container.to_owned(),
    }
}

/// Answers an order to bring files. `container` is the container's working directory.
pub(crate) async fn fetch(container: PathBuf, order: FetchFiles) -> FilesFetched {
    let job = order.job;
    let (bytes, trouble) = match fetched(&container, order).await {
        Ok(bytes) => (bytes, String::new()),
        Err(error) => (0, format!("{}: {error}", node_facts::hostname())),
    };
    FilesFetched {
        job,
        bytes,
        trouble,
    }
}

/// The job is over: nothing of it is left in the container.
pub(crate) async fn forget(container: &Path, job: JobId) {
    if !job.is_of_session() {
        // YARN removes that folder.
        return;
    }
    let folder = folder(container, job);
    let shown = folder.display().to_string();
    let removed = tokio::task::spawn_blocking(move || remove::remove(&folder)).await;
    let removed = removed.unwrap_or_else(|error| Err(io::Error::other(error)));
    if let Err(error) = removed {
        crate::say(&format!("cannot remove {shown}: {error}"));
    }
}

async fn fetched(container: &Path, order: FetchFiles) -> Result<u64, FetchError> {
    let cache = cache::of(container)?;
    let folder = folder(container, JobId(order.job));
    // Here and now, as all that is made in it: a fetch that is stopped then makes nothing more of it.
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let mut bytes = 0_u64;
    let mut opened: Vec<Option<Storage>> = order.addresses.iter().map(|_| None).collect();
    for file in &order.files {
        let name = name(&file.path)?;
        let link = folder.join(single(&file.link)?);
        let cached = cache.join(match file.unpack {
            true => format!("{name}.d"),
            false => name.to_owned(),
        });
        if fs::symlink_metadata(&cached).is_err() {
            let index = usize::try_from(file.address).unwrap_or(usize::MAX);
            let storage = storage(&order.addresses, &mut opened, index)?;
            let storage = storage.ok_or_else(|| FetchError::NoAddress {
                link: file.link.clone(),
            })?;
            bytes = bytes.saturating_add(bring(storage, file, name, &cache, &cached).await?);
        }
        match symlink(&cached, &link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(at(&link)(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(bytes)
}

/// The last part of a path.
fn name(path: &str) -> Result<&str, FetchError> {
    single(path.rsplit('/').next().unwrap_or_default())
}

/// A name that leads nowhere else.
fn single(name: &str) -> Result<&str, FetchError> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(_)), None) => Ok(name),
        _ => Err(FetchError::Name {
            name: name.to_owned(),
        }),
    }
}

fn storage<'a>(
    addresses: &[String],
    opened: &'a mut [Option<Storage>],
    index: usize,
) -> Result<Option<&'a Storage>, FetchError> {
    let (Some(address), Some(place)) = (addresses.get(index), opened.get_mut(index)) else {
        return Ok(None);
    };
    if place.is_none() {
        let Ok(address) = serde_json::from_str::<Address>(address) else {
            return Ok(None);
        };
        *place = Some(Storage::open(&address)?);
    }
    Ok(place.as_ref())
}

/// Brings one file under a name of its own, proves it, and gives it the one under which it is found.
async fn bring(
    storage: &Storage,
    file: &StagedFile,
    name: &str,
    cache: &Path,
    cached: &Path,
) -> Result<u64, FetchError> {
    let part = PartialFolder::new(cache).map_err(at(cache))?;
    let brought = bring_by(&part, storage, file, name, cached).await;
    part.remove().await;
    brought
}

async fn bring_by(
    part: &PartialFolder,
    storage: &Storage,
    file: &StagedFile,
    name: &str,
    cached: &Path,
) -> Result<u64, FetchError> {
    let whole = part.folder.join(name);
    let bytes = storage.take(&file.path, &whole).await?;
    if bytes != file.size {
        return Err(FetchError::Size {
            link: file.link.clone(),
            got: bytes,
            wanted: file.size,
        });
    }
    let broken_off = CancellationToken::new();
    // Cancelled when nobody waits any more.
    let _waits = broken_off.clone().drop_guard();
    let (link, unpack, name) = (file.link.clone(), file.unpack, name.to_owned());
    let (cached, unpacked) = (cached.to_owned(), part.folder.join("unpacked"));
    let done = tokio::task::spawn_blocking(move || {
        let proved = proof::prove(&whole, &name, unpack, &broken_off).map_err(at(&whole))?;
        proved.map_err(|proof::Otherwise(got)| FetchError::Digest { link, got })?;
        let ready = match unpack {
            true => {
                let archive = Breakable {
                    from: fs::File::open(&whole).map_err(at(&whole))?,
                    broken_off: &broken_off,
                };
                let mut archive = tar::Archive::new(archive);
                archive.unpack(&unpacked).map_err(at(&unpacked))?;
                unpacked
            }
            false => {
                let mode = Permissions::from_mode(0o500);
                fs::set_permissions(&whole, mode).map_err(at(&whole))?;
                whole
            }
        };
        match fs::rename(&ready, &cached) {
            // Another launcher was faster; a folder that is there is not replaced.
            Err(error) if !cached.exists() => Err(at(&cached)(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    });
    done.await.map_err(|_panicked| FetchError::BrokenOff {
        link: file.link.clone(),
    })??;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn order(job: u32, folder: &Path, files: &[(&str, &str, u64, bool)]) -> FetchFiles {
        FetchFiles {
            job,
            addresses: vec![serde_json::to_string(&Address::Shared).unwrap()],
            files: files
                .iter()
                .map(|(link, name, size, unpack)| StagedFile {
                    link: (*link).to_owned(),
                    address: 0,
                    path: folder.join(name).display().to_string(),
                    size: *size,
                    unpack: *unpack,
                })
                .collect(),
        }
    }

    struct Bed {
        _folder: tempfile::TempDir,
        staged: PathBuf,
        container: PathBuf,
    }

    fn bed() -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let staged = folder.path().join("staged");
        let container = folder.path().join("application/container");
        fs::create_dir_all(&staged).unwrap();
        fs::create_dir_all(&container).unwrap();
        fs::write(staged.join(ABC), "abc").unwrap();
        let mut archive = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_ustar();
        header.set_size(3);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, "deep/a", &b"123"[..])
            .unwrap();
        fs::write(staged.join("x.tar"), archive.into_inner().unwrap()).unwrap();
        Bed {
            _folder: folder,
            staged,
            container,
        }
    }

    #[tokio::test]
    async fn files_come_once_a_host_and_are_linked_for_each_job() {
        let bed = bed();
        let size = fs::metadata(bed.staged.join("x.tar")).unwrap().len();
        let files = [("prog", ABC, 3, false), ("lib", "x.tar", size, true)];
        let done = fetch(bed.container.clone(), order(1, &bed.staged, &files)).await;
        assert_eq!((done.trouble.as_str(), done.bytes), ("", 3 + size));
        let one = folder(&bed.container, JobId(1));
        assert_eq!(fs::read(one.join("prog")).unwrap(), b"abc");
        assert_eq!(fs::read(one.join("lib/deep/a")).unwrap(), b"123");
        let mode = fs::metadata(one.join("prog")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o500);
        // Another container of the same host, another job: nothing is brought.
        fs::remove_file(bed.staged.join(ABC)).unwrap();
        let other = bed.container.with_file_name("other");
        let done = fetch(other.clone(), order(2, &bed.staged, &files)).await;
        assert_eq!((done.trouble.as_str(), done.bytes), ("", 0));
        assert_eq!(
            fs::read(folder(&other, JobId(2)).join("prog")).unwrap(),
            b"abc"
        );
        forget(&bed.container, JobId(1)).await;
        assert!(!one.exists() && other.join("jobs/2/prog").exists());
        forget(&bed.container, JobId(1)).await;
        let cache = bed.container.parent().unwrap().join("gerbil/files");
        assert_eq!(fs::read_dir(cache).unwrap().count(), 2);
    }

    #[tokio::test]
    async fn what_is_not_what_was_staged_is_seen_by_nobody() {
        let bed = bed();
        for name in [ABC, "no.tar"] {
            fs::write(bed.staged.join(name), "abd").unwrap();
        }
        for (files, words) in [
            (("prog", ABC, 3, false), "is not what was staged"),
            (("prog", ABC, 4, false), "3 bytes, and 4 were staged"),
            (("prog", "none", 4, false), "none"),
            (("../prog", "x.tar", 4, false), "is no name"),
            (("..", "x.tar", 4, false), "is no name"),
            (("lib", ABC, 3, true), "is not what was staged"),
            (("lib", "no.tar", 3, true), "unpacked"),
        ] {
            let done = fetch(bed.container.clone(), order(1, &bed.staged, &[files])).await;
            assert!(done.trouble.contains(words), "{files:?}: {done:?}");
        }
        let cache = bed.container.parent().unwrap().join("gerbil/files");
        assert_eq!(fs::read_dir(cache).unwrap().count(), 0);
    }
}
