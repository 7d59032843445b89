//! A job becomes the owner of its output folder.

use super::withdrawal::{Withdrawal, Withdrawn, aside};
use super::{Answer, Op, folder};

const OWNER: &str = "_temporary/.owner";

/// Makes the job's folder with its own `.owner` in it, then gives that its place beside the folder.
///
/// Another's `.owner` is respected while its job lives. What a dead one has published without coming to an end is
/// withdrawn. Then its `.owner` is renamed into the folder where all of it is, which only one taker can do, and that
/// folder is removed with it before the new owner signs: so while somebody else has signed, the folder that a late
/// taker would rename into is gone.
///
/// Who is refused leaves nothing. First its signature goes, so that none which was given up to wait for can still get its
/// place; then it is seen whether one has; then its folder goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Setup {
    job: String,
    step: Step,
    /// Its folder may be there.
    has_folder: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    Look,
    /// There is output without success: whose?
    ReadOwnerOf(Vec<String>),
    /// Nobody's; it may have been withdrawn in between.
    LookOnce,
    MakeFolders,
    Sign,
    ReadOwner,
    AskAlive(String),
    Withdraw(Withdrawal),
    TakeOver(String),
    /// Whether `.owner` still names the dead job into whose folder it could not be renamed.
    LookAgain(String),
    Clear(String),
    /// Whether another has had its output there before this one signed.
    LookSigned,
    /// It has: what this one has made goes.
    Disown(Vec<String>),
    /// Refused: what it would sign with goes.
    Unsign(SetupVerdict),
    /// Whether it has signed all the same.
    LookUnsigned(SetupVerdict),
    ClearOwn(SetupVerdict),
    Tidy(SetupVerdict),
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
    /// The folder above is none.
    NoParent,
}

impl Setup {
    /// `.owner` before it has its place: in the folder of all attempts, which is made with it.
    fn draft(&self) -> String {
        format!("{}/_temporary/.owner", folder(&self.job))
    }

    /// Of `job`, which is the name of its folder.
    #[must_use]
    pub fn new(job: &str) -> Self {
        Self {
            job: job.to_owned(),
            step: Step::Look,
            has_folder: false,
        }
    }

    /// Where nothing was at the output folder's name a moment ago. It begins as if it had looked then: what has come
    /// since is seen as what comes after a look of its own.
    #[must_use]
    pub fn where_nothing_was(mut self) -> Self {
        self.step = Step::MakeFolders;
        self
    }

