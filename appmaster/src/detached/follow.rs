//! The AM follows a job itself.

use std::sync::Arc;

use job::JobId;
use job::wire;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tonic::Status;

use crate::console::Console;
use crate::detached::{Detached, DetachedJob, InputSender};
use crate::loop_event::{LoopEvent, LoopEventSender};
use crate::session::Session;
use crate::work::{JobWork, WorkEvent};

/// Events on the way from the loop.
const EVENT_QUEUE: usize = 64;
/// Chunks that are written at a time.
const CHUNKS: usize = 16;

impl Session {
    /// Nobody follows this job, which has just begun, so its output is kept here.
    pub(crate) fn detach(&mut self, job: JobId) {
        let Some(entry) = self.jobs.get_mut(&job) else {
            return;
        };
        let Some(loan) = &mut entry.loan else {
            return;
        };
        loan.attach_by = None;
        let takes_input = match &entry.work {
            JobWork::Queued(queued) => queued.description.input,
            JobWork::Mpi(mpi) => mpi.description.input,
            JobWork::MapReduce(_) => false,
        };
        let input = match takes_input {
            true => InputSender::Free,
            false => InputSender::Empty,
        };
        let _kept = self.detached.insert(job, &loan.name, input);
        match &mut entry.work {
            // It hears of it when it has something to tell.
            JobWork::Queued(queued) => queued.is_detached = true,
            JobWork::Mpi(_) | JobWork::MapReduce(_) => self.tell(job, WorkEvent::ClientAttached),
        }
    }

    /// One that is detached, and has slots or something to tell, is followed from now on: while it only waits there
    /// is nobody, since thousands may.
    pub(crate) fn may_be_followed(&mut self, job: JobId) {
        let Some(entry) = self.jobs.get_mut(&job) else {
            return;
        };
        let is_lent = entry.loan.as_ref().is_some_and(|loan| loan.lent.is_some());
        let is_up = match &entry.work {
            JobWork::Queued(_) => false,
            JobWork::Mpi(_) => is_lent || entry.work.is_ending() || entry.work.has_an_event(),
            JobWork::MapReduce(_) => true,
        };
        if entry.client.is_some() || !is_up {
            return;
        }
        let Some(kept) = self.detached.get(job) else {
            return;
        };
        let Some(output) = entry.console.take_output() else {
            return;
        };
        let (events, heard) = mpsc::channel(EVENT_QUEUE);
        entry.client = Some(events);
        let following = Following {
            job,
            kept,
            all: Arc::clone(&self.detached),
            console: Arc::clone(&entry.console),
            news: self.news.clone(),
        };
        self.tasks.spawn(following.follow(heard, output));
        self.agenda.changed(job);
    }
}

/// One job's client.
struct Following {
    job: JobId,
    kept: Arc<DetachedJob>,
    all: Arc<Detached>,
    console: Arc<Console>,
    news: LoopEventSender,
}

impl Following {
    /// Until its verdict is out and its last byte is kept.
    async fn follow(
        self,
        heard: mpsc::Receiver<Result<wire::JobEvent, Status>>,
        output: mpsc::Receiver<wire::OutputChunk>,
    ) {
        tokio::join!(self.hear(heard), self.print(output));
        self.kept.nobody_watches().await;
        let all = Arc::clone(&self.all);
        let _done = spawn_blocking(move || all.forget_some()).await.is_ok();
        let left = LoopEvent::Of(self.job, WorkEvent::ClientLeft);
        let _heard = self.news.send(left).await.is_ok();
    }

    async fn hear(&self, mut heard: mpsc::Receiver<Result<wire::JobEvent, Status>>) {
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
