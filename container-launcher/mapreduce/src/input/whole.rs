//! A file as one record.

use std::io::Read as _;

use super::{Granule, InputFormat, Source};
use crate::error::{Context as _, Error, Result};
use crate::settings::Settings;

/// The key is the file's name, the value all that is in it.
#[derive(Debug)]
pub struct WholeFile;

/// Reads a file at once.
#[derive(Debug)]
pub struct WholeReader {
    source: Source,
    longest: usize,
    content: Vec<u8>,
    done: bool,
}

impl InputFormat for WholeFile {
    type Key<'a> = &'a str;
    type Value<'a> = &'a [u8];
    type Reader = WholeReader;

    fn granule(_: &Settings) -> Result<Granule> {
        Ok(Granule::File)
    }

    fn open(source: Source, settings: &Settings) -> Result<WholeReader> {
        Ok(WholeReader {
            source,
            longest: settings.record_max()?,
            content: Vec::new(),
            done: false,
        })
    }

    fn position(_: &WholeReader) -> u64 {
        0
    }

    fn next(reader: &mut WholeReader) -> Result<Option<(&str, &[u8])>> {
        if reader.done {
            return Ok(None);
        }
        reader.done = true;
        let (name, most) = (&reader.source.name, reader.longest as u64 + 1);
        let read = (&mut reader.source.reader)
            .take(most)
            .read_to_end(&mut reader.content);
        if read.context(|| format!("reading {name}"))? > reader.longest {
            return Err(Error::new(format!(
                "{name} has more than {} bytes: raise gerbil.record.max",
                reader.longest
            )));
        }
        Ok(Some((name.as_str(), reader.content.as_slice())))
    }
}
