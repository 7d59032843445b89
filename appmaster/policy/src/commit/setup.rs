//! A job becomes the owner of its output folder.

use super::layout::{OUT, OWNER, WORK, WRITTEN, aside, job_folder};
use super::{CallAnswer, Op};

/// Makes the job's folder with its own `.owner` in it, then gives that its place beside the folder.
///
/// Another's `.owner` is respected while its job lives. The folder of a dead one gets another name first, all at once: from
/// then on no ApplicationMaster of that job that yet runs gives an output its name. Then its `.owner` is renamed into
/// that folder, which only one taker can do, and the folder is removed with it before the new owner signs: so while
/// somebody else has signed, the folder that a late taker would rename into is gone.
///
/// Who is refused leaves nothing, whether by what it has found or by the file system ([`Self::abandon`]). First its signature goes, so that none which was given up to wait for can still get its
/// place; then it is seen whether one has; then its folder goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Setup {
    job: String,
    step: SetupStep,
    /// Its folder may be there.
    has_folder: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum SetupStep {
    Look,
    MakeFolders,
    Sign,
    ReadOwner,
    AskAlive(String),
    SetAside(String),
    TakeOver(String),
    /// Whether `.owner` still names the dead job into whose folder it could not be renamed.
    LookAgain(String),
    Clear(String),
    /// Whether another has had its output there before this one signed.
    LookSigned,
    /// It has: what this one has made goes.
    Disown,
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
    /// The job may write there, and no other.
    Owner,
    /// Something has the output's name already.
    OutputExists,
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
    /// The file system has refused a call for good; what was made is gone, as far as it allows that.
    Abandoned,
}

impl Setup {
    /// `.owner` before it has its place: where the output is to come together, a folder that is made with it.
    fn draft(&self) -> String {
        format!("{}/{WRITTEN}/.owner", job_folder(&self.job))
    }

    /// Of `job`, which is the name of its folder.
    #[must_use]
    pub fn new(job: &str) -> Self {
        Self {
            job: job.to_owned(),
            step: SetupStep::Look,
            has_folder: false,
        }
    }

    /// Where nothing was at the output folder's name a moment ago. It begins as if it had looked then: what has come
    /// since is seen as what comes after a look of its own.
    #[must_use]
    pub fn where_nothing_was(mut self) -> Self {
        self.step = SetupStep::MakeFolders;
        self
    }

    /// The call to make; none when it is over, or waits for [`alive`](Self::alive).
    #[must_use]
    pub fn next(&self) -> Option<Op> {
        Some(match &self.step {
            SetupStep::Look | SetupStep::LookSigned => Op::Look(OUT.to_owned()),
            SetupStep::MakeFolders => Op::MakeFolders(format!("{}/{}", self.draft(), self.job)),
            SetupStep::Sign => Op::Rename(self.draft(), OWNER.to_owned()),
            SetupStep::ReadOwner | SetupStep::LookAgain(_) | SetupStep::LookUnsigned(_) => {
                Op::Read(OWNER.to_owned())
            }
            SetupStep::Unsign(_) => Op::DeleteAll(self.draft()),
            SetupStep::SetAside(dead) => Op::Rename(job_folder(dead), aside(dead)),
            SetupStep::TakeOver(dead) => {
                Op::Rename(OWNER.to_owned(), format!("{}/.owner", aside(dead)))
            }
            SetupStep::Clear(dead) => Op::DeleteAll(aside(dead)),
            SetupStep::Disown => Op::Rename(
                OWNER.to_owned(),
                format!("{}/.owner", job_folder(&self.job)),
            ),
            SetupStep::ClearOwn(_) => Op::DeleteAll(job_folder(&self.job)),
            SetupStep::Tidy(_) => Op::DeleteEmpty(WORK.to_owned()),
            SetupStep::AskAlive(_) | SetupStep::Over(_) => return None,
        })
    }

    /// The job of which the caller is to find out whether it lives.
    #[must_use]
    pub fn asks(&self) -> Option<&str> {
        match &self.step {
            SetupStep::AskAlive(job) => Some(job),
            _ => None,
        }
    }

    /// Whether that job lives.
    pub fn alive(&mut self, alive: bool) {
        if let SetupStep::AskAlive(job) = &self.step {
            let job = job.clone();
            self.step = if alive {
                self.refused(SetupVerdict::Taken { by: job })
            } else {
                SetupStep::SetAside(job)
            };
        }
    }

    /// How it ended, once it has.
    #[must_use]
    pub fn verdict(&self) -> Option<&SetupVerdict> {
        match &self.step {
            SetupStep::Over(verdict) => Some(verdict),
            _ => None,
        }
    }

