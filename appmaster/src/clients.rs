//! The service that the client calls: it follows the job, takes its output, gives it input.

mod control_link;
mod giving;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use holding::{Admitted, same_build};
use job::JobId;
use job::pass::job_shown;
use job::wire;
use job::wire::clients_server::Clients;
use policy::lifecycle::LifecycleEvent;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status, Streaming};

use self::control_link::{heard, listen};
use self::giving::Giving;
use crate::console::Console;
use crate::consoles::Consoles;
use crate::detached::{Detached, DetachedJob, ENDED_MAX, OutputFilter};
use crate::loop_event::{LoopEvent, LoopEventSender, tell};
use crate::mpi::MpiJobEvent;
use crate::output_stream::OutputReceiver;
use crate::work::WorkEvent;

/// A peer that has connected must say who it is within this time.
const HELLO_DEADLINE: Duration = Duration::from_secs(10);
/// A launcher that is asked for what a task has printed answers within this time.
const LOG_DEADLINE: Duration = Duration::from_secs(8);
/// Events that may wait for the client. Phases are dropped when it is full, the verdict never.
const EVENT_QUEUE: usize = 64;

/// The service.
#[derive(Debug)]
pub(crate) struct ClientService {
    pub admitted: Admitted,
    pub news: LoopEventSender,
    pub consoles: Arc<Consoles>,
    pub detached: Arc<Detached>,
    pub tasks: TaskTracker,
}

#[tonic::async_trait]
impl Clients for ClientService {
    type AttachStream = ReceiverStream<Result<wire::JobEvent, Status>>;
    type OutputStream = Pin<Box<dyn Stream<Item = Result<wire::OutputChunk, Status>> + Send>>;

    async fn attach(
        &self,
        request: Request<Streaming<wire::ClientOrder>>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        self.admitted.check(&request)?;
        let mut orders = request.into_inner();
        let hello = match timeout(HELLO_DEADLINE, orders.message()).await {
            Ok(Ok(Some(first))) => first.order,
            Ok(Ok(None)) => None,
            Ok(Err(status)) => return Err(status),
            Err(_late) => return Err(Status::deadline_exceeded("no hello within 10 s")),
        };
        let Some(wire::client_order::Order::Hello(hello)) = hello else {
            return Err(Status::invalid_argument(
                "the first message must be a hello",
            ));
        };
        same_build(&hello.build)?;
        if hello.watches {
            let kept = self.kept(hello.job)?;
            let claim = match hello.input {
                true => {
                    let console = self.consoles.get(JobId(hello.job));
                    let is_open = console.is_some_and(|console| console.has_input());
                    let claimed = kept.claim_input(is_open);
                    Some(claimed.map_err(Status::failed_precondition)?)
                }
                false => None,
            };
            let events = kept.events(orders, claim, &self.tasks)?;
            tell(&self.news, LoopEvent::Watched).await?;
            return Ok(Response::new(events));
        }
        let (events, outgoing) = mpsc::channel(EVENT_QUEUE);
        let (admitted, admission) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let (job, owns, news) = (JobId(hello.job), hello.owns, self.news.clone());
        // In a task of its own: also of a client that goes away meanwhile it must be heard that it did.
        self.tasks.spawn(async move {
            let leaving = Status::unavailable("the ApplicationMaster is leaving");
            let admission = admission.await.unwrap_or(Err(leaving));
            let follows = admission.is_ok();
            let _heard = answer.send(admission).is_ok();
            match (follows, owns) {
                (true, false) => listen(job, orders, news).await,
                (true, true) => {
                    while heard(&mut orders, &mut false).await.is_some() {}
                    let _heard = news.send(LoopEvent::OwnerLeft).await.is_ok();
                }
                (false, _) => {}
            }
        });
        let attached = match owns {
            true => LoopEvent::OwnerAttached { events, admitted },
            false => LoopEvent::ClientAttached {
                of: job,
                events,
                admitted,
            },
        };
        tell(&self.news, attached).await?;
        let leaving = |_gone| Status::unavailable("the ApplicationMaster is leaving");
        answered.await.map_err(leaving)??;
        Ok(Response::new(ReceiverStream::new(outgoing)))
    }

    async fn output(
        &self,
        request: Request<wire::OutputRequest>,
    ) -> Result<Response<Self::OutputStream>, Status> {
        self.admitted.check(&request)?;
        let wanted = request.get_ref();
        if let Some(kept) = self.detached.get(JobId(wanted.job)) {
            let (rank, so_far) = (wanted.rank, wanted.so_far);
            let output = kept.output(OutputFilter { rank, so_far }, &self.tasks)?;
            return Ok(Response::new(Box::pin(output)));
        }
        if wanted.so_far {
            return Err(self.not_kept(wanted.job));
        }
        let console = self.console(wanted.job)?;
        let Some(chunks) = console.take_output() else {
            return Err(Status::failed_precondition(
                "another client takes the output",
            ));
        };
        let output = OutputReceiver::new(chunks, &console);
        Ok(Response::new(Box::pin(output)))
    }

