//! Files whose names say that they are compressed.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Consumed;
use super::framed::{Framed, Inner};
use super::source::Raw;
use crate::codecs::{bzip2, zstd};
use crate::error::{Context as _, Result};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Deflate,
    Bzip2,
    Zstd,
    /// Hadoop's own frames around LZ4 blocks.
    Lz4,
    /// Hadoop's own frames around Snappy blocks.
    Snappy,
}

impl Compression {
    /// By the ending of a name, as Hadoop's `CompressionCodecFactory`.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let endings = [
            (".gz", Self::Gzip),
            (".deflate", Self::Deflate),
            (".bz2", Self::Bzip2),
            (".zst", Self::Zstd),
            (".lz4", Self::Lz4),
            (".snappy", Self::Snappy),
        ];
        endings
            .iter()
            .find(|(ending, _)| name.ends_with(ending))
            .map(|(_, compression)| *compression)
    }

    /// Whether this program can read such a file.
    pub(crate) fn there(self) -> Result<()> {
        match self {
            Self::Bzip2 => bzip2::there(),
            Self::Zstd => zstd::there(),
            Self::Gzip | Self::Deflate | Self::Lz4 | Self::Snappy => Ok(()),
        }
    }

    /// What is inside of `raw`.
    pub(crate) fn reader(self, raw: Raw, name: &str, consumed: &Consumed) -> Result<Box<dyn Read>> {
        let empty = raw.size == 0;
        let raw = io::BufReader::with_capacity(256 << 10, raw);
        let inner: Box<dyn Read> = match self {
            // A file of no bytes is what a job leaves that had nothing to say: an empty one.
            _ if empty => Box::new(io::empty()),
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(raw)),
            Self::Deflate => Box::new(flate2::bufread::ZlibDecoder::new(raw)),
            Self::Bzip2 => bzip2::reader(raw).context(|| name.to_owned())?,
            Self::Zstd => zstd::reader(raw).context(|| name.to_owned())?,
            Self::Lz4 => Box::new(Framed::new(raw, Inner::Lz4)),
            Self::Snappy => Box::new(Framed::new(raw, Inner::Snappy)),
        };
        let start = consumed.load(Ordering::Relaxed);
        Ok(Box::new(NamedDecompressor {
            inner,
            name: name.to_owned(),
            kind: self,
            consumed: Arc::clone(consumed),
            start,
        }))
    }
}

/// A decompressor whose errors say in which file and about where.
struct NamedDecompressor {
    inner: Box<dyn Read>,
    name: String,
    kind: Compression,
    consumed: Consumed,
    start: u64,
}

impl Read for NamedDecompressor {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.inner.read(into).map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            let at = self.consumed.load(Ordering::Relaxed) - self.start;
            let words = format!(
                "{:?} data of {} are broken before byte {at}: {error}",
                self.kind, self.name
            );
            io::Error::new(io::ErrorKind::InvalidData, words)
        })
    }
}
