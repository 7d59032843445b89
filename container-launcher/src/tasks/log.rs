//! What a task prints, in a file for people.

use std::path::PathBuf;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;

/// Most that is kept of one stream, bytes.
const KEPT_MAX: usize = 1024 * 1024;
/// One read, bytes.
const READ: usize = 16 * 1024;

/// Writes what comes by a pipe to a new file, its beginning alone where it is much; what cannot be written
/// is read all the same: nobody is to wait for a log.
pub(super) async fn keep(mut pipe: pipe::Receiver, path: PathBuf) {
    let mut file = tokio::fs::File::create_new(path).await.ok();
    let mut room = KEPT_MAX;
    let mut piece = vec![0; READ];
    while let Ok(read @ 1..) = pipe.read(&mut piece).await {
        let kept = read.min(room);
        if let Some(open) = &mut file {
            let written = open.write_all(piece.get(..kept).unwrap_or_default()).await;
            if written.is_err() {
                file = None;
            }
        }
        room = room.saturating_sub(kept);
    }
    if let Some(mut file) = file {
        file.flush().await.ok();
    }
}