    /// The call to make; none when it is over, or waits for [`alive`](Self::alive).
    #[must_use]
    pub fn next(&self) -> Option<Op> {
        Some(match &self.step {
            Step::Look | Step::LookOnce | Step::LookSigned => Op::List(String::new()),
            Step::MakeFolders => Op::MakeFolders(format!("{}/{}", self.draft(), self.job)),
            Step::Sign => Op::Rename(self.draft(), OWNER.to_owned()),
            Step::ReadOwnerOf(_) | Step::ReadOwner | Step::LookAgain(_) | Step::LookUnsigned(_) => {
                Op::Read(OWNER.to_owned())
            }
            Step::Unsign(_) => Op::DeleteAll(self.draft()),
            Step::Withdraw(withdrawal) => return withdrawal.next(),
            Step::TakeOver(dead) => Op::Rename(OWNER.to_owned(), format!("{}/.owner", aside(dead))),
            Step::Clear(dead) => Op::DeleteAll(aside(dead)),
            Step::Disown(_) => {
                Op::Rename(OWNER.to_owned(), format!("{}/.owner", folder(&self.job)))
            }
            Step::ClearOwn(_) => Op::DeleteAll(folder(&self.job)),
            Step::Tidy(_) => Op::DeleteEmpty("_temporary".to_owned()),
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
                self.refused(SetupVerdict::Taken { by: job })
            } else {
                Step::Withdraw(Withdrawal::new(&job))
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
        use Answer::{Content, Done, Lost, Names, NotThere};
        if let Step::Withdraw(withdrawal) = &mut self.step {
            withdrawal.answered(answer);
            let dead = withdrawal.dead().to_owned();
            self.step = match withdrawal.verdict().cloned() {
                None => return,
                Some(Withdrawn::Free) => Step::TakeOver(dead),
                Some(Withdrawn::Foreign(names)) => self.found(&names),
                Some(Withdrawn::Absent) => Step::Look,
            };
            return;
        }
        let step = std::mem::replace(&mut self.step, Step::Look);
        self.step = match (step, answer) {
            (step @ (Step::Look | Step::LookOnce), Names(names)) => {
                let is_half = step == Step::Look && is_unfinished(&names);
                let output = output(names);
                match output.is_empty() {
                    true => Step::MakeFolders,
                    false if is_half => Step::ReadOwnerOf(output),
                    false => self.found(&output),
                }
            }
            (Step::Look | Step::LookOnce, NotThere) => Step::MakeFolders,
            (Step::ReadOwnerOf(output), Content(owner)) if owner == self.job => self.found(&output),
            (Step::ReadOwnerOf(_), Content(owner)) => Step::AskAlive(owner),
            (Step::ReadOwnerOf(_), NotThere) => Step::LookOnce,
            // A file is in the way.
            (Step::MakeFolders, NotThere) => Step::Over(SetupVerdict::NoParent),
            // Who signs without a folder could never be taken over from.
            (Step::MakeFolders, Lost) => {
                self.has_folder = true;
                Step::MakeFolders
            }
            (Step::MakeFolders, _) => {
                self.has_folder = true;
                Step::Sign
            }
            // Somebody has removed it in between.
            (Step::Sign, NotThere) => Step::Look,
            (Step::Sign, Done) => Step::LookSigned,
            (Step::Sign, _) => Step::ReadOwner,
            (Step::ReadOwner, Content(owner)) if owner == self.job => Step::LookSigned,
            (Step::ReadOwner, Content(owner)) => Step::AskAlive(owner),
            (Step::ReadOwner, NotThere) => Step::MakeFolders,
            (Step::TakeOver(dead), Done) => Step::Clear(dead),
            // Another was first, or it was this one and the answer was lost: who has signed says.
            (Step::TakeOver(dead), NotThere) => Step::LookAgain(dead),
            (Step::TakeOver(_), _) => Step::ReadOwner,
            (Step::LookAgain(dead), Content(owner)) if owner == dead => {
                self.refused(SetupVerdict::Orphaned { by: dead })
            }
            (Step::LookAgain(dead), Lost) => Step::LookAgain(dead),
            (Step::LookAgain(_), _) => Step::ReadOwner,
            (Step::Clear(dead), Lost) => Step::Clear(dead),
            (Step::LookSigned, Names(names)) => match output(names) {
                none if none.is_empty() => Step::Over(SetupVerdict::Owner),
                output => Step::Disown(output),
            },
            (Step::LookSigned, NotThere) => Step::Look,
            (
                step @ (Step::Disown(_)
                | Step::Unsign(_)
                | Step::LookUnsigned(_)
                | Step::ClearOwn(_)
                | Step::Tidy(_)),
                Lost,
            ) => step,
            (Step::Disown(output), _) => Step::ClearOwn(exists(&output)),
            (Step::Unsign(verdict), _) => Step::LookUnsigned(verdict),
            (Step::LookUnsigned(_), Content(owner)) if owner == self.job => Step::LookSigned,
            (Step::LookUnsigned(verdict), _) => Step::ClearOwn(verdict),
            (Step::ClearOwn(verdict), _) => Step::Tidy(verdict),
            (Step::Tidy(verdict), _) => Step::Over(verdict),
            // Who came upon output has no folder yet.
            (Step::Clear(_), _) => Step::MakeFolders,
            (step, _) => step,
        };
    }

    /// It may not write there: what it has made goes.
    fn refused(&self, verdict: SetupVerdict) -> Step {
        match self.has_folder {
            true => Step::Unsign(verdict),
            false => Step::Over(verdict),
        }
    }

    /// There is output.
    fn found(&self, output: &[String]) -> Step {
        self.refused(exists(output))
    }
}

/// Whether what is in an output folder may be the beginning of an output.
fn is_unfinished(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    has("_temporary") && !has("_SUCCESS")
}

/// What of it is output.
fn output(names: Vec<String>) -> Vec<String> {
    let output = names.into_iter().filter(|name| name != "_temporary");
    output.collect()
}

/// Output that is there is named, some of it.
fn exists(output: &[String]) -> SetupVerdict {
    SetupVerdict::OutputExists(output.iter().take(3).cloned().collect())
}
