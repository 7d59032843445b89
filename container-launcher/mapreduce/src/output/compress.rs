//! Output files, compressed if settings say so.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use crate::error::{Context as _, Error, Result};
use crate::settings::{CODEC, COMPRESS, Settings};

/// Bytes that are written at once.
const PIECE: usize = 256 << 10;

/// A file, and what compresses on the way to it.
pub(crate) enum Encoder {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Deflate(flate2::write::ZlibEncoder<BufWriter<File>>),
    Bzip2(bzip2::write::BzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

/// The codec that settings ask for, by its short name.
fn codec(settings: &Settings) -> Result<&str> {
    if !settings.parse::<bool>(COMPRESS)? {
        return Ok("none");
    }
    match settings.get(CODEC).unwrap_or("gzip") {
        "gzip" | "org.apache.hadoop.io.compress.GzipCodec" => Ok("gzip"),
        "deflate"
        | "org.apache.hadoop.io.compress.DefaultCodec"
        | "org.apache.hadoop.io.compress.DeflateCodec" => Ok("deflate"),
        "bzip2" | "org.apache.hadoop.io.compress.BZip2Codec" => Ok("bzip2"),
        "zstd" | "org.apache.hadoop.io.compress.ZStandardCodec" => Ok("zstd"),
        other => Err(Error::new(format!(
            "{CODEC}={other}: output is written as gzip, deflate, bzip2 or zstd"
        ))),
    }
}

impl Encoder {
    pub(crate) fn new(file: File, settings: &Settings) -> Result<Self> {
        let file = BufWriter::with_capacity(PIECE, file);
        Ok(match codec(settings)? {
            "gzip" => Self::Gzip(flate2::write::GzEncoder::new(
                file,
                flate2::Compression::default(),
            )),
            "deflate" => Self::Deflate(flate2::write::ZlibEncoder::new(
                file,
                flate2::Compression::default(),
            )),
            "bzip2" => Self::Bzip2(bzip2::write::BzEncoder::new(
                file,
                bzip2::Compression::best(),
            )),
            "zstd" => Self::Zstd(zstd::stream::write::Encoder::new(file, 3)?),
            _ => Self::Plain(file),
        })
    }

    pub(crate) fn suffix(settings: &Settings) -> Result<String> {
        Ok(match codec(settings)? {
            "gzip" => ".gz",
            "deflate" => ".deflate",
            "bzip2" => ".bz2",
            "zstd" => ".zst",
            _ => "",
        }
        .to_owned())
    }

    pub(crate) fn finish(self) -> Result<()> {
        let file = match self {
            Self::Plain(file) => Ok(file),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Deflate(encoder) => encoder.finish(),
            Self::Bzip2(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        };
        file.and_then(|mut file| file.flush())
            .context(|| "writing output")
    }
}

impl Write for Encoder {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Deflate(encoder) => encoder.write(bytes),
            Self::Bzip2(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Deflate(encoder) => encoder.flush(),
            Self::Bzip2(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}
