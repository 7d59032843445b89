//! Which jobs' streams of output have come to their ends.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use job::JobId;
use tokio::sync::Notify;

/// The jobs of which a stream of output has come to its end, until the loop hears of it.
#[derive(Debug, Default)]
pub(crate) struct EndedStreams {
    jobs: Mutex<BTreeSet<JobId>>,
    more: Notify,
}

impl EndedStreams {
    /// One more.
    pub(crate) fn tell(&self, job: JobId) {
        self.lock().insert(job);
        self.more.notify_one();
    }

    /// The next of them, when there is one. A caller that stops waiting has taken none.
    pub(crate) async fn next(&self) -> JobId {
        loop {
            let next = self.lock().pop_first();
            match next {
                Some(job) => return job,
                None => self.more.notified().await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<JobId>> {
        // Nothing in here panics while it holds the lock.
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
