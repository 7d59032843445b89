//! What the tasks of the AM tell its one loop.

use credentials::Token;
use job::wire;
use policy::lifecycle::{Event, KillReason};
use policy::{ContainerId, Resources};
use proto_hadoop::yarn::Container;
use tokio::sync::{mpsc, oneshot};
use tonic::Status;

use crate::checkpoints::Heard;
use crate::orders::Orders;
use crate::standoff::Sight;
use crate::waiting::Look;

/// Events for the client.
pub(crate) type JobEvents = mpsc::Sender<Result<wire::JobEvent, Status>>;

/// A granted container with all that is needed to start it.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    pub container: Container,
    pub nm_token: Option<Token>,
    pub round: u32,
}

/// One piece of news.
pub(crate) enum News {
    /// For the machine as it is.
    Machine(Event),
    /// The ResourceManager has granted containers, in one answer.
    Granted(Vec<Granted>),
    /// What the queue still gives this application has changed.
    Headroom(Resources),
    /// The scheduler wants so many containers back, for another queue or application.
    WantedBack(usize),
    /// The ResourceManager has taken requests for so many new containers, in so many rows.
    Asked { containers: u32, rows: u32 },
    /// The reasons of the waiting were looked for.
    Looked(Box<Look>),
    /// Jobs that wait as well, older than this one.
    Rivals(Sight),
    /// Something about the job's checkpoints.
    Checkpoint(Heard),
    /// A launcher has dialled in.
    LauncherJoined {
        container: ContainerId,
        orders: Orders,
        node: wire::NodeFacts,
    },
    /// It said something.
    LauncherSaid {
        container: ContainerId,
        event: wire::launcher_event::Event,
    },
    /// A link broke; its launcher may come by another.
    LauncherCut,
    /// It has left, or is not heard of any more.
    LauncherLost(ContainerId),
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
