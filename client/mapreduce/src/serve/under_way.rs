//! A job of a run that was taken, from its submission on.

use std::sync::Arc;

use crate::error::MapReduceError;
use crate::jobs::{Accepted, JobRunner};
use crate::order::JobOrder;
use crate::overwrite::Overwrite;
use crate::places::Location;

/// What the session has taken.
pub(super) struct Submitted {
    pub(super) job: Accepted,
    /// What was submitted; of a job that may begin again.
    pub(super) order: Option<Arc<JobOrder>>,
    pub(super) output: Location,
    pub(super) overwrite: Option<Overwrite>,
    /// What should be known of it, a sentence each.
    pub(super) notes: Vec<String>,
}

/// A job that is followed.
pub(super) struct UnderWay {
    pub(super) accepted: Accepted,
    pub(super) output: Location,
    /// What was submitted; of a job that may begin again.
    pub(super) order: Option<Arc<JobOrder>>,
    /// How often it has begun.
    pub(super) starts: u32,
}

impl UnderWay {
    /// How often it begins at the most.
    pub(super) fn most(&self) -> u32 {
        self.order.as_ref().map_or(1, |order| order.starts)
    }
}

impl Submitted {
    /// Submits it; `detached`: no client follows it; `notes`: what should be known of it.
    pub(super) async fn new(
        jobs: &JobRunner,
        order: Arc<JobOrder>,
        detached: bool,
        notes: Vec<String>,
    ) -> Result<Self, MapReduceError> {
        Ok(Self {
            job: jobs.submit(&order, detached).await?,
            output: order.output.clone(),
            overwrite: order.overwrite.clone(),
            order: jobs.are_alone().then_some(order),
            notes,
        })
    }
}
