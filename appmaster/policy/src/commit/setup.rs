//! A job becomes the owner of its output folder.

use super::{Answer, Op, folder};

const OWNER: &str = "_temporary/.owner";

/// Makes the job's folder, then `.owner` beside it.
///
/// Another's `.owner` is respected while its job lives. A dead one's is renamed into the dead job's
/// folder, which only one taker can do, and that folder is removed with it before the new owner signs: so while
/// somebody else has signed, the folder that a late taker would rename into is gone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Setup {
    job: String,
    step: Step,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    Look,
    MakeOutput,
    MakeTemporary,
    MakeFolder,
    Sign,
    ReadOwner,
    AskAlive(String),
    TakeOver(String),
    /// Whether `.owner` still names the dead job into whose folder it could not be renamed.
    LookAgain(String),
    Clear(String),
    Over(SetupVerdict),
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetupVerdict {
    /// The job owns the folder.
    Owner,
    /// There is output already; the names of some of it.
    OutputExists(Vec<String>),
    /// Another job, which is alive, writes there.
    Taken {
        /// Its folder's name.
        by: String,
    },
    /// `.owner` names a dead job whose folder somebody has removed: it has to be removed by hand.
    Orphaned {
        /// That job's folder's name.
        by: String,
    },
    /// The folder above is not there.
    NoParent,
}

impl Setup {
    /// Of `job`, which is the name of its folder.
    #[must_use]
    pub fn new(job: &str) -> Self {
        Self {
            job: job.to_owned(),
            step: Step::Look,
        }
    }

    /// The call to make; none when it is over, or waits for [`alive`](Self::alive).
    #[must_use]
    pub fn next(&self) -> Option<Op> {
        Some(match &self.step {
            Step::Look => Op::List(String::new()),
            Step::MakeOutput => Op::MakeFolder(String::new()),
            Step::MakeTemporary => Op::MakeFolder("_temporary".to_owned()),
            Step::MakeFolder => Op::MakeFolder(folder(&self.job)),
            Step::Sign => Op::Create(OWNER.to_owned(), self.job.clone()),
            Step::ReadOwner | Step::LookAgain(_) => Op::Read(OWNER.to_owned()),
            Step::TakeOver(dead) => {
                Op::Rename(OWNER.to_owned(), format!("{}/.owner", folder(dead)))
            }
            Step::Clear(dead) => Op::DeleteAll(folder(dead)),
            Step::AskAlive(_) | Step::Over(_) => return None,
        })
    }

    /// The job of which the caller is to find out whether it lives.
    #[must_use]
    pub fn asks(&self) -> Option<&str> {
        match &self.step {
            Step::AskAlive(job) => Some(job),
            _ => None,
        }
    }

    /// Whether that job lives.
    pub fn alive(&mut self, alive: bool) {
        if let Step::AskAlive(job) = &self.step {
            let job = job.clone();
            self.step = if alive {
                Step::Over(SetupVerdict::Taken { by: job })
            } else {
                Step::TakeOver(job)
            };
        }
    }

    /// How it ended, once it has.
    #[must_use]
    pub fn verdict(&self) -> Option<&SetupVerdict> {
        match &self.step {
            Step::Over(verdict) => Some(verdict),
            _ => None,
        }
    }

    /// What the call came to.
    pub fn answered(&mut self, answer: Answer) {
        use Answer::{Content, Done, Exists, Lost, Names, NotThere};
        let step = std::mem::replace(&mut self.step, Step::Look);
        self.step = match (step, answer) {
            (Step::Look, Names(names)) => {
                let output: Vec<String> = names
                    .into_iter()
                    .filter(|name| name != "_temporary")
                    .take(3)
                    .collect();
                if output.is_empty() {
                    Step::MakeTemporary
                } else {
                    Step::Over(SetupVerdict::OutputExists(output))
                }
            }
            (Step::Look, NotThere) => Step::MakeOutput,
            (Step::MakeOutput, Done | Exists | Lost) => Step::MakeTemporary,
            (Step::MakeOutput, _) => Step::Over(SetupVerdict::NoParent),
            (Step::MakeTemporary, Done | Exists | Lost) => Step::MakeFolder,
            // Somebody's farewell has removed it in between.
            (Step::MakeTemporary | Step::MakeFolder | Step::Sign, NotThere) => Step::Look,
            // Who signs without a folder could never be taken over from.
            (Step::MakeFolder, Lost) => Step::MakeFolder,
            (Step::MakeFolder, _) => Step::Sign,
            (Step::Sign, Done) => Step::Over(SetupVerdict::Owner),
            (Step::Sign, _) => Step::ReadOwner,
            (Step::ReadOwner, Content(owner)) if owner == self.job => {
                Step::Over(SetupVerdict::Owner)
            }
            (Step::ReadOwner, Content(owner)) => Step::AskAlive(owner),
            (Step::ReadOwner, NotThere) => Step::MakeFolder,
            (Step::TakeOver(dead), Done) => Step::Clear(dead),
            // Another was first, or it was this one and the answer was lost: who has signed says.
            (Step::TakeOver(dead), NotThere) => Step::LookAgain(dead),
            (Step::TakeOver(_), _) => Step::ReadOwner,
            (Step::LookAgain(dead), Content(owner)) if owner == dead => {
                Step::Over(SetupVerdict::Orphaned { by: dead })
            }
            (Step::LookAgain(dead), Lost) => Step::LookAgain(dead),
            (Step::LookAgain(_), _) => Step::ReadOwner,
            (Step::Clear(dead), Lost) => Step::Clear(dead),
            (Step::Clear(_), _) => Step::Sign,
            (step, _) => step,
        };
    }
}
