//! SequenceFiles of any Writables, whose keys and values are handed on as they lie in the file.

use super::SequenceReader;
use crate::error::Result;
use crate::input::{Granule, InputFormat, Source};
use crate::settings::Settings;

/// SequenceFiles of any Writables, keys and values as the bytes that their classes wrote.
#[derive(Debug)]
pub struct SequenceFileRaw;

/// What an object of a class of Hadoop's wrote of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire<'a> {
    /// The full name of the class.
    pub class: &'a str,
    /// What it wrote.
    pub bytes: &'a [u8],
}

fn as_it_is(wire: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(wire);
    Ok(())
}

impl InputFormat for SequenceFileRaw {
    type Key<'a> = Wire<'a>;
    type Value<'a> = Wire<'a>;
    type Reader = SequenceReader;

    const MAP_FILES: bool = true;

    fn granule(_: &Settings) -> Result<Granule> {
        Ok(Granule::Byte)
    }

    fn open(source: Source, settings: &Settings) -> Result<SequenceReader> {
        let mut reader = SequenceReader::open(source, settings)?;
        reader.begin()?;
        Ok(reader)
    }

    fn position(reader: &SequenceReader) -> u64 {
        reader.place()
    }

    fn next(reader: &mut SequenceReader) -> Result<Option<(Wire<'_>, Wire<'_>)>> {
        Ok(match reader.advance(as_it_is, as_it_is)? {
            true => Some((
                Wire {
                    class: &reader.header.key,
                    bytes: &reader.key,
                },
                Wire {
                    class: &reader.header.value,
                    bytes: &reader.value,
                },
            )),
            false => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::as_text::tests::file;
    use super::{InputFormat as _, SequenceFileRaw, Wire};
    use crate::settings::Settings;

    #[test]
    fn keys_and_values_are_what_their_classes_wrote() {
        let source = file(("Odd", &[1, 2, 3]), ("Text", b"\x02hi"));
        let mut reader = SequenceFileRaw::open(source, &Settings::default()).unwrap();
        let found = SequenceFileRaw::next(&mut reader).unwrap();
        let key = Wire {
            class: "org.apache.hadoop.io.Odd",
            bytes: &[1, 2, 3],
        };
        let value = Wire {
            class: "org.apache.hadoop.io.Text",
            bytes: b"\x02hi",
        };
        assert_eq!(found, Some((key, value)));
        assert!(SequenceFileRaw::next(&mut reader).unwrap().is_none());
    }
}
