//! Outputs of maps, as long as their job may want them.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gerbil_task::Partition;
use job::JobId;

/// What a map has left: one file, a part of it for each partition.
#[derive(Debug)]
pub(crate) struct MapOutput {
    pub(crate) file: File,
    pub(crate) partitions: Vec<Partition>,
}

impl MapOutput {
    /// The part of a partition; `None`: the map knew of no such.
    pub(crate) fn part(&self, partition: u32) -> Option<Partition> {
        let index = usize::try_from(partition).ok()?;
        self.partitions.get(index).copied()
    }
}

/// By job and map.
type Outputs = BTreeMap<(JobId, u32), Arc<MapOutput>>;

/// All that are there. Its clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct MapOutputs(Arc<Mutex<Outputs>>);

impl MapOutputs {
    /// A map's output is there. That of an earlier attempt is forgotten.
    pub(crate) fn keep(&self, job: JobId, map: u32, output: MapOutput) {
        self.lock().insert((job, map), Arc::new(output));
    }

    pub(crate) fn get(&self, job: JobId, map: u32) -> Option<Arc<MapOutput>> {
        self.lock().get(&(job, map)).cloned()
    }

    /// A job is over: what is being read of it is read to its end.
    pub(crate) fn forget(&self, job: JobId) {
        self.lock().retain(|(of, _), _| *of != job);
    }

    fn lock(&self) -> MutexGuard<'_, Outputs> {
        // Nothing in here panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
