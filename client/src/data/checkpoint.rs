//! `--restore`, and `--checkpoint` of a running job.
//!
//! A job's checkpoints lie in `checkpoints/APPLICATION` of the staging folder. Whoever wants one more
//! puts a file there, which the job's ApplicationMaster looks for: no port has to be reached, and who
//! may ask is decided by the file system.

use std::time::Duration;

use follow::follower::patiently;
use job::data::{MANIFEST, MANIFEST_MAX, Manifest, REFUSED, WANTED, number, of_job};
use job::exit::Exit;
use proto_hadoop::{ApplicationClient, ApplicationId};
use storage::{Address, Storage, StorageError};
use terminal::say;
use terminal::signals::Signals;
use tokio::time::{Instant, sleep};

use super::{DataError, Located, failed, locate};
use crate::cluster::Cluster;

/// Entries of a job's folder that make sense.
const ENTRIES_MAX: usize = 1000;
/// Between two looks whether it is there.
const LOOK: Duration = Duration::from_millis(500);
/// A checkpoint of any job is there by then, or its ApplicationMaster has said why not: the ranks have
/// eleven minutes to write their files, and these are to be copied.
const PATIENCE: Duration = Duration::from_secs(1800);

/// The folder of all jobs' checkpoints.
pub(super) fn root(staging: Option<&str>, cluster: &Cluster) -> Result<Located, DataError> {
    let mut root = staging_folder(staging, cluster)?;
    root.path.push_str("/checkpoints");
    Ok(root)
}

/// The staging folder: the one that was given, or `.gerbil` in the user's home folder.
pub(super) fn staging_folder(
    staging: Option<&str>,
    cluster: &Cluster,
) -> Result<Located, DataError> {
    match staging {
        Some(staging) => locate("--staging", staging, cluster),
        None => {
            let home = cluster
                .configuration
                .get("dfs.user.home.dir.prefix")
                .ok()
                .flatten();
            let home = home.as_deref().unwrap_or("/user").trim_end_matches('/');
            locate(
                "--staging",
                &format!("{home}/{}/.gerbil", cluster.user),
                cluster,
            )
        }
    }
}

/// The place that `--restore` names.
pub(super) fn place(text: &str, root: &Located, cluster: &Cluster) -> Result<Located, DataError> {
    match text.parse::<ApplicationId>() {
        Ok(id) => Ok(Located {
            address: root.address.clone(),
            path: of_job(&root.path, &id.to_string()),
        }),
        Err(_no_id) => locate("--restore", text, cluster),
    }
}

/// The newest complete checkpoint in a job's folder; or the folder itself, if it is one.
async fn newest(storage: &Storage, path: &str) -> Result<Option<String>, StorageError> {
    if storage.stat(path).await?.is_none() {
        return Ok(None);
    }
    let entries = storage.list(path, ENTRIES_MAX).await?;
    if entries.iter().any(|entry| entry.name() == MANIFEST) {
        return Ok(Some(path.to_owned()));
    }
    let numbers = entries.iter().filter_map(|entry| number(entry.name()));
    Ok(numbers.max().map(|number| format!("{path}/{number}")))
}

/// The checkpoint that a job of so many processes begins from, if it is to begin from one.
///
/// # Errors
/// There is none, or it is one of another number of processes.
pub(crate) async fn find_restore(
    restore: Option<&Located>,
    processes: u32,
) -> Result<Option<(Address, String)>, DataError> {
    const OPTION: &str = "--restore";
    let Some(place) = restore else {
        return Ok(None);
    };
    let words = |error| failed(OPTION, error);
    let storage = place.open(OPTION)?;
    let Some(path) = newest(&storage, &place.path).await.map_err(words)? else {
        return Err(DataError::NoCheckpoint { url: place.url() });
    };
    let url = place.address.url(&path);
    let bytes = storage
        .read(&format!("{path}/{MANIFEST}"), MANIFEST_MAX)
        .await;
    let manifest = serde_json::from_slice(&bytes.map_err(words)?);
    let manifest: Manifest = manifest.map_err(|source| DataError::BadManifest {
        url: format!("{url}/{MANIFEST}"),
        source,
    })?;
    if u32::try_from(manifest.ranks.len()) != Ok(processes) {
        return Err(DataError::OtherSize {
            url,
            ranks: manifest.ranks.len(),
            processes,
        });
    }
    Ok(Some((place.address.clone(), path)))
}

/// Has a running job saved, and waits until it is.
pub(crate) async fn ask(
    rm: &ApplicationClient,
    id: &str,
    staging: Option<&str>,
    cluster: &Cluster,
    signals: &mut Signals,
) -> Result<u8, DataError> {
    let id: ApplicationId = id
        .parse()
        .map_err(|_unreadable| DataError::NoApplicationId {
            text: id.to_owned(),
        })?;
    let root = root(staging, cluster)?;
    let folder = of_job(&root.path, &id.to_string());
    let storage = root.open(OPTION)?;
    tokio::select! {
        path = saved(rm, &id, &storage, &folder) => {
            let path = path?;
            say(format!("{id} is saved in {}", root.address.url(&path)));
            Ok(Exit::Success.code())
        }
        signal = signals.ending() => {
            say(format!("interrupted; where {id} has heard of it, it is saved all the same"));
            Ok(128u8.saturating_add(signal))
        }
    }
}

const OPTION: &str = "--checkpoint";

async fn saved(
    rm: &ApplicationClient,
    id: &ApplicationId,
    storage: &Storage,
    folder: &str,
) -> Result<String, DataError> {
    let words = |error| failed(OPTION, error);
    if storage.stat(folder).await.map_err(words)?.is_none() {
        let folder = folder.to_owned();
        return Err(DataError::SavesNothing { id: *id, folder });
    }
    let before = newest(storage, folder).await.map_err(words)?;
    let (wanted, refused) = (format!("{folder}/{WANTED}"), format!("{folder}/{REFUSED}"));
    storage.remove(&refused).await.map_err(words)?;
    match storage.write(&wanted, Vec::new()).await {
        // Somebody else asks too.
        Ok(()) | Err(StorageError::Exists { .. }) => {}
        Err(error) => return Err(words(error)),
    }
    let by = Instant::now() + PATIENCE;
    loop {
        sleep(LOOK).await;
        if Instant::now() > by {
            storage.remove(&wanted).await.map_err(words)?;
            let seconds = PATIENCE.as_secs();
            return Err(DataError::NotSaved { id: *id, seconds });
        }
        if storage.stat(folder).await.map_err(words)?.is_none() {
            return Err(DataError::EndedUnsaved { id: *id });
        }
        let now = newest(storage, folder).await.map_err(words)?;
        if let Some(path) = now.filter(|now| before.as_ref() != Some(now)) {
            return Ok(path);
        }
        if let Ok(sentence) = storage.read(&refused, 64 << 10).await {
            storage.remove(&refused).await.map_err(words)?;
            let sentence = String::from_utf8_lossy(&sentence).into_owned();
            return Err(DataError::NotSavedBy { sentence });
        }
        if patiently(rm, id).await?.state.is_final() {
            return Err(DataError::EndedUnsaved { id: *id });
        }
    }
}
