//! The AM follows a job itself.

use std::sync::Arc;

use job::JobId;
use job::wire;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tonic::Status;

use crate::console::Console;
use crate::detached::{Detached, DetachedJob};
use crate::loop_event::{JobEvents, LoopEvent, LoopEventSender};
use crate::work::{JobEvent, WorkEvent};

/// Events on the way from the loop.
const EVENT_QUEUE: usize = 64;
/// Chunks that are written at a time.
const CHUNKS: usize = 16;

/// One job's client.
pub(crate) struct Following {
    job: JobId,
    kept: Arc<DetachedJob>,
    all: Arc<Detached>,
    console: Arc<Console>,
    news: LoopEventSender,
}

/// What a job tells its client.
type Heard = mpsc::Receiver<Result<wire::JobEvent, Status>>;

impl Following {
    /// The client of a job, which is told by the sender what the receiver brings to [`Following::follow`].
    pub(crate) fn new(
        job: JobId,
        kept: Arc<DetachedJob>,
        all: &Arc<Detached>,
        console: &Arc<Console>,
        news: &LoopEventSender,
    ) -> (Self, JobEvents, Heard) {
        let (events, heard) = mpsc::channel(EVENT_QUEUE);
        let following = Self {
            job,
            kept,
            all: Arc::clone(all),
            console: Arc::clone(console),
            news: news.clone(),
        };
        (following, events, heard)
    }

    /// Until its verdict is out and its last byte is kept.
    pub(crate) async fn follow(self, heard: Heard, output: mpsc::Receiver<wire::OutputChunk>) {
        tokio::join!(self.hear(heard), self.print(output));
        self.kept.nobody_watches().await;
        let all = Arc::clone(&self.all);
        let _done = spawn_blocking(move || all.forget_some()).await.is_ok();
        let left = LoopEvent::Of(self.job, WorkEvent::Every(JobEvent::ClientLeft));
        let _heard = self.news.send(left).await.is_ok();
    }

    async fn hear(&self, mut heard: Heard) {
        use wire::job_event::Event;
        while let Some(Ok(event)) = heard.recv().await {
            let Some(event) = event.event else { continue };
            let is_last = matches!(event, Event::Verdict(_));
            self.kept.hear(event);
            if is_last {
                return;
            }
        }
    }

    async fn print(&self, mut output: mpsc::Receiver<wire::OutputChunk>) {
        let mut chunks = Vec::new();
        while output.recv_many(&mut chunks, CHUNKS).await > 0 {
            let chunks = std::mem::take(&mut chunks);
            let (kept, all) = (Arc::clone(&self.kept), Arc::clone(&self.all));
            let printing = move || kept.print(&chunks, || all.make_room());
            let _kept = spawn_blocking(printing).await.is_ok();
        }
        self.kept.close();
        self.console.handed_over();
    }
}
