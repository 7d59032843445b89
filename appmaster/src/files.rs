//! What jobs want done on file systems, each in a task of its own whose end is news: a file system may
//! hang for ever.

use std::sync::Arc;

use job::StageOut;
use job::data::{Manifest, number};
use proto_hadoop::AppAttemptId;
use storage::{Address, RESULT_PATIENCE, Storage, StorageError, outlast};
use tokio::sync::Mutex;

use crate::mpi::checkpoints::{ENTRIES_MAX, close};
use crate::mpi::commit::{PendingFolder, Renames};

/// One piece of work.
#[derive(Debug)]
pub(crate) enum FileWork {
    /// See whether somebody asks for a checkpoint, by a file of this name, which goes.
    WasAsked {
        /// Of the checkpoints.
        storage: Arc<Storage>,
        /// The file.
        wanted: String,
    },
    /// Make the checkpoint complete that lies in `from`.
    CloseCheckpoint {
        /// Of the checkpoints.
        storage: Arc<Storage>,
        /// Where it has grown.
        from: String,
        /// Its name from then on.
        to: String,
        /// What it is.
        manifest: Manifest,
    },
    /// Remove what there is of a checkpoint that is given up. Nobody hears of its end.
    GiveCheckpointUp {
        /// Of the checkpoints.
        storage: Arc<Storage>,
        /// Where it has grown.
        left: String,
        /// A file, and why, for whoever has asked.
        refused: Option<(String, String)>,
    },
    /// Remove the job's checkpoints.
    ClearCheckpoints {
        /// Of the checkpoints.
        storage: Arc<Storage>,
        /// The job's folder.
        folder: String,
        /// Those that are complete stay.
        keeps: bool,
    },
    /// See what of the results no attempt before this one has made.
    Undelivered {
        /// The results.
        wanted: Vec<StageOut>,
        /// This attempt.
        attempt: AppAttemptId,
    },
    /// See whether all these paths are free.
    AreFree(Vec<(Address, Vec<String>)>),
    /// Give one result its names.
    Commit {
        /// Where its files are until then.
        own: PendingFolder,
        /// The names.
        renames: Renames,
    },
    /// Remove what was not given a final name, and the lists.
    Forget(Vec<PendingFolder>),
}

/// How a piece of work has ended.
#[derive(Debug)]
pub(crate) enum FilesDone {
    /// Whether somebody asks for a checkpoint.
    Asked(bool),
    /// The checkpoint of this number is complete, or why not.
    Closed(u32, Result<(), String>),
    /// No checkpoint is there that should not be, as far as that could be done.
    Cleared,
    /// What is to become results.
    Undelivered(Result<Undelivered, String>),
    /// All paths are free, or one of them is not.
    AreFree(Result<(), String>),
    /// One result is there, or why not.
    Committed(Result<(), String>),
    /// Gone, as far as that could be done.
    Forgotten,
    /// The work is not done yet: it waits for its file system, which is away for this reason.
    Away(String),
}

/// What is to become results, and what is already.
#[derive(Debug, Default)]
pub(crate) struct Undelivered {
    /// Results to be made, each with the folder in which this attempt has its files.
    pub outs: Vec<(StageOut, PendingFolder)>,
    /// What earlier attempts have made.
    pub made: Vec<PendingFolder>,
    /// Sentences about these.
    pub notices: Vec<String>,
}

impl FileWork {
    /// Whether it may be dropped in the middle when the job ends otherwise.
    pub(crate) const fn may_be_dropped(&self) -> bool {
        match self {
            Self::WasAsked { .. }
            | Self::CloseCheckpoint { .. }
            | Self::GiveCheckpointUp { .. } => false,
            Self::ClearCheckpoints { .. }
            | Self::Undelivered { .. }
            | Self::AreFree(_)
            | Self::Commit { .. }
            | Self::Forget(_) => true,
        }
    }

