//! One call: carried out, and its answer.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::PATIENCE;
use policy::commit::{CallAnswer, Op, absolute};
use storage::{CreateOptions, Storage, StorageError, parent};
use tokio::sync::watch;

/// Most bytes of a file that the committer makes: a manifest of a few hundred thousand files.
const SMALL: usize = 64 << 20;
/// Most files of a job's attempts: the most that a folder of HDFS may have by default
/// (`dfs.namenode.fs-limits.max-directory-items`).
const ENTRIES: usize = 1 << 20;

/// The output folder of a job.
#[derive(Debug)]
pub struct OutputCommitter {
    storage: Arc<Storage>,
    /// Absolute path.
    top: String,
    /// Tells drafts of this one from those of others, anywhere.
    nonce: u64,
    drafts: AtomicU64,
    pub(crate) patience: Duration,
    /// Why a call is repeated, where that is worth a word.
    waits: watch::Sender<Option<WhyRepeated>>,
    /// Why the last call that was lost was so.
    lost: Mutex<String>,
}

/// Why a call has to be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyRepeated {
    /// HDFS is in safe mode.
    SafeMode,
    /// The file system has been out of reach for [`AWAY`](crate::AWAY), for this reason.
    Away(String),
}

impl OutputCommitter {
    /// The output folder `top`, an absolute path on `storage`, which need not be there.
    #[must_use]
    pub fn new(storage: impl Into<Arc<Storage>>, top: &str) -> Self {
        Self {
            storage: storage.into(),
            top: top.to_owned(),
            nonce: RandomState::new().hash_one(std::process::id()),
            drafts: AtomicU64::new(0),
            patience: PATIENCE,
            waits: watch::Sender::new(None),
            lost: Mutex::default(),
        }
    }

    /// One that waits no longer than `patience` for a file system that is out of reach.
    #[must_use]
    pub fn patient_for(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The whole name of a path of [`Op`], for sentences.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        self.storage.url(&self.at(path))
    }

    /// Says why, once a call has to wait for the file system. That call is repeated, for [`PATIENCE`] at most unless
    /// [`patient_for`](Self::patient_for) says otherwise.
    #[must_use]
    pub fn waits(&self) -> watch::Receiver<Option<WhyRepeated>> {
        self.waits.subscribe()
    }

    /// Calls have been lost for so long that somebody may wonder.
    pub(crate) fn is_away(&self) {
        self.waits.send_if_modified(|wait| {
            let is_news = wait.is_none();
            let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
            wait.get_or_insert_with(|| WhyRepeated::Away(lost.clone()));
            is_news
        });
    }

    fn at(&self, path: &str) -> String {
        absolute(&self.top, path)
    }

    /// Carries a call out; what it came to, once.
    ///
    /// # Errors
    /// The file system refuses for a reason that does not pass by itself.
    pub async fn carry_out(&self, op: &Op) -> Result<CallAnswer, StorageError> {
        let answer = self.called(op).await;
        match &answer {
            Err(StorageError::SafeMode { .. }) => {
                self.waits.send_replace(Some(WhyRepeated::SafeMode));
            }
            Err(error) if error.is_outage() => {
                let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
                *lost = error.to_string();
            }
            Ok(_) | Err(_) => {}
        }
        answer.or_else(told)
    }

    /// The call itself.
    async fn called(&self, op: &Op) -> Result<CallAnswer, StorageError> {
        let done = match op {
            Op::MakeFolder(path) => self.storage.make_one_folder(&self.at(path)).await,
            Op::MakeFolders(path) => match self.storage.make_folder(&self.at(path)).await {
                // On a mounted folder they are made one by one, and somebody may remove one in between.
                Err(StorageError::Absent { .. }) => self.storage.make_folder(&self.at(path)).await,
                made => made,
            },
            Op::Create(path, content) => self.create(&self.at(path), content).await,
            Op::Rename(from, to) => self.storage.rename(&self.at(from), &self.at(to)).await,
            Op::Look(path) => return self.look(&self.at(path)).await,
            Op::Read(path) => return self.read(&self.at(path)).await,
            Op::List(path) => return self.list(&self.at(path)).await,
            Op::DeleteAll(path) => match self.storage.remove_found(&self.at(path)).await {
                Ok(false) => return Ok(CallAnswer::NotThere),
                other => other.map(drop),
            },
            Op::DeleteEmpty(path) => match self.storage.remove_empty(&self.at(path)).await {
                Ok(false) => return Ok(CallAnswer::NotThere),
                other => other.map(drop),
            },
        };
        done.map(|()| CallAnswer::Done)
    }

