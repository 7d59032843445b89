//! How a command has ended.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Instant;

use super::PIPE;

/// What there is to know of a command that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) at: Instant,
    /// Bytes of its output that were read since.
    pub(super) late: usize,
    /// There was a moment when there was none.
    pub(super) is_drained: bool,
    /// When nothing but complaints were open.
    pub(super) said_all: Option<Instant>,
}

impl Ended {
    /// Whether somebody else holds the output.
    pub(super) fn is_held(&self) -> bool {
        self.is_drained || self.late > PIPE
    }
}

/// How a process has ended.
pub(super) fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "has ended".to_owned(),
    }
}
