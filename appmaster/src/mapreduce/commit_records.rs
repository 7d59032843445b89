//! Records of jobs by which the next ApplicationMaster finds their output folders.
//!
//! A record is an empty folder whose path says everything, so that it costs a NameNode one call and no block:
//! `commits/APPLICATION/BATCH/JOB.PIECE/PIECE` in the staging folder, where the pieces are JSON, and letters that a
//! name may not have are `=` and two hexadecimal digits. A piece with another below it begins with `m` (more), the
//! last one with `l`.

use std::sync::Arc;
use std::time::Duration;

use job::StagingFolder;
use job::recovered::FOLDER;
use proto_hadoop::ApplicationId;
use serde::{Deserialize, Serialize};
use storage::{Address, Readers, Storage, StorageError};
use tokio::time::{Instant, sleep, timeout};

use crate::ledger::Storages;

/// Letters of a piece: HDFS gives names 255 bytes.
const PIECE: usize = 200;
/// Pieces of a record: HDFS gives paths 8,000 letters.
const PIECES: usize = 30;
/// Jobs and batches that are read.
const ENTRIES: usize = 100_000;
/// To write or remove some.
const SOON: Duration = Duration::from_secs(10);
/// To read all of them: a NameNode takes a minute or two to start again.
const PATIENCE: Duration = Duration::from_secs(300);
/// Between two tries.
const PAUSE: Duration = Duration::from_secs(2);

/// What the next ApplicationMaster is to know of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// What lists call it.
    pub(crate) name: String,
    /// When it began, ms since 1970.
    pub(crate) began_ms: u64,
    /// The file system of its output; `None`: that of the staging folder.
    pub(crate) address: Option<Address>,
    /// Its output folder, absolute.
    pub(crate) path: String,
}

impl Record {
    /// As pieces of a path. `None`: it is too long for one.
    fn pieces(&self) -> Option<Vec<String>> {
        let text = escaped(&serde_json::to_vec(self).ok()?);
        // All of it is ASCII.
        let all: Vec<&str> = text
            .as_bytes()
            .chunks(PIECE)
            .filter_map(|piece| std::str::from_utf8(piece).ok())
            .collect();
        if all.len() > PIECES {
            return None;
        }
        let (last, more) = all.split_last()?;
        let more = more.iter().map(|piece| format!("m{piece}"));
        Some(more.chain([format!("l{last}")]).collect())
    }

    /// Back from the text of all pieces.
    fn from_text(text: &str) -> Option<Self> {
        serde_json::from_slice(&unescaped(text)?).ok()
    }
}

/// The records of one application.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    storage: Arc<Storage>,
    /// Of that file system.
    address: Address,
    /// Absolute.
    folder: String,
}

impl Book {
    /// That of `application`. Nothing is asked yet.
    pub(crate) fn open(
        staging: &StagingFolder,
        application: ApplicationId,
        storages: &Storages,
    ) -> Result<Self, StorageError> {
        Ok(Self {
            storage: storages.of(&staging.address)?,
            address: staging.address.clone(),
            folder: format!("{}/{FOLDER}/{application}", staging.path),
        })
    }

    /// The address that a record names for this file system.
    pub(crate) fn named(&self, address: &Address) -> Option<Address> {
        (*address != self.address).then(|| address.clone())
    }

    /// The file system that a record names so.
    pub(crate) fn address(&self, named: Option<Address>) -> Address {
        named.unwrap_or_else(|| self.address.clone())
    }

    /// Makes the record of `job` in a batch.
    ///
    /// # Errors
    ///
    /// Why it is not there, a sentence.
    pub(crate) async fn write(&self, batch: u32, job: u32, record: &Record) -> Result<(), String> {
        let Some(pieces) = record.pieces() else {
            return Err(format!("the path {} is too long for a record", record.path));
        };
        let path = format!("{}/{batch}/{job}.{}", self.folder, pieces.join("/"));
        let made = self.storage.make_folder_for(&path, Readers::Nodes);
        soon(made).await
    }

    /// Removes the records of a batch.
    ///
    /// # Errors
    ///
    /// Why they are still there, a sentence.
    pub(crate) async fn remove(&self, batch: u32) -> Result<(), String> {
        let path = format!("{}/{batch}", self.folder);
        soon(self.storage.remove(&path)).await
    }

    /// Removes all.
    ///
    /// # Errors
    ///
    /// Why they are still there, a sentence.
    pub(crate) async fn clear(&self) -> Result<(), String> {
        soon(self.storage.remove(&self.folder)).await
    }

