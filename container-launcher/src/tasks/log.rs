//! What a task prints: its beginning in a file for people, its end for the sentence about a crash.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

/// Most that is kept of one stream, bytes.
const KEPT_MAX: usize = 1024 * 1024;
/// One read, bytes.
const READ: usize = 16 * 1024;
/// What a sentence repeats of it, bytes and lines.
const TAIL_MAX: usize = 2 * 1024;
const TAIL_LINES: usize = 20;

/// The end of what a stream has brought so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Printed {
    tail: Arc<Mutex<Vec<u8>>>,
    /// Cancelled when no more comes.
    all: CancellationToken,
}

impl Printed {
    /// Until no more comes.
    pub(super) async fn all(self) {
        self.all.cancelled().await;
    }

    /// The last lines, whole ones where they are short.
    pub(super) fn last_lines(&self) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&tail);
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let first = lines.len().saturating_sub(TAIL_LINES);
        lines.get(first..).unwrap_or_default().join("\n")
    }

    fn add(&self, piece: &[u8]) {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(piece);
        let excess = tail.len().saturating_sub(TAIL_MAX);
        tail.drain(..excess);
    }
}

/// Begins a log.
///
/// # Errors
///
/// It cannot be made.
pub(super) fn create(path: &Path) -> io::Result<tokio::fs::File> {
    File::create_new(path).map(tokio::fs::File::from_std)
}

/// Writes what comes by a pipe to a file, its beginning alone where it is much; what cannot be written
/// is read all the same: nobody is to wait for a log.
pub(super) async fn keep(mut pipe: pipe::Receiver, file: tokio::fs::File, printed: Printed) {
    let _all = printed.all.clone().drop_guard();
    let mut file = Some(file);
    let mut room = KEPT_MAX;
    let mut piece = vec![0; READ];
    while let Ok(read @ 1..) = pipe.read(&mut piece).await {
        printed.add(piece.get(..read).unwrap_or_default());
        let kept = read.min(room);
        if let Some(open) = &mut file {
            let kept = piece.get(..kept).unwrap_or_default();
            let written = match open.write_all(kept).await {
                Ok(()) => open.flush().await,
                error => error,
            };
            if written.is_err() {
                file = None;
            }
        }
        room = room.saturating_sub(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_was_printed_the_last_lines_are_told() {
        let printed = Printed::default();
        assert_eq!(printed.last_lines(), "");
        for number in 0..30 {
            printed.add(format!("line {number}\n").as_bytes());
        }
        let told = printed.last_lines();
        assert_eq!(told.lines().count(), TAIL_LINES);
        assert!(told.starts_with("line 10\n") && told.ends_with("line 29"));
        printed.add(&vec![b'x'; 5000]);
        assert_eq!(printed.last_lines(), "x".repeat(TAIL_MAX));
    }
}
