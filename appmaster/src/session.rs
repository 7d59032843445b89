//! The jobs of one ApplicationMaster, and the one loop: it hears news, gives each to the job that it is
//! about, carries out what that wants ([`effects`](crate::effects)), and sleeps until the next of them is
//! due. An application of one job ends with it; a session of many has a [`Sharing`], and ends when it is
//! told to.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use holding::Holding;
use job::JobId;
use policy::Millis;
use policy::lifecycle::{KillReason, LifecycleEvent};
use proto_hadoop::AppAttemptId;
use tokio::sync::mpsc::OwnedPermit;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Status;

use crate::agenda::Agenda;
use crate::alarm::Alarm;
use crate::client_events::Outbox;
use crate::console::Console;
use crate::consoles::Consoles;
use crate::detached::Detached;
use crate::loan::Loan;
use crate::loop_event::{JobEvents, LoopEvent, LoopEventSender};
use crate::sharing::Sharing;
use crate::work::{JobWork, WorkEvent};

/// A job, and those who have to do with it beside its containers.
pub(crate) struct JobEntry {
    pub(crate) work: JobWork,
    /// Zero of the job's own clock, on the session's.
    pub(crate) began: Millis,
    /// Its slots are those of the session; `None`: its containers are the application's.
    pub(crate) loan: Option<Loan>,
    /// Where events go for the client that follows it.
    pub(crate) client: Option<JobEvents>,
    /// A client that has come and is not admitted yet.
    pub(crate) visitor: Option<Visitor>,
    pub(crate) console: Arc<Console>,
    /// Ends the work on file systems that may be dropped.
    pub(crate) files: CancellationToken,
    /// Held by whoever makes a checkpoint complete, or removes all.
    pub(crate) closing: Arc<Mutex<()>>,
}

/// Where events would go, and where it hears whether it may follow.
pub(crate) type Visitor = (JobEvents, oneshot::Sender<Result<(), Status>>);

impl JobEntry {
    pub(crate) fn new(work: JobWork, console: Arc<Console>) -> Self {
        Self {
            work,
            began: Millis(0),
            loan: None,
            client: None,
            visitor: None,
            console,
            files: CancellationToken::new(),
            closing: Arc::default(),
        }
    }
}

impl JobEntry {
    /// The session's time, on the job's own clock.
    pub(crate) const fn own(&self, now: Millis) -> Millis {
        Millis(now.0.saturating_sub(self.began.0))
    }

    /// When something is due, on the session's clock.
    pub(crate) fn wakes_at(&self) -> Option<Millis> {
        let own = self.work.wakes_at().map(|at| self.began.plus(at));
        let client = self.loan.as_ref().and_then(|loan| loan.attach_by);
        own.into_iter().chain(client).min()
    }
}

/// All jobs, the containers that they run in, and everybody who serves them.
pub(crate) struct Session {
    /// Boxed: nodes of the tree are half empty.
    pub(crate) jobs: BTreeMap<JobId, Box<JobEntry>>,
    pub(crate) agenda: Agenda,
    /// What jobs share; `None`: there is one, and nothing is shared.
    pub(crate) sharing: Option<Sharing>,
    pub(crate) consoles: Arc<Consoles>,
    /// Jobs that no client follows.
    pub(crate) detached: Arc<Detached>,
    /// What YARN counts this AM as.
    pub(crate) attempt: AppAttemptId,
    pub(crate) holding: Holding,
    /// Zero of the session's clock.
    pub(crate) began: Instant,
    pub(crate) tasks: TaskTracker,
    pub(crate) news: LoopEventSender,
}

/// A place for one event in a client's stream; `None`: the stream has ended.
type Outlet = Option<OwnedPermit<Result<job::wire::JobEvent, Status>>>;