    async fn look(&self, path: &str) -> Result<CallAnswer, StorageError> {
        let found = self.storage.stat(path).await?;
        Ok(found.map_or(CallAnswer::NotThere, |_| CallAnswer::Done))
    }

    /// What a folder says, which is what the committer makes as a rule; else what a file does.
    async fn read(&self, path: &str) -> Result<CallAnswer, StorageError> {
        match self.storage.list_some(path, 2).await {
            // A NameNode lists a file as itself.
            Ok(all) if all.iter().any(|entry| entry.path == path) => self.read_file(path).await,
            Ok(all) => Ok(match all.as_slice() {
                [] => CallAnswer::Content(String::new()),
                [only] => CallAnswer::Content(only.name().to_owned()),
                _ => CallAnswer::NotThere,
            }),
            // And a folder's own list does not have files.
            Err(StorageError::Absent { .. }) => self.read_file(path).await,
            Err(error) => Err(error),
        }
    }

    async fn read_file(&self, path: &str) -> Result<CallAnswer, StorageError> {
        let bytes = self.storage.read(path, SMALL).await?;
        // Words that nobody here has written are shown as well as may be, and believed by nobody.
        let words = String::from_utf8_lossy(&bytes).into_owned();
        Ok(CallAnswer::Content(words))
    }

    async fn list(&self, path: &str) -> Result<CallAnswer, StorageError> {
        let all = self.storage.list(path, ENTRIES).await?;
        // A NameNode lists a file as itself.
        if all.iter().any(|entry| entry.path == path) {
            return Ok(CallAnswer::NotThere);
        }
        let names = all.iter().map(|entry| entry.name().to_owned());
        Ok(CallAnswer::Names(names.collect()))
    }

    /// Makes a file with its content in one step: written under another name, renamed. Where there is no content,
    /// making it is one step.
    async fn create(&self, path: &str, content: &str) -> Result<(), StorageError> {
        let options = CreateOptions {
            needs_folder: true,
            size: Some(content.len() as u64),
            ..CreateOptions::default()
        };
        if content.is_empty() {
            let file = self.storage.create(path, options).await?;
            return file.close().await.map(drop);
        }
        let number = self.drafts.fetch_add(1, Ordering::Relaxed);
        let folder = parent(path);
        let draft = format!("{folder}/.draft-{:016x}-{number}", self.nonce);
        let made = async {
            let mut file = self.storage.create(&draft, options).await?;
            file.write(content.as_bytes().to_vec().into()).await?;
            file.close().await?;
            self.storage.rename(&draft, path).await
        };
        let made = made.await;
        // What may yet be renamed by a call whose answer was lost is not removed from under it.
        let refused = matches!(&made, Err(StorageError::Exists { .. }));
        if refused {
            // It hinders nobody but the removal of an empty folder.
            drop(self.storage.remove(&draft).await);
        }
        made
    }
}

/// What an error tells the machine, if it is one that a machine can do something about.
fn told(error: StorageError) -> Result<CallAnswer, StorageError> {
    match error {
        StorageError::Exists { .. } => Ok(CallAnswer::Exists),
        StorageError::Absent { .. } => Ok(CallAnswer::NotThere),
        outage if outage.is_outage() => Ok(CallAnswer::Lost),
        other => Err(other),
    }
}
