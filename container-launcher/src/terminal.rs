//! A terminal for rank 0.

use std::os::fd::{AsFd, OwnedFd};

use job::wire::WindowSize;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::pty::openpty;
use rustix::termios::{Winsize, tcsetwinsize};

/// The key that ends the input of a terminal, Ctrl-D.
pub(crate) const END_OF_INPUT: &[u8] = &[4];

/// Both ends of a new one: the launcher's, which does not block, and the rank's.
///
/// # Errors
///
/// The kernel has none left.
pub(crate) fn open(size: WindowSize) -> std::io::Result<(OwnedFd, OwnedFd)> {
    let pair = openpty(None, None)?;
    // No other rank is forked before this: the one thread that forks waits for orders.
    for end in [&pair.master, &pair.slave] {
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    }
    fcntl(&pair.master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    resize(&pair.master, size);
    Ok((pair.master, pair.slave))
}

/// Tells the programs on the terminal that their window has another size.
pub(crate) fn resize(terminal: impl AsFd, size: WindowSize) {
    let number = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    let size = Winsize {
        ws_row: number(size.rows),
        ws_col: number(size.columns),
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // A terminal that is gone has no size.
    tcsetwinsize(terminal, size).ok();
}
