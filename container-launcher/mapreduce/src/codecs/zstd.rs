//! Zstandard, by the reference library, which is written in C.

use std::fs::File;
use std::io::{self, BufRead, BufWriter, Read};

use ::zstd::bulk;
use ::zstd::stream::{read, write};

use super::Encode;
use crate::error::Result;

/// The level of output files, the library's default.
const LEVEL: i32 = 3;

/// Whether this program has it.
#[expect(clippy::unnecessary_wraps, reason = "without the feature it fails")]
pub(crate) const fn there() -> Result<()> {
    Ok(())
}

/// What is inside of `raw`.
pub(crate) fn reader<'a>(raw: impl BufRead + 'a) -> Result<Box<dyn Read + 'a>> {
    Ok(Box::new(read::Decoder::with_buffer(raw)?))
}

/// Compresses on the way to `file`, with the checksum that the command `zstd` writes.
pub(crate) fn writer(file: BufWriter<File>) -> Result<Box<dyn Encode>> {
    let mut encoder = write::Encoder::new(file, LEVEL)?;
    encoder.include_checksum(true)?;
    Ok(Box::new(encoder))
}

/// Appends `raw`, compressed.
pub(crate) fn compress(raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
    Ok(::zstd::stream::copy_encode(raw, out, LEVEL)?)
}

impl Encode for write::Encoder<'static, BufWriter<File>> {
    fn finish(self: Box<Self>) -> io::Result<BufWriter<File>> {
        (*self).finish()
    }
}

/// Compresses blocks of map output, at level 1.
pub(crate) struct Blocks(bulk::Compressor<'static>);

impl Blocks {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(bulk::Compressor::new(1)?))
    }

    /// Compresses `raw` to the beginning of `out`; how many bytes there are.
    pub(crate) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        out.resize(::zstd::zstd_safe::compress_bound(raw.len()), 0);
        Ok(self.0.compress_to_buffer(raw, out.as_mut_slice())?)
    }
}

/// Fills `raw` with what is stored; how many bytes there were.
pub(crate) fn decompress(stored: &[u8], raw: &mut [u8]) -> Result<usize> {
    Ok(bulk::decompress_to_buffer(stored, raw)?)
}
