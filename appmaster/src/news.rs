//! What the tasks of the AM tell its one loop.

use job::wire;
use policy::lifecycle::KillReason;
use tokio::sync::{mpsc, oneshot};
use tonic::Status;

use crate::session::JobId;
use crate::work::Heard;

/// Events for the client.
pub(crate) type JobEvents = mpsc::Sender<Result<wire::JobEvent, Status>>;

/// One piece of news.
pub(crate) enum News {
    /// This process is to end its jobs in order.
    Terminated,
    /// A client has given input that cannot be given again.
    InputUsed,
    /// Of the containers.
    Holding(holding::Heard),
    /// What a job has wanted done is done.
    Answer {
        /// Which job.
        of: JobId,
        /// What came of it.
        heard: Heard,
    },
    /// The client has been handed the last of it.
    OutputHandedOver,
    /// A client wants to follow the job.
    ClientAttached {
        events: JobEvents,
        /// Whether it may: one that may not is not heard any further.
        admitted: oneshot::Sender<Result<(), Status>>,
    },
    /// It sent a signal for the ranks.
    ClientSignal(i32),
    /// Its terminal has another size.
    ClientResized(wire::WindowSize),
    /// It takes lanes from now on.
    ClientDoor(wire::Door),
    /// It wants the job ended.
    ClientKill(KillReason),
    /// The link of the client that follows broke or ended.
    ClientLeft,
}

impl From<holding::Heard> for News {
    fn from(heard: holding::Heard) -> Self {
        Self::Holding(heard)
    }
}

/// The loop's end of the channel. Bounded: whoever has news waits until it is heard.
pub(crate) type NewsSender = mpsc::Sender<News>;

/// News that may wait unheard.
pub(crate) const NEWS_QUEUE: usize = 1024;

/// Sends news from a call that a peer made.
///
/// # Errors
/// `Unavailable` when the loop hears nothing any more.
pub(crate) async fn tell(news: &NewsSender, what: News) -> Result<(), Status> {
    let sent = news.send(what).await;
    sent.map_err(|_closed| Status::unavailable("the ApplicationMaster is leaving"))
}
