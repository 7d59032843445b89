//! What can keep a small cluster from starting.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use proto_hadoop::{CallError, NodeId};

/// Why there is no cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MiniError {
    /// A port cannot be opened.
    #[error("cannot open {what}: {source}")]
    Listen {
        /// The daemon whose port it is.
        what: &'static str,
        /// The system's words.
        #[source]
        source: io::Error,
    },
    /// A file or folder.
    #[error("{doing} {}: {source}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        #[source]
        source: io::Error,
    },
    /// The ResourceManager does not answer a node.
    #[error("the node {node} cannot register within {} s: {source}", waited.as_secs())]
    Register {
        /// The node that tried, as `host:port`.
        node: NodeId,
        /// How long it tried.
        waited: Duration,
        /// Its last answer.
        #[source]
        source: Box<CallError>,
    },
    /// The ResourceManager refuses a node.
    #[error("the ResourceManager refuses the node {node}: {diagnostics}")]
    Refused {
        /// The node that tried, as `host:port`.
        node: NodeId,
        /// The ResourceManager's own words.
        diagnostics: String,
    },
}
