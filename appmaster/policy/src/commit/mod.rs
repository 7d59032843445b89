//! How the results of tasks become the output of a job: whole, once, and never half.
//!
//! The layout is that of Hadoop's FileOutputCommitter but for the folders of attempts and tasks, which it does without,
//! and two names that Hadoop does not have:
//!
//! ```text
//!  OUT/_temporary/.owner                            the job that writes here
//!  OUT/_temporary/N/_temporary/ATTEMPT.NAME         what an attempt writes
//!                │                   │
//!                └─ .manifest        └─ rename, the job's commit, file by file ─▶  OUT/NAME
//!  OUT/_SUCCESS                                     last of all
//! ```
//!
//! What the two say is written in names of folders: `.owner` holds an empty folder called by the job, and `.manifest` one
//! called by what is to be done, unless that is too long for a name. A folder is one call to a NameNode, and words in a
//! file are four or more and need DataNodes.
//!
//! **The NameNode is the arbiter**, and the manifest is what it arbitrates. Of each task it names the files of one
//! attempt, one that an ApplicationMaster has heard to have ended well, so all of them closed; what others have written
//! goes with the job's folder. So an attempt costs what its files cost, which are created, written and closed, and nothing
//! more. The first manifest that is renamed into place holds, for every ApplicationMaster of the job, and decides between
//! committing and giving up too.
//!
//! Nothing is ever renamed over something. Who is unsure, because an answer was lost, or another ApplicationMaster is at
//! work or was, looks at what stands there ([`Op::Read`], [`Op::Look`]), never at the answer of its call. What is final
//! comes by rename out of `_temporary/N`, so that whoever wakes after that folder is gone changes nothing.
//!
//! Three machines, each a list of single calls: [`Setup`] makes the job's folder and becomes its owner, [`JobCommit`]
//! commits the job or gives it up, from wherever an earlier one stopped, and [`Inherited`] does so for an
//! ApplicationMaster that knows no more of the job than where its output goes, which it has from a record
//! ([`Records`]). Each is asked for its [`next`](Setup::next) call, and told the [`CallAnswer`]. A call may be carried out
//! twice. The job's files go to their places [`AT_ONCE`] at a time, begun in the order of the manifest; every other call
//! waits for the one before.
//!
//! **What is proved**, by walking through every order of steps of a few machines on one NameNode, whose answers the
//! tests on real daemons compare with a NameNode's; each walk prints its states and transitions, and has a floor:
//! - Of two attempts at each task one is the result, and that of the same ApplicationMaster for all tasks, whichever each of
//!   two ApplicationMasters has heard of, with a crash, lost answers, and calls that take effect at any moment after it was
//!   given up to wait for them, those of launchers too (72,053 states).
//! - Of a commit and a giving up, by two or three ApplicationMasters of a job, one happens: `_SUCCESS` stands on a whole
//!   output alone, and nothing is left behind, with a crash and lost answers, or late calls (79,527 states).
//! - Of two jobs at one output folder one begins; what a job still has on its way when its folder was removed and used
//!   again by another changes nothing (3,456 states).
//! - No order of steps goes round in circles.
//!
//! What is presumed: an attempt's name is never used again in a job, and a job's name by no other job.

mod inherited;
mod job;
mod records;
mod setup;
mod withdrawal;

pub use inherited::{Inheritance, Inherited};
pub use job::{AT_ONCE, JobCommit, JobVerdict, Manifest};
pub use records::{BATCH, Records};
pub use setup::{Setup, SetupVerdict};

/// One call of a file system. Paths are relative to the output folder, which is `""`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Makes a folder; its parent must be there. One that is there already stays as it is.
    MakeFolder(String),
    /// Makes a folder and those above it. One that is there already stays as it is.
    MakeFolders(String),
    /// Makes a file with this content; its parent must be there, and no such file.
    Create(String, String),
    /// Renames a file or folder; the target's parent must be there, and no such target.
    Rename(String, String),
    /// Looks whether there is a file or folder.
    Look(String),
    /// Reads something small that the committer has made: what a file holds, or the name of what is in a folder; of an
    /// empty one nothing.
    Read(String),
    /// Names what is in a folder, in order.
    List(String),
    /// Removes a file, or a folder with all that is in it.
    DeleteAll(String),
    /// Removes a folder that is empty.
    DeleteEmpty(String),
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallAnswer {
    /// It was carried out; or there is such a file.
    Done,
    /// The file, the folder, or the target's parent is not there.
    NotThere,
    /// There is something of that name, or in the folder that was to be empty.
    Exists,
    /// What the file, or the folder, says.
    Content(String),
    /// What is in the folder.
    Names(Vec<String>),
    /// Nobody knows whether it was carried out.
    Lost,
}

/// A job's folder below the output folder. `job` is the same for all its ApplicationMasters.
#[must_use]
pub fn job_folder(job: &str) -> String {
    format!("_temporary/{job}")
}

/// Where an attempt writes a file of the output. Names of attempts have no dot.
#[must_use]
pub fn attempt_file(job: &str, attempt: &str, name: &str) -> String {
    format!("{}/{}", job_folder(job), below_job(attempt, name))
}

/// The same below the job's folder.
fn below_job(attempt: &str, name: &str) -> String {
    format!("{ATTEMPTS}/{attempt}.{name}")
}

/// The folder of all attempts, below the job's.
const ATTEMPTS: &str = "_temporary";
