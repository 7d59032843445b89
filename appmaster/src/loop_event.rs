//! What the tasks of the AM tell its one loop.

use job::JobId;
use job::recovered::Recovered;
use job::wire;
use tokio::sync::{mpsc, oneshot};
use tonic::Status;

use crate::ledger::LogAnswer;
use crate::work::WorkEvent;

/// Events for the client.
pub(crate) type JobEvents = mpsc::Sender<Result<wire::JobEvent, Status>>;

/// One piece of news.
pub(crate) enum LoopEvent {
    /// This process is to end its jobs in order.
    Terminated,
    /// Of the containers.
    Holding(holding::ContainerEvent),
    /// A client wants to follow a job.
    ClientAttached {
        /// The job that is followed, by its number.
        of: JobId,
        /// Where it hears of it.
        events: JobEvents,
        /// Whether it may: one that may not is not heard any further.
        admitted: oneshot::Sender<Result<(), Status>>,
    },
    /// A client comes with which the session is to end.
    OwnerAttached {
        /// Open as long as the session lasts.
        events: JobEvents,
        /// Whether it is taken.
        admitted: oneshot::Sender<Result<(), Status>>,
    },
    /// That client has left, or is missed for too long.
    OwnerLeft,
    /// A client watches a job that is detached, and is to see why it waits.
    Watched,
    /// A client gives the session a job.
    Submitted {
        /// The job's description and how it is to be followed.
        submission: Box<wire::Submission>,
        /// Its number, or why it is not taken.
        answer: oneshot::Sender<Result<u32, Status>>,
    },
    /// A client asks what the session holds and runs.
    StatusAsked(oneshot::Sender<Result<wire::SessionStatus, Status>>),
    /// A client asks what jobs had of the session's slots, and when.
    TimelineAsked(oneshot::Sender<Result<wire::SessionTimeline, Status>>),
    /// A client asks what the session's nodes have.
    NodesAsked(oneshot::Sender<Result<wire::SessionNodes, Status>>),
    /// A client wants to read what an attempt at a task has printed.
    LogAsked {
        /// Which attempt.
        request: wire::TaskLogRequest,
        /// What there is, or why nothing.
        answer: LogAnswer,
    },
    /// A client wants a job of the session ended.
    KillAsked {
        /// Its number within the session.
        job: JobId,
        /// It will be, or there is none.
        answer: oneshot::Sender<Result<(), Status>>,
    },
    /// A client wants the session stopped.
    StopAsked {
        /// Its jobs are ended.
        now: bool,
        /// How YARN is to record it.
        verdict: Option<wire::SessionVerdict>,
        /// How many jobs are there.
        answer: oneshot::Sender<Result<u32, Status>>,
    },
    /// What has become of the jobs of the ApplicationMaster before this one.
    Recovered(Recovered),
    /// The file with what was decided is closed, or that took too long.
    RecordClosed,
    /// For one job as it is: of its client, or that what it has wanted done is done.
    Of(JobId, WorkEvent),
}

impl From<holding::ContainerEvent> for LoopEvent {
    fn from(heard: holding::ContainerEvent) -> Self {
        Self::Holding(heard)
    }
}

/// The loop's end of the channel. Bounded: the sender of news waits until it is heard.
pub(crate) type LoopEventSender = mpsc::Sender<LoopEvent>;

/// News that may wait unheard.
pub(crate) const NEWS_QUEUE: usize = 1024;

/// Sends news from a call that a peer made.
///
/// # Errors
/// `Unavailable` when the loop hears nothing any more.
pub(crate) async fn tell(news: &LoopEventSender, what: LoopEvent) -> Result<(), Status> {
    let sent = news.send(what).await;
    sent.map_err(|_closed| Status::unavailable("the ApplicationMaster is leaving"))
}
