//! A terminal for rank 0.

use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

use job::wire::WindowSize;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::pty::{Winsize, openpty};

/// The key that ends the input of a terminal, Ctrl-D.
pub(crate) const END_OF_INPUT: &[u8] = &[4];

/// Both ends of a new one: the launcher's, which does not block, and the rank's.
///
/// # Errors
///
/// The kernel has none left.
pub(crate) fn open(size: WindowSize) -> std::io::Result<(OwnedFd, OwnedFd)> {
    let pair = openpty(Some(&winsize(size)), None)?;
    // No other rank is forked before this: the one thread that forks waits for orders.
    for end in [&pair.master, &pair.slave] {
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    }
    fcntl(&pair.master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok((pair.master, pair.slave))
}

/// Tells the programs on the terminal that their window has another size.
pub(crate) fn resize(terminal: impl AsFd, size: WindowSize) {
    let size = winsize(size);
    let descriptor = terminal.as_fd().as_raw_fd();
    // A terminal that is gone has no size.
    #[expect(unsafe_code, reason = "no library has a safe face for this call")]
    // SAFETY: the descriptor is open while it is borrowed, and `size` lives as long as the call.
    let _resized = unsafe { libc::ioctl(descriptor, libc::TIOCSWINSZ, &raw const size) };
}

fn winsize(size: WindowSize) -> Winsize {
    let number = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    Winsize {
        ws_row: number(size.rows),
        ws_col: number(size.columns),
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