    async fn input(
        &self,
        request: Request<Streaming<wire::InputChunk>>,
    ) -> Result<Response<wire::InputTaken>, Status> {
        self.admitted.check(&request)?;
        let job = job_shown(request.metadata())
            .ok_or_else(|| Status::invalid_argument("the call names no job"))?;
        let console = self.console(job)?;
        let Some(to_rank) = console.input() else {
            return Err(Status::failed_precondition(
                "another client gives the input",
            ));
        };
        let job = JobId(job);
        let mut giving = Giving {
            to_rank: Some(to_rank),
            console,
            kept: self.detached.get(job),
        };
        let mut chunks = request.into_inner();
        let mut is_told = false;
        // A call that was cancelled has no other end than one that has ended.
        while let Some(chunk) = chunks.message().await? {
            if chunk.once && !chunk.data.is_empty() && !is_told {
                let used = WorkEvent::Mpi(MpiJobEvent::Machine(LifecycleEvent::InputUsed));
                tell(&self.news, LoopEvent::Of(job, used)).await?;
                is_told = true;
            }
            if chunk.last || !giving.give(chunk).await {
                giving.end();
                return Ok(Response::new(wire::InputTaken {}));
            }
        }
        Err(Status::aborted("the input has broken off"))
    }

    async fn submit(
        &self,
        request: Request<wire::Submission>,
    ) -> Result<Response<wire::Submitted>, Status> {
        self.admitted.check(&request)?;
        let submission = Box::new(request.into_inner());
        let job = self
            .asked(|answer| LoopEvent::Submitted { submission, answer })
            .await?;
        Ok(Response::new(wire::Submitted { job }))
    }

    async fn status(
        &self,
        request: Request<wire::StatusRequest>,
    ) -> Result<Response<wire::SessionStatus>, Status> {
        self.admitted.check(&request)?;
        let status = self.asked(LoopEvent::StatusAsked).await?;
        Ok(Response::new(status))
    }

    async fn nodes(
        &self,
        request: Request<wire::NodesRequest>,
    ) -> Result<Response<wire::SessionNodes>, Status> {
        self.admitted.check(&request)?;
        let nodes = self.asked(LoopEvent::NodesAsked).await?;
        Ok(Response::new(nodes))
    }

    async fn timeline(
        &self,
        request: Request<wire::TimelineRequest>,
    ) -> Result<Response<wire::SessionTimeline>, Status> {
        self.admitted.check(&request)?;
        let timeline = self.asked(LoopEvent::TimelineAsked).await?;
        Ok(Response::new(timeline))
    }

    async fn read_task_log(
        &self,
        request: Request<wire::TaskLogRequest>,
    ) -> Result<Response<wire::TaskLog>, Status> {
        self.admitted.check(&request)?;
        let request = request.into_inner();
        let asked = self.asked(|answer| LoopEvent::LogAsked { request, answer });
        let late = format!(
            "the launcher there has not answered within {} s; try again",
            LOG_DEADLINE.as_secs()
        );
        let log = timeout(LOG_DEADLINE, asked).await;
        let log = log.unwrap_or_else(|_late| Err(Status::deadline_exceeded(late)))?;
        Ok(Response::new(log))
    }

    async fn kill_job(
        &self,
        request: Request<wire::JobKill>,
    ) -> Result<Response<wire::JobKilled>, Status> {
        self.admitted.check(&request)?;
        let job = JobId(request.get_ref().job);
        self.asked(|answer| LoopEvent::KillAsked { job, answer })
            .await?;
        Ok(Response::new(wire::JobKilled {}))
    }

    async fn stop_session(
        &self,
        request: Request<wire::SessionStop>,
    ) -> Result<Response<wire::SessionStopping>, Status> {
        self.admitted.check(&request)?;
        let wire::SessionStop { now, verdict } = request.into_inner();
        let stop = |answer| LoopEvent::StopAsked {
            now,
            verdict,
            answer,
        };
        let jobs = self.asked(stop).await?;
        Ok(Response::new(wire::SessionStopping { jobs }))
    }
}

impl ClientService {
    /// What the loop answers.
    async fn asked<T>(
        &self,
        ask: impl FnOnce(oneshot::Sender<Result<T, Status>>) -> LoopEvent,
    ) -> Result<T, Status> {
        let (answer, answered) = oneshot::channel();
        tell(&self.news, ask(answer)).await?;
        let leaving = |_gone| Status::unavailable("the ApplicationMaster is leaving");
        answered.await.map_err(leaving)?
    }

    /// A job that is detached.
    fn kept(&self, job: u32) -> Result<Arc<DetachedJob>, Status> {
        self.detached
            .get(JobId(job))
            .ok_or_else(|| self.not_kept(job))
    }

    /// Why nothing is kept of a job.
    fn not_kept(&self, job: u32) -> Status {
        match self.consoles.get(JobId(job)) {
            Some(_) => Status::failed_precondition(sentences::followed(job)),
            None => Status::not_found(sentences::not_kept(job, ENDED_MAX)),
        }
    }

    /// Those of a job.
    fn console(&self, job: u32) -> Result<Arc<Console>, Status> {
        let none = || format!("there is no job {job} here: it is over, or never was");
        let console = self.consoles.get(JobId(job));
        console.ok_or_else(|| Status::not_found(none()))
    }
}

#[cfg(test)]
mod tests;
