//! How files become records.
//!
//! An [`InputFormat`] reads one piece of a split at a time, out of a [`Source`] that is the file itself or
//! what its compression hides.

mod decompress;
mod fixed;
mod framed;
mod key_value;
mod lines;
mod numbers;
pub(crate) mod paths;
mod sequence_file;
pub(crate) mod splits;
mod whole;

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gerbil_task::Piece;

pub(crate) use decompress::Compression;
pub use fixed::FixedLength;
pub use key_value::KeyValueText;
pub use lines::{NLines, TextLines};
pub use numbers::Numbers;
pub use sequence_file::SequenceFile;
pub use whole::WholeFile;

use crate::error::{Context as _, Result};
use crate::settings::Settings;

/// How a format's files may be cut into splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Granule {
    /// Anywhere; the reader finds the next record.
    Byte,
    /// Only at multiples of so many bytes.
    Record(u64),
    /// After so many lines, and nowhere else.
    Lines(u64),
    /// Nowhere.
    File,
}

/// A way to read files.
pub trait InputFormat: 'static {
    /// The key that a mapper is handed.
    type Key<'a>;
    /// The value that a mapper is handed.
    type Value<'a>;
    /// What reads one piece.
    type Reader;

    /// Whether pieces are parts of files. If not, nothing is opened, and [`splits`](Self::splits) makes them.
    const FILES: bool = true;

    /// The splits of inputs that are no files.
    ///
    /// # Errors
    /// The inputs make no sense.
    fn splits(inputs: &[String], settings: &Settings) -> Result<Vec<Vec<Piece>>> {
        let (_, _) = (inputs, settings);
        Err(crate::Error::new("this input format reads files"))
    }

    /// How files may be cut.
    ///
    /// # Errors
    /// A setting makes no sense.
    fn granule(settings: &Settings) -> Result<Granule>;

    /// Opens a piece of a split.
    ///
    /// # Errors
    /// It cannot be read.
    fn open(source: Source, settings: &Settings) -> Result<Self::Reader>;

    /// Where the next record begins, bytes from the start of the file (of the uncompressed, if it is).
    fn position(reader: &Self::Reader) -> u64;

    /// The next record.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    fn next<'a>(reader: &'a mut Self::Reader) -> Result<Option<(Self::Key<'a>, Self::Value<'a>)>>;
}

/// A piece of a split, open for reading.
pub struct Source {
    /// What is in it, from [`offset`](Self::offset) on, and beyond its end as far as the file goes.
    pub reader: Box<dyn Read>,
    /// The file's name.
    pub name: String,
    /// Where the piece begins in the file, bytes.
    pub offset: u64,
    /// Where it ends; `u64::MAX` in a compressed file, which is one piece.
    pub end: u64,
    /// The file, for its beginning.
    file: Option<File>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} from {} to {}", self.name, self.offset, self.end)
    }
}

/// Bytes that were read of a piece's file, for progress and for the place of what is broken.
pub(crate) type Consumed = Arc<AtomicU64>;

impl Source {
    /// A piece of `file`.
    pub(crate) fn new(file: File, piece: &Piece, consumed: &Consumed) -> Result<Self> {
        let beginning = file.try_clone()?;
        let raw = Positioned {
            file,
            at: piece.offset,
            size: piece.size,
            consumed: Arc::clone(consumed),
        };
        let compression = Compression::of_name(&piece.name);
        let (reader, end): (Box<dyn Read>, u64) = match compression {
            None => (Box::new(raw), piece.offset + piece.length),
            Some(compression) => (compression.reader(raw, &piece.name, consumed)?, u64::MAX),
        };
        Ok(Self {
            reader,
            name: piece.name.clone(),
            offset: piece.offset,
            end,
            file: Some(beginning),
        })
    }

    /// The first bytes of the file, at most `most`: formats with a header need it in every split.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn beginning(&self, most: usize) -> Result<Vec<u8>> {
        let Some(file) = &self.file else {
            return Ok(Vec::new());
        };
        let mut bytes = vec![0; most.min(crate::width::size(file.metadata()?.len()))];
        file.read_exact_at(&mut bytes, 0)
            .context(|| format!("reading {}", self.name))?;
        Ok(bytes)
    }

    /// A piece of what is no file.
    pub(crate) fn without_file(piece: &Piece) -> Self {
        let end = piece.offset.saturating_add(piece.length);
        Self {
            reader: Box::new(std::io::empty()),
            name: piece.name.clone(),
            offset: piece.offset,
            end,
            file: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn in_memory(name: &str, bytes: Vec<u8>) -> Self {
        let end = bytes.len() as u64;
        Self {
            reader: Box::new(std::io::Cursor::new(bytes)),
            name: name.to_owned(),
            offset: 0,
            end,
            file: None,
        }
    }
}

/// A file, read from some offset on, up to the length that it had when the splits were made.
pub(crate) struct Positioned {
    file: File,
    at: u64,
    size: u64,
    consumed: Consumed,
}

impl Read for Positioned {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let left = crate::width::size(self.size.saturating_sub(self.at));
        let most = into.len().min(left);
        if most == 0 {
            return Ok(0);
        }
        let read = self.file.read_at(&mut into[..most], self.at)?;
        if read == 0 {
            let words = format!(
                "it had {} bytes and ends at {} now: it was changed while it was read",
                self.size, self.at
            );
            return Err(std::io::Error::new(
                std::io::ErrorKind::UnexpectedEof,
                words,
            ));
        }
        self.at += read as u64;
        self.consumed.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
