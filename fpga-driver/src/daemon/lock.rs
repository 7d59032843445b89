//! One driver a board, one driver a socket: files that are locked while it lives.

use crate::board::BoardError;
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::Path;

/// A lock that ends with the process, or when it is dropped.
#[derive(Debug)]
pub struct Lock(OwnedFd);

impl Drop for Lock {
    /// Closing the file is not enough: a process that was forked meanwhile, and that has not begun its program yet, has it
    /// open as well, and the lock with it.
    fn drop(&mut self) {
        // Of a file that is open it does not fail.
        let _unlocked = rustix::fs::flock(&self.0, FlockOperation::Unlock).is_ok();
    }
}

/// Why a lock was not got.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error("locked")]
    Held,
    /// The file cannot be opened.
    #[error("{0}")]
    Io(#[from] rustix::io::Errno),
}

impl Lock {
    /// Takes the lock on a file, which is made where it is not there.
    ///
    /// # Errors
    ///
    /// Another process has it, or the file cannot be opened.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let file = rustix::fs::open(
            path,
            OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW,
            Mode::RUSR | Mode::WUSR,
        )?;
        Self::hold(file)
    }

    /// Takes the lock on a device that exists.
    ///
    /// # Errors
    ///
    /// Another process has it, or the file cannot be opened.
    pub fn take_device(path: &Path) -> Result<Self, LockError> {
        let file = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        Self::hold(file)
    }

    fn hold(file: OwnedFd) -> Result<Self, LockError> {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(LockError::Held),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Says of a board that its lock is another's.
pub(super) fn held(board: &str, path: &Path, error: LockError) -> BoardError {
    match error {
        LockError::Held => BoardError::Held {
            board: board.to_owned(),
            lock: path.display().to_string(),
        },
        LockError::Io(errno) => BoardError::Device {
            what: "cannot lock",
            path: path.display().to_string(),
            source: errno.into(),
        },
    }
}
