//! bzip2, by a library written in Rust.

use std::fs::File;
use std::io::{self, BufRead, BufWriter, Read, Write as _};

use ::bzip2::bufread::BzDecoder;
use ::bzip2::write::BzEncoder;

use super::Encode;
use super::streams::Streams;
use crate::error::Result;

/// Whether this program has it.
#[expect(clippy::unnecessary_wraps, reason = "without the feature it fails")]
pub(crate) const fn there() -> Result<()> {
    Ok(())
}

/// What is inside of `raw`, behind whose streams zeros may be: Hadoop and `bunzip2` pass over them.
#[expect(clippy::unnecessary_wraps, reason = "without the feature it fails")]
pub(crate) fn reader<'a>(raw: impl BufRead + 'a) -> Result<Box<dyn Read + 'a>> {
    let streams = Streams::new(raw, BzDecoder::new, BzDecoder::into_inner);
    Ok(Box::new(streams.padded()))
}

/// Compresses on the way to `file`.
#[expect(clippy::unnecessary_wraps, reason = "without the feature it fails")]
pub(crate) fn writer(file: BufWriter<File>) -> Result<Box<dyn Encode>> {
    Ok(Box::new(BzEncoder::new(file, ::bzip2::Compression::best())))
}

/// Appends `raw`, compressed.
pub(crate) fn compress(raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut encoder = BzEncoder::new(out, ::bzip2::Compression::best());
    encoder.write_all(raw)?;
    encoder.finish()?;
    Ok(())
}

impl Encode for BzEncoder<BufWriter<File>> {
    fn finish(self: Box<Self>) -> io::Result<BufWriter<File>> {
        (*self).finish()
    }
}
