//! Whose output launchers bring, and whose input they fetch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holding::{Bringing, Streams};
use job::JobId;
use job::wire;
use policy::ContainerId;
use tokio::sync::{Notify, mpsc};

use crate::console::Console;

/// What launchers bring and fetch, by job.
#[derive(Debug, Default)]
pub(crate) struct Consoles {
    all: Mutex<BTreeMap<JobId, Arc<Console>>>,
    moves: Arc<Moves>,
}

/// The jobs of which a stream of output has come to its end, until the loop hears of it.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    jobs: Mutex<BTreeSet<JobId>>,
    more: Notify,
}

impl Moves {
    /// One more.
    pub(crate) fn tell(&self, job: JobId) {
        lock(&self.jobs).insert(job);
        self.more.notify_one();
    }

    /// The next of them, when there is one; whoever does not wait any more has taken none.
    async fn next(&self) -> JobId {
        loop {
            let next = lock(&self.jobs).pop_first();
            match next {
                Some(job) => return job,
                None => self.more.notified().await,
            }
        }
    }
}

impl Consoles {
    /// Those of a job that begins.
    pub(crate) fn begin(&self, job: JobId) -> Arc<Console> {
        let console = Arc::new(Console::new(job, Arc::clone(&self.moves)));
        self.lock().insert(job, Arc::clone(&console));
        console
    }

    /// The job of which another stream has ended, or the last of all output was handed over.
    pub(crate) async fn moved(&self) -> JobId {
        self.moves.next().await
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
        lock(&self.all)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here panics while it holds the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Streams for Consoles {
    fn open(self: Arc<Self>, container: ContainerId, job: u32) -> Option<Box<dyn Bringing>> {
        self.get(JobId(job))?.open(container)
    }

    fn take_input(&self, job: u32) -> Option<mpsc::Receiver<wire::InputChunk>> {
        self.get(JobId(job))?.take_input()
    }
}
