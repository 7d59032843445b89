//! Where the driver is, and how one is started where none is.

use super::AcceleratorError;
use crate::wire;
use rustix::io::Errno;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Says where the driver listens, instead of the places below.
pub const SOCKET_VARIABLE: &str = "GERBIL_FPGAD";
/// Where root's driver listens.
pub const ROOT_SOCKET: &str = "/run/gerbil/fpgad.sock";
/// How long a driver that was started may take until it answers.
const START: Duration = Duration::from_secs(10);
/// How long to wait before the socket is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// The socket that [`SOCKET_VARIABLE`] names; without it root's where that is, else this user's own.
pub fn default_socket() -> PathBuf {
    named_socket().unwrap_or_else(|| {
        let root = PathBuf::from(ROOT_SOCKET);
        if root.exists() { root } else { own_socket() }
    })
}

/// The socket that [`SOCKET_VARIABLE`] names.
pub fn named_socket() -> Option<PathBuf> {
    let named = std::env::var_os(SOCKET_VARIABLE)?;
    Some(PathBuf::from(named)).filter(|named| !named.as_os_str().is_empty())
}

/// This user's own socket: root's is in `/run`.
pub fn own_socket() -> PathBuf {
    let uid = rustix::process::geteuid();
    if uid.is_root() {
        PathBuf::from(ROOT_SOCKET)
    } else {
        PathBuf::from(format!("/tmp/gerbil-{}/fpgad.sock", uid.as_raw()))
    }
}

/// Who may reach a socket in a folder that is made for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// This user and root.
    Own,
    /// Other users too; whom the driver serves is decided when they connect.
    Others,
}

/// Makes the folder of a socket, or checks that nobody else can put a socket there.
///
/// # Errors
///
/// It cannot be made, is another user's, who could put a socket of his own there, or is closed to those
/// who shall reach it.
pub fn prepare_folder(socket: &Path, reach: Reach) -> std::io::Result<()> {
    let folder = match socket.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => return Ok(()),
    };
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) if reach == Reach::Others => {
            // They may look up the socket's name, not list what is there; whatever this user's umask is.
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o711))?;
        }
        _ => {}
    }
    check_folder(folder, reach)
}

/// Whether nobody else can put a socket into this folder, and those can reach it who shall.
fn check_folder(folder: &Path, reach: Reach) -> std::io::Result<()> {
    let found = std::fs::symlink_metadata(folder)?;
    let own = rustix::process::geteuid().as_raw();
    let fault = if !found.is_dir() {
        "it is no folder"
    } else if found.uid() != own && found.uid() != 0 {
        "it belongs to another user"
    } else if found.mode() & 0o022 != 0 && found.mode() & 0o1000 == 0 {
        "others may write to it"
    } else if reach == Reach::Others && found.mode() & 0o001 == 0 {
        "the users of --allow-uid cannot reach what is in it"
    } else {
        return Ok(());
    };
    Err(std::io::Error::new(
        std::io::ErrorKind::PermissionDenied,
        format!(
            "{}: {fault}; name another place with --fpgad",
            folder.display()
        ),
    ))
}

/// Starts a driver where none answers.
///
/// Of several who try at once, one gets the socket and the boards; the others find it there.
///
/// # Errors
///
/// The program cannot be run, or ends without answering: its words are in the error.
pub fn connect_or_start(
    socket: &Path,
    program: &Path,
    profile: Option<&Path>,
) -> Result<(), AcceleratorError> {
    let not_started = |reason: String| AcceleratorError::NotStarted {
        program: program.to_owned(),
        reason,
    };
    if answers(socket) {
        return Ok(());
    }
    prepare_folder(socket, Reach::Own).map_err(|error| not_started(error.to_string()))?;
    let mut command = Command::new(program);
    command.arg("serve").arg("--fpgad").arg(socket);
    if let Some(profile) = profile {
        command.arg("--profile").arg(profile);
    }
    // In a group of its own: Ctrl-C at the terminal of whoever came first is not meant for it.
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| not_started(error.to_string()))?;
    let until = Instant::now() + START;
    loop {
        if answers(socket) {
            return Ok(());
        }
        let ended = child
            .try_wait()
            .map_err(|error| not_started(error.to_string()))?;
        if let Some(status) = ended {
            // It may have found one that was started at the same time.
            if answers(socket) {
                return Ok(());
            }
            let said = child.stderr.take().map(std::io::read_to_string);
            let said = said.and_then(Result::ok).unwrap_or_default();
            if !said.contains("another fpgad") || Instant::now() > until {
                return Err(not_started(format!("{status}: {}", said.trim())));
            }
        }
        if Instant::now() > until {
            return Err(not_started(format!(
                "it does not answer at {} after {START:?}",
                socket.display()
            )));
        }
        std::thread::park_timeout(TRY_AGAIN);
    }
}

fn answers(socket: &Path) -> bool {
    match wire::connect(socket) {
        Ok(_) => true,
        // It is there, and busy.
        Err(errno) => errno == Errno::AGAIN,
    }
}
