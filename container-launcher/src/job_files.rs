//! What a job of a session needs on the node: brought once a host, handed to each job's own folder.
//!
//! After a container's start nothing comes by YARN's localization, so the launcher brings files itself:
//!
//! ```text
//! appcache/APPLICATION/gerbil/files/NAME               a small file, one for all launchers of the application on
//!                                                      this host
//! appcache/APPLICATION/gerbil/files/NAME.f/files/NAME  a large one
//! appcache/APPLICATION/gerbil/files/NAME.d/files       an archive, unpacked
//! CONTAINER/jobs/NUMBER/LINK                           in the job's working directory: a small file of the
//!                                                      job's own, or a link to there
//! ```
//!
//! NAME is the one in the client's staging cache: for a file the SHA-256 of its contents, which is proved
//! before a job sees it ([`proof`]); two launchers that bring the same at the same time each write a file of their
//! own, and only the first gets the name. YARN removes all of it with the application.
//!
//! Jobs run as the user whose cache it is, and one may write to what it was handed. So a job is handed a file or
//! tree only after a look whether it is what was brought ([`entry`]), else it is brought anew: what one job writes, no
//! job sees that begins later. Jobs that run at the same time have each their own ([`hand_link`]).

mod bring;
mod cache;
mod copy;
mod entry;
mod hand_link;
mod linked;
mod on_a_thread;
mod packed;
mod proof;
mod remove;
mod seal;

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use job::JobId;
use job::wire::{FetchFiles, FilesFetched, StagedFile};
use storage::{Address, Storage};
use tokio::time::{Instant, sleep};

use self::bring::bring;
use self::entry::{Entry, Handed};
use self::on_a_thread::on_a_thread;
use crate::node_facts;

/// Folder in the container's working directory with one for each job.
const FOLDER: &str = "jobs";
/// How often one file is brought for one job, where others write to it meanwhile.
const TRIES: u32 = 3;
/// For how long a file system may be away, and how often it is asked meanwhile.
const AWAY_MAX: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_secs(2);

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
    #[error("{link}: {source}")]
    Thread { link: String, source: io::Error },
    #[error(
        "{times} jobs that still run have each changed their {link}, and there is no more room for another; try again \
         when one of them is over"
    )]
    Changed { link: String, times: u32 },
    #[error(
        "{link} was brought {times} times, and each time something else lay there a moment later"
    )]
    Unsteady { link: String, times: u32 },
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
    let removed = on_a_thread(move |_| remove::remove(&folder)).await;
    let removed = removed.and_then(|removed| removed);
    if let Err(error) = removed {
        crate::say(&format!("cannot remove {shown}: {error}"));
    }
}

/// Makes a folder in that of a container; where that is gone, it is not made again, since nobody would remove it.
///
/// # Errors
///
/// It cannot be made, or the container's folder is gone.
pub(crate) fn make_folder(container: &Path, folder: &Path) -> io::Result<()> {
    fs::metadata(container)?;
    fs::create_dir_all(folder)
}

async fn fetched(container: &Path, order: FetchFiles) -> Result<u64, FetchError> {
    let cache = cache::of(container)?;
    let folder = folder(container, JobId(order.job));
    // Here and now, as all that is made in it: a fetch that is stopped then makes nothing more of it.
    make_folder(container, &folder).map_err(at(&folder))?;
    let mut bytes = 0_u64;
    let mut opened: Vec<Option<Storage>> = order.addresses.iter().map(|_| None).collect();
    for file in &order.files {
        let name = name(&file.path)?;
        let link = folder.join(single(&file.link)?);
        if fs::symlink_metadata(&link).is_ok() {
            // An order that comes again. What the job has made of it is the job's.
            continue;
        }
        let mut entry = Entry::new(&cache, name, file, &link);
        let mut brought = 0;
        loop {
            match entry.hand().await? {
                Handed::Done => break,
                Handed::Absent if brought < TRIES => {
                    let index = usize::try_from(file.address).unwrap_or(usize::MAX);
                    let storage = storage(&order.addresses, &mut opened, index)?;
                    let storage = storage.ok_or_else(|| FetchError::NoAddress {
                        link: file.link.clone(),
                    })?;
                    let came = bring_outlasting(storage, file, &entry).await?;
                    bytes = bytes.saturating_add(came);
                    brought += 1;
                }
                Handed::Absent => {
                    return Err(FetchError::Unsteady {
                        link: file.link.clone(),
                        times: TRIES,
                    });
                }
            }
        }
    }
    Ok(bytes)
}

/// As [`bring()`], and tries again while the file system is away. A job that gave up at once would have used all attempts of its tasks before
/// servers that are restarted are back; one of ranks has none.
async fn bring_outlasting(
    storage: &Storage,
    file: &StagedFile,
    entry: &Entry,
) -> Result<u64, FetchError> {
    let until = Instant::now() + AWAY_MAX;
    loop {
        match bring(storage, file, entry).await {
            Err(FetchError::Storage(error)) if error.is_outage() && Instant::now() < until => {
                sleep(PAUSE).await;
            }
            brought => return brought,
        }
    }
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

#[cfg(test)]
mod tests;
