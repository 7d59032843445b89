//! Why an attempt failed, in a sentence that says where it was.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use gerbil_task::{Blame, FrameError, Phase};

use super::process::{LEAVE, Process};
use super::queue::{Fault, Work};
use super::slot::Slot;
use crate::error::Error;

/// Why an attempt failed, and whether its process is of use any more.
pub(super) struct Failure {
    pub(super) sentence: String,
    pub(super) fault: Fault,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            sentence: error.to_string(),
            fault: Fault { record: None },
        }
    }
}

impl From<FrameError> for Failure {
    fn from(error: FrameError) -> Self {
        Error::from(error).into()
    }
}

impl Slot<'_> {
    /// Where the process was, for sentences.
    pub(super) fn place(&self, work: &Work, blame: &Blame) -> String {
        let phase = match blame.phase {
            Phase::Setup => "in setup",
            Phase::Cleanup => "in cleanup",
            Phase::Sort => "while sorting",
            Phase::Output => "while closing its output",
            Phase::Map | Phase::Reduce => "",
            _ => "before it began",
        };
        match work {
            Work::Map(order) if blame.phase == Phase::Map => {
                let piece = usize::try_from(blame.piece)
                    .ok()
                    .and_then(|piece| order.pieces.get(piece));
                let name = piece.map_or("its split", |piece| piece.name.as_str());
                format!(
                    "on record {} of the split, at byte {} of {name}",
                    blame.record, blame.offset
                )
            }
            Work::Reduce(_) if blame.phase == Phase::Reduce => format!("on group {}", blame.record),
            _ => phase.to_owned(),
        }
    }

    /// The record that a map's code had.
    pub(super) fn fault(&self, blame: &Blame) -> Fault {
        Fault {
            record: (blame.phase == Phase::Map).then_some(blame.record),
        }
    }

    /// A task that says that it failed.
    pub(super) fn failed(&self, work: &Work, sentence: &str) -> Failure {
        let blame = self.page.read();
        let title = work.title();
        let sentence = match sentence.strip_prefix("panicked") {
            Some(rest) => format!("{title} panicked {},{rest}", self.place(work, &blame)),
            None => format!("{title}: {sentence}"),
        };
        Failure {
            sentence,
            fault: self.fault(&blame),
        }
    }

    /// A process that ended in the middle of a task.
    pub(super) fn ended(&self, process: &mut Process, work: &Work) -> Failure {
        let status = process.ended(LEAVE);
        self.died(work, status)
    }

    pub(super) fn died(&self, work: &Work, status: Option<ExitStatus>) -> Failure {
        let blame = self.page.read();
        let how = how(status);
        let sentence = format!("{} {how} {}", work.title(), self.place(work, &blame));
        Failure {
            sentence: sentence.trim_end().to_owned(),
            fault: self.fault(&blame),
        }
    }
}

/// How a process ended.
pub(super) fn how(status: Option<ExitStatus>) -> String {
    match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => format!("ended its process with exit code {code}"),
        Some((_, Some(signal))) => format!("was killed by signal {signal}"),
        _ => "closed its socket".to_owned(),
    }
}
