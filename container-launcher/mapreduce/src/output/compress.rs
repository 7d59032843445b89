//! Output files, compressed if settings say so.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use flate2::write::{GzEncoder, ZlibEncoder};

use super::framed::Frames;
use super::sink::Sink;
use crate::codecs::{Encode, bzip2, zstd};
use crate::error::{Context as _, Error, Result};
use crate::input::Inner;
use crate::settings::{CODEC, COMPRESS, Settings};

/// Bytes that are written at once.
const PIECE: usize = 256 << 10;

/// A file, and what compresses on the way to it.
pub(crate) enum Encoder {
    Plain(Sink),
    Coded(Box<dyn Encode>),
}

impl Encode for GzEncoder<BufWriter<File>> {
    fn finish(self: Box<Self>) -> io::Result<BufWriter<File>> {
        (*self).finish()
    }
}

impl Encode for ZlibEncoder<BufWriter<File>> {
    fn finish(self: Box<Self>) -> io::Result<BufWriter<File>> {
        (*self).finish()
    }
}

/// The codec that settings ask for, by its short name.
fn codec(settings: &Settings) -> Result<&'static str> {
    if !settings.parse::<bool>(COMPRESS)? {
        return Ok("none");
    }
    short(settings.get(CODEC).unwrap_or("gzip"))
}

/// The short name of a codec, which this program has, by that or by its class.
pub(super) fn short(name: &str) -> Result<&'static str> {
    match name {
        "gzip" | "org.apache.hadoop.io.compress.GzipCodec" => Ok("gzip"),
        "deflate"
        | "org.apache.hadoop.io.compress.DefaultCodec"
        | "org.apache.hadoop.io.compress.DeflateCodec" => Ok("deflate"),
        "bzip2" | "org.apache.hadoop.io.compress.BZip2Codec" => bzip2::there().map(|()| "bzip2"),
        "zstd" | "org.apache.hadoop.io.compress.ZStandardCodec" => zstd::there().map(|()| "zstd"),
        "lz4" | "org.apache.hadoop.io.compress.Lz4Codec" => Ok("lz4"),
        "snappy" | "org.apache.hadoop.io.compress.SnappyCodec" => Ok("snappy"),
        other => Err(Error::new(format!(
            "{CODEC}={other}: output is written as gzip, deflate, bzip2, zstd, lz4 or snappy"
        ))),
    }
}

impl Encoder {
    pub(crate) fn new(file: File, settings: &Settings) -> Result<Self> {
        let codec = codec(settings)?;
        if codec == "none" {
            return Ok(Self::Plain(Sink::new(file)));
        }
        let file = BufWriter::with_capacity(PIECE, file);
        let level = flate2::Compression::default();
        Ok(match codec {
            "gzip" => Self::Coded(Box::new(GzEncoder::new(file, level))),
            "deflate" => Self::Coded(Box::new(ZlibEncoder::new(file, level))),
            "bzip2" => Self::Coded(bzip2::writer(file)?),
            "lz4" => Self::Coded(Box::new(Frames::new(file, Inner::Lz4))),
            "snappy" => Self::Coded(Box::new(Frames::new(file, Inner::Snappy))),
            _ => Self::Coded(zstd::writer(file)?),
        })
    }

    pub(crate) fn suffix(settings: &Settings) -> Result<String> {
        Ok(match codec(settings)? {
            "gzip" => ".gz",
            "deflate" => ".deflate",
            "bzip2" => ".bz2",
            "zstd" => ".zst",
            "lz4" => ".lz4",
            "snappy" => ".snappy",
            _ => "",
        }
        .to_owned())
    }

    pub(crate) fn finish(self) -> Result<()> {
        let finished = match self {
            Self::Plain(mut file) => file.flush(),
            Self::Coded(encoder) => encoder.finish().and_then(|mut file| file.flush()),
        };
        finished.context(|| "writing output")
    }
}

impl Write for Encoder {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Coded(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Coded(encoder) => encoder.flush(),
        }
    }
}