    /// Does it. `closing` is held while a checkpoint is made complete, or while all are removed. `away` hears of a file
    /// system that is waited for.
    pub(crate) async fn done(
        self,
        closing: Arc<Mutex<()>>,
        away: impl Fn(FilesDone),
    ) -> Option<FilesDone> {
        let away = |error: &StorageError| away(FilesDone::Away(error.to_string()));
        let words = |error: StorageError| error.to_string();
        Some(match self {
            Self::WasAsked { storage, wanted } => {
                let asked = matches!(storage.stat(&wanted).await, Ok(Some(_)));
                // Before it is taken, so that whoever asks again meanwhile is not overlooked.
                FilesDone::Asked(asked && storage.remove(&wanted).await.is_ok())
            }
            Self::CloseCheckpoint {
                storage,
                from,
                to,
                manifest,
            } => {
                let _held = closing.lock().await;
                let closed = close(&storage, &from, &to, &manifest).await;
                FilesDone::Closed(manifest.number, closed)
            }
            Self::GiveCheckpointUp {
                storage,
                left,
                refused,
            } => {
                let _later = storage.remove(&left).await.is_ok();
                if let Some((refused, words)) = refused {
                    let _told = storage.remove(&refused).await.is_ok()
                        && storage.write(&refused, words.into_bytes()).await.is_ok();
                }
                return None;
            }
            Self::ClearCheckpoints {
                storage,
                folder,
                keeps,
            } => {
                let _closed = closing.lock().await;
                clear(&storage, &folder, keeps).await;
                FilesDone::Cleared
            }
            Self::Undelivered { wanted, attempt } => {
                let found = || undelivered(&wanted, attempt);
                let found = outlast(RESULT_PATIENCE, away, found).await;
                FilesDone::Undelivered(found.map_err(words))
            }
            Self::AreFree(places) => {
                let taken = outlast(RESULT_PATIENCE, away, || taken(&places)).await;
                FilesDone::AreFree(match taken {
                    Ok(None) => Ok(()),
                    Ok(Some(taken)) => Err(format!("{taken} exists already")),
                    Err(error) => Err(words(error)),
                })
            }
            Self::Commit { own, renames } => FilesDone::Committed(match own.list_of(&renames) {
                Ok(list) => {
                    let commit = || own.commit(&renames, &list);
                    let committed = outlast(RESULT_PATIENCE, away, commit).await;
                    committed.map_err(words)
                }
                Err(sentence) => Err(sentence),
            }),
            Self::Forget(all) => {
                for own in all {
                    if let Err(error) = own.forget().await {
                        tracing::warn!("left behind: {error}");
                    }
                }
                FilesDone::Forgotten
            }
        })
    }
}

/// Removes a job's checkpoints, or those that are not complete.
async fn clear(storage: &Storage, folder: &str, keeps: bool) {
    if !keeps {
        let _left = storage.remove(folder).await.is_ok();
        return;
    }
    let entries = storage.list(folder, ENTRIES_MAX).await.unwrap_or_default();
    for entry in entries {
        if number(entry.name()).is_none() {
            let _left = storage.remove(&entry.path).await.is_ok();
        }
    }
}

/// Which of the results `wanted` no attempt before `attempt` has made. What others have left of them is
/// gone.
async fn undelivered(
    wanted: &[StageOut],
    attempt: AppAttemptId,
) -> Result<Undelivered, StorageError> {
    let mut found = Undelivered::default();
    for (index, out) in wanted.iter().enumerate() {
        let mut made_by = None;
        for earlier in 1..attempt.attempt {
            let of = AppAttemptId {
                attempt: earlier,
                ..attempt
            };
            let own = PendingFolder::of(out, index, &of);
            if own.finish().await? {
                made_by = Some(earlier);
                found.made.push(own);
            }
        }
        match made_by {
            Some(earlier) => found.notices.push(format!(
                "{}: {} was made by attempt {earlier} before it was lost, and stays as it is",
                out.option,
                out.address.url(&out.path)
            )),
            None => {
                let own = PendingFolder::of(out, index, &attempt);
                found.outs.push((out.clone(), own));
            }
        }
    }
    Ok(found)
}

/// The first of these paths that somebody has.
async fn taken(places: &[(Address, Vec<String>)]) -> Result<Option<String>, StorageError> {
    for (address, paths) in places {
        let storage = Storage::open(address)?;
        for path in paths {
            if storage.stat(path).await?.is_some() {
                return Ok(Some(address.url(path)));
            }
        }
    }
    Ok(None)
}
