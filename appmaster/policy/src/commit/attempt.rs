//! An attempt makes what it has written the result of its task.

use super::{CallAnswer, Op, folder};

/// Signs the attempt's folder, with an empty folder called `.` and the attempt's name, and renames the folder to the
/// task's.
///
/// All files of the attempt are written and closed before. A folder's name is one call to a NameNode, where words in a
/// file are four or more, and nobody has to be asked for a block to read it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptCommit {
    job: String,
    task: String,
    attempt: String,
    step: AttemptStep,
}

/// Whoever has made a result that no attempt has signed.
const UNSIGNED: &str = "nobody known";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum AttemptStep {
    Sign,
    Rename,
    /// `refused`: the rename was answered with a refusal, so this attempt's folder may be gone.
    ReadWinner {
        refused: bool,
    },
    Over(AttemptVerdict),
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttemptVerdict {
    /// This attempt is the task's result.
    Committed,
    /// Another is.
    Beaten {
        /// The attempt that has signed the result, by its name in the folder.
        by: String,
    },
    /// The job's folder is gone: the job is over.
    Gone,
}

impl AttemptCommit {
    /// Of `attempt` at `task` of `job`; each is a folder's name.
    #[must_use]
    pub fn new(job: &str, task: &str, attempt: &str) -> Self {
        let [job, task, attempt] = [job, task, attempt].map(str::to_owned);
        Self {
            job,
            task,
            attempt,
            step: AttemptStep::Sign,
        }
    }

    /// Where the attempt writes.
    #[must_use]
    pub fn writes_to(&self) -> String {
        format!("{}/_temporary/{}", folder(&self.job), self.attempt)
    }

    fn result(&self) -> String {
        format!("{}/{}", folder(&self.job), self.task)
    }

    /// The call to make; none when it is over.
    #[must_use]
    pub fn next(&self) -> Option<Op> {
        Some(match &self.step {
            AttemptStep::Sign => Op::MakeFolder(format!("{}/.{}", self.writes_to(), self.attempt)),
            AttemptStep::Rename => Op::Rename(self.writes_to(), self.result()),
            AttemptStep::ReadWinner { .. } => Op::List(self.result()),
            AttemptStep::Over(_) => return None,
        })
    }

    /// How it ended, once it has.
    #[must_use]
    pub fn verdict(&self) -> Option<&AttemptVerdict> {
        match &self.step {
            AttemptStep::Over(verdict) => Some(verdict),
            _ => None,
        }
    }

    /// What the call came to.
    pub fn answered(&mut self, answer: CallAnswer) {
        use CallAnswer::{Done, Exists, Lost, Names, NotThere};
        let over = |verdict| AttemptStep::Over(verdict);
        self.step = match (&self.step, answer) {
            (AttemptStep::Sign, Done | Exists) => AttemptStep::Rename,
            (AttemptStep::Sign, NotThere) => AttemptStep::ReadWinner { refused: true },
            (AttemptStep::Sign, _) => AttemptStep::Sign,
            (AttemptStep::Rename, Done) => over(AttemptVerdict::Committed),
            (AttemptStep::Rename, Lost) => AttemptStep::ReadWinner { refused: false },
            (AttemptStep::Rename, _) => AttemptStep::ReadWinner { refused: true },
            (AttemptStep::ReadWinner { .. }, Names(names)) => over(match signature(&names) {
                Some(winner) if winner == self.attempt => AttemptVerdict::Committed,
                by => AttemptVerdict::Beaten {
                    by: by.unwrap_or(UNSIGNED).to_owned(),
                },
            }),
            // Neither a result nor a folder of its own.
            (AttemptStep::ReadWinner { refused: true }, NotThere) => over(AttemptVerdict::Gone),
            (AttemptStep::ReadWinner { refused: false }, NotThere) => AttemptStep::Rename,
            (step, _) => step.clone(),
        };
    }
}

/// The attempt that has signed a folder, of the names in it. No file of the output begins with a dot.
fn signature(names: &[String]) -> Option<&str> {
    names.iter().find_map(|name| name.strip_prefix('.'))
}
