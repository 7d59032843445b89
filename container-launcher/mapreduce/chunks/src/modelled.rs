//! A disk and a GPU that take the time of a model, on this machine's clock.
//!
//! Each is a [`Line`]: whoever wants it reserves the time behind all that is reserved, and waits until that is over. Lines
//! are in a file, so processes share them, and nobody has to be ended in order: what one that was killed had reserved is
//! over when it is over, as a kernel that nothing can stop.
//!
//! Differences from a device: a chunk's kernel is one sum over its pages, whatever time it takes by the model.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};

use crate::clock::{now, wait_until};
use crate::{BLOCK, ChunkBuffer, ChunkSource, Device, Span, Stream};

/// Read at a time of those who share the disk evenly, bytes.
const PIECE: u64 = 512 << 10;
const NS: u64 = 1_000_000_000;

/// What does one thing at a time.
#[derive(Debug)]
pub struct Line(Mutex<File>);

impl Line {
    /// The line of this file, which is made where it is not there.
    ///
    /// # Errors
    ///
    /// It cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        Ok(Self(Mutex::new(options.open(path)?)))
    }

    /// Reserves `length` ns, from `earliest` on at the soonest.
    fn reserve(&self, earliest: u64, length: u64) -> io::Result<Span> {
        let file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        flock(&*file, FlockOperation::LockExclusive)?;
        let mut until = [0; 8];
        // Empty: nobody has reserved anything.
        let read = file.read_at(&mut until, 0)?;
        let until = if read == 8 {
            u64::from_le_bytes(until)
        } else {
            0
        };
        let begin = earliest.max(until);
        let end = begin.saturating_add(length);
        file.write_all_at(&end.to_le_bytes(), 0)?;
        flock(&*file, FlockOperation::Unlock)?;
        Ok(Span { begin, end })
    }
}

/// Another source, read no faster than a disk reads that all share evenly.
#[derive(Debug)]
pub struct ModelledDisk<Source> {
    /// Where the bytes are.
    pub source: Source,
    /// The disk's.
    pub line: Line,
    /// Bytes a second.
    pub rate: u64,
}

impl<Source: ChunkSource> ChunkSource for ModelledDisk<Source> {
    fn read(&self, offset: u64, bytes: u64, into: &mut [u8]) -> io::Result<()> {
        let (mut earliest, mut have) = (now(), 0);
        while have < bytes {
            let piece = PIECE.min(bytes.saturating_sub(have));
            let length = scaled(piece, NS, self.rate);
            let span = self.line.reserve(earliest, length)?;
            let from = usize::try_from(have).unwrap_or(usize::MAX);
            let room = into.get_mut(from..).ok_or(io::ErrorKind::InvalidInput)?;
            self.source.read(offset.saturating_add(have), piece, room)?;
            wait_until(span.end);
            // A thread that wakes late loses nothing by it; one that has read late does.
            earliest = span.end;
            have = have.saturating_add(piece);
        }
        Ok(())
    }
}

/// What a GPU does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// A copy and a kernel: streams of one process.
    Overlap,
    /// A copy or a kernel: processes without MPS.
    Serial,
}

/// A GPU.
#[derive(Debug)]
pub struct ModelledDevice {
    /// Copies.
    pub copies: Line,
    /// Kernels; with [`Overlap::Serial`] copies as well.
    pub kernels: Line,
    /// What it does at a time.
    pub overlap: Overlap,
    /// Bytes that are copied a second.
    pub copy_rate: u64,
    /// Bytes that are computed a second.
    pub kernel_rate: u64,
    /// The sum of the first words of all pages that were computed.
    pub sum: AtomicU64,
}

impl Device for ModelledDevice {
    fn stream(&self, bytes: usize) -> io::Result<Box<dyn Stream + '_>> {
        Ok(Box::new(ModelledStream {
            device: self,
            memory: ChunkBuffer::new(bytes)?,
            bytes: 0,
            copied: Span::default(),
            mapped: 0,
        }))
    }
}

struct ModelledStream<'a> {
    device: &'a ModelledDevice,
    memory: ChunkBuffer,
    /// Of its chunk.
    bytes: usize,
    copied: Span,
    /// When its kernel had ended.
    mapped: u64,
}

impl ModelledStream<'_> {
    fn lengths(&self) -> (u64, u64) {
        let bytes = u64::try_from(self.bytes).unwrap_or(u64::MAX);
        let copy = scaled(bytes, NS, self.device.copy_rate);
        (copy, scaled(bytes, NS, self.device.kernel_rate))
    }
}

impl Stream for ModelledStream<'_> {
    fn copy(&mut self, _offset: u64, chunk: &[u8]) -> io::Result<Span> {
        self.bytes = chunk.len();
        let (copy, kernel) = self.lengths();
        let device = self.device;
        let span = match device.overlap {
            Overlap::Overlap => device.copies.reserve(now(), copy)?,
            // Nothing comes between a chunk's copy and its kernel.
            Overlap::Serial => {
                let both = copy.saturating_add(kernel);
                let span = device.kernels.reserve(now(), both)?;
                let end = span.begin.saturating_add(copy);
                Span { end, ..span }
            }
        };
        let memory = self.memory.bytes_mut().get_mut(..chunk.len());
        let memory = memory.ok_or(io::ErrorKind::InvalidInput)?;
        memory.copy_from_slice(chunk);
        self.copied = span;
        wait_until(span.end);
        Ok(span)
    }

    fn map(&mut self) -> io::Result<Span> {
        let (_, kernel) = self.lengths();
        let copied = self.copied.end;
        let span = match self.device.overlap {
            // It was launched behind its copy.
            Overlap::Overlap => self.device.kernels.reserve(copied, kernel)?,
            Overlap::Serial => Span {
                begin: copied,
                end: copied.saturating_add(kernel),
            },
        };
        let memory = self.memory.bytes().get(..self.bytes).unwrap_or_default();
        let pages = memory.chunks(usize::try_from(BLOCK).unwrap_or(4096));
        let words = pages.filter_map(|page| page.first_chunk::<8>());
        let sum = words.map(|word| u64::from_le_bytes(*word));
        let sum = sum.fold(0_u64, u64::wrapping_add);
        self.device.sum.fetch_add(sum, Ordering::Relaxed);
        wait_until(span.end);
        self.mapped = span.end;
        Ok(span)
    }

    /// The sum is here already.
    fn copy_back(&mut self) -> io::Result<Span> {
        Ok(Span {
            begin: self.mapped,
            end: self.mapped,
        })
    }
}

/// `amount` · `of` / `per`.
fn scaled(amount: u64, of: u64, per: u64) -> u64 {
    let product = u128::from(amount).saturating_mul(u128::from(of));
    let scaled = product.checked_div(u128::from(per)).unwrap_or(u128::MAX);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_does_one_thing_at_a_time_whoever_asks() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = [(); 2].map(|()| Line::open(&folder.path().join("line")).unwrap());
        let span = |begin, end| Span { begin, end };
        assert_eq!(one.reserve(100, 50).unwrap(), span(100, 150));
        assert_eq!(other.reserve(120, 10).unwrap(), span(150, 160));
        assert_eq!(one.reserve(200, 1).unwrap(), span(200, 201));
    }
}
