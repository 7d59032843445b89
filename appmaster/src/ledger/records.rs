//! The records by which the next ApplicationMaster finds the outputs of the jobs of this one, and the clients of the
//! file systems that its jobs share.
//!
//! A record is made while its job's output folder is set up, and goes, with others of the same time, when the job is
//! over. What is to be done about one is a future for the loop to carry out.

use job::{JobId, StagingFolder};
use policy::commit::Records;
use proto_hadoop::ApplicationId;

use super::Storages;
use crate::mapreduce::{Book, Folder, Record};

/// The records that are there.
#[derive(Debug, Default)]
pub(super) struct JobRecords {
    /// Where they lie; `None`: the next ApplicationMaster finds no job.
    book: Option<Book>,
    batches: Records,
    storages: Storages,
}

impl JobRecords {
    /// From now on jobs leave records below this folder.
    pub(super) fn open(&mut self, staging: &StagingFolder, application: ApplicationId) {
        self.book = match Book::open(staging, application, &self.storages) {
            Ok(book) => Some(book),
            Err(error) => {
                tracing::warn!("no other ApplicationMaster would find jobs: {error}");
                None
            }
        };
    }

    pub(super) fn storages(&self) -> Storages {
        self.storages.clone()
    }

    /// Leaves a record of where the job's output goes, before anything of it is there that would have to be finished or
    /// removed. A job is not refused for want of one.
    pub(super) fn begin(
        &mut self,
        job: JobId,
        name: String,
        folder: &Folder,
        began_ms: u64,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let book = self.book.clone()?;
        let batch = self.batches.begin(job.0);
        let record = Record {
            name,
            began_ms,
            address: book.named(&folder.address),
            path: folder.path.clone(),
        };
        Some(async move {
            if let Err(sentence) = book.write(batch, job.0, &record).await {
                tracing::warn!(
                    "no other ApplicationMaster would find job {}: {sentence}",
                    job.0
                );
            }
        })
    }

    /// The job is over. Its record goes with the last of its batch.
    pub(super) fn end(&mut self, job: JobId) -> Option<impl Future<Output = ()> + Send + use<>> {
        let batch = self.batches.end(job.0)?;
        let book = self.book.clone()?;
        Some(async move { say_left(book.remove(batch).await) })
    }

    /// All jobs are over: nothing is left.
    pub(super) fn clear(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let book = self.book.clone()?;
        Some(async move { say_left(book.clear().await) })
    }
}

fn say_left(removed: Result<(), String>) {
    if let Err(sentence) = removed {
        tracing::warn!("records of jobs are left: {sentence}");
    }
}