impl Session {
    /// Until all jobs are over and everybody knows it.
    pub(crate) async fn run(&mut self, mut inbox: mpsc::Receiver<LoopEvent>) {
        let all: Vec<JobId> = self.jobs.keys().copied().collect();
        all.into_iter().for_each(|job| self.begin(job));
        self.begin_sharing();
        self.settle();
        let mut alarm = Alarm::default();
        while !self.is_over() {
            self.agenda.bring_up(&self.jobs);
            let sharing = self.sharing.as_ref().and_then(Sharing::wakes_at);
            let wake = alarm.set(self.agenda.first_due().into_iter().chain(sharing).min());
            if let Some(by) = alarm.fault() {
                self.say_overdue(by);
            }
            let wake = wake.map(|at| self.began + Duration::from_millis(at.0));
            tokio::select! {
                news = inbox.recv() => match news {
                    Some(news) => self.hear(news),
                    None => return,
                },
                () = until(wake) => {
                    alarm.rings(self.now());
                    self.wake();
                }
                (job, place) = self.outlet() => self.post(job, place),
                job = self.consoles.moved() => self.tell(job, WorkEvent::OutputMoved),
            }
            self.settle();
        }
    }

    /// Nothing is left to be done.
    fn is_over(&self) -> bool {
        match &self.sharing {
            Some(sharing) => sharing.is_over(),
            None => self.jobs.values().all(|entry| entry.work.is_over()),
        }
    }

    /// A job's life begins.
    pub(crate) fn begin(&mut self, job: JobId) {
        let now = self.now();
        self.agenda.changed(job);
        let Some(entry) = self.jobs.get_mut(&job) else {
            return;
        };
        let todo = entry.work.begin(entry.own(now));
        let mut answers = Vec::new();
        for one in todo {
            answers.extend(self.carry_out(job, one));
        }
        for heard in answers {
            self.tell(job, heard);
        }
    }

