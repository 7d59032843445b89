//! Which records of jobs may be removed, and when.

use std::collections::BTreeMap;

/// Jobs of one batch.
pub const BATCH: u32 = 16;

/// The records by which the next ApplicationMaster finds the output folders of jobs: made one by one, removed in
/// batches of [`BATCH`] when all jobs of a batch are over, so that a job costs a NameNode one call and a
/// sixteenth.
///
/// A record may outlive its job, which does no harm: there is nothing left to be done in its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// The batch that is being filled, and how many jobs it has had.
    filling: u32,
    filled: u32,
    /// The batch of each job that is not over.
    jobs: BTreeMap<u32, u32>,
}

impl Records {
    /// A job begins; the number of its batch.
    pub fn begin(&mut self, job: u32) -> u32 {
        if self.filled == BATCH {
            self.filling = self.filling.saturating_add(1);
            self.filled = 0;
        }
        self.filled = self.filled.saturating_add(1);
        self.jobs.insert(job, self.filling);
        self.filling
    }

    /// A job is over; the batch that may be removed now, if there is one.
    pub fn end(&mut self, job: u32) -> Option<u32> {
        let batch = self.jobs.remove(&job)?;
        let is_full = batch < self.filling || self.filled == BATCH;
        (is_full && !self.jobs.values().any(|of| *of == batch)).then_some(batch)
    }
}
