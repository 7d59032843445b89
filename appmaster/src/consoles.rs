//! Whose output launchers bring, and whose input they fetch.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holding::{Bringing, Streams};
use job::JobId;
use job::wire;
use policy::ContainerId;
use tokio::sync::mpsc;

use crate::console::Console;
use crate::ended_streams::EndedStreams;

/// What launchers bring and fetch, by job.
#[derive(Debug, Default)]
pub(crate) struct Consoles {
    all: Mutex<BTreeMap<JobId, Arc<Console>>>,
    ended: Arc<EndedStreams>,
}

impl Consoles {
    /// Those of a job that begins.
    pub(crate) fn begin(&self, job: JobId) -> Arc<Console> {
        let console = Arc::new(Console::new(job, Arc::clone(&self.ended)));
        self.lock().insert(job, Arc::clone(&console));
        console
    }

    /// The job of which another stream has ended, or the last of all output was handed over.
    pub(crate) async fn moved(&self) -> JobId {
        self.ended.next().await
    }

    /// Of a job that is over nothing is taken any more.
    pub(crate) fn remove(&self, job: JobId) {
        self.lock().remove(&job);
    }

    /// Those of a job; `None`: it is over, or never was.
    pub(crate) fn get(&self, job: JobId) -> Option<Arc<Console>> {
        self.lock().get(&job).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<JobId, Arc<Console>>> {
        // Nothing in here panics while it holds the lock.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Streams for Consoles {
    fn open(self: Arc<Self>, container: ContainerId, job: u32) -> Option<Box<dyn Bringing>> {
        self.get(JobId(job))?.open(container)
    }

    fn take_input(&self, job: u32) -> Option<mpsc::Receiver<wire::InputChunk>> {
        self.get(JobId(job))?.take_input()
    }
}
