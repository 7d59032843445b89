//! The NodeManager: takes containers, runs them, tells how they end.

mod calls;
mod containers;
mod environment;
mod files;
mod heartbeat;
mod process;
mod run;
mod stand_in;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proto_hadoop::server::{Door, Faults, Protocol, Server};
use proto_hadoop::yarn::{NodeAction, NodeRegistration, Resource};
use proto_hadoop::{NodeId, ResourceTrackerClient, Timing};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::MiniError;
use containers::Desk;

pub use stand_in::{Accepted, Hollow, Life, Rhythm, StandIn};

/// The ResourceManager has so long to take a node in: long, for a machine that is busy with other
/// things. A refusal ends it at once.
const REGISTER: Duration = Duration::from_secs(60);
/// And so long for one answer.
const CALL: Duration = Duration::from_secs(20);
const REGISTER_PAUSE: Duration = Duration::from_millis(200);
/// What the node says it is.
const VERSION: &str = "3.4.2";
/// A port for web pages, which there are none of.
const NO_PORT: u16 = 0;

/// Which node it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeManagerOptions {
    /// Where it listens, and its name: an address of loopback, such as 127.0.0.2.
    pub host: String,
    /// What it gives.
    pub resource: Resource,
    /// `host:port` of the ResourceManagers.
    pub trackers: Vec<String>,
    /// Where its containers' files and logs are; is made.
    pub folder: PathBuf,
    /// Whom the node runs as, in the ResourceManager's eyes.
    pub user: String,
}

/// A running NodeManager. Dropping it kills its containers.
pub struct NodeManager {
    desk: Arc<Desk>,
    server: Server,
    faults: Faults,
    tracker: Arc<ResourceTrackerClient>,
    /// The one that runs containers, the one that tells of them.
    tasks: JoinSet<()>,
}

impl fmt::Debug for NodeManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeManager")
            .field("id", &self.desk.id)
            .finish_non_exhaustive()
    }
}

impl NodeManager {
    /// Listens and registers.
    ///
    /// # Errors
    ///
    /// When the port or folder cannot be had, or no ResourceManager takes it.
    pub async fn start(options: NodeManagerOptions) -> Result<Self, MiniError> {
        Self::start_hollow(options, Hollow::default()).await
    }

    /// The same, with something that stands in for the processes of its containers.
    ///
    /// # Errors
    ///
    /// As [`NodeManager::start`].
    pub async fn start_hollow(
        options: NodeManagerOptions,
        hollow: Hollow,
    ) -> Result<Self, MiniError> {
        let what = "the port of a node";
        let listen = |source| MiniError::Listen { what, source };
        let listener = TcpListener::bind((options.host.as_str(), 0))
            .await
            .map_err(listen)?;
        let id = NodeId {
            host: options.host.clone(),
            port: listener.local_addr().map_err(listen)?.port().into(),
        };
        let tracker = ResourceTrackerClient::new(options.trackers.clone(), &options.user);
        let tracker = Arc::new(tracker.with_timing(Timing {
            call: CALL,
            ..Timing::default()
        }));
        let (desk, starts) = Desk::open(id, options, hollow)?;
        let desk = Arc::new(desk);
        register(&tracker, &desk).await?;
        let faults = Faults::default();
        let server = Server::start(
            listener,
            Protocol::container_management(Arc::clone(&desk)),
            Door::Token(Arc::clone(&desk) as _),
            faults.clone(),
        )
        .map_err(listen)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(run::keep(Arc::clone(&desk), starts));
        tasks.spawn(heartbeat::beat(Arc::clone(&desk), Arc::clone(&tracker)));
        Ok(Self {
            desk,
            server,
            faults,
            tracker,
            tasks,
        })
    }

    /// Its name and port.
    #[must_use]
    pub fn id(&self) -> &NodeId {
        &self.desk.id
    }

    /// Where its containers' files and logs are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.desk.options.folder
    }

    /// How many of its heartbeats the ResourceManager has answered.
    #[must_use]
    pub fn heartbeats(&self) -> u64 {
        self.desk.beats.load(Ordering::Relaxed)
    }

    /// Misbehaviour towards ApplicationMasters, to be ordered by tests.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Ends it: containers that still run have `grace` to leave by themselves, and are then stopped.
    pub async fn stop(mut self, grace: Duration) {
        let _late = timeout(grace, self.desk.idle()).await.is_err();
        self.desk.close();
        // SIGTERM, SIGKILL and the processes' own end take less than this.
        let _stuck = timeout(Duration::from_secs(3), self.desk.idle())
            .await
            .is_err();
        self.tasks.shutdown().await;
        self.server.stop().await;
        let farewell = self.tracker.unregister(&self.desk.id);
        let _unheard = timeout(Duration::from_secs(1), farewell).await.is_err();
    }
}

/// Registers, and keeps the keys.
async fn register(tracker: &ResourceTrackerClient, desk: &Desk) -> Result<(), MiniError> {
    let began = Instant::now();
    let registration = NodeRegistration {
        node: desk.id.clone(),
        http_port: NO_PORT,
        resource: desk.options.resource.clone(),
        version: VERSION.to_owned(),
        containers: desk.statuses(),
    };
    loop {
        match tracker.register(&registration).await {
            Ok(answer) if answer.action == NodeAction::Shutdown => {
                return Err(MiniError::Refused {
                    node: desk.id.clone(),
                    diagnostics: answer.diagnostics,
                });
            }
            Ok(answer) => {
                desk.take_keys(answer.container_key, answer.nm_key);
                desk.take_resource_manager(answer.resource_manager);
                return Ok(());
            }
            Err(source) if began.elapsed() > REGISTER => {
                return Err(MiniError::Register {
                    node: desk.id.clone(),
                    waited: REGISTER,
                    source: Box::new(source),
                });
            }
            Err(error) => tracing::debug!(%error, "registerNodeManager"),
        }
        sleep(REGISTER_PAUSE).await;
    }
}
