//! What compresses the values of a SequenceFile, or its blocks.

use std::io::{BufRead, Read};

use flate2::bufread::MultiGzDecoder;

use crate::codecs::streams::zlib;
use crate::codecs::{bzip2, zstd};
use crate::error::{Error, Result};
use crate::input::framed::{Framed, Inner};
use crate::settings::RECORD_MAX;

/// What is inside of `raw`, which `codec`, a class of Hadoop's, has compressed.
pub(super) fn reader<'a>(codec: &str, raw: impl BufRead + 'a) -> Result<Box<dyn Read + 'a>> {
    Ok(match codec.rsplit('.').next() {
        Some("DefaultCodec" | "DeflateCodec") => Box::new(zlib(raw)),
        Some("GzipCodec") => Box::new(MultiGzDecoder::new(raw)),
        Some("BZip2Codec") => bzip2::reader(raw)?,
        Some("ZStandardCodec") => zstd::reader(raw)?,
        Some("Lz4Codec") => Box::new(Framed::new(raw, Inner::Lz4)),
        Some("SnappyCodec") => Box::new(Framed::new(raw, Inner::Snappy)),
        _ => {
            return Err(Error::new(format!(
                "it is compressed with {codec}, which is not known here"
            )));
        }
    })
}

/// Appends what `bytes`, compressed as `codec` does, hold.
pub(super) fn inflate(codec: &str, bytes: &[u8], longest: usize, out: &mut Vec<u8>) -> Result<()> {
    let most = longest as u64 + 1;
    let read = reader(codec, bytes)?.take(most).read_to_end(out)?;
    if read > longest {
        return Err(Error::new(format!(
            "a value of more than {longest} bytes: raise {RECORD_MAX}"
        )));
    }
    Ok(())
}
