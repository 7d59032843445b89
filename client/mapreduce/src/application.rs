//! An application that is submitted for the jobs of one run, when the first of them is known.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use follow::follower::tasks::JobControl;
use session::{Reached, SessionRecord};
use staging::StagedFiles;
use tokio::sync::watch;

use crate::error::MapReduceError;
use crate::order::JobOrder;

/// The program on its way to the nodes.
pub type Staging<'a> = ApplicationFuture<'a, Arc<StagedFiles>>;

/// What is answered later.
pub type ApplicationFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, MapReduceError>> + 'a>>;

/// Submits it.
pub trait SubmitApplication: Debug + Send + Sync {
    /// Submits it, as large as the `first` job wants it, and waits until it takes jobs. It ends with this process. One
    /// that was submitted before is over.
    fn begin<'a>(
        &'a self,
        first: &'a JobOrder,
        staged: Staging<'a>,
        wishes: watch::Receiver<JobControl>,
    ) -> ApplicationFuture<'a, (SessionRecord, Reached)>;

    /// What would be asked of YARN for that job, a line each.
    fn ask<'a>(&'a self, first: &'a JobOrder) -> ApplicationFuture<'a, Vec<String>>;

    /// What it waits for now; empty: for nothing.
    fn waits(&self) -> String;

    /// What YARN takes to miss its ApplicationMaster, or the node of that.
    fn missed_after(&self) -> Duration;
}
