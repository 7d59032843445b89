//! Records of a fixed length, as Hadoop's `FixedLengthInputFormat`.

use std::io::{ErrorKind, Read as _};

use super::{Granule, InputFormat, Source};
use crate::error::{Context as _, Error, Result};
use crate::settings::{RECORD_LENGTH, Settings};

/// The key is the record's offset, the value its `fixedlengthinputformat.record.length` bytes.
#[derive(Debug)]
pub struct FixedLength;

/// Reads records of a fixed length.
#[derive(Debug)]
pub struct FixedReader {
    source: Source,
    length: usize,
    position: u64,
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
}

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;

fn length(settings: &Settings) -> Result<usize> {
    let length = settings.parse(RECORD_LENGTH)?;
    if length == 0 || length > settings.record_max()? {
        return Err(Error::new(format!(
            "{RECORD_LENGTH}={length}: from 1 to {}",
            settings.record_max()?
        )));
    }
    Ok(length)
}

impl InputFormat for FixedLength {
    type Key<'a> = u64;
    type Value<'a> = &'a [u8];
    type Reader = FixedReader;

    fn granule(settings: &Settings) -> Result<Granule> {
        Ok(Granule::Record(length(settings)? as u64))
    }

    fn open(source: Source, settings: &Settings) -> Result<FixedReader> {
        let length = length(settings)?;
        let position = source.offset;
        Ok(FixedReader {
            source,
            length,
            position,
            buffer: vec![0; PIECE.max(length * 2)],
            start: 0,
            filled: 0,
        })
    }

    fn position(reader: &FixedReader) -> u64 {
        reader.position
    }

    #[inline]
    fn next(reader: &mut FixedReader) -> Result<Option<(u64, &[u8])>> {
        if reader.position >= reader.source.end {
            return Ok(None);
        }
        while reader.filled - reader.start < reader.length {
            reader.buffer.copy_within(reader.start..reader.filled, 0);
            reader.filled -= reader.start;
            reader.start = 0;
            let read = match reader
                .source
                .reader
                .read(&mut reader.buffer[reader.filled..])
            {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.context(|| format!("reading {}", reader.source.name))?,
            };
            if read == 0 {
                if reader.filled == 0 {
                    return Ok(None);
                }
                return Err(Error::new(format!(
                    "{}: the record at byte {} has {} of {} bytes: the file ends there",
                    reader.source.name, reader.position, reader.filled, reader.length
                )));
            }
            reader.filled += read;
        }
        let (at, from) = (reader.position, reader.start);
        reader.start += reader.length;
        reader.position += reader.length as u64;
        Ok(reader
            .buffer
            .get(from..from + reader.length)
            .map(|record| (at, record)))
    }
}