    /// All of them, by the numbers of the jobs; for some minutes it is tried.
    ///
    /// # Errors
    ///
    /// Why they cannot be read, a sentence.
    pub(crate) async fn read(&self) -> Result<Vec<(u32, Record)>, String> {
        let since = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(since.elapsed());
            match timeout(left, self.try_read()).await {
                Ok(Ok(records)) => return Ok(records),
                Ok(Err(error)) if since.elapsed() + PAUSE > PATIENCE => {
                    return Err(error.to_string());
                }
                Ok(Err(error)) => {
                    tracing::warn!("the records of jobs: {error}");
                    sleep(PAUSE).await;
                }
                Err(_late) => {
                    return Err(format!(
                        "{} was not read within {} s",
                        self.address.url(&self.folder),
                        PATIENCE.as_secs()
                    ));
                }
            }
        }
    }

    async fn try_read(&self) -> Result<Vec<(u32, Record)>, StorageError> {
        let mut records = Vec::new();
        for batch in self.names(&self.folder).await? {
            let folder = format!("{}/{batch}", self.folder);
            for name in self.names(&folder).await? {
                let Some((job, piece)) = name.split_once('.') else {
                    continue;
                };
                let text = self.text(format!("{folder}/{name}"), piece).await?;
                match (job.parse(), Record::from_text(&text)) {
                    (Ok(job), Some(record)) => records.push((job, record)),
                    _ => tracing::warn!("{folder}/{name} is no record of a job"),
                }
            }
        }
        Ok(records)
    }

    /// The text of a record whose first `piece` is in the folder at `path`.
    async fn text(&self, mut path: String, piece: &str) -> Result<String, StorageError> {
        let mut text = String::new();
        let mut piece = piece.to_owned();
        while let Some(more) = piece.strip_prefix('m') {
            text.push_str(more);
            let Some(next) = self.names(&path).await?.into_iter().next() else {
                return Ok(text);
            };
            path = format!("{path}/{next}");
            piece = next;
        }
        text.push_str(piece.strip_prefix('l').unwrap_or_default());
        Ok(text)
    }

    /// What is in a folder; nothing where there is none.
    async fn names(&self, folder: &str) -> Result<Vec<String>, StorageError> {
        match self.storage.list(folder, ENTRIES).await {
            Ok(all) => Ok(all.iter().map(|entry| entry.name().to_owned()).collect()),
            Err(StorageError::Absent { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

async fn soon(done: impl Future<Output = Result<(), StorageError>>) -> Result<(), String> {
    match timeout(SOON, done).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_late) => Err(format!("no answer within {} s", SOON.as_secs())),
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => text.push(char::from(*byte)),
            other => text.push_str(&format!("={other:02X}")),
        }
    }
    text
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        match first {
            b'=' => {
                let (digits, behind) = behind.split_at_checked(2)?;
                let digits = std::str::from_utf8(digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = behind;
            }
            other => {
                bytes.push(*other);
                rest = behind;
            }
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPLICATION: ApplicationId = ApplicationId {
        cluster_timestamp: 1_700_000_000_000,
        id: 42,
    };

    fn record(path: &str) -> Record {
        Record {
            name: "word count: é/\"=".into(),
            began_ms: 17,
            address: None,
            path: path.into(),
        }
    }

    #[tokio::test]
    async fn what_is_written_is_read_until_its_batch_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let staging = StagingFolder {
            address: Address::Shared,
            path: folder.path().to_str().unwrap().to_owned(),
        };
        let book = Book::open(&staging, APPLICATION, &Storages::default()).unwrap();
        assert_eq!(book.read().await, Ok(Vec::new()));
        let long = record(&format!("/{}", "long/".repeat(500)));
        let elsewhere = Record {
            address: book.named(&Address::Hdfs {
                connect: "hdfs://n:8020".into(),
                origin: "hdfs://n:8020".into(),
                user: "ann".into(),
                settings: vec![("a.b".into(), "c,d".into())],
            }),
            ..record("/out/dt=2026-01-01")
        };
        book.write(0, 1, &long).await.unwrap();
        book.write(0, 2, &elsewhere).await.unwrap();
        book.write(1, 17, &record("/out")).await.unwrap();
        let mut all = book.read().await.unwrap();
        all.sort_by_key(|(job, _)| *job);
        let wanted = [(1, long), (2, elsewhere), (17, record("/out"))];
        assert_eq!(all, wanted);
        book.remove(0).await.unwrap();
        assert_eq!(book.read().await.unwrap().len(), 1);
        book.clear().await.unwrap();
        assert_eq!(book.read().await, Ok(Vec::new()));
        let endless = record(&"/x".repeat(4000));
        assert!(book.write(2, 18, &endless).await.is_err());
    }

    #[test]
    fn every_piece_is_a_name_that_hdfs_takes() {
        let pieces = record(&format!("/a:b/{}", "é".repeat(400)))
            .pieces()
            .unwrap();
        assert!(pieces.len() > 2, "{pieces:?}");
        for piece in &pieces {
            assert!(piece.len() <= PIECE + 1, "{piece}");
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=".contains(&byte);
            assert!(piece.bytes().all(plain), "{piece}");
        }
        assert_eq!(unescaped("a=2"), None);
        assert_eq!(unescaped("a=zz"), None);
    }
}
