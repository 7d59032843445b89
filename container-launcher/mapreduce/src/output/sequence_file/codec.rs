//! What is compressed of a SequenceFile, and with what.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::codecs::{bzip2, zstd};
use crate::error::{Error, Result};
use crate::input::Inner;
use crate::output::compress::short;
use crate::output::framed;
use crate::settings::{CODEC, COMPRESS, COMPRESS_TYPE, SEQUENCE_FILE_BLOCK, Settings};

/// What is compressed at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compressed {
    /// Nothing.
    Nothing,
    /// Each value by itself.
    Values(Codec),
    /// Records whose keys and values have so many bytes together.
    Blocks(Codec, usize),
}

impl Compressed {
    /// What the settings say.
    pub(super) fn of(settings: &Settings) -> Result<Self> {
        if !settings.parse::<bool>(COMPRESS)? {
            return Ok(Self::Nothing);
        }
        match settings.get(COMPRESS_TYPE).unwrap_or("RECORD") {
            "NONE" => Ok(Self::Nothing),
            "RECORD" => Ok(Self::Values(Codec::of(settings)?)),
            "BLOCK" => {
                let bytes = settings.parse::<usize>(SEQUENCE_FILE_BLOCK)?;
                let most = settings.record_max()?;
                if bytes > most {
                    return Err(Error::new(format!(
                        "{SEQUENCE_FILE_BLOCK}={bytes}: a block may have as many bytes as a record at the most, {most} \
                         (a quarter of mapreduce.task.io.sort.mb)"
                    )));
                }
                Ok(Self::Blocks(Codec::of(settings)?, bytes))
            }
            other => Err(Error::new(format!(
                "{COMPRESS_TYPE}={other}: SequenceFiles are written with RECORD, each value compressed by itself, BLOCK, \
                 or NONE"
            ))),
        }
    }

    pub(super) const fn codec(self) -> Option<Codec> {
        match self {
            Self::Nothing => None,
            Self::Values(codec) | Self::Blocks(codec, _) => Some(codec),
        }
    }
}

/// What values are compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    Deflate,
    Gzip,
    Bzip2,
    Zstd,
    Lz4,
    Snappy,
}

impl Codec {
    /// That of the settings.
    fn of(settings: &Settings) -> Result<Self> {
        let given = settings.given().get(CODEC).map(String::as_str);
        let codec = short(given.filter(|name| !name.is_empty()).unwrap_or("deflate"))?;
        Ok(match codec {
            "gzip" => Self::Gzip,
            "bzip2" => Self::Bzip2,
            "zstd" => Self::Zstd,
            "lz4" => Self::Lz4,
            "snappy" => Self::Snappy,
            _ => Self::Deflate,
        })
    }

    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Deflate => "org.apache.hadoop.io.compress.DefaultCodec",
            Self::Gzip => "org.apache.hadoop.io.compress.GzipCodec",
            Self::Bzip2 => "org.apache.hadoop.io.compress.BZip2Codec",
            Self::Zstd => "org.apache.hadoop.io.compress.ZStandardCodec",
            Self::Lz4 => "org.apache.hadoop.io.compress.Lz4Codec",
            Self::Snappy => "org.apache.hadoop.io.compress.SnappyCodec",
        }
    }

    /// Appends `raw`, compressed.
    pub(super) fn compress(self, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Deflate => {
                let mut encoder = ZlibEncoder::new(out, Compression::default());
                encoder.write_all(raw)?;
                encoder.finish()?;
            }
            Self::Gzip => {
                let mut encoder = GzEncoder::new(out, Compression::default());
                encoder.write_all(raw)?;
                encoder.finish()?;
            }
            Self::Bzip2 => bzip2::compress(raw, out)?,
            Self::Zstd => zstd::compress(raw, out)?,
            Self::Lz4 => framed::compress(Inner::Lz4, raw, out)?,
            Self::Snappy => framed::compress(Inner::Snappy, raw, out)?,
        }
        Ok(())
    }
}
