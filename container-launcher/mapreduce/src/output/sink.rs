//! A file of the output, written in large pieces.
//!
//! To a pipe whose other end a launcher reads, a piece is handed over without a copy: the kernel puts the pages that it
//! lies in into the pipe. They may be written to again when the reader has copied them out. There are two such pieces,
//! each as long as the pipe, in turns: where all of one has found room in the pipe, nothing of the other is in it any more.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd as _;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::pipe::{IoSliceRaw, SpliceFlags, fcntl_getpipe_size, vmsplice};

use crate::task::phases::{self, Timed};

/// Bytes that are written at once where they are copied.
const PIECE: usize = 256 << 10;
/// A file is large from then on, bytes: small ones are not worth more memory.
const LARGE: u64 = 2 << 20;
/// Pipes that hold less, or more, are not worth it, bytes.
const PIPES: std::ops::RangeInclusive<usize> = PIECE..=1 << 20;

/// A file that is being written.
pub(crate) struct Sink {
    file: File,
    /// What was copied and not written yet.
    piece: Vec<u8>,
    written: u64,
    way: SinkWay,
}

enum SinkWay {
    /// By copies; whether that may change.
    Copied {
        may_change: bool,
    },
    Lent(Lent),
}

/// Pieces that are lent to a pipe.
struct Lent {
    pieces: [Pages; 2],
    /// That which is being filled, and how far it is.
    filling: usize,
    filled: usize,
}

impl Sink {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file,
            piece: Vec::with_capacity(PIECE),
            written: 0,
            way: SinkWay::Copied { may_change: true },
        }
    }

    #[cold]
    #[inline(never)]
    fn full(&mut self) -> io::Result<()> {
        phases::within(Timed::Write, || self.file.write_all(&self.piece))?;
        self.written = self.written.saturating_add(self.piece.len() as u64);
        self.piece.clear();
        if self.written >= LARGE && matches!(self.way, SinkWay::Copied { may_change: true }) {
            self.way = match Lent::to(&self.file) {
                Some(lent) => SinkWay::Lent(lent),
                None => SinkWay::Copied { may_change: false },
            };
        }
        Ok(())
    }

    /// What a lent piece takes of `bytes`.
    fn lend(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let SinkWay::Lent(lent) = &mut self.way else {
            return Ok(0);
        };
        let taken = lent.fill(bytes);
        if lent.is_full() && !phases::within(Timed::Write, || lent.hand_over(&self.file))? {
            // Copied from here on: what is in the pipe stays as it is until the pages go.
            let rest = lent.rest().to_vec();
            self.file.write_all(&rest)?;
            self.way = SinkWay::Copied { may_change: false };
        }
        Ok(taken)
    }
}

impl Write for Sink {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if matches!(self.way, SinkWay::Lent(_)) {
            return self.lend(bytes);
        }
        if self.piece.len().saturating_add(bytes.len()) > PIECE {
            self.full()?;
            if matches!(self.way, SinkWay::Lent(_)) {
                return self.lend(bytes);
            }
            if bytes.len() >= PIECE {
                phases::within(Timed::Write, || self.file.write_all(bytes))?;
                self.written = self.written.saturating_add(bytes.len() as u64);
                return Ok(bytes.len());
            }
        }
        self.piece.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.full()?;
        if let SinkWay::Lent(lent) = &mut self.way {
            // A copy, so that the piece may be written to at once.
            self.file.write_all(lent.rest())?;
            lent.filled = 0;
        }
        Ok(())
    }
}

impl Lent {
    /// Pieces for a pipe; none where it is another kind of file, or the kernel gives no memory.
    fn to(file: &File) -> Option<Self> {
        let size = fcntl_getpipe_size(file.as_fd()).ok()?;
        if !PIPES.contains(&size) || size % rustix::param::page_size() != 0 {
            return None;
        }
        Some(Self {
            pieces: [Pages::new(size)?, Pages::new(size)?],
            filling: 0,
            filled: 0,
        })
    }

    fn fill(&mut self, bytes: &[u8]) -> usize {
        let piece = self.pieces[self.filling].bytes();
        let room = piece.get_mut(self.filled..).unwrap_or_default();
        let taken = room.len().min(bytes.len());
        if let (Some(room), Some(bytes)) = (room.get_mut(..taken), bytes.get(..taken)) {
            room.copy_from_slice(bytes);
        }
        self.filled = self.filled.saturating_add(taken);
        taken
    }

    fn is_full(&self) -> bool {
        self.filled == self.pieces[self.filling].length
    }

    /// What is filled and not handed over.
    fn rest(&mut self) -> &[u8] {
        let filled = self.filled;
        let piece = self.pieces[self.filling].bytes();
        piece.get(..filled).unwrap_or_default()
    }

