//! Which broker of a GPU serves: the one that has locked a file.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

/// To lock a file it need only be read.
const LOCK_MODE: u32 = 0o444;
/// Engines of all users connect.
const SOCKET_MODE: u32 = 0o666;

/// The socket of the broker that serves, until this is dropped.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) listener: UnixListener,
    path: PathBuf,
    _lock: File,
}

impl Drop for Served {
    fn drop(&mut self) {
        // Before the lock goes: what stands there later is another one's.
        drop(std::fs::remove_file(&self.path));
    }
}

/// Locks `KEY.broker` and listens on `KEY.socket`, in place of whatever an earlier broker has left; `None`: another one
/// serves.
pub(super) fn serve(folder: &Path, key: &str, socket: &Path) -> io::Result<Option<Served>> {
    let lock = open(&folder.join(format!("{key}.broker")))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(socket)?;
    listener.set_nonblocking(true)?;
    let served = Served {
        listener,
        path: socket.to_owned(),
        _lock: lock,
    };
    // Whatever this user's umask is.
    std::fs::set_permissions(socket, Permissions::from_mode(SOCKET_MODE))?;
    Ok(Some(served))
}

/// Opens the file, or makes it.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits();
    let flags = i32::try_from(flags).unwrap_or_default();
    let look = || OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = match look() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let made = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(LOCK_MODE)
                .open(path);
            match made {
                // Another launcher was faster.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => look()?,
                made => {
                    let made = made?;
                    made.set_permissions(Permissions::from_mode(LOCK_MODE))?;
                    made
                }
            }
        }
        opened => opened?,
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(
            ErrorKind::AlreadyExists,
            format!("{} is no file: its owner can remove it", path.display()),
        )),
    }
}
