//! Pipes between the launcher and a task.

use std::os::fd::AsFd;

use nix::fcntl::{FcntlArg, fcntl};

/// What a pipe is to hold, bytes: the most that a user may have by default (`fs.pipe-max-size`). The less it holds,
/// the more often the two sides wait for each other.
const ROOM: i32 = 1 << 20;

/// Makes room in a pipe, where that is allowed.
pub(super) fn enlarge(pipe: impl AsFd) {
    // A user who has many large ones gets no more: then it stays as it is.
    let _as_it_was = fcntl(pipe, FcntlArg::F_SETPIPE_SZ(ROOM)).is_err();
}
