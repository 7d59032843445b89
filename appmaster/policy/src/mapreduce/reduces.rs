//! Partitions on their way to a result: which may start, which attempt may commit, which have.

use crate::schedule::{AttemptIx, TaskIx};

/// The partitions of a job.
#[derive(Clone, Debug)]
pub(super) struct Reduces {
    /// The number of each partition's task, once it may start.
    tasks: Vec<Option<TaskIx>>,
    /// The partition of each task.
    partitions: Vec<u32>,
    granted: Vec<Option<AttemptIx>>,
    committed: Vec<bool>,
}

impl Reduces {
    pub(super) fn new(count: u32) -> Self {
        let count = count as usize;
        Self {
            tasks: vec![None; count],
            partitions: Vec::new(),
            granted: vec![None; count],
            committed: vec![false; count],
        }
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.tasks.len()).unwrap_or(u32::MAX)
    }

    /// A partition's input is complete; whether its task is to be told, which happens once.
    pub(super) fn may_start(&mut self, partition: u32) -> bool {
        let next = TaskIx(u32::try_from(self.partitions.len()).unwrap_or(u32::MAX));
        match self.tasks.get_mut(partition as usize) {
            Some(task @ None) => {
                *task = Some(next);
                self.partitions.push(partition);
                true
            }
            Some(Some(_)) | None => false,
        }
    }

    pub(super) fn partition(&self, task: TaskIx) -> Option<u32> {
        self.partitions.get(task.0 as usize).copied()
    }

    pub(super) fn task(&self, partition: u32) -> Option<TaskIx> {
        self.tasks.get(partition as usize).copied().flatten()
    }

    pub(super) fn is_committed(&self, partition: u32) -> bool {
        let committed = self.committed.get(partition as usize);
        committed.copied().unwrap_or(false)
    }

    pub(super) fn all_committed(&self) -> bool {
        self.committed.iter().all(|committed| *committed)
    }

    pub(super) fn commit(&mut self, partition: u32) {
        if let Some(committed) = self.committed.get_mut(partition as usize) {
            *committed = true;
        }
    }

    /// Whether `attempt` may commit: nobody else of its partition was let.
    pub(super) fn grant(&mut self, partition: u32, attempt: AttemptIx) -> bool {
        match self.granted.get_mut(partition as usize) {
            Some(granted) => *granted.get_or_insert(attempt) == attempt,
            None => false,
        }
    }

    /// An attempt is over: what it was granted is free again.
    pub(super) fn give_up(&mut self, partition: u32, attempt: AttemptIx) {
        if let Some(granted) = self.granted.get_mut(partition as usize) {
            granted.take_if(|granted| *granted == attempt);
        }
    }
}
