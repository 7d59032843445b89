//! Why an attempt failed, in a sentence that says where it was.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use gerbil_task::{Blame, FrameError};

use super::process::{LEAVE, RoleProcess};
use super::queue::{AttemptFault, LocalTask};
use super::slot::Slot;
use crate::error::Error;

/// Why an attempt failed, and whether its process is of use any more.
pub(super) struct AttemptFailure {
    pub(super) sentence: String,
    pub(super) fault: AttemptFault,
}

impl From<Error> for AttemptFailure {
    fn from(error: Error) -> Self {
        Self {
            sentence: error.to_string(),
            fault: AttemptFault::default(),
        }
    }
}

impl From<FrameError> for AttemptFailure {
    fn from(error: FrameError) -> Self {
        Error::from(error).into()
    }
}

impl Slot<'_> {
    /// The record that a map's code had.
    pub(super) fn fault(&self, work: &LocalTask, blame: &Blame) -> AttemptFault {
        AttemptFault {
            record: work.blamed().record(blame),
            is_lost: false,
        }
    }

    /// A task that says that it failed.
    pub(super) fn failed(&self, work: &LocalTask, sentence: &str) -> AttemptFailure {
        let blame = self.page.read();
        AttemptFailure {
            sentence: work.blamed().failed(&blame, sentence),
            fault: self.fault(work, &blame),
        }
    }

    /// A process that ended in the middle of a task.
    pub(super) fn ended(&self, process: &RoleProcess, work: &LocalTask) -> AttemptFailure {
        let status = process.ended(LEAVE);
        self.died(work, status)
    }

    pub(super) fn died(&self, work: &LocalTask, status: Option<ExitStatus>) -> AttemptFailure {
        let blame = self.page.read();
        AttemptFailure {
            sentence: work.blamed().died(&blame, &how(status)),
            fault: self.fault(work, &blame),
        }
    }
}

/// How a process ended.
pub(super) fn how(status: Option<ExitStatus>) -> String {
    let code = status.and_then(|status| status.code());
    gerbil_task::how(code, status.and_then(|status| status.signal()))
}
