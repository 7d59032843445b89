//! What a task prints: its beginning and its end in a file for people, its last lines for the sentence about a crash.
//!
//! The file is [`HEAD`] bytes from the beginning, and behind them a ring of [`TAIL`] bytes with the newest ones.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gerbil_task::said;
use job::wire::PrintedStream;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

/// Kept of one stream, bytes: of its beginning.
const HEAD: u64 = 1024 * 1024;
/// And of its end.
const TAIL: u64 = 1024 * 1024;
/// What travels with the end of an attempt that has failed, bytes of each stream: of its beginning, and of its end.
const BRIEF_HEAD: u64 = 4 * 1024;
const BRIEF_TAIL: u64 = 8 * 1024;
/// One read, bytes; of the ring so much may be in the middle of being written.
const READ: usize = 16 * 1024;
const WRITE: u64 = 16 * 1024;
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
        let lines = lines.into_iter().skip(first).map(said::sentence);
        lines.collect::<Vec<String>>().join("\n")
    }

    fn add(&self, piece: &[u8]) {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(piece);
        let excess = tail.len().saturating_sub(TAIL_MAX);
        tail.drain(..excess);
    }
}

/// The file of a stream, for those who read it while it is written.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    /// Bytes of the stream that it has taken, those left out included.
    taken: AtomicU64,
}

/// Who writes it.
#[derive(Debug)]
pub(super) struct LogWriter {
    file: File,
    log: Arc<Log>,
}

impl Log {
    /// Bytes of the stream so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Acquire)
    }

    /// Its size on disk.
    pub(super) fn size(&self) -> u64 {
        self.taken().min(HEAD + TAIL)
    }

    /// Some kilobytes of the stream's beginning and of its end, once no more comes.
    ///
    /// # Errors
    ///
    /// The file is gone, or cannot be read.
    pub(super) fn brief(&self) -> io::Result<PrintedStream> {
        let taken = self.taken();
        if taken == 0 {
            return Ok(PrintedStream::default());
        }
        let file = File::open(&self.path)?;
        if taken <= BRIEF_HEAD + BRIEF_TAIL {
            let head = between(&file, 0, taken)?;
            return Ok(PrintedStream {
                head,
                ..PrintedStream::default()
            });
        }
        let begin = taken.saturating_sub(BRIEF_TAIL);
        Ok(PrintedStream {
            head: between(&file, 0, BRIEF_HEAD)?,
            left_out: begin.saturating_sub(BRIEF_HEAD),
            tail: between(&file, begin, taken)?,
        })
    }

    /// What there is of the stream.
    ///
    /// # Errors
    ///
    /// The file is gone, or cannot be read.
    pub(super) fn read(&self) -> io::Result<PrintedStream> {
        let taken = self.taken();
        if taken == 0 {
            return Ok(PrintedStream::default());
        }
        let file = File::open(&self.path)?;
        let head = between(&file, 0, taken.min(HEAD))?;
        // What is written over meanwhile is left out.
        let oldest = |taken: u64| taken.saturating_sub(TAIL - WRITE).max(HEAD);
        let begin = oldest(taken);
        let mut tail = match taken > HEAD {
            true => between(&file, begin, taken)?,
            false => Vec::new(),
        };
        let lost = oldest(self.taken()).saturating_sub(begin);
        let lost = usize::try_from(lost).map_or(tail.len(), |lost| lost.min(tail.len()));
        tail.drain(..lost);
        let kept = u64::try_from(head.len().saturating_add(tail.len())).unwrap_or(u64::MAX);
        Ok(PrintedStream {
            head,
            left_out: taken.saturating_sub(kept),
            tail,
        })
    }
}

impl LogWriter {
    /// Begins a log.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let log = Log {
            path: path.to_owned(),
            taken: AtomicU64::new(0),
        };
        Ok(Self {
            file: File::create_new(path)?,
            log: Arc::new(log),
        })
    }

    /// Where it is read.
    pub(super) fn log(&self) -> Arc<Log> {
        Arc::clone(&self.log)
    }

    fn append(&self, mut piece: &[u8]) -> io::Result<()> {
        while !piece.is_empty() {
            let taken = self.log.taken();
            let (place, room) = place(taken);
            let now = usize::try_from(room).map_or(piece.len(), |room| room.min(piece.len()));
            let (now, rest) = piece.split_at(now);
            self.file.write_all_at(now, place)?;
            let taken = taken.saturating_add(u64::try_from(now.len()).unwrap_or(u64::MAX));
            self.log.taken.store(taken, Ordering::Release);
            piece = rest;
        }
        Ok(())
    }
}

