//! Text, line by line, parted at the first separator, as Hadoop's `KeyValueTextInputFormat`.

use super::lines::LineReader;
use super::{Granule, InputFormat, Source, columnar};
use crate::error::Result;
use crate::settings::{KV_SEPARATOR, Settings};

/// Text: the key is what stands before the first tab, the value what follows; without a tab the line is key.
#[derive(Debug)]
pub struct KeyValueText;

/// Reads lines, and parts them.
#[derive(Debug)]
pub struct KeyValueReader {
    lines: LineReader,
    separator: u8,
}

impl InputFormat for KeyValueText {
    type Key<'a> = &'a [u8];
    type Value<'a> = &'a [u8];
    type Reader = KeyValueReader;

    fn granule(_: &Settings) -> Result<Granule> {
        Ok(Granule::Line)
    }

    fn takes(name: &str) -> Result<()> {
        columnar::is_text(name)
    }

    fn open(source: Source, settings: &Settings) -> Result<KeyValueReader> {
        let separator = settings
            .get(KV_SEPARATOR)
            .and_then(|text| text.bytes().next())
            .unwrap_or(b'\t');
        Ok(KeyValueReader {
            lines: LineReader::new(source, settings)?,
            separator,
        })
    }

    fn position(reader: &KeyValueReader) -> u64 {
        reader.lines.position()
    }

    fn next(reader: &mut KeyValueReader) -> Result<Option<(&[u8], &[u8])>> {
        let separator = reader.separator;
        Ok(reader
            .lines
            .next()?
            .map(|(_, line)| match memchr::memchr(separator, line) {
                Some(at) => {
                    let (key, value) = line.split_at(at);
                    (key, value.get(1..).unwrap_or_default())
                }
                None => (line, &[][..]),
            }))
    }
}
