//! How the results of tasks become the output of a job: whole, once, and all at once.
//!
//! A job writes beside its output folder, which is not there before all of it is:
//!
//! ```text
//!  _OUT.temporary/.owner                  the job that writes there
//!  _OUT.temporary/JOB/written/NAME        what the first attempt at a task writes ── rename, the job's commit ──▶  OUT
//!                    /ATTEMPT.NAME        what a further one does
//! ```
//!
//! The names of files are Hadoop's, and in each is the task's number. So where the first attempt at every task has ended
//! well, as is usual, the folder of their files is the output: `_SUCCESS` is made in it, and it gets its name by one
//! rename. An attempt costs the NameNode what its files cost, which are created, written and closed, and nothing more.
//!
//! Where some other attempt's result is to count, the folder is closed first, by another name: nobody begins a file in it
//! any more.
//!
//! ```text
//!  _OUT.temporary/JOB/.manifest-N         the further attempts whose files become output
//!  _OUT.temporary/JOB/written  ── rename ──▶  commit-N  ── rename, when those files are in it, and others not ──▶  OUT
//! ```
//!
//! What `.owner` and the manifest say is written in names of folders: `.owner` holds an empty folder called by the job,
//! and the manifest one called by what is to be done, unless that is too long for a name. A folder is one call to a
//! NameNode, and words in a file are four or more and need DataNodes.
//!
//! **The NameNode is the arbiter**: a folder has one name at a time, and whoever gives it the next one decides. Of the
//! first two renames of `written` one happens, so of each task one attempt's files are chosen, and by one ApplicationMaster.
//! Who gives a job up renames its folder, all at once, so that nothing in it becomes output any more; who finds there what
//! was chosen, or is whole, goes on with that instead.
//!
//! Nothing is ever renamed over something, and what has the output's name already stays as it is, an empty folder too:
//! its quota, its owner or its encryption may be what somebody has made it for. Who is unsure, because an answer was lost,
//! or another ApplicationMaster is at work or was, looks at what stands there, never at the answer of its call. Whoever
//! wakes when the job's folder is gone changes nothing.
//!
//! Three machines, each a list of single calls: [`Setup`] makes the job's folder and becomes its owner, [`JobCommit`]
//! commits the job or gives it up, from wherever an earlier one stopped, and [`Inherited`] does so for an
//! ApplicationMaster that knows no more of the job than where its output goes, which it has from a record
//! ([`Records`]). Each is asked for its [`next`](Setup::next) call, and told the [`CallAnswer`]. A call may be carried out
//! twice. Files of further attempts are moved [`AT_ONCE`] at a time, begun in the order of the manifest; every other call
//! waits for the one before.
//!
//! **What is proved**, by walking through every order of steps of a few machines on one NameNode, whose answers the
//! tests on real daemons compare with a NameNode's; each walk prints its states and transitions, and has a floor:
//! - Whoever looks at the output folder sees nothing, or all of it with its `_SUCCESS`, in every state of every walk.
//! - Of two attempts at each task one is the result, and that of the same ApplicationMaster for all tasks, whichever each of
//!   two ApplicationMasters has heard of, and whatever launchers do late (26,588 states).
//! - Of a commit and a giving up, by two or three ApplicationMasters of a job, one happens, and nothing is left behind, with
//!   a crash and lost answers, or calls that take effect at any moment after it was given up to wait for them (85,522
//!   states).
//! - Of two jobs at one output folder one begins; what a job still has on its way when its folder was removed and used
//!   again by another changes nothing (8,960 states).
//! - No order of steps goes round in circles.
//!
//! What is presumed: an attempt's name is never used again in a job, and a job's name by no other job.

mod inherited;
mod job;
mod layout;
mod leaving;
mod manifest;
mod moves;
mod records;
mod setup;

pub use inherited::{Inheritance, Inherited};
pub use job::{JobCommit, JobVerdict, TaskResult};
pub use layout::{AttemptName, OUT, OWNER, absolute, attempt_file, is_without_stage, job_folder};
pub use manifest::Manifest;
pub use moves::AT_ONCE;
pub use records::{BATCH, Records};
pub use setup::{Setup, SetupVerdict};

/// One call of a file system. Paths begin with `out`, which is the output folder, or `work`, the folder beside it where
/// jobs write: [`absolute`].
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