/// Where a byte of the stream is in the file, and how many of those behind it follow there.
const fn place(at: u64) -> (u64, u64) {
    match at.checked_sub(HEAD) {
        Some(beyond) => {
            let around = beyond % TAIL;
            (HEAD + around, TAIL - around)
        }
        None => (at, HEAD - at),
    }
}

/// A part of the stream.
fn between(file: &File, mut from: u64, to: u64) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    while from < to {
        let (place, room) = place(from);
        let length = room.min(to - from);
        let mut piece = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut piece, place)?;
        all.extend(piece);
        from += length;
    }
    Ok(all)
}

/// Writes what comes by a pipe to a file; what cannot be written is read all the same: nobody is to wait for a log.
pub(super) async fn keep(mut pipe: pipe::Receiver, writer: LogWriter, printed: Printed) {
    let _all = printed.all.clone().drop_guard();
    let mut writer = Some(writer);
    let mut piece = vec![0; READ];
    while let Ok(read @ 1..) = pipe.read(&mut piece).await {
        printed.add(piece.get(..read).unwrap_or_default());
        if let Some(open) = writer.take() {
            let kept = piece.get(..read).unwrap_or_default().to_vec();
            let written = tokio::task::spawn_blocking(move || {
                let written = open.append(&kept);
                (open, written)
            });
            if let Ok((open, Ok(()))) = written.await {
                writer = Some(open);
            }
        }
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

    #[test]
    fn what_travels_with_a_failure_is_short() {
        let folder = tempfile::tempdir().unwrap();
        let writer = LogWriter::create(&folder.path().join("stderr")).unwrap();
        let log = writer.log();
        assert_eq!(log.brief().unwrap(), PrintedStream::default());
        writer.append(b"one line\n").unwrap();
        assert_eq!(log.brief().unwrap().head, b"one line\n");
        // Once around the ring and some more.
        let rest = vec![b'x'; usize::try_from(HEAD + TAIL).unwrap()];
        writer.append(&rest).unwrap();
        writer.append(b"the last line\n").unwrap();
        let brief = log.brief().unwrap();
        assert!(
            brief.head.starts_with(b"one line\nxxx") && brief.tail.ends_with(b"xthe last line\n")
        );
        let kept = brief.head.len() + brief.tail.len();
        assert_eq!(u64::try_from(kept).unwrap(), BRIEF_HEAD + BRIEF_TAIL);
        assert_eq!(u64::try_from(kept).unwrap() + brief.left_out, log.taken());
    }

    #[test]
    fn of_a_long_stream_beginning_and_end_are_read_and_the_file_stays_small() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stdout");
        let writer = LogWriter::create(&path).unwrap();
        let log = writer.log();
        assert_eq!(log.read().unwrap(), PrintedStream::default());
        // Lines of 16 bytes, each with its number.
        let mut lines = 0_u64;
        let mut print = |most: u64| {
            while lines * 16 < most {
                writer.append(format!("{lines:015}\n").as_bytes()).unwrap();
                lines += 1;
            }
        };
        print(HEAD + 160);
        let read = log.read().unwrap();
        assert_eq!(
            (read.head.len(), read.left_out, read.tail.len()),
            (1 << 20, 0, 160)
        );
        print(5 * HEAD + 32);
        let read = log.read().unwrap();
        assert!(read.head.starts_with(b"000000000000000\n"));
        let end = format!("{:015}\n", 5 * HEAD / 16 + 1);
        assert!(read.tail.ends_with(end.as_bytes()));
        let tail = u64::try_from(read.tail.len()).unwrap();
        assert_eq!(tail, TAIL - WRITE);
        assert_eq!(read.left_out, 4 * HEAD + 32 - tail);
        // Every line of the end is there, in its order.
        let text = String::from_utf8(read.tail).unwrap();
        let numbers: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert!(numbers.windows(2).all(|two| two[0] + 1 == two[1]));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), HEAD + TAIL);
        assert_eq!(log.size(), HEAD + TAIL);
        std::fs::remove_file(&path).unwrap();
        assert!(log.read().is_err());
    }
}
