//! How the bytes of a block are stored.

use crate::codecs::zstd;
use crate::error::{Error, Result};

/// What blocks of map output are tried with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    /// As they are.
    None,
    /// LZ4 blocks.
    Lz4,
    /// Zstandard, level 1.
    Zstd,
}

/// A block is stored compressed where it becomes shorter than this many hundredths of itself.
const WORTH: usize = 95;
/// After a block that was not worth it, so many are stored as they are before the next try.
const REST: u32 = 15;

impl Codec {
    pub(crate) fn of_name(name: &str) -> Result<Self> {
        match name {
            "none" => Ok(Self::None),
            "lz4" | "org.apache.hadoop.io.compress.Lz4Codec" => Ok(Self::Lz4),
            "zstd" | "org.apache.hadoop.io.compress.ZStandardCodec" => {
                zstd::there().map(|()| Self::Zstd)
            }
            // A class of Hadoop's, or of somebody's, that is not here: nobody else reads what it would be for.
            class if class.contains('.') => Ok(Self::Lz4),
            _ => Err(Error::new(format!(
                "map output is compressed with none, lz4 or zstd, not with {name}"
            ))),
        }
    }

    pub(crate) const fn byte(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Lz4 => 1,
            Self::Zstd => 2,
        }
    }
}

/// Compresses the blocks of one file, and gives up for a while where nothing is gained.
pub(crate) struct Compressor {
    codec: Codec,
    zstd: Option<zstd::Blocks>,
    resting: u32,
    out: Vec<u8>,
}

impl Compressor {
    pub(crate) fn new(codec: Codec) -> Result<Self> {
        let zstd = (codec == Codec::Zstd).then(zstd::Blocks::new).transpose()?;
        Ok(Self {
            codec,
            zstd,
            resting: 0,
            out: Vec::new(),
        })
    }

    /// The block as it is to be stored, or nothing where it stays as it is.
    pub(crate) fn compress(&mut self, raw: &[u8]) -> Result<Option<(Codec, &[u8])>> {
        if self.resting > 0 {
            self.resting -= 1;
            return Ok(None);
        }
        let length = match (self.codec, &mut self.zstd) {
            (Codec::None, _) => return Ok(None),
            (Codec::Zstd, Some(zstd)) => zstd.compress(raw, &mut self.out)?,
            _ => {
                self.out
                    .resize(lz4_flex::block::get_maximum_output_size(raw.len()), 0);
                lz4_flex::block::compress_into(raw, &mut self.out)?
            }
        };
        if length > raw.len() / 100 * WORTH {
            self.resting = REST;
            return Ok(None);
        }
        Ok(self.out.get(..length).map(|stored| (self.codec, stored)))
    }
}

/// Fills `raw`, whose length is what the block's head says, from what was stored with the codec of `byte`.
pub(crate) fn decompress(byte: u8, stored: &[u8], raw: &mut [u8]) -> Result<()> {
    let length = match byte {
        1 => lz4_flex::block::decompress_into(stored, raw)?,
        2 => zstd::decompress(stored, raw)?,
        other => {
            return Err(Error::new(format!(
                "a block is stored with codec {other}, which is none"
            )));
        }
    };
    if length == raw.len() {
        Ok(())
    } else {
        Err(Error::new(format!(
            "a block has {length} bytes where its head says {}",
            raw.len()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::Codec;

    #[test]
    fn classes_that_are_not_here_are_no_reason_to_fail() {
        let of = |name: &str| Codec::of_name(name).map_err(|error| error.to_string());
        assert_eq!(of("none"), Ok(Codec::None));
        for name in [
            "lz4",
            "org.apache.hadoop.io.compress.Lz4Codec",
            "org.apache.hadoop.io.compress.GzipCodec",
            "com.hadoop.compression.lzo.LzoCodec",
        ] {
            assert_eq!(of(name), Ok(Codec::Lz4), "{name}");
        }
        let refused = of("gzip").unwrap_err();
        assert_eq!(
            refused,
            "map output is compressed with none, lz4 or zstd, not with gzip"
        );
    }
}
