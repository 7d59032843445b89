//! What compresses the values of a SequenceFile.

use std::io::Read as _;

use crate::codecs::streams::zlib;
use crate::codecs::{bzip2, zstd};
use crate::error::{Error, Result};
use crate::input::framed::{Framed, Inner};
use crate::settings::RECORD_MAX;

/// Appends what `bytes`, compressed as `codec` does, hold.
pub(super) fn inflate(codec: &str, bytes: &[u8], longest: usize, out: &mut Vec<u8>) -> Result<()> {
    let most = longest as u64 + 1;
    let read = match codec.rsplit('.').next() {
        Some("DefaultCodec" | "DeflateCodec") => zlib(bytes).take(most).read_to_end(out)?,
        Some("GzipCodec") => flate2::read::MultiGzDecoder::new(bytes)
            .take(most)
            .read_to_end(out)?,
        Some("BZip2Codec") => bzip2::reader(bytes)?.take(most).read_to_end(out)?,
        Some("ZStandardCodec") => zstd::reader(bytes)?.take(most).read_to_end(out)?,
        Some("Lz4Codec") => Framed::new(bytes, Inner::Lz4).take(most).read_to_end(out)?,
        Some("SnappyCodec") => Framed::new(bytes, Inner::Snappy)
            .take(most)
            .read_to_end(out)?,
        _ => {
            return Err(Error::new(format!(
                "values are compressed with {codec}, which is not known here"
            )));
        }
    };
    if read > longest {
        return Err(Error::new(format!(
            "a value of more than {longest} bytes: raise {RECORD_MAX}"
        )));
    }
    Ok(())
}
