//! What becomes of an application's containers, as it is told to whoever holds them.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use credentials::Token;
use job::wire;
use policy::{ClusterView, ContainerId, Millis, NodeId, Resources};
use proto_hadoop::yarn::Container;
use tokio::sync::mpsc;

use crate::orders::Orders;
use crate::resource_manager::Finished;

/// A granted container with all that is needed to start it.
#[derive(Clone, Debug)]
pub struct Granted {
    /// As the ResourceManager gave it.
    pub container: Container,
    /// Logs in to its NodeManager; `None`: none was given.
    pub nm_token: Option<Token>,
    /// The request that it answers, as its owner numbers them.
    pub request: u32,
    /// The round of asking that it answers.
    pub round: u32,
}

/// One piece of it.
#[derive(Debug)]
pub enum ContainerEvent {
    /// The ResourceManager has granted containers, in one answer.
    Granted(Vec<Granted>),
    /// YARN says that a container is over.
    Ended {
        /// The container; nothing of it runs any more.
        container: ContainerId,
        /// YARN's exit status: negative ones are YARN's own.
        status: i32,
        /// YARN's diagnostics, of any number of lines; may be empty.
        diagnostics: String,
    },
    /// A NodeManager did not take the order to start a container.
    StartFailed {
        /// The container.
        container: ContainerId,
        /// What came back, one line.
        why: String,
    },
    /// A container that was asked about is still being localized: YARN copies its files.
    Localizing(ContainerId),
    /// A launcher has dialled in for the first time.
    Joined {
        /// Its container.
        container: ContainerId,
        /// What is said here it takes in order.
        orders: Orders,
        /// What it has found on its node.
        node: wire::NodeFacts,
    },
    /// It said something.
    Said {
        /// Its container.
        container: ContainerId,
        /// Its message, of a job or of the launcher itself.
        event: Box<wire::launcher_event::Event>,
    },
    /// A link broke; its launcher may come by another.
    Cut,
    /// It has left, or is not heard of any more.
    Lost(ContainerId),
    /// It broke the rules of our own protocol, and is not heard any further.
    Misbehaved {
        /// Its container.
        container: ContainerId,
        /// What it did, a sentence's predicate.
        what: String,
    },
    /// What the queue still gives this application has changed.
    Headroom(Resources),
    /// Nodes have come, gone or changed: the scheduler may have more to give.
    Freed,
    /// The scheduler wants these containers back, for another queue or application. Each is told once.
    WantedBack(Vec<ContainerId>),
    /// A node is being decommissioned: it gives no more containers.
    NodeLeaves {
        /// Which.
        node: NodeId,
        /// Then it is gone, with what runs there; `None`: nobody says.
        within: Option<Millis>,
    },
    /// The ResourceManager has taken requests for so many new containers, in so many rows.
    Asked {
        /// Containers in all of the rows.
        containers: u32,
        /// Rows of the call.
        rows: u32,
    },
    /// It refuses what some requests ask for, again and again, and nothing is asked for them any more.
    Refused {
        /// Which, as their owners number them.
        requests: BTreeSet<u32>,
        /// Its words.
        words: String,
    },
    /// The nodes as they were read, or why they could not be.
    Nodes(Result<ClusterView, String>),
    /// The ResourceManager has restarted and taken the registration again. Requests and releases that
    /// it has forgotten are repeated; of the containers that it gave, it knows those that were started.
    ResourceManagerRestarted {
        /// The largest container that it grants from now on; `None`: it has not said.
        maximum: Option<Resources>,
    },
    /// No answer from it for so long that another attempt may be starting.
    ResourceManagerLost {
        /// For how long it has not answered.
        silent: Millis,
    },
    /// YARN has ended this attempt.
    Killed,
    /// The last: the application is unregistered, or cannot be.
    Finished(Finished),
}

/// Where it is told: a bounded channel, of whatever its owner takes. Whoever tells waits until there is
/// room.
#[derive(Clone)]
pub struct ContainerEventSender(Arc<dyn Tell>);

/// Nobody hears any more.
#[derive(Clone, Copy, Debug)]
pub struct Deaf;

trait Tell: Send + Sync {
    fn tell(
        &self,
        heard: ContainerEvent,
    ) -> Pin<Box<dyn Future<Output = Result<(), Deaf>> + Send + '_>>;
}

impl<T: From<ContainerEvent> + Send> Tell for mpsc::Sender<T> {
    fn tell(
        &self,
        heard: ContainerEvent,
    ) -> Pin<Box<dyn Future<Output = Result<(), Deaf>> + Send + '_>> {
        Box::pin(async move { self.send(heard.into()).await.map_err(|_closed| Deaf) })
    }
}

impl ContainerEventSender {
    /// Into the channel of `owner`.
    #[must_use]
    pub fn new<T: From<ContainerEvent> + Send + 'static>(owner: mpsc::Sender<T>) -> Self {
        Self(Arc::new(owner))
    }

    /// Waits for room.
    ///
    /// # Errors
    /// Nobody hears any more.
    pub async fn send(&self, heard: ContainerEvent) -> Result<(), Deaf> {
        self.0.tell(heard).await
    }
}

impl fmt::Debug for ContainerEventSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContainerEventSender")
            .finish_non_exhaustive()
    }
}
