//! What the ResourceManager's exception in place of an answer to `allocate` means.

use proto_hadoop::{CallError, Disposition, Idempotence, disposition};

/// One exception, or none: an allocate call without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The attempt is over.
    Over,
    /// It has restarted, and knows the attempt but none of its requests.
    NotRegistered,
    /// The scheduler has heard of us, and does not take what this call asks for.
    Refused,
    /// The scheduler has heard of us.
    Heard,
    /// Nothing that shows that the scheduler has heard of us.
    Unheard,
}

/// Exceptions about what a call asks for. Some releases of Hadoop wrap their reasons in a plain
/// `YarnException`.
const ABOUT_THE_REQUEST: [&str; 7] = [
    "InvalidResourceRequestException",
    "InvalidLabelResourceRequestException",
    "SchedulerInvalidResoureRequestException",
    "InvalidResourceBlacklistRequestException",
    "InvalidContainerReleaseException",
    "ResourceNotFoundException",
    "YarnException",
];

/// What `error` means.
///
/// A ResourceManager that is too busy, in standby or fenced off from its state store answers from the
/// layers above the scheduler, which then has not heard of us: two attempts may not run side by side
/// because of such a word. `InvalidApplicationMasterRequestException` is the scheduler's, but says
/// that our calls and its answers do not fit together: whoever goes on with that hears of nothing.
pub(super) fn meaning(error: &CallError) -> Meaning {
    if error.is_attempt_gone() {
        Meaning::Over
    } else if error.is_not_registered() {
        Meaning::NotRegistered
    } else if disposition(error, Idempotence::Idempotent) != Disposition::Stop
        || !error.is_of_yarn()
        || error.is("InvalidApplicationMasterRequestException")
    {
        Meaning::Unheard
    } else if ABOUT_THE_REQUEST.iter().any(|class| error.is(class)) {
        Meaning::Refused
    } else {
        Meaning::Heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(class: &str, message: &str) -> CallError {
        CallError::Remote {
            method: "allocate",
            address: "rm:8030".into(),
            class: class.to_owned(),
            message: message.to_owned(),
            stack: String::new(),
        }
    }

    #[test]
    fn only_what_is_about_the_request_counts_and_only_the_scheduler_has_heard_of_us() {
        let yarn = |class: &str| format!("org.apache.hadoop.yarn.exceptions.{class}");
        let ipc = |class: &str| format!("org.apache.hadoop.ipc.{class}");
        let table = [
            (
                yarn("InvalidLabelResourceRequestException"),
                "no access to label gpu",
                Meaning::Refused,
            ),
            (
                yarn("InvalidResourceRequestException"),
                "more than the maximum",
                Meaning::Refused,
            ),
            (yarn("YarnException"), "no such label", Meaning::Refused),
            (
                yarn("YarnException"),
                "org.apache.hadoop.ipc.StandbyException: in standby",
                Meaning::Unheard,
            ),
            (
                yarn("YarnException"),
                "org.apache.hadoop.yarn.server.resourcemanager.recovery.StoreFencedException: \
                 RMStateStore has been fenced",
                Meaning::Unheard,
            ),
            (yarn("YarnRuntimeException"), "a bug", Meaning::Heard),
            (
                yarn("InvalidApplicationMasterRequestException"),
                "Invalid responseId in AllocateRequest",
                Meaning::Unheard,
            ),
            (
                yarn("ApplicationMasterNotRegisteredException"),
                "register first",
                Meaning::NotRegistered,
            ),
            (
                yarn("ApplicationAttemptNotFoundException"),
                "who is that",
                Meaning::Over,
            ),
            (
                ipc("RetriableException"),
                "Server is too busy",
                Meaning::Unheard,
            ),
            (ipc("StandbyException"), "in standby", Meaning::Unheard),
            (
                ipc("RpcServerException"),
                "unknown method",
                Meaning::Unheard,
            ),
            (
                "java.lang.NullPointerException".to_owned(),
                "",
                Meaning::Unheard,
            ),
        ];
        for (class, message, expected) in table {
            let error = remote(&class, message);
            assert_eq!(meaning(&error), expected, "{error}");
        }
        let refused = CallError::Refused {
            address: "rm:8030".into(),
            class: yarn("YarnException"),
            message: "words of a connection that never got to the scheduler".into(),
        };
        assert_eq!(meaning(&refused), Meaning::Unheard);
    }
}
