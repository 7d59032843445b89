//! The ResourceManager: one queue, first come first served, all in memory.

mod books;
mod clients;
mod masters;
mod nodes;
mod schedule;
mod tracker;
mod watch;

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use proto_hadoop::server::{Door, Faults, MasterKey, Protocol, Server};
use proto_hadoop::yarn::{Counted, YarnApplicationState};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::MiniError;
use books::{Books, now_ms};

/// What kind of ResourceManager it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceManagerOptions {
    /// Containers are rounded up to multiples of this, MiB.
    pub step_mib: u64,
    /// What is counted when sizes are compared.
    pub counted: Counted,
    /// An ApplicationMaster that was not heard of for so long is taken for dead.
    pub am_expiry: Duration,
    /// The same of a node.
    pub node_expiry: Duration,
    /// What nodes are told to wait between two heartbeats.
    pub heartbeat: Duration,
    /// The number of the first application, at least 1.
    pub first_application: i32,
}

impl Default for ResourceManagerOptions {
    /// Hadoop's defaults, but for the heartbeat: a node of one machine is asked every 100 ms.
    fn default() -> Self {
        Self {
            step_mib: 1024,
            counted: Counted::Memory,
            am_expiry: Duration::from_secs(600),
            node_expiry: Duration::from_secs(600),
            heartbeat: Duration::from_millis(100),
            first_application: 1,
        }
    }
}

/// What all services of the ResourceManager share.
pub(crate) struct Desk {
    books: Mutex<Books>,
    /// An ApplicationMaster is to be started.
    launch: Notify,
}

impl Desk {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Grants what can be granted now. To be called after whatever may have made room or need.
    fn schedule(&self, mut books: MutexGuard<'_, Books>) {
        schedule::schedule(&mut books);
        if !books.launches.is_empty() {
            self.launch.notify_one();
        }
    }
}

/// A running ResourceManager. Dropping it ends it.
pub struct ResourceManager {
    desk: Arc<Desk>,
    client: Server,
    scheduler: Server,
    tracker: Server,
    faults: [Faults; 3],
    /// The one that starts ApplicationMasters, the one that watches who falls silent.
    tasks: JoinSet<()>,
}

impl fmt::Debug for ResourceManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceManager")
            .field("client", &self.client.address())
            .field("scheduler", &self.scheduler.address())
            .field("tracker", &self.tracker.address())
            .finish_non_exhaustive()
    }
}

async fn listen(what: &'static str) -> Result<TcpListener, MiniError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .map_err(|source| MiniError::Listen { what, source })
}

impl ResourceManager {
    /// Listens on three free ports of loopback.
    ///
    /// # Errors
    ///
    /// When there are none.
    pub async fn start(options: ResourceManagerOptions) -> Result<Self, MiniError> {
        let desk = Arc::new(Desk {
            books: Mutex::new(Books::new(options)),
            launch: Notify::new(),
        });
        let faults: [Faults; 3] = Default::default();
        let [client_faults, scheduler_faults, tracker_faults] = faults.clone();
        let serve = |what, listener, protocol, door, faults| {
            Server::start(listener, protocol, door, faults)
                .map_err(|source| MiniError::Listen { what, source })
        };
        let what = "the ResourceManager's port for clients";
        let client = serve(
            what,
            listen(what).await?,
            Protocol::application_client(Arc::clone(&desk)),
            Door::User,
            client_faults,
        )?;
        let what = "the ResourceManager's port for ApplicationMasters";
        let scheduler = serve(
            what,
            listen(what).await?,
            Protocol::application_master(Arc::clone(&desk)),
            Door::Token(Arc::clone(&desk) as _),
            scheduler_faults,
        )?;
        let what = "the ResourceManager's port for nodes";
        let tracker = serve(
            what,
            listen(what).await?,
            Protocol::resource_tracker(Arc::clone(&desk)),
            Door::User,
            tracker_faults,
        )?;
        let mut tasks = JoinSet::new();
        tasks.spawn(watch::launch(Arc::clone(&desk)));
        tasks.spawn(watch::expire(Arc::clone(&desk)));
        Ok(Self {
            desk,
            client,
            scheduler,
            tracker,
            faults,
            tasks,
        })
    }

    /// What kind it is.
    #[must_use]
    pub fn options(&self) -> ResourceManagerOptions {
        self.desk.books().options.clone()
    }

    /// `host:port` for [`ApplicationClient`](proto_hadoop::ApplicationClient).
    #[must_use]
    pub fn client_address(&self) -> String {
        self.client.address().to_string()
    }

    /// `host:port` for [`ApplicationMasterClient`](proto_hadoop::ApplicationMasterClient).
    #[must_use]
    pub fn scheduler_address(&self) -> String {
        self.scheduler.address().to_string()
    }

    /// `host:port` for [`ResourceTrackerClient`](proto_hadoop::ResourceTrackerClient).
    #[must_use]
    pub fn tracker_address(&self) -> String {
        self.tracker.address().to_string()
    }

    /// Misbehaviour towards clients, to be ordered by tests.
    #[must_use]
    pub fn client_faults(&self) -> &Faults {
        let [faults, _, _] = &self.faults;
        faults
    }

    /// Misbehaviour towards ApplicationMasters.
    #[must_use]
    pub fn scheduler_faults(&self) -> &Faults {
        let [_, faults, _] = &self.faults;
        faults
    }

    /// Misbehaviour towards nodes.
    #[must_use]
    pub fn tracker_faults(&self) -> &Faults {
        let [_, _, faults] = &self.faults;
        faults
    }

    /// As after a restart with recovery: applications are known, but no ApplicationMaster is
    /// registered, so that nobody is told where one is, and nothing is asked for. Nodes have to register again, and bring the containers
    /// that were started with them; the others are gone without a word, and nodes refuse them.
    pub fn restart(&self) {
        let mut books = self.desk.books();
        books.started_ms = now_ms().max(books.started_ms + 1);
        for node in books.nodes.values_mut() {
            node.must_register();
        }
        for application in books.applications.values_mut() {
            if application.state == YarnApplicationState::Running {
                application.state = YarnApplicationState::Accepted;
                application.host = "N/A".to_owned();
                application.port = None;
                application.diagnostics = "Attempt recovered after RM restart".to_owned();
            }
            application.registered = false;
            application.asks.clear();
            application.granted.clear();
            application.response_id = 0;
            application.last_answer = None;
        }
    }

    /// As after a restart without recovery: no application is known any more. Nodes have to register
    /// again.
    pub fn forget(&self) {
        let mut books = self.desk.books();
        books.applications.clear();
        books.nodes.clear();
    }

    /// Rolls the key of the ApplicationMasters' tokens; old tokens stay valid until
    /// [`retire_am_keys`](Self::retire_am_keys).
    pub fn roll_am_key(&self) {
        let mut books = self.desk.books();
        let next = books.keys.am.last().map_or(1, |key| key.id + 1);
        books.keys.am.push(MasterKey::generate(next));
    }

    /// Tokens of older keys log in no more.
    pub fn retire_am_keys(&self) {
        let keys = &mut self.desk.books().keys.am;
        keys.drain(..keys.len().saturating_sub(1));
    }

    /// Ends it.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
        self.client.stop().await;
        self.scheduler.stop().await;
        self.tracker.stop().await;
    }
}
