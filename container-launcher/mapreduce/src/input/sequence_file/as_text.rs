//! SequenceFiles whose keys and values are handed on as text, as Hadoop's `SequenceFileAsTextInputFormat` does.

use super::{SequenceReader, Take};
use crate::datum::{Bytes, Text, VInt, VLong, Value};
use crate::error::{Error, Result};
use crate::input::{Granule, InputFormat, Source};
use crate::settings::Settings;

/// SequenceFiles of any Writables that are known here, keys and values as their `toString` says them.
///
/// Text that is no UTF-8 has U+FFFD in the place of what is none, as in Java.
#[derive(Debug)]
pub struct SequenceFileAsText;

/// Reads a SequenceFile as text.
#[derive(Debug)]
pub struct AsTextReader {
    reader: SequenceReader,
    key: Take,
    value: Take,
}

/// Writables, and how they become text.
const KNOWN: [(Option<&str>, Take); 12] = [
    (Text::WRITABLE, decoded),
    (Bytes::WRITABLE, said::<Bytes>),
    (i8::WRITABLE, said::<i8>),
    (i16::WRITABLE, said::<i16>),
    (i32::WRITABLE, said::<i32>),
    (i64::WRITABLE, said::<i64>),
    (VInt::WRITABLE, said::<VInt>),
    (VLong::WRITABLE, said::<VLong>),
    (f32::WRITABLE, said::<f32>),
    (f64::WRITABLE, said::<f64>),
    (bool::WRITABLE, said::<bool>),
    (<() as Value>::WRITABLE, null),
];

/// What `toString` says of a Writable that holds the same as `T`.
fn said<T: Value>(wire: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut value = Vec::new();
    T::from_writable(wire, &mut value)?;
    T::text(&value, out)
}

fn decoded(wire: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let begins = out.len();
    Text::from_writable(wire, out)?;
    let text = out.get(begins..).unwrap_or_default();
    if std::str::from_utf8(text).is_err() {
        let text = String::from_utf8_lossy(text).into_owned();
        out.truncate(begins);
        out.extend_from_slice(text.as_bytes());
    }
    Ok(())
}

fn null(_: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(b"(null)");
    Ok(())
}

/// How the Writables of this `class` become text.
fn taking(class: &str, what: &str, file: &str) -> Result<Take> {
    let known = KNOWN.iter().find(|(known, _)| *known == Some(class));
    known.map(|(_, take)| *take).ok_or_else(|| {
        let short = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
        let names: Vec<&str> = KNOWN
            .iter()
            .filter_map(|(name, _)| name.map(short))
            .collect();
        Error::new(format!(
            "{file}: its {what} are {class}, and gerbil runs no Java: as text it reads {}",
            names.join(", ")
        ))
    })
}

impl InputFormat for SequenceFileAsText {
    type Key<'a> = &'a [u8];
    type Value<'a> = &'a [u8];
    type Reader = AsTextReader;

    const MAP_FILES: bool = true;

    fn granule(_: &Settings) -> Result<Granule> {
        Ok(Granule::Byte)
    }

    fn open(source: Source, settings: &Settings) -> Result<AsTextReader> {
        let name = source.name.clone();
        let mut reader = SequenceReader::open(source, settings)?;
        let key = taking(&reader.header.key, "keys", &name)?;
        let value = taking(&reader.header.value, "values", &name)?;
        reader.begin()?;
        Ok(AsTextReader { reader, key, value })
    }

    fn position(reader: &AsTextReader) -> u64 {
        reader.reader.place()
    }

    fn next(reader: &mut AsTextReader) -> Result<Option<(&[u8], &[u8])>> {
        let AsTextReader { reader, key, value } = reader;
        Ok(match reader.advance(*key, *value)? {
            true => Some((&reader.key, &reader.value)),
            false => None,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{InputFormat as _, SequenceFileAsText};
    use crate::input::Source;
    use crate::settings::Settings;

    /// A SequenceFile of one record, whose Writables are these of `org.apache.hadoop.io`.
    pub(in super::super) fn file(key: (&str, &[u8]), value: (&str, &[u8])) -> Source {
        let mut bytes = b"SEQ\x06".to_vec();
        for (class, _) in [key, value] {
            let class = format!("org.apache.hadoop.io.{class}");
            bytes.push(u8::try_from(class.len()).unwrap());
            bytes.extend(class.as_bytes());
        }
        // Without compression and metadata.
        bytes.extend([0; 6]);
        bytes.extend([7; 16]);
        for length in [key.1.len() + value.1.len(), key.1.len()] {
            bytes.extend(u32::try_from(length).unwrap().to_be_bytes());
        }
        bytes.extend([key.1, value.1].concat());
        Source::in_memory("file", bytes)
    }

    fn read(key: (&str, &[u8]), value: (&str, &[u8])) -> (String, String) {
        let mut reader = SequenceFileAsText::open(file(key, value), &Settings::default()).unwrap();
        let (key, value) = SequenceFileAsText::next(&mut reader).unwrap().unwrap();
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).unwrap().to_owned();
        let record = (text(key), text(value));
        assert!(SequenceFileAsText::next(&mut reader).unwrap().is_none());
        record
    }

    #[test]
    fn writables_are_what_their_to_string_says() {
        let null = ("NullWritable", &b""[..]);
        for (class, bytes, text) in [
            ("Text", &b"\x03a\tb"[..], "a\tb"),
            ("Text", b"\x03a\xFFb", "a\u{FFFD}b"),
            ("BytesWritable", b"\0\0\0\x03\x00\x0A\xFF", "00 0a ff"),
            ("BytesWritable", b"\0\0\0\0", ""),
            ("ByteWritable", b"\xFF", "-1"),
            ("ShortWritable", b"\x80\0", "-32768"),
            ("IntWritable", b"\xFF\xFF\xFF\xFE", "-2"),
            ("LongWritable", b"\0\0\0\x01\0\0\0\0", "4294967296"),
            ("VIntWritable", b"\x8F\xC8", "200"),
            ("VLongWritable", b"\x87\xC8", "-201"),
            ("FloatWritable", b"\x3D\xCC\xCC\xCD", "0.1"),
            ("DoubleWritable", b"\x41\x63\x12\xD0\0\0\0\0", "1.0E7"),
            ("BooleanWritable", b"\x01", "true"),
            ("NullWritable", b"", "(null)"),
        ] {
            let (key, value) = read((class, bytes), null);
            assert_eq!((key.as_str(), value.as_str()), (text, "(null)"), "{class}");
            assert_eq!(read(null, (class, bytes)).1, text, "{class}");
        }
    }

    #[test]
    fn a_writable_that_is_not_known_is_named() {
        let source = file(("Text", b"\0"), ("MapWritable", b""));
        let error = SequenceFileAsText::open(source, &Settings::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "file: its values are org.apache.hadoop.io.MapWritable, and gerbil runs no Java: as text it reads Text, \
             BytesWritable, ByteWritable, ShortWritable, IntWritable, LongWritable, VIntWritable, VLongWritable, \
             FloatWritable, DoubleWritable, BooleanWritable, NullWritable"
        );
    }
}
