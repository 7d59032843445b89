//! Keeps what became of a job.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use job::history::{HistoryFolder, JobHistory, SUFFIX};
use storage::{CreateOptions, Readers, StorageError};
use tokio::time::timeout;

use crate::ledger::Storages;

/// The verdict waits for no longer than this.
const SOON: Duration = Duration::from_secs(10);

/// Writes the file of a job that has just ended.
///
/// # Errors
///
/// Why it is not there, a sentence.
pub(crate) async fn keep(
    folder: &HistoryFolder,
    mut history: JobHistory,
    storages: &Storages,
) -> Result<(), String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0));
    history.began_ms = now.saturating_sub(history.took_ms);
    let text = serde_json::to_vec(&history).map_err(|error| error.to_string())?;
    let name = format!("{}{SUFFIX}", history.job);
    match timeout(SOON, Box::pin(write((folder, &name), text, storages))).await {
        Ok(written) => written.map_err(|error| error.to_string()),
        Err(_late) => Err(format!(
            "{}/{name} was not written within {} s",
            folder.address.url(&folder.path),
            SOON.as_secs()
        )),
    }
}

async fn write(
    (folder, name): (&HistoryFolder, &str),
    text: Vec<u8>,
    storages: &Storages,
) -> Result<(), StorageError> {
    let storage = storages.of(&folder.address)?;
    let path = format!("{}/{name}", folder.path);
    // Settings of jobs are nobody else's matter.
    let readers = Readers::Nodes;
    let options = CreateOptions {
        readers,
        overwrite: true,
        needs_folder: true,
        size: Some(text.len() as u64),
    };
    let mut file = match storage.create(&path, options).await {
        // The first of them.
        Err(StorageError::Absent { .. }) => {
            storage.make_folder_for(&folder.path, readers).await?;
            storage.create(&path, options).await?
        }
        made => made?,
    };
    file.write(text.into()).await?;
    file.close().await.map(drop)
}
