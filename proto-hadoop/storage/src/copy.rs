//! Between a file of this machine and one there.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use bytes::BytesMut;
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::error::local;
use crate::reader::Reader;
use crate::{ANSWER, MOVED, PIECE, StorageError, Writer, shared};

/// Waits for a call that may hang: files of this machine too may lie on a server that is gone.
async fn within<T>(
    limit: Duration,
    doing: &'static str,
    path: &Path,
    call: impl Future<Output = io::Result<T>>,
) -> Result<T, StorageError> {
    match timeout(limit, call).await {
        Ok(done) => done.map_err(local(doing, path)),
        Err(_elapsed) => Err(StorageError::Silent {
            doing,
            url: path.display().to_string(),
            seconds: limit.as_secs(),
        }),
    }
}

/// Opens a file of this machine for reading. A pipe or a device in its place is not waited for.
pub(crate) async fn open(path: &Path) -> Result<File, StorageError> {
    within(ANSWER, "reading", path, shared::open_regular(path)).await
}

/// Copies a file of this machine to where it ends; `to` is still to be closed.
pub(crate) async fn put(
    (path, mut from): (&Path, File),
    to: &mut Writer,
) -> Result<(), StorageError> {
    loop {
        let mut piece = BytesMut::with_capacity(PIECE);
        while piece.len() < PIECE {
            let mut rest = (&mut from).take((PIECE - piece.len()) as u64);
            let read = rest.read_buf(&mut piece);
            if within(MOVED, "reading", path, read).await? == 0 {
                break;
            }
        }
        if piece.is_empty() {
            return Ok(());
        }
        to.write(piece.freeze()).await?;
    }
}

/// The mode of a new file, as far as the mask of new files leaves it.
pub(crate) const OPEN: u32 = 0o666;
/// Of one for its owner alone.
pub(crate) const CLOSED: u32 = 0o600;

/// Copies a file into a new one of this machine, with this mode and the folders above it; how many bytes it has.
pub(crate) async fn take(mut from: Reader, path: &Path, mode: u32) -> Result<u64, StorageError> {
    if let Some(folder) = path.parent() {
        let made = tokio::fs::create_dir_all(folder);
        within(ANSWER, "making", folder, made).await?;
    }
    let mut how = OpenOptions::new();
    let opened = how.write(true).create_new(true).mode(mode).open(path);
    let mut to = within(ANSWER, "writing", path, opened).await?;
    let mut length = 0;
    loop {
        let piece = from.next().await?;
        if piece.is_empty() {
            within(MOVED, "writing", path, to.flush()).await?;
            return Ok(length);
        }
        within(MOVED, "writing", path, to.write_all(&piece)).await?;
        length += piece.len() as u64;
    }
}

/// Gives a file of this machine its mode.
pub(crate) async fn set_mode(path: &Path, mode: u32) -> Result<(), StorageError> {
    let set = tokio::fs::set_permissions(path, Permissions::from_mode(mode));
    within(ANSWER, "writing", path, set).await
}
