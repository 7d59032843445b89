//! What a job is: written by the client, read by the ApplicationMaster.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One MPI job, ready to be placed. Travels as JSON in the AM's credentials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// [`crate::BUILD`] of the client.
    pub build: String,
    /// YARN user on whose behalf the AM reads the cluster.
    pub user: String,
    /// `host:port` of each ResourceManager's client port, in the order of its HA list.
    pub rm_client: Vec<String>,
    /// `host:port` of each ResourceManager's scheduler port, in the same order.
    pub rm_scheduler: Vec<String>,
    /// Number of processes.
    pub processes: u32,
    /// Memory of one process, MiB.
    pub memory_per_process_mib: u64,
    /// True when the user gave the memory: it is then never shrunk.
    pub memory_is_explicit: bool,
    /// Cores of one process.
    pub vcores_per_process: u32,
    /// What was asked for the AM's own container, MiB.
    pub am_memory_mib: u64,
    /// By the client's settings, the RM rounds containers up to multiples of this, MiB.
    pub allocation_step_mib: u64,
    /// Link name of the program in the working directory.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment of the ranks, in order.
    pub environment: Vec<(String, String)>,
    /// Link name of the unpacked library archive, if libraries travel.
    pub library_folder: Option<String>,
    /// Newest glibc symbol version wanted, and by which file.
    pub glibc_needed: Option<(String, String)>,
    /// What every launcher's container needs in its working directory, this binary included.
    pub staged: Vec<Staged>,
    /// Ports the AM may listen on, inclusive; `None`: any.
    pub am_ports: Option<(u16, u16)>,
    /// Network interface that the AM advertises and the ranks talk over.
    pub interface: Option<String>,
    /// Standard input of the client goes to rank 0.
    pub input: bool,
    /// The RM takes an AM for dead after this silence, ms.
    pub am_expiry_ms: u64,
}

/// A file that YARN puts into a container's working directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    /// Name of the link in the working directory.
    pub link: String,
    /// Where it lies: `hdfs://nameservice-or-host:port/path` or `file:/path`.
    pub url: String,
    /// Length, bytes.
    pub size: u64,
    /// Modification time, ms since 1970, exactly as the file system reports it: YARN compares it.
    pub modified_ms: i64,
    /// How YARN is to treat it.
    pub kind: StagedKind,
}

/// How YARN treats a staged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StagedKind {
    /// Linked as it is.
    File,
    /// Unpacked into a folder with the link's name.
    Archive,
}

/// A launcher's place in the job. Travels as JSON in its container's credentials.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// [`crate::BUILD`] of the AM.
    pub build: String,
    /// `host:port` of the AM.
    pub appmaster: String,
    /// YARN's id of the container.
    pub container: String,
    /// Shown to the AM as proof of being that container. Never logged.
    pub ticket: Vec<u8>,
}

impl fmt::Debug for Seat {
    /// Without the ticket: it is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat")
            .field("build", &self.build)
            .field("appmaster", &self.appmaster)
            .field("container", &self.container)
            .finish_non_exhaustive()
    }
}
