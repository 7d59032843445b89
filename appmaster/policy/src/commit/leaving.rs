//! A job leaves the folder where jobs write: what names it goes out of the way of the next one, and all of it goes.

use super::layout::{OWNER, WORK, aside, job_folder};
use super::{CallAnswer, Op};

/// What names the owner goes into a folder of the job, which goes with it: so that it is never removed when it names
/// another already. Which folder that is another ApplicationMaster may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Leaving {
    is_published: bool,
    /// The job's folder may have been put aside.
    is_aside: bool,
    step: LeaveStep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum LeaveStep {
    Disown,
    DisownAside,
    Clear,
    ClearAside,
    Tidy,
    Over,
}

impl Leaving {
    /// The output has its name.
    pub(super) const fn published() -> Self {
        Self {
            is_published: true,
            is_aside: false,
            step: LeaveStep::Disown,
        }
    }

    /// The job's folder was put aside.
    pub(super) const fn put_aside(is_published: bool) -> Self {
        Self {
            is_published,
            is_aside: true,
            step: LeaveStep::DisownAside,
        }
    }

    pub(super) const fn is_published(self) -> bool {
        self.is_published
    }

    pub(super) fn is_over(self) -> bool {
        self.step == LeaveStep::Over
    }

    pub(super) fn next(self, job: &str) -> Option<Op> {
        let owner_to = |folder: String| Op::Rename(OWNER.to_owned(), format!("{folder}/.owner"));
        Some(match self.step {
            LeaveStep::Disown => owner_to(job_folder(job)),
            LeaveStep::DisownAside => owner_to(aside(job)),
            LeaveStep::ClearAside => Op::DeleteAll(aside(job)),
            LeaveStep::Clear => Op::DeleteAll(job_folder(job)),
            LeaveStep::Tidy => Op::DeleteEmpty(WORK.to_owned()),
            LeaveStep::Over => return None,
        })
    }

    pub(super) fn answered(&mut self, answer: CallAnswer) {
        use CallAnswer::{Done, Lost};
        self.step = match (self.step, answer) {
            // Asked again: what is gone is gone.
            (step, Lost) => step,
            (LeaveStep::Disown, Done) => LeaveStep::Clear,
            (LeaveStep::Disown, _) => {
                self.is_aside = true;
                LeaveStep::DisownAside
            }
            // It is put aside from there, never back.
            (LeaveStep::DisownAside, _) => LeaveStep::Clear,
            (LeaveStep::Clear, Done) if !self.is_aside => LeaveStep::Tidy,
            (LeaveStep::Clear, _) => LeaveStep::ClearAside,
            (LeaveStep::ClearAside, _) => LeaveStep::Tidy,
            (LeaveStep::Tidy | LeaveStep::Over, _) => LeaveStep::Over,
        };
    }
}
