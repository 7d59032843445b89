//! A job, and what it has beside its containers: its clock, its client, its output and its work on file systems.

use std::sync::Arc;

use job::wire;
use job::wire::job_event::Event as ToClient;
use policy::Millis;
use tokio::sync::{Mutex, oneshot};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::client_events::Outbox;
use crate::console::Console;
use crate::loop_event::JobEvents;
use crate::work::{Do, JobEvent, JobWork, WorkEvent};

/// A client that wants to follow a job: where events would go, and where it hears whether it may follow.
type Visitor = (JobEvents, oneshot::Sender<Result<(), Status>>);

/// One job.
pub(crate) struct JobEntry {
    work: JobWork,
    /// Zero of the job's own clock, on the session's.
    began: Millis,
    /// A client that has not come by then never will; `None`: it has, or none is awaited.
    attach_by: Option<Millis>,
    /// Where events go for the client that follows it.
    client: Option<JobEvents>,
    /// A client that has come and is not admitted yet.
    visitor: Option<Visitor>,
    console: Arc<Console>,
    /// Ends the work on file systems that may be dropped.
    files: CancellationToken,
    /// The lock of the task that makes a checkpoint complete, or removes all.
    closing: Arc<Mutex<()>>,
}

impl JobEntry {
    /// The one job of an application, whose clock is the application's.
    pub(crate) fn of_application(work: JobWork, console: Arc<Console>) -> Self {
        Self {
            work,
            began: Millis(0),
            attach_by: None,
            client: None,
            visitor: None,
            console,
            files: CancellationToken::new(),
            closing: Arc::default(),
        }
    }

    /// A job that comes to a session now, and whose client is to follow it by `attach_by`.
    pub(crate) fn of_session(
        work: JobWork,
        console: Arc<Console>,
        now: Millis,
        attach_by: Millis,
    ) -> Self {
        Self {
            began: now,
            attach_by: Some(attach_by),
            ..Self::of_application(work, console)
        }
    }

    /// The session's time, on the job's own clock.
    pub(crate) const fn own(&self, now: Millis) -> Millis {
        Millis(now.0.saturating_sub(self.began.0))
    }

    /// When something is due, on the session's clock.
    pub(super) fn wakes_at(&self) -> Option<Millis> {
        let own = self.work.wakes_at().map(|at| self.began.plus(at));
        own.into_iter().chain(self.attach_by).min()
    }

    /// What it is told when something is due.
    pub(super) fn overdue(&mut self, now: Millis) -> WorkEvent {
        match self.attach_by {
            Some(by) if now >= by => {
                self.attach_by = None;
                WorkEvent::Every(JobEvent::ClientLeft)
            }
            Some(_) | None => WorkEvent::Every(JobEvent::Tick),
        }
    }

    pub(super) fn begin(&mut self, now: Millis) -> Vec<Do> {
        self.work.begin(self.own(now))
    }

    pub(super) fn hear(&mut self, now: Millis, heard: WorkEvent) -> Vec<Do> {
        self.work.hear(self.own(now), heard)
    }

    /// What it is.
    pub(crate) const fn work(&self) -> &JobWork {
        &self.work
    }

    /// The same, to be changed beside what it hears.
    pub(crate) const fn work_mut(&mut self) -> &mut JobWork {
        &mut self.work
    }

    pub(super) fn has_an_event(&self) -> bool {
        self.work.has_an_event()
    }

    /// What its client is told beside the phases.
    pub(crate) fn outbox(&mut self) -> Option<&mut Outbox> {
        self.work.outbox()
    }

    /// A client wants to follow it.
    pub(crate) fn visited(&mut self, visitor: Visitor) {
        self.visitor = Some(visitor);
        self.attach_by = None;
    }

    /// Lets the client that has come follow it, or says why not.
    pub(crate) fn admit(&mut self, admission: Result<(), &'static str>) {
        if let Some((events, admitted)) = self.visitor.take() {
            if admission.is_ok() {
                self.client = Some(events);
            }
            let admission = admission.map_err(Status::failed_precondition);
            let _heard = admitted.send(admission).is_ok();
        }
    }

    /// Its client's link has broken or ended.
    pub(crate) fn client_left(&mut self) {
        self.client = None;
    }

    /// No client is awaited: the ApplicationMaster keeps what it prints.
    pub(crate) fn detach(&mut self) {
        self.attach_by = None;
    }

    /// The ApplicationMaster itself follows it from now on.
    pub(crate) fn follow(&mut self, events: JobEvents) {
        self.client = Some(events);
    }

    /// Where events go for its client.
    pub(crate) const fn client(&self) -> Option<&JobEvents> {
        self.client.as_ref()
    }

    /// Shows its client something; one that does not keep up misses it. `false`: no client follows.
    pub(crate) fn show(&self, event: ToClient) -> bool {
        let Some(client) = &self.client else {
            return false;
        };
        let event = Some(event);
        let _shown = client.try_send(Ok(wire::JobEvent { event })).is_ok();
        true
    }

    /// Its output and input.
    pub(crate) const fn console(&self) -> &Arc<Console> {
        &self.console
    }

    /// Ends with the work on file systems that may be dropped.
    pub(crate) fn files(&self) -> CancellationToken {
        self.files.clone()
    }

    /// Such work as is under way ends.
    pub(crate) fn drop_files(&mut self) {
        std::mem::take(&mut self.files).cancel();
    }

    /// The lock of the task that makes a checkpoint complete, or removes all.
    pub(crate) fn closing(&self) -> Arc<Mutex<()>> {
        Arc::clone(&self.closing)
    }
}
