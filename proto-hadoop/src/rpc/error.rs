//! How a call can fail.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::auth::SaslError;

/// Why a call did not give its answer. Cloneable, because one broken connection fails all calls
/// that wait on it.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server ran the call and answered with a Java exception.
    #[error("{method} at {address}: {class}: {message}")]
    Remote {
        /// Method called.
        method: &'static str,
        /// `host:port`.
        address: String,
        /// Java class of the exception.
        class: String,
        /// First line of what the server said.
        message: String,
        /// The rest of it: a Java stack trace.
        stack: String,
    },
    /// The server refused the connection as a whole, with these words, and closed it.
    #[error("{address} refused the connection: {class}: {message}")]
    Refused {
        /// `host:port`.
        address: String,
        /// Java class of the exception.
        class: String,
        /// First line of what the server said.
        message: String,
    },
    /// No answer in time.
    #[error("{method} at {address}: no answer within {} s", waited.as_secs_f32())]
    Deadline {
        /// Method called.
        method: &'static str,
        /// `host:port`.
        address: String,
        /// How long was waited.
        waited: Duration,
    },
    /// No TCP connection.
    #[error("cannot connect to {address}: {source}; {hint}")]
    Connect {
        /// `host:port`.
        address: String,
        /// What to look at.
        hint: &'static str,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The connection ended before the answer came.
    #[error("{method} at {address}: connection lost {}: {source}", if *sent { "before the answer" } else { "before the call was sent" })]
    Lost {
        /// Method called.
        method: &'static str,
        /// `host:port`.
        address: String,
        /// The server may have run the call.
        sent: bool,
        /// How it ended.
        #[source]
        source: Arc<io::Error>,
    },
    /// Something else than Hadoop IPC listens there.
    #[error("{address} is not a Hadoop IPC port: {found}")]
    NotHadoop {
        /// `host:port`.
        address: String,
        /// What it did, as "it answered HTTP".
        found: String,
    },
    /// The cluster authenticates by Kerberos, which this crate does not speak.
    #[error(
        "{address} wants Kerberos (it offers {offered}), which is not spoken here; only clusters \
         with hadoop.security.authentication=simple, and token log-ins, work"
    )]
    KerberosWanted {
        /// `host:port`.
        address: String,
        /// Log-ins that the server named.
        offered: String,
    },
    /// The log-in by token failed on our side.
    #[error("cannot log in to {address}: {source}")]
    Login {
        /// `host:port`.
        address: String,
        /// What was wrong.
        #[source]
        source: SaslError,
    },
    /// The server's bytes do not decode.
    #[error("{method} at {address}: the answer cannot be read: {problem}")]
    Malformed {
        /// Method called.
        method: &'static str,
        /// `host:port`.
        address: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The request is longer than servers take; nothing was sent.
    #[error("{method} at {address}: the request has {length} bytes, servers take {limit}")]
    TooLong {
        /// Method called.
        method: &'static str,
        /// `host:port`.
        address: String,
        /// Bytes of the request.
        length: usize,
        /// Bytes that servers take.
        limit: usize,
    },
    /// No address of several worked.
    #[error("{method}: none of {} addresses answered: {}", tried.len(), listed(tried))]
    NoneAnswered {
        /// Method called.
        method: &'static str,
        /// The last failure at each address, in order.
        tried: Vec<Self>,
    },
    /// There is no address to try.
    #[error("{method}: no address given")]
    NoAddress {
        /// Method called.
        method: &'static str,
    },
}

fn listed(errors: &[CallError]) -> String {
    errors
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

impl CallError {
    /// Java class of the server's exception, when the server answered with one.
    #[must_use]
    pub fn class(&self) -> Option<&str> {
        match self {
            Self::Remote { class, .. } | Self::Refused { class, .. } => Some(class),
            _ => None,
        }
    }

    /// Whether the server's exception is `class` (its short name, such as
    /// `ApplicationNotFoundException`).
    ///
    /// YARN wraps some exceptions in its own and leaves their name at the beginning of the
    /// message; these are recognised too.
    #[must_use]
    pub fn is(&self, class: &str) -> bool {
        let (outer, message) = match self {
            Self::Remote { class, message, .. } | Self::Refused { class, message, .. } => {
                (class.as_str(), message.as_str())
            }
            _ => return false,
        };
        let inner = message.split_once(':').map_or("", |(first, _)| first);
        [outer, inner].iter().any(|name| short(name) == class)
    }

    /// The ResourceManager does not know this ApplicationMaster (any more): register again and
    /// send the whole table of asks.
    #[must_use]
    pub fn is_not_registered(&self) -> bool {
        self.is("ApplicationMasterNotRegisteredException")
    }

    /// The ResourceManager has taken an earlier registration of this attempt, whose answer was lost:
    /// go on without it. What only that answer told (limits, containers of earlier attempts and
    /// their NM tokens) stays unknown.
    #[must_use]
    pub fn is_already_registered(&self) -> bool {
        let words = match self {
            Self::Remote { message, .. } => message.as_str(),
            _ => return false,
        };
        self.is("InvalidApplicationMasterRequestException") && words.contains("already registered")
    }

    /// The ResourceManager does not have this attempt among those that run: it has just begun to recover them, or has
    /// restarted without the recovery of running applications.
    #[must_use]
    pub fn is_attempt_unknown(&self) -> bool {
        let words = match self {
            Self::Remote { message, .. } => message.as_str(),
            _ => return false,
        };
        self.is("InvalidApplicationMasterRequestException")
            && words.contains("doesn't exist in cache")
    }

    /// A YARN service ran the call and answered with an exception of its own. The layers below it
    /// (`org.apache.hadoop.ipc`, `java.*`) also answer for a service that is not there, or too busy
    /// to be asked.
    #[must_use]
    pub fn is_of_yarn(&self) -> bool {
        matches!(self, Self::Remote { class, .. } if class.starts_with(YARN_EXCEPTIONS))
    }

    /// The attempt is over for the ResourceManager: stop.
    #[must_use]
    pub fn is_attempt_gone(&self) -> bool {
        self.is("ApplicationAttemptNotFoundException") || self.is("InvalidToken")
    }
}

/// Java package of the exceptions that YARN's services make themselves.
const YARN_EXCEPTIONS: &str = "org.apache.hadoop.yarn.exceptions.";

/// `a.b.Outer$Inner` is `Inner`.
pub(crate) fn short(class: &str) -> &str {
    class.rsplit(['.', '$']).next().unwrap_or(class)
}