    /// What the call came to.
    pub fn answered(&mut self, answer: CallAnswer) {
        use CallAnswer::{Content, Done, Lost, NotThere};
        let step = std::mem::replace(&mut self.step, SetupStep::Look);
        self.step = match (step, answer) {
            (SetupStep::Look, Done) => self.refused(SetupVerdict::OutputExists),
            (SetupStep::Look, NotThere) => SetupStep::MakeFolders,
            // A file is in the way.
            (SetupStep::MakeFolders, NotThere) => SetupStep::Over(SetupVerdict::NoParent),
            // Who signs without a folder could never be taken over from.
            (SetupStep::MakeFolders, Lost) => {
                self.has_folder = true;
                SetupStep::MakeFolders
            }
            (SetupStep::MakeFolders, _) => {
                self.has_folder = true;
                SetupStep::Sign
            }
            // Somebody has removed it in between.
            (SetupStep::Sign, NotThere) => SetupStep::Look,
            (SetupStep::Sign, Done) => SetupStep::LookSigned,
            (SetupStep::Sign, _) => SetupStep::ReadOwner,
            (SetupStep::ReadOwner, Content(owner)) if owner == self.job => SetupStep::LookSigned,
            (SetupStep::ReadOwner, Content(owner)) => SetupStep::AskAlive(owner),
            (SetupStep::ReadOwner, NotThere) => SetupStep::MakeFolders,
            // Asked again: what has been moved is not there to be moved.
            (SetupStep::SetAside(dead), Lost) => SetupStep::SetAside(dead),
            (SetupStep::SetAside(dead), _) => SetupStep::TakeOver(dead),
            (SetupStep::TakeOver(dead), Done) => SetupStep::Clear(dead),
            // Another was first, or it was this one and the answer was lost: who has signed says.
            (SetupStep::TakeOver(dead), NotThere) => SetupStep::LookAgain(dead),
            (SetupStep::TakeOver(_), _) => SetupStep::ReadOwner,
            (SetupStep::LookAgain(dead), Content(owner)) if owner == dead => {
                self.refused(SetupVerdict::Orphaned { by: dead })
            }
            (SetupStep::LookAgain(dead), Lost) => SetupStep::LookAgain(dead),
            (SetupStep::LookAgain(_), _) => SetupStep::ReadOwner,
            (SetupStep::Clear(dead), Lost) => SetupStep::Clear(dead),
            // The dead one may have come to its end a moment before.
            (SetupStep::Clear(_), _) => SetupStep::Look,
            (SetupStep::LookSigned, Done) => SetupStep::Disown,
            (SetupStep::LookSigned, NotThere) => SetupStep::Over(SetupVerdict::Owner),
            (
                step @ (SetupStep::Disown
                | SetupStep::Unsign(_)
                | SetupStep::LookUnsigned(_)
                | SetupStep::ClearOwn(_)
                | SetupStep::Tidy(_)),
                Lost,
            ) => step,
            (SetupStep::Disown, _) => SetupStep::ClearOwn(SetupVerdict::OutputExists),
            (SetupStep::Unsign(verdict), _) => SetupStep::LookUnsigned(verdict),
            (SetupStep::LookUnsigned(_), Content(owner)) if owner == self.job => {
                SetupStep::LookSigned
            }
            (SetupStep::LookUnsigned(verdict), _) => SetupStep::ClearOwn(verdict),
            (SetupStep::ClearOwn(verdict), _) => SetupStep::Tidy(verdict),
            (SetupStep::Tidy(verdict), _) => SetupStep::Over(verdict),
            (step, _) => step,
        };
    }

    /// The file system refuses the call for good, and no answer comes: what was made goes. Of several folders that were
    /// to be made at once some may be there. A further refusal hinders none of the calls behind it.
    pub fn abandon(&mut self) {
        let step = std::mem::replace(&mut self.step, SetupStep::Look);
        self.step = match step {
            SetupStep::MakeFolders => {
                self.has_folder = true;
                SetupStep::Unsign(SetupVerdict::Abandoned)
            }
            // It has signed: while that stands, its folder does.
            SetupStep::LookSigned => SetupStep::Disown,
            SetupStep::Disown => SetupStep::Over(SetupVerdict::Abandoned),
            SetupStep::Unsign(verdict) => SetupStep::LookUnsigned(verdict),
            SetupStep::LookUnsigned(verdict) => SetupStep::ClearOwn(verdict),
            SetupStep::ClearOwn(verdict) => SetupStep::Tidy(verdict),
            SetupStep::Tidy(verdict) | SetupStep::Over(verdict) => SetupStep::Over(verdict),
            SetupStep::Look
            | SetupStep::Sign
            | SetupStep::ReadOwner
            | SetupStep::AskAlive(_)
            | SetupStep::SetAside(_)
            | SetupStep::TakeOver(_)
            | SetupStep::LookAgain(_)
            | SetupStep::Clear(_) => self.refused(SetupVerdict::Abandoned),
        };
    }

    /// It may not write there: what it has made goes.
    fn refused(&self, verdict: SetupVerdict) -> SetupStep {
        match self.has_folder {
            true => SetupStep::Unsign(verdict),
            false => SetupStep::Over(verdict),
        }
    }
}
