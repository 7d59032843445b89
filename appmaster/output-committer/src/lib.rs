//! Commits output on HDFS, or on a folder that is mounted everywhere.
//!
//! [`policy::commit`] decides which call comes next; an [`OutputCommitter`] carries it out and tells the machine what
//! it came to. The machines are proved against a model whose answers are those of a NameNode and of a folder, and
//! [`OutputCommitter::carry_out`] gives the same: what a call has done or not done is never guessed.
//!
//! | the file system says | the machine hears |
//! |---|---|
//! | yes | `Done`, `Content`, `Names` |
//! | there is something of that name, or in the folder | `Exists` |
//! | there is no such file or folder above it | `NotThere` |
//! | nothing in time, not reachable, in safe mode | `Lost`, after a pause; for [`PATIENCE`] at most |
//! | anything else: no permission, quota, no room | nothing: it ends with that sentence |
//!
//! Invariants: a file appears with all its content or not at all, because it is written under a name of its own
//! and renamed; nothing is ever written over; no folder comes back that somebody has removed.

mod carry_out;
mod conduct;

pub use carry_out::{OutputCommitter, WhyRepeated};
pub use conduct::{AWAY, CommitError, PATIENCE};