    /// Puts the full piece into the pipe, and turns to the other one. False: nothing of it is there, and it never goes.
    #[cold]
    #[inline(never)]
    fn hand_over(&mut self, file: &File) -> io::Result<bool> {
        let piece = &mut self.pieces[self.filling];
        // A pipe that was made larger meanwhile would still hold the other piece.
        if fcntl_getpipe_size(file.as_fd())? != piece.length {
            return Ok(false);
        }
        let mut given = 0;
        while given < piece.length {
            match piece.splice(given, file) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(more) => given = given.saturating_add(more),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if given == 0 && error.kind() != io::ErrorKind::BrokenPipe => {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        self.filling = 1 - self.filling;
        self.filled = 0;
        Ok(true)
    }
}

/// Memory of its own: when it goes, pages that are in a pipe stay there as they are.
struct Pages {
    start: *mut u8,
    length: usize,
}

impl Pages {
    fn new(length: usize) -> Option<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        #[expect(unsafe_code, reason = "pages that are nobody else's")]
        // SAFETY: a mapping at a place that the kernel chooses touches no other memory.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), length, access, MapFlags::PRIVATE) };
        Some(Self {
            start: start.ok()?.cast(),
            length,
        })
    }

    fn bytes(&mut self) -> &mut [u8] {
        #[expect(unsafe_code, reason = "a mapping as a slice")]
        // SAFETY: `start` and `length` are of a mapping that is readable, writable, zeroed at first and this one's
        // alone, and it lives as long as `self`.
        unsafe {
            std::slice::from_raw_parts_mut(self.start, self.length)
        }
    }

    /// Puts what is behind `from` into a pipe, or a part of it; how much.
    fn splice(&mut self, from: usize, pipe: &File) -> io::Result<usize> {
        let rest = self.bytes().get_mut(from..).unwrap_or_default();
        let rest = [IoSliceRaw::from_slice(rest)];
        #[expect(unsafe_code, reason = "no library lends memory to a pipe")]
        // SAFETY: the slice is valid memory, and the pages may change later: who reads the pipe takes what it finds.
        // That it finds what was written is what the two pieces are for.
        let spliced = unsafe { vmsplice(pipe.as_fd(), &rest, SpliceFlags::empty()) };
        Ok(spliced?)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "the end of a mapping")]
        // SAFETY: the mapping is this one's alone, and nothing borrows it any more. The kernel holds those of its pages
        // that are in a pipe.
        let gone = unsafe { munmap(self.start.cast(), self.length) };
        debug_assert!(gone.is_ok());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::fd::OwnedFd;

    use super::*;

    /// Bytes none of which says little about where it is.
    fn text(length: usize) -> Vec<u8> {
        let numbers =
            (0_u64..).flat_map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        numbers.take(length).collect()
    }

    fn through_a_pipe(pipe: usize, length: usize, pieces: usize, enlarged_at: usize) {
        let (mut from, to) = io::pipe().unwrap();
        rustix::pipe::fcntl_setpipe_size(&to, pipe).unwrap();
        let whole = text(length);
        std::thread::scope(|scope| {
            let to = File::from(OwnedFd::from(to));
            let whole = &whole;
            scope.spawn(move || {
                let mut sink = Sink::new(to);
                for (number, piece) in whole.chunks(pieces).enumerate() {
                    if number == enlarged_at {
                        rustix::pipe::fcntl_setpipe_size(&sink.file, 1 << 20).unwrap();
                    }
                    sink.write_all(piece).unwrap();
                }
                sink.flush().unwrap();
            });
            let mut seen = Vec::new();
            let mut buffer = vec![0; 70_001];
            loop {
                let read = from.read(&mut buffer).unwrap();
                if read == 0 {
                    break;
                }
                seen.extend_from_slice(&buffer[..read]);
                // The writer is ahead as far as it can be.
                if seen.len() % 5 == 0 {
                    std::thread::yield_now();
                }
            }
            assert!(seen == *whole, "{pipe} {length} {pieces}");
        });
    }

    #[test]
    fn what_is_lent_to_a_pipe_arrives_as_it_was_written() {
        for pipe in [64 << 10, 256 << 10, 1 << 20] {
            for pieces in [1_000, 100_003, 3 << 20] {
                through_a_pipe(pipe, (9 << 20) + 17, pieces, usize::MAX);
            }
        }
        through_a_pipe(1 << 20, 1_000, 7, usize::MAX);
    }

    #[test]
    fn a_pipe_that_becomes_larger_gets_copies() {
        through_a_pipe(256 << 10, 9 << 20, 100_003, 60);
    }

    #[test]
    fn a_file_has_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let whole = text(5 << 20);
        let mut sink = Sink::new(File::create(&path).unwrap());
        for piece in whole.chunks(77_777) {
            sink.write_all(piece).unwrap();
        }
        sink.flush().unwrap();
        assert!(std::fs::read(path).unwrap() == whole);
    }

    #[test]
    fn a_pipe_that_nobody_reads_any_more_is_an_error() {
        let (from, to) = io::pipe().unwrap();
        rustix::pipe::fcntl_setpipe_size(&to, 1 << 20).unwrap();
        drop(from);
        let mut sink = Sink::new(File::from(OwnedFd::from(to)));
        let error = sink.write_all(&text(1 << 20)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
