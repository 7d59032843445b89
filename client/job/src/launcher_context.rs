//! What a launcher is told when its container is started.

use std::fmt;

use policy::MiB;
use serde::{Deserialize, Serialize};

use crate::element::Scan;

/// A launcher's place in the job. Travels as JSON in its container's credentials.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LauncherContext {
    /// [`crate::BUILD`] of the AM.
    pub build: String,
    /// `host:port` of the AM.
    pub appmaster: String,
    /// YARN's id of the container.
    pub container: String,
    /// Memory that YARN has given the container; 0: unknown, or the node does not enforce it.
    #[serde(default)]
    pub memory: MiB,
    /// Shown to the AM as proof of being that container. Never logged.
    pub ticket: Vec<u8>,
    /// Further names of files in the container's working directory: the name, and the one that YARN
    /// gave the file.
    pub links: Vec<(String, String)>,
    /// Ports on which it may listen for other launchers, inclusive; `None`: any.
    #[serde(default)]
    pub ports: Option<(u16, u16)>,
    /// Network interface at which other launchers fetch from it; `None`: at any.
    pub interface: Option<String>,
    /// How it looks for the elements of its node; `None`: nobody wants to know.
    pub scan: Option<Scan>,
    /// How full ranks may make a disk of the container, hundredths: who has filled it beyond that is ended; 0: they may.
    #[serde(default)]
    pub disk_percent: u8,
}

impl fmt::Debug for LauncherContext {
    /// Without the ticket: it is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LauncherContext")
            .field("build", &self.build)
            .field("appmaster", &self.appmaster)
            .field("container", &self.container)
            .finish_non_exhaustive()
    }
}
