//! Which broker of a GPU serves: the one that has locked a file.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

/// Every user of the node makes files of his own there, and nobody removes another's.
const FOLDER_MODE: u32 = 0o1777;
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
    make(folder)?;
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

/// Makes the folder, where no task of the node has yet.
fn make(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
        // Whatever this user's umask is.
        Ok(()) => std::fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            match std::fs::symlink_metadata(folder)?.is_dir() {
                true => Ok(()),
                false => Err(io::Error::new(ErrorKind::AlreadyExists, "it is no folder")),
            }
        }
        Err(error) => Err(error),
    }
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
