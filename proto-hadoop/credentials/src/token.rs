//! One token.

use std::fmt;

/// A token: proof, signed by a Hadoop daemon, of who its bearer is.
///
/// Follows `org.apache.hadoop.security.token.Token`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Token {
    /// Opaque bytes that the daemon signed; sent back as they came, never re-encoded.
    pub identifier: Vec<u8>,
    /// The daemon's signature over the identifier; the secret of the log-in.
    pub password: Vec<u8>,
    /// What the token is for, such as `YARN_AM_RM_TOKEN` or `NMToken`.
    pub kind: String,
    /// The daemon it is for, often `host:port`, sometimes empty.
    pub service: String,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("kind", &self.kind)
            .field("service", &self.service)
            .field("identifier_bytes", &self.identifier.len())
            .finish_non_exhaustive()
    }
}
