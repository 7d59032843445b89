//! How an Avro file begins: `Obj\x01`, a map with the schema and the codec, and the sync that is behind each block.

use apache_avro::Schema;

use super::window::{counted, long};
use crate::error::{Error, Result};
use crate::guarded::guarded;

/// Bytes of a sync.
pub(super) const SYNC: usize = 16;
/// How a file begins.
const MAGIC: &[u8] = b"Obj\x01";

#[derive(Debug)]
pub(super) struct Header {
    pub(super) schema: Schema,
    pub(super) codec: Codec,
    pub(super) sync: [u8; SYNC],
    /// Bytes in front of the sync.
    pub(super) length: usize,
}

/// What blocks are compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    Null,
    Deflate,
    Snappy,
    Bzip2,
    Zstd,
}

impl Header {
    /// None: it is longer than `bytes`.
    pub(super) fn parse(bytes: &[u8], name: &str) -> Result<Option<Self>> {
        let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
            return Err(Error::new(format!(
                "{name} is no Avro: it does not begin with Obj 1"
            )));
        };
        let (mut schema, mut codec) = (None, Codec::Null);
        loop {
            let Some(count) = long(&mut rest) else {
                return Ok(None);
            };
            if count == 0 {
                break;
            }
            // Of a count below zero the length in bytes follows.
            if count < 0 && long(&mut rest).is_none() {
                return Ok(None);
            }
            for _ in 0..count.unsigned_abs() {
                let Some((key, value)) = counted(&mut rest).zip(counted(&mut rest)) else {
                    return Ok(None);
                };
                match key {
                    b"avro.schema" => schema = Some(value),
                    b"avro.codec" => codec = Codec::of(value, name)?,
                    _ => {}
                }
            }
        }
        let Some(sync) = rest.first_chunk::<SYNC>() else {
            return Ok(None);
        };
        let broken =
            |why: &str| Error::new(format!("{name}: the schema of this Avro is broken: {why}"));
        let schema = schema.and_then(|schema| std::str::from_utf8(schema).ok());
        let schema = schema.ok_or_else(|| broken("there is no text"))?;
        Ok(Some(Self {
            schema: guarded(|| Schema::parse_str(schema)).map_err(|why| broken(&why))?,
            codec,
            sync: *sync,
            length: bytes.len() - rest.len(),
        }))
    }
}

impl Codec {
    fn of(codec: &[u8], file: &str) -> Result<Self> {
        let there = |codec, is_there: Result<()>| {
            is_there
                .map(|()| codec)
                .map_err(|error| error.context(file))
        };
        match codec {
            b"null" => Ok(Self::Null),
            b"deflate" => Ok(Self::Deflate),
            b"snappy" => Ok(Self::Snappy),
            b"bzip2" => there(Self::Bzip2, crate::codecs::bzip2::there()),
            b"zstandard" => there(Self::Zstd, crate::codecs::zstd::there()),
            other => Err(Error::new(format!(
                "{file}: its blocks are compressed with {}, which is not read here",
                String::from_utf8_lossy(other)
            ))),
        }
    }

    /// Appends what is in a block, of `most` bytes at the most.
    pub(super) fn inflate(self, stored: &[u8], most: usize, out: &mut Vec<u8>) -> Result<()> {
        use std::io::Read as _;
        let reader: Box<dyn std::io::Read + '_> = match self {
            Self::Null => Box::new(stored),
            Self::Deflate => Box::new(flate2::bufread::DeflateDecoder::new(stored)),
            Self::Snappy => return snappy(stored, most, out),
            Self::Bzip2 => crate::codecs::bzip2::reader(stored)?,
            Self::Zstd => crate::codecs::zstd::reader(stored)?,
        };
        let read = reader
            .take((most as u64).saturating_add(1))
            .read_to_end(out)?;
        match read > most {
            true => Err(Error::new(format!("it has more than {most} bytes"))),
            false => Ok(()),
        }
    }
}

/// Snappy, and a checksum of what it was behind it.
fn snappy(stored: &[u8], most: usize, out: &mut Vec<u8>) -> Result<()> {
    let (stored, checksum) = stored
        .split_last_chunk::<4>()
        .ok_or_else(|| Error::new("it has no checksum"))?;
    let length = snap::raw::decompress_len(stored)?;
    if length > most {
        return Err(Error::new(format!(
            "it has {length} bytes, more than {most}"
        )));
    }
    out.resize(length, 0);
    snap::raw::Decoder::new().decompress(stored, out)?;
    let mut crc = flate2::Crc::new();
    crc.update(out);
    match crc.sum() == u32::from_be_bytes(*checksum) {
        true => Ok(()),
        false => Err(Error::new("its checksum is of something else")),
    }
}
