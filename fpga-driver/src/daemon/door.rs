//! The socket at which clients knock, and who is let in.

use super::lock::{Lock, LockError};
use super::serve::DriverError;
use crate::wire::{self, Reply};
use rustix::io::Errno;
use rustix::net::{SocketAddrUnix, SocketFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Connections at a time.
pub(super) const MOST_CONNECTIONS: usize = 1024;

/// A socket that is listened at, in place of one that nobody listens at any more.
#[derive(Debug)]
pub(super) struct SocketDoor {
    path: PathBuf,
    listener: OwnedFd,
    allowed: Vec<u32>,
    /// Kept for telling somebody that no descriptor is left.
    spare: Option<OwnedFd>,
    _lock: Lock,
}

/// Who was let in.
#[derive(Debug)]
pub(super) struct Guest {
    pub(super) socket: OwnedFd,
    /// Process, as the kernel says.
    pub(super) pid: i32,
    /// User, as the kernel says.
    pub(super) uid: u32,
}

impl SocketDoor {
    /// Listens; users besides this process's own and root come in if they are `allowed`.
    ///
    /// # Errors
    ///
    /// Another driver listens there, or the socket cannot be made.
    pub(super) fn open(path: &Path, allowed: &[u32]) -> Result<Self, DriverError> {
        let socket = |what, path: &Path, source: std::io::Error| DriverError::Socket {
            what,
            path: path.to_owned(),
            source,
        };
        let lock_path = path.with_extension("lock");
        let lock = Lock::take(&lock_path).map_err(|error| match error {
            LockError::Held => DriverError::Running {
                socket: path.to_owned(),
            },
            LockError::Io(errno) => socket("cannot lock", &lock_path, errno.into()),
        })?;
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(socket("cannot remove", path, error));
            }
            _ => {}
        }
        let failed = |what| move |errno: Errno| socket(what, path, errno.into());
        let listener = wire::socket().map_err(failed("no socket for"))?;
        let address = SocketAddrUnix::new(path).map_err(failed("cannot listen at"))?;
        rustix::net::bind(&listener, &address).map_err(failed("cannot listen at"))?;
        // The kernel lets through whom the mode lets through; who may stay is decided by the peer's user.
        let mode = if allowed.is_empty() { 0o600 } else { 0o666 };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
            .map_err(|error| socket("cannot open to others", path, error))?;
        rustix::net::listen(&listener, 128).map_err(failed("cannot listen at"))?;
        Ok(Self {
            path: path.to_owned(),
            spare: spare(&listener),
            listener,
            allowed: allowed.to_vec(),
            _lock: lock,
        })
    }

    /// Lets the next one in, who is told where he cannot be; `inside` counts those that are.
    pub(super) fn accept(&mut self, inside: usize) -> Option<Guest> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = match rustix::net::accept_with(&self.listener, flags) {
            Ok(socket) => socket,
            Err(Errno::MFILE | Errno::NFILE) => {
                self.turn_away(flags);
                return None;
            }
            Err(_) => return None,
        };
        let peer = rustix::net::sockopt::socket_peercred(&socket).ok()?;
        let uid = peer.uid.as_raw();
        let own = rustix::process::geteuid().as_raw();
        let refusal = if uid != own && uid != 0 && !self.allowed.contains(&uid) {
            format!(
                "user {uid} may not use this fpgad, which is user {own}'s: start it with --allow-uid {uid}"
            )
        } else if inside >= MOST_CONNECTIONS {
            format!("{MOST_CONNECTIONS} connections are open already")
        } else {
            return Some(Guest {
                socket,
                pid: peer.pid.as_raw_nonzero().get(),
                uid,
            });
        };
        refuse(&socket, refusal);
        None
    }

    /// Tells the next one that no descriptor is left: unanswered he would wait, and the driver would
    /// find him at the door without end.
    fn turn_away(&mut self, flags: SocketFlags) {
        drop(self.spare.take());
        if let Ok(socket) = rustix::net::accept_with(&self.listener, flags) {
            refuse(
                &socket,
                "fpgad has no descriptor left for another connection: raise its limit (ulimit -n)"
                    .to_owned(),
            );
        }
        self.spare = spare(&self.listener);
    }
}

/// Whoever does not wait for the reason sees the end of the connection.
fn refuse(socket: &OwnedFd, reason: String) {
    wire::send(socket, &Reply::Refused { reason }, &[]).ok();
}

fn spare(listener: &OwnedFd) -> Option<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(listener, 0).ok()
}

impl AsFd for SocketDoor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for SocketDoor {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}
