//! The one place that says what to do about a failed call.

use super::error::CallError;

/// Whether running a call twice does what running it once does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idempotence {
    /// It does: a call that may have run is tried again.
    Idempotent,
    /// It does not: try again only when the call surely did not run.
    AtMostOnce,
}

/// What to do about a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// Try the same server again.
    Retry,
    /// Try the next server.
    Failover,
    /// Give up: trying again cannot help, or could do harm.
    Stop,
}

/// Exceptions of a ResourceManager that is not the active one, or has just ceased to be: its state
/// store is another's now.
const STANDBY: [&str; 2] = ["StandbyException", "StoreFencedException"];
/// Exceptions of a server that takes no calls for now.
const BUSY: [&str; 2] = ["RetriableException", "NMNotYetReadyException"];

/// Decides for `error`, given what a second run would do.
///
/// Follows the rules of stock clients (`RetryPolicies.failoverOnNetworkException` and
/// `RMProxy.createRetryPolicy`): what surely did not run may be tried elsewhere, what may have run
/// only if it is idempotent, and an answer of the server is an answer.
#[must_use]
pub fn disposition(error: &CallError, idempotence: Idempotence) -> Disposition {
    use Disposition::{Failover, Retry, Stop};
    let if_idempotent = |then| match idempotence {
        Idempotence::Idempotent => then,
        Idempotence::AtMostOnce => Stop,
    };
    match error {
        // A standby ResourceManager does not listen at all.
        CallError::Connect { .. } => Failover,
        CallError::Remote { .. } | CallError::Refused { .. } => {
            let is_one_of = |classes: &[&str]| classes.iter().any(|class| error.is(class));
            if is_one_of(&STANDBY) {
                Failover
            } else if is_one_of(&BUSY) {
                Retry
            } else {
                Stop
            }
        }
        CallError::Lost { sent: false, .. } => Retry,
        CallError::Lost { sent: true, .. } => if_idempotent(Retry),
        CallError::Deadline { .. } => if_idempotent(Failover),
        CallError::NotHadoop { .. }
        | CallError::KerberosWanted { .. }
        | CallError::Login { .. }
        | CallError::Malformed { .. }
        | CallError::TooLong { .. }
        | CallError::NoneAnswered { .. }
        | CallError::NoAddress { .. } => Stop,
    }
}

impl CallError {
    /// A server has answered, with an exception that says that it would answer the same again.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.class().is_some() && disposition(self, Idempotence::Idempotent) == Disposition::Stop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::Arc;
    use std::time::Duration;

    const IPC: &str = "org.apache.hadoop.ipc.";
    const EXCEPTIONS: &str = "org.apache.hadoop.yarn.exceptions.";

    fn remote(class: String) -> CallError {
        let (message, stack) = ("no".to_owned(), String::new());
        CallError::Remote {
            method: "m",
            address: "a:1".into(),
            class,
            message,
            stack,
        }
    }

    fn lost(sent: bool) -> CallError {
        let source = Arc::new(io::Error::from(io::ErrorKind::UnexpectedEof));
        CallError::Lost {
            method: "m",
            address: "a:1".into(),
            sent,
            source,
        }
    }

    #[test]
    fn table() {
        use Disposition::{Failover, Retry, Stop};
        let refused = CallError::Connect {
            address: "a:1".into(),
            hint: "",
            source: Arc::new(io::Error::from(io::ErrorKind::ConnectionRefused)),
        };
        let late = CallError::Deadline {
            method: "m",
            address: "a:1".into(),
            waited: Duration::from_secs(1),
        };
        let expired = CallError::Refused {
            address: "a:1".into(),
            class: "org.apache.hadoop.security.token.SecretManager$InvalidToken".into(),
            message: "expired".into(),
        };
        let fatal = |class: &str, message: &str| CallError::Refused {
            address: "a:1".into(),
            class: format!("{IPC}{class}"),
            message: message.into(),
        };
        let wrapped = |message: &str| CallError::Remote {
            method: "m",
            address: "a:1".into(),
            class: format!("{EXCEPTIONS}YarnException"),
            message: message.into(),
            stack: String::new(),
        };
        // (error, when idempotent, when at most once)
        let table = [
            (refused, Failover, Failover),
            (remote(format!("{IPC}StandbyException")), Failover, Failover),
            (remote(format!("{IPC}RetriableException")), Retry, Retry),
            (
                remote(format!("{EXCEPTIONS}NMNotYetReadyException")),
                Retry,
                Retry,
            ),
            (
                fatal("RetriableException", "Server is too busy"),
                Retry,
                Retry,
            ),
            (fatal("StandbyException", "standby"), Failover, Failover),
            (
                wrapped("org.apache.hadoop.ipc.StandbyException: standby"),
                Failover,
                Failover,
            ),
            (
                wrapped(
                    "org.apache.hadoop.yarn.server.resourcemanager.recovery.StoreFencedException: \
                     RMStateStore has been fenced",
                ),
                Failover,
                Failover,
            ),
            (remote(format!("{EXCEPTIONS}YarnException")), Stop, Stop),
            (
                remote("org.apache.hadoop.security.AccessControlException".into()),
                Stop,
                Stop,
            ),
            (expired, Stop, Stop),
            (lost(false), Retry, Retry),
            (lost(true), Retry, Stop),
            (late, Failover, Stop),
            (CallError::NoAddress { method: "m" }, Stop, Stop),
        ];
        for (error, idempotent, at_most_once) in table {
            assert_eq!(
                disposition(&error, Idempotence::Idempotent),
                idempotent,
                "{error}"
            );
            assert_eq!(
                disposition(&error, Idempotence::AtMostOnce),
                at_most_once,
                "{error}"
            );
        }
    }

    #[test]
    fn wrapped_exceptions_are_recognised_by_their_name() {
        let wrapped = CallError::Remote {
            method: "submitApplication",
            address: "a:1".into(),
            class: format!("{EXCEPTIONS}YarnException"),
            message: "org.apache.hadoop.security.AccessControlException: User x cannot submit"
                .into(),
            stack: String::new(),
        };
        assert!(wrapped.is("AccessControlException") && wrapped.is("YarnException"));
        assert!(!wrapped.is("ApplicationNotFoundException"));
    }
}