    /// Milliseconds since the session began.
    pub(crate) fn now(&self) -> Millis {
        let elapsed = self.began.elapsed().as_millis();
        Millis(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    /// Tells a job what has happened, and carries out what it wants.
    pub(crate) fn tell(&mut self, job: JobId, heard: WorkEvent) {
        if let Some(sharing) = &mut self.sharing {
            sharing.touch(job);
        }
        self.agenda.changed(job);
        let mut told = VecDeque::from([heard]);
        while let Some(heard) = told.pop_front() {
            let now = self.now();
            let Some(entry) = self.jobs.get_mut(&job) else {
                return;
            };
            for one in entry.work.hear(entry.own(now), heard) {
                told.extend(self.carry_out(job, one));
            }
        }
    }

    /// Tells all jobs for which something is due.
    fn wake(&mut self) {
        let now = self.now();
        for job in self.agenda.due(now) {
            if self.loan(job).is_some_and(|loan| loan.is_unattended(now)) {
                tracing::warn!("the client of job {} has not come", job.0);
                self.tell(job, WorkEvent::ClientLeft);
            } else {
                self.tell(job, WorkEvent::Tick);
            }
        }
        self.wake_sharing();
    }

    /// What was due by then was done, and is due still: faults of whoever named that time.
    fn say_overdue(&self, by: Millis) {
        let jobs = self.agenda.due(by).into_iter();
        let jobs = jobs.map(|job| format!("job {}", job.0));
        let shared = self.sharing.iter().flat_map(Sharing::dues);
        let shared = shared.filter(|(_, at)| at.is_some_and(|at| at <= by));
        let all: Vec<String> = jobs
            .chain(shared.map(|(what, _)| what.to_owned()))
            .collect();
        tracing::error!(
            "this is done, and due again at once, for ever: {}; from now on it is done once a second",
            all.join(", ")
        );
    }

    /// One piece of news: what of it is to be kept here, and what the job is told.
    fn hear(&mut self, news: LoopEvent) {
        match news {
            LoopEvent::Terminated if self.sharing.is_some() => self.terminated(),
            LoopEvent::Terminated => {
                let kill =
                    || WorkEvent::Machine(LifecycleEvent::KillRequested(KillReason::Terminated));
                let all: Vec<JobId> = self.jobs.keys().copied().collect();
                all.into_iter().for_each(|job| self.tell(job, kill()));
            }
            LoopEvent::Holding(heard) if self.sharing.is_some() => self.hear_shared(heard),
            // All containers are of the one job.
            LoopEvent::Holding(heard) => {
                let is_of_room = matches!(heard, holding::ContainerEvent::Headroom(_));
                let told = self.told(heard);
                if let Some(headroom) = self.holding.headroom().filter(|_| is_of_room) {
                    self.tell(JobId::OF_APPLICATION, WorkEvent::Headroom(headroom));
                }
                if let Some((job, heard)) = told {
                    self.tell(job, heard);
                }
            }
            LoopEvent::ClientAttached {
                of,
                events,
                admitted,
            } => {
                let Some(entry) = self.jobs.get_mut(&of) else {
                    let none = format!("there is no job {} here: it is over, or never was", of.0);
                    let _heard = admitted.send(Err(Status::not_found(none))).is_ok();
                    return;
                };
                entry.visitor = Some((events, admitted));
                if let Some(loan) = &mut entry.loan {
                    loan.attach_by = None;
                }
                let now = self.now();
                if let Some(sharing) = &mut self.sharing {
                    sharing.show_soon(now);
                }
                self.tell(of, WorkEvent::ClientAttached);
            }
            LoopEvent::Of(job, heard) => {
                if let (WorkEvent::ClientLeft, Some(entry)) = (&heard, self.jobs.get_mut(&job)) {
                    entry.client = None;
                }
                self.tell(job, heard);
            }
            LoopEvent::Submitted { submission, answer } => {
                let job = self.submit(*submission);
                let _heard = answer.send(job).is_ok();
            }
            LoopEvent::Watched => {
                let now = self.now();
                if let Some(sharing) = &mut self.sharing {
                    sharing.show_soon(now);
                }
            }
            LoopEvent::KillAsked { job, answer } => drop(answer.send(self.kill_asked(job))),
            LoopEvent::StatusAsked(answer) => drop(answer.send(self.status())),
            LoopEvent::TimelineAsked(answer) => drop(answer.send(self.timeline())),
            LoopEvent::LogAsked { request, answer } => self.log_asked(&request, answer),
            LoopEvent::NodesAsked(answer) => drop(answer.send(self.nodes())),
            LoopEvent::StopAsked {
                now,
                verdict,
                answer,
            } => drop(answer.send(self.stop_asked(now, verdict))),
            LoopEvent::OwnerAttached { events, admitted } => {
                drop(admitted.send(self.owner_comes(events)));
            }
            LoopEvent::Recovered(recovered) => self.recovered(&recovered),
            LoopEvent::OwnerLeft => self.owner_left("its client has left it"),
        }
    }

    /// A place for the next event that a client is to be told; never, while there is none.
    async fn outlet(&self) -> (JobId, Outlet) {
        let waiting = self.agenda.telling();
        let waiting = waiting.filter_map(|job| Some((job, self.jobs.get(&job)?.client.clone()?)));
        let places = waiting
            .map(|(job, events)| boxed(async move { (job, events.reserve_owned().await.ok()) }));
        first(places.collect()).await
    }

    /// Puts the next event into its place.
    fn post(&mut self, job: JobId, place: Outlet) {
        let Some(place) = place else {
            return self.tell(job, WorkEvent::ClientDeaf);
        };
        self.agenda.changed(job);
        let entry = self.jobs.get_mut(&job);
        let outbox = entry.and_then(|entry| entry.work.outbox());
        if let Some(event) = outbox.and_then(Outbox::next) {
            let _stream = place.send(Ok(event));
        }
    }
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

fn boxed<'a, T>(future: impl Future<Output = T> + Send + 'a) -> Boxed<'a, T> {
    Box::pin(future)
}

/// What the first of them brings that is done; of none, nothing ever.
async fn first<T>(mut all: Vec<Boxed<'_, T>>) -> T {
    poll_fn(|context| {
        let done = all
            .iter_mut()
            .find_map(|one| match one.as_mut().poll(context) {
                Poll::Ready(done) => Some(done),
                Poll::Pending => None,
            });
        done.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

async fn until(wake: Option<Instant>) {
    match wake {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}
