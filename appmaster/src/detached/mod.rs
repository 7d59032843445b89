//! Jobs that no client follows: the AM is their client itself, and keeps what they print for whoever comes
//! to look.
//!
//! ```text
//! a job ── events, output ──▶ follow ──▶ DetachedJob: what it said, and its Spool ──▶ watch ──▶ clients
//! ```
//!
//! To the job there is no difference: it has a client that takes its output as fast as the disk does, and
//! leaves after the verdict. What was printed lies in files in this container's working directory, a head
//! and a tail of each job ([`parts`]), in a bounded amount of disk for all ([`budget`]). Who watches reads
//! these from the beginning, each at a pace of its own, and holds nobody up: who is too slow misses what is
//! not kept, and is told how much. Of the last jobs that have ended all of that stays, too.

mod budget;
mod detached_job;
mod follow;
mod parts;
mod said;
mod spool;
mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use job::JobId;
use job::wire;

use crate::detached::budget::Budget;

pub(crate) use detached_job::{DetachedJob, InputSender};
pub(crate) use follow::Following;
pub(crate) use watch::OutputFilter;

/// Jobs that have ended and are remembered.
pub(crate) const ENDED_MAX: usize = 100;
/// Bytes of disk for all jobs.
const DISK_MAX: u64 = 256 << 20;
/// In the AM's working directory.
const FOLDER: &str = ".gerbil-output";

/// All of them, by number.
#[derive(Debug)]
pub(crate) struct Detached {
    folder: PathBuf,
    budget: Arc<Budget>,
    jobs: Mutex<BTreeMap<JobId, Arc<DetachedJob>>>,
}

impl Detached {
    /// What is printed is kept in the working directory.
    pub(crate) fn here() -> Self {
        Self::below(PathBuf::from(FOLDER), DISK_MAX)
    }

    fn below(folder: PathBuf, most: u64) -> Self {
        Self {
            folder,
            budget: Arc::new(Budget::new(most)),
            jobs: Mutex::default(),
        }
    }

    /// A job that has just been taken.
    pub(crate) fn insert(&self, job: JobId, name: &str, input: InputSender) -> Arc<DetachedJob> {
        let folder = self.folder.join(job.0.to_string());
        let kept = Arc::new(DetachedJob::new(
            name,
            input,
            folder,
            Arc::clone(&self.budget),
        ));
        self.lock().insert(job, Arc::clone(&kept));
        kept
    }

    /// A job that is detached, whether it runs or has ended; `None`: it is followed, forgotten, or never was.
    pub(crate) fn get(&self, job: JobId) -> Option<Arc<DetachedJob>> {
        self.lock().get(&job).cloned()
    }

    /// Those that have ended and are remembered.
    pub(crate) fn ended(&self) -> Vec<wire::EndedJob> {
        let jobs = self.lock();
        let ended = jobs.iter().filter_map(|(job, kept)| {
            let (exit_code, sentence) = kept.ended()?;
            Some(wire::EndedJob {
                job: job.0,
                name: kept.name.clone(),
                exit_code,
                sentence,
                has_tasks: kept.has_tasks(),
            })
        });
        ended.collect()
    }

    /// Another has ended: of more than are remembered the oldest are forgotten. Blocks.
    fn forget_some(&self) {
        let mut forgotten = Vec::new();
        {
            let mut jobs = self.lock();
            let ended = jobs.iter().filter(|(_, kept)| kept.ended().is_some());
            let ended: Vec<JobId> = ended.map(|(job, _)| *job).collect();
            let surplus = ended.len().saturating_sub(ENDED_MAX);
            for job in ended.into_iter().take(surplus) {
                forgotten.extend(jobs.remove(&job));
            }
        }
        forgotten.iter().for_each(|kept| kept.clear());
    }

    /// There is no room for what a job prints: the oldest output of one that has ended goes. `false`: there
    /// is none. Blocks.
    fn make_room(&self) -> bool {
        let oldest = {
            let jobs = self.lock();
            let mut ended = jobs.values().filter(|kept| kept.ended().is_some());
            ended.find(|kept| kept.takes_room()).cloned()
        };
        match oldest {
            Some(kept) => {
                kept.clear();
                true
            }
            None => false,
        }
    }

    /// The session is over. Blocks.
    pub(crate) fn clear(&self) {
        let jobs = std::mem::take(&mut *self.lock());
        jobs.values().for_each(|kept| kept.clear());
        // Of what is not there nothing is left either.
        let _gone = std::fs::remove_dir(&self.folder).is_ok();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<JobId, Arc<DetachedJob>>> {
        // Nothing in here panics while it holds the lock.
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
