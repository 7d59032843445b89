//! What the ranks of one job print and read, and the tasks that serve them.
//!
//! Each job has its own queue and its own calls: where a client takes no more, its job's ranks wait, and
//! nobody else's.

use std::convert::Infallible;
use std::future::pending;

use job::JobId;
use job::pass::Pass;
use job::wire::OutputChunk;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::container::OwnContainer;
use crate::forward;
use crate::life::MasterCalls;

/// The traffic of one job. All of it ends when this is dropped.
pub(crate) struct Traffic {
    /// It is carried there.
    pub(super) carriers: Handle,
    pub(super) calls: MasterCalls,
    /// What is shown to the ApplicationMaster with each call.
    pub(super) pass: Pass,
    /// What the ranks print, on its way; none: nothing has been started.
    chunks: Option<mpsc::Sender<OutputChunk>>,
    pub(super) tasks: JoinSet<()>,
}

impl Traffic {
    pub(super) fn new(job: JobId, container: &OwnContainer<'_>) -> Self {
        Self {
            carriers: container.carriers.clone(),
            calls: container.calls.clone(),
            pass: container.pass(job),
            chunks: None,
            tasks: JoinSet::new(),
        }
    }

    /// Where all that the ranks print goes; there is one call for all of them, however many are started.
    pub(super) fn chunks(&mut self) -> mpsc::Sender<OutputChunk> {
        let Self {
            carriers,
            calls,
            pass,
            chunks,
            tasks,
        } = self;
        let begin = || {
            let (chunks, queued) = mpsc::channel(forward::QUEUE);
            let carrying = forward::carry(calls.clone(), pass.clone(), queued);
            tasks.spawn_on(carrying, carriers);
            chunks
        };
        chunks.get_or_insert_with(begin).clone()
    }

    /// Takes leave of tasks that have ended. May be dropped and called again.
    pub(super) async fn go_on(&mut self) -> Infallible {
        while self.tasks.join_next().await.is_some() {}
        pending().await
    }
}
