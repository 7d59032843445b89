//! Work of a task that goes on beside its conversation: bytes that come and go, and calls of file systems.
//!
//! A conversation is a thread that blocks; what speaks to file systems runs where output and input of all jobs
//! are carried. It is the conversation's alone: with the conversation all of it ends.

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The work of one task.
#[derive(Debug)]
pub(super) struct Carrier {
    runtime: Handle,
    work: JoinSet<()>,
    /// Cancelled when nothing of the task is wanted any more.
    ends: CancellationToken,
}

impl Carrier {
    pub(super) fn new(runtime: Handle, ends: CancellationToken) -> Self {
        Self {
            runtime,
            work: JoinSet::new(),
            ends,
        }
    }

    /// Where the work runs: pipes are registered there.
    pub(super) const fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Nothing of the task is wanted any more.
    pub(super) fn is_ended(&self) -> bool {
        self.ends.is_cancelled()
    }

    /// Begins work that ends by itself, or with the conversation; what it comes to is heard there.
    pub(super) fn begin<T: Send + 'static>(
        &mut self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> oneshot::Receiver<T> {
        while self.work.try_join_next().is_some() {}
        let (done, heard) = oneshot::channel();
        let work = async move {
            // Whoever has begun it may not listen.
            drop(done.send(work.await));
        };
        self.work.spawn_on(work, &self.runtime);
        heard
    }

    /// Waits for work, unless the task is ended or `until` is cancelled: then there is no answer, and the
    /// work is given up.
    pub(super) fn wait<T: Send + 'static>(
        &mut self,
        until: Option<&CancellationToken>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (given_up, ends) = (CancellationToken::new(), self.ends.clone());
        let token = given_up.clone();
        let heard = self.begin(async move {
            tokio::select! {
                done = work => Some(done),
                () = token.cancelled() => None,
            }
        });
        let _given_up_in_the_end = given_up.drop_guard();
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                done = heard => done.ok().flatten(),
                () = ends.cancelled() => None,
                () = cancelled(until) => None,
            }
        })
    }
}

async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}
