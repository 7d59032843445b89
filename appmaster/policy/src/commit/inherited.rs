//! What is to be done with a job of an ApplicationMaster that is gone.

use super::layout::{OWNER, SUCCESS, WORK, aside, job_folder};
use super::{CallAnswer, JobCommit, JobVerdict, Op};

/// The next ApplicationMaster's part in a job of which it knows no more than the output folder: its commit is
/// finished where what becomes output was chosen, or is whole, and the job is given up where it is not.
///
/// Whether the job was ever the folder's owner is looked at first: who gives up disowns, and `.owner` may be
/// another's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inherited {
    job: String,
    /// Numbers this ApplicationMaster.
    attempt: u32,
    step: InheritedStep,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum InheritedStep {
    ReadOwner,
    /// Whether the job has owned the folder, and has left it already.
    LookForOwn,
    Finish(JobCommit),
    /// Nobody's: of a setup that was not over, or of a removal.
    Clear,
    ClearAside {
        was_there: bool,
    },
    Tidy {
        was_there: bool,
    },
    LookForSuccess {
        was_there: bool,
    },
    Over(Inheritance),
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Inheritance {
    /// All of its output is there, and `_SUCCESS`: its commit was under way.
    Finished,
    /// It had left the folder before, and all output is there.
    Before,
    /// Nothing of it is in the folder any more.
    GivenUp,
    /// It had left the folder before, without output; or never came to it.
    Absent,
    /// A file of the output is gone by somebody else's hand.
    Missing(String),
    /// Somebody else has put something where the output was to be, which is whole.
    Taken {
        /// Where the output is, a path as those of [`Op`].
        whole: String,
    },
    /// The manifest holds what no manifest of this job would.
    Unreadable,
}

impl From<&JobVerdict> for Inheritance {
    fn from(verdict: &JobVerdict) -> Self {
        match verdict {
            JobVerdict::Committed => Self::Finished,
            JobVerdict::GivenUp => Self::GivenUp,
            JobVerdict::Missing(file) => Self::Missing(file.clone()),
            JobVerdict::Taken { whole } => Self::Taken {
                whole: whole.clone(),
            },
            JobVerdict::Unreadable => Self::Unreadable,
        }
    }
}

impl Inherited {
    /// Of `job`, which is the name of its folder. `attempt` numbers the ApplicationMaster.
    #[must_use]
    pub fn new(job: &str, attempt: u32) -> Self {
        Self {
            job: job.to_owned(),
            attempt,
            step: InheritedStep::ReadOwner,
        }
    }

    /// Numbers of the calls that may be under way at once, as [`JobCommit::open`].
    #[must_use]
    pub fn open(&self) -> Vec<usize> {
        match &self.step {
            InheritedStep::Finish(job) => job.open(),
            InheritedStep::Over(_) => Vec::new(),
            _ => vec![0],
        }
    }

    /// The call that `number` of [`open`](Self::open) stands for.
    #[must_use]
    pub fn call(&self, number: usize) -> Option<Op> {
        Some(match &self.step {
            InheritedStep::ReadOwner => Op::Read(OWNER.to_owned()),
            InheritedStep::LookForOwn => Op::Look(format!("{}/.owner", job_folder(&self.job))),
            InheritedStep::Finish(job) => return job.call(number),
            InheritedStep::Clear => Op::DeleteAll(job_folder(&self.job)),
            InheritedStep::ClearAside { .. } => Op::DeleteAll(aside(&self.job)),
            InheritedStep::Tidy { .. } => Op::DeleteEmpty(WORK.to_owned()),
            InheritedStep::LookForSuccess { .. } => Op::Look(SUCCESS.to_owned()),
            InheritedStep::Over(_) => return None,
        })
    }

    /// How it ended, once it has.
    #[must_use]
    pub fn verdict(&self) -> Option<&Inheritance> {
        match &self.step {
            InheritedStep::Over(verdict) => Some(verdict),
            _ => None,
        }
    }

    /// What the call of `number` came to.
    pub fn answered_to(&mut self, number: usize, answer: CallAnswer) {
        use CallAnswer::{Content, Done, Lost};
        if let InheritedStep::Finish(job) = &mut self.step {
            job.answered_to(number, answer);
            if let Some(verdict) = job.verdict() {
                self.step = InheritedStep::Over(verdict.into());
            }
            return;
        }
        self.step = match (&self.step, answer) {
            // Asked again: looking changes nothing, and what is gone is gone.
            (_, Lost) => return,
            (InheritedStep::ReadOwner, Content(owner)) if owner == self.job => self.finish(),
            (InheritedStep::ReadOwner, _) => InheritedStep::LookForOwn,
            (InheritedStep::LookForOwn, Done) => self.finish(),
            (InheritedStep::LookForOwn, _) => InheritedStep::Clear,
            (InheritedStep::Clear, answer) => InheritedStep::ClearAside {
                was_there: answer == Done,
            },
            (InheritedStep::ClearAside { was_there }, answer) => InheritedStep::Tidy {
                was_there: *was_there || answer == Done,
            },
            (InheritedStep::Tidy { was_there }, _) => InheritedStep::LookForSuccess {
                was_there: *was_there,
            },
            (InheritedStep::LookForSuccess { was_there }, answer) => {
                InheritedStep::Over(match (was_there, answer == Done) {
                    (true, true) => Inheritance::Finished,
                    (false, true) => Inheritance::Before,
                    (true, false) => Inheritance::GivenUp,
                    (false, false) => Inheritance::Absent,
                })
            }
            (step @ (InheritedStep::Finish(_) | InheritedStep::Over(_)), _) => step.clone(),
        };
    }

    fn finish(&self) -> InheritedStep {
        InheritedStep::Finish(JobCommit::give_up(&self.job, self.attempt))
    }
}
