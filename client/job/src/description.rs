//! What an ApplicationMaster is told by the client: its application, and what to run in it.

use policy::MiB;
use serde::{Deserialize, Serialize};

use crate::{MpiJob, SessionPlan, Staged};

/// An application and its jobs. Travels as JSON in the AM's credentials.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    /// [`crate::BUILD`] of the client.
    pub build: String,
    /// Of whatever runs in it.
    pub application: Application,
    /// What runs in it.
    pub jobs: ApplicationWork,
}

/// What runs in an application.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ApplicationWork {
    /// One MPI job, with which it ends.
    One(Box<MpiJob>),
    /// Whatever is submitted to it, until it is stopped.
    Session(Box<SessionPlan>),
}

/// How an application stands to the cluster, whatever its jobs are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Application {
    /// YARN user on whose behalf the AM reads the cluster.
    pub user: String,
    /// `host:port` of each ResourceManager's client port, in the order of its HA list.
    pub rm_client: Vec<String>,
    /// `host:port` of each ResourceManager's scheduler port, in the same order.
    pub rm_scheduler: Vec<String>,
    /// The RM takes an AM for dead after this silence, ms.
    pub am_expiry_ms: u64,
    /// How often YARN may start the AM, this time included, as far as the client knows.
    pub attempts: u32,
    /// What was asked for the AM's own container; 0: it has none.
    pub am_memory: MiB,
    /// Ports the AM may listen on, inclusive; `None`: any.
    pub am_ports: Option<(u16, u16)>,
    /// Ports the launchers may listen on for each other, inclusive; `None`: any.
    #[serde(default)]
    pub launcher_ports: Option<(u16, u16)>,
    /// Network interface that the AM advertises and the ranks talk over.
    pub interface: Option<String>,
    /// By the client's settings, the RM rounds containers up to multiples of this.
    pub allocation_step: MiB,
    /// By the client's settings, requests name nodes `host:port` instead of by their hosts.
    pub node_names_have_ports: bool,
    /// Node label whose nodes are the candidates; `None`: nodes without a label.
    pub node_label: Option<String>,
    /// What every launcher's container needs in its working directory, this binary included.
    pub staged: Vec<Staged>,
}
