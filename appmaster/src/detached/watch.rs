//! What somebody who watches a job is given: from the beginning, at a pace of its own.

use std::sync::Arc;

use job::wire;
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::task::TaskTracker;
use tonic::{Status, Streaming};

use crate::detached::detached_job::{DetachedJob, InputClaim};
use crate::detached::parts::Position;
use crate::detached::said::ReadPosition;
use crate::detached::spool::ReadEnd;

/// Chunks on the way to one who watches.
const CHUNKS: usize = 4;
/// Events on the way there.
const EVENTS: usize = 16;

/// Which output is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputFilter {
    /// Of one rank alone.
    pub(crate) rank: Option<u32>,
    /// What there is, and no more.
    pub(crate) so_far: bool,
}

impl DetachedJob {
    /// What is told of the job, to its verdict; until then whoever says `orders` is listened to for its
    /// leaving alone, and has its `claim`.
    ///
    /// # Errors
    /// Too many watch.
    pub(crate) fn events(
        self: Arc<Self>,
        mut orders: Streaming<wire::ClientOrder>,
        claim: Option<InputClaim>,
        tasks: &TaskTracker,
    ) -> Result<ReceiverStream<Result<wire::JobEvent, Status>>, Status> {
        let changed = self.watch().ok_or_else(crowded)?;
        let (events, outgoing) = mpsc::channel(EVENTS);
        tasks.spawn(async move {
            let _until_it_leaves = claim;
            let left = async { while let Ok(Some(_order)) = orders.message().await {} };
            tokio::select! {
                () = left => {}
                () = self.tell(events, changed) => {}
            }
        });
        Ok(ReceiverStream::new(outgoing))
    }

    async fn tell(
        &self,
        events: mpsc::Sender<Result<wire::JobEvent, Status>>,
        mut changed: watch::Receiver<()>,
    ) {
        let mut heard = ReadPosition::default();
        loop {
            changed.mark_unchanged();
            for event in self.after(&mut heard) {
                let is_last = matches!(event, wire::job_event::Event::Verdict(_));
                let event = Some(event);
                let told = events.send(Ok(wire::JobEvent { event })).await;
                if is_last || told.is_err() {
                    return;
                }
            }
            tokio::select! {
                added = changed.changed() => if added.is_err() { return },
                () = events.closed() => return,
            }
        }
    }

    /// What the job has printed, and prints.
    ///
    /// # Errors
    /// Too many watch.
    pub(crate) fn output(
        self: Arc<Self>,
        wanted: OutputFilter,
        tasks: &TaskTracker,
    ) -> Result<ReceiverStream<Result<wire::OutputChunk, Status>>, Status> {
        let changed = self.watch().ok_or_else(crowded)?;
        let (chunks, outgoing) = mpsc::channel(CHUNKS);
        tasks.spawn(self.show(wanted, chunks, changed));
        Ok(ReceiverStream::new(outgoing))
    }

    async fn show(
        self: Arc<Self>,
        wanted: OutputFilter,
        chunks: mpsc::Sender<Result<wire::OutputChunk, Status>>,
        mut changed: watch::Receiver<()>,
    ) {
        let mut place = Position::default();
        loop {
            changed.mark_unchanged();
            let kept = Arc::clone(&self);
            let reading = spawn_blocking(move || kept.behind(place, wanted.rank));
            let behind = match reading.await {
                Ok(Ok(behind)) => behind,
                Ok(Err(error)) => {
                    let broken = format!("cannot read what was kept of the output: {error}");
                    let _told = chunks.send(Err(Status::data_loss(broken))).await.is_ok();
                    return;
                }
                Err(_leaving) => return,
            };
            place = behind.place;
            for chunk in behind.chunks {
                if chunks.send(Ok(chunk)).await.is_err() {
                    return;
                }
            }
            match behind.end {
                None => {}
                Some(ReadEnd::Forever) => return,
                Some(ReadEnd::Now) if wanted.so_far => return,
                Some(ReadEnd::Now) => tokio::select! {
                    added = changed.changed() => if added.is_err() { return },
                    () = chunks.closed() => return,
                },
            }
        }
    }
}

fn crowded() -> Status {
    Status::resource_exhausted("as many watch this job as may at the same time")
}
