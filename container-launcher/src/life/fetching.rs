//! The files of jobs on their way.

use std::collections::BTreeMap;
use std::path::PathBuf;

use job::JobId;
use job::wire::{FetchFiles, FilesFetched};
use tokio::task::{AbortHandle, JoinSet};

use crate::job_files;

/// What brings them.
#[derive(Debug, Default)]
pub(super) struct Fetching {
    tasks: JoinSet<FilesFetched>,
    by_job: BTreeMap<JobId, Vec<AbortHandle>>,
}

impl Fetching {
    /// Brings files into the container whose folder this is.
    ///
    /// It goes on in turns with the caller, on the same thread, and so never after it was stopped.
    pub(super) fn begin(&mut self, container: PathBuf, order: FetchFiles) {
        let job = JobId(order.job);
        let task = self.tasks.spawn(job_files::fetch(container, order));
        self.by_job.entry(job).or_default().push(task);
    }

    /// Stops what is brought for a job.
    pub(super) fn stop(&mut self, job: JobId) {
        for task in self.by_job.remove(&job).unwrap_or_default() {
            task.abort();
        }
    }

    /// The next that is done; never while there is none. May be dropped and called again.
    pub(super) async fn next(&mut self) -> FilesFetched {
        loop {
            let Some(done) = self.tasks.join_next().await else {
                return std::future::pending().await;
            };
            self.by_job.retain(|_, tasks| {
                tasks.retain(|task| !task.is_finished());
                !tasks.is_empty()
            });
            // Another was stopped.
            if let Ok(done) = done {
                return done;
            }
        }
    }
}
