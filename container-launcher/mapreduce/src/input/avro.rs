//! Avro's object container files.
//!
//! ```text
//!  "Obj" 1 | metadata: the schema, the codec | sync: 16 bytes
//!  then blocks:  records: long | bytes: long | records, compressed together | sync
//! ```
//!
//! A split has the blocks behind the syncs that begin inside of it.

mod datum;
mod header;
#[cfg(test)]
mod tests;
mod window;

use std::marker::PhantomData;

use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value;
use serde::de::DeserializeOwned;

use super::{Granule, InputFormat, Source};
use crate::error::{Error, Result};
use crate::guarded::guarded;
use crate::settings::{RECORD_MAX, Settings};
use crate::typed::misfit::{Misfit, Why};
use datum::Datum;
use header::{Header, SYNC};
use window::{Window, long};

/// Bytes in which a header is looked for: schemas are short, as a rule.
const HEADERS: [usize; 3] = [16 << 10, 1 << 20, 16 << 20];
/// Records that are made of a block at a time.
const BATCH: u64 = 1024;
/// Bytes of the two numbers in front of a block, at the most.
const NUMBERS: usize = 20;

/// Avro files, a `T` a record, by the names of serde's fields; keys are `()`.
///
/// A field that a file has none for is an error that says which there are, unless it is an `Option` or has a default. Numbers
/// go to numbers that hold them, `bytes` and `fixed` to `Vec<u8>` or to a `String` that they are, enums and strings to a
/// `String` or an enum whose variants have no fields, unions to `Option` or to what the value in them is, and dates, times and
/// timestamps to integers (what is stored) or `String` (`2026-11-29T12:30:00.250Z`). A `decimal` is not read.
#[derive(Debug)]
pub struct Avro<T>(PhantomData<fn(T)>);

/// Reads blocks of an Avro file.
pub struct AvroReader<T> {
    window: Window,
    header: Header,
    longest: usize,
    /// Where the block at hand begins.
    begins: u64,
    block: Vec<u8>,
    /// How far it was read, bytes; and records that follow.
    read: usize,
    left: u64,
    /// The number of the next record in the block.
    number: u64,
    /// The next one is the last.
    values: Vec<Value>,
    of: PhantomData<fn(T)>,
}

impl<T> std::fmt::Debug for AvroReader<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "records of {} at {}",
            self.window.source.name, self.begins
        )
    }
}

impl<T: DeserializeOwned> AvroReader<T> {
    fn open(source: Source, settings: &Settings) -> Result<Self> {
        let longest = settings.record_max()?;
        // What a broken length may take; the first who says it is heard.
        apache_avro::util::max_allocation_bytes(longest);
        let mut window = Window::new(source);
        let header = head(&mut window)?;
        match window.position {
            0 => window.skip(header.length),
            _ => {
                if !window.find(&header.sync)? {
                    window.source.end = 0;
                }
            }
        }
        Ok(Self {
            begins: window.position,
            window,
            header,
            longest,
            block: Vec::new(),
            read: 0,
            left: 0,
            number: 0,
            values: Vec::new(),
            of: PhantomData,
        })
    }

    fn broken(&self, why: &dyn std::fmt::Display) -> Error {
        let (name, at) = (&self.window.source.name, self.begins);
        Error::new(format!(
            "{name}: the block at byte {at} of this Avro is broken: {why}"
        ))
    }

    /// Goes to the next block; false where the next sync is another split's, or there is none.
    fn advance(&mut self) -> Result<bool> {
        if self.window.position >= self.window.source.end {
            return Ok(false);
        }
        let sync = self.header.sync;
        if self.window.want(SYNC)? != sync.as_slice() {
            return Err(self.broken(&"it does not end with the file's sync"));
        }
        self.window.skip(SYNC);
        self.begins = self.window.position;
        let mut head = self.window.want(NUMBERS)?;
        if head.is_empty() {
            return Ok(false);
        }
        let all = head.len();
        let numbers = long(&mut head).zip(long(&mut head));
        let skipped = all - head.len();
        let numbers = numbers.and_then(|(records, bytes)| {
            u64::try_from(records).ok().zip(usize::try_from(bytes).ok())
        });
        let (records, bytes) = numbers.ok_or_else(|| self.broken(&"it is cut off"))?;
        if bytes > self.longest {
            let (name, at, most) = (&self.window.source.name, self.begins, self.longest);
            return Err(Error::new(format!(
                "{name}: the block at byte {at} of this Avro has {bytes} bytes where {most} are the most: raise \
                 {RECORD_MAX}, unless the file is broken"
            )));
        }
        self.window.skip(skipped);
        let (codec, longest) = (self.header.codec, self.longest);
        self.block.clear();
        let stored = self.window.want(bytes)?;
        let inflated = match stored.len() == bytes {
            true => codec.inflate(stored, longest, &mut self.block),
            false => Err(Error::new("it is cut off")),
        };
        inflated.map_err(|error| self.broken(&error))?;
        self.window.skip(bytes);
        (self.read, self.left, self.number) = (0, records, 0);
        Ok(true)
    }

    /// Makes values of some records of the block.
    fn batch(&mut self) -> Result<()> {
        let count = self.left.min(BATCH);
        let mut rest = self.block.get(self.read..).unwrap_or_default();
        let schema = &self.header.schema;
        let values = guarded(|| {
            let reader = GenericDatumReader::builder(schema).build()?;
            let values = (0..count).map(|_| reader.read_value(&mut rest));
            values.collect::<std::result::Result<Vec<_>, _>>()
        });
        self.values = values.map_err(|why| self.broken(&why))?;
        self.read = self.block.len() - rest.len();
        self.left -= count;
        if self.left == 0 && self.read < self.block.len() {
            return Err(self.broken(&"there is more in it than its records"));
        }
        self.values.reverse();
        Ok(())
    }

    fn misfit(&self, misfit: &Misfit) -> Error {
        let (name, at) = (&self.window.source.name, self.begins);
        let of = format!("record {} of the block at byte {at}", self.number);
        Error::new(match (&misfit.why, misfit.column()) {
            (Why::Missing(field), None) => {
                let wants = std::any::type_name::<T>();
                let fields = match &self.header.schema {
                    apache_avro::Schema::Record(record) => {
                        let fields = record.fields.iter();
                        fields.map(|field| field.name.as_str()).collect::<Vec<_>>()
                    }
                    _ => Vec::new(),
                };
                let fields = fields.join(", ");
                format!("{name} has no field {field}, which {wants} wants: it has {fields}")
            }
            (Why::Missing(field), Some(column)) => {
                format!("{name}, {of}, field {column}: it has no {field}")
            }
            (Why::Says(words), Some(column)) => format!("{name}, {of}, field {column}: {words}"),
            (Why::Says(words), None) => format!("{name}, {of}: {words}"),
        })
    }

    fn next(&mut self) -> Result<Option<((), T)>> {
        let value = loop {
            if let Some(value) = self.values.pop() {
                break value;
            }
            if self.left > 0 {
                self.batch()?;
            } else if !self.advance()? {
                return Ok(None);
            }
        };
        let record = T::deserialize(Datum::new(&value)).map_err(|misfit| self.misfit(&misfit))?;
        self.number += 1;
        Ok(Some(((), record)))
    }
}

/// The file's header, which stays ahead where the piece begins with it.
fn head(window: &mut Window) -> Result<Header> {
    let name = window.source.name.clone();
    for most in HEADERS {
        let parsed = match window.position {
            0 => Header::parse(window.want(most)?, &name),
            _ => Header::parse(&window.source.beginning(most)?, &name),
        };
        if let Some(header) = parsed? {
            return Ok(header);
        }
    }
    Err(Error::new(format!(
        "{name}: the header of this Avro is cut off"
    )))
}

impl<T: DeserializeOwned + 'static> InputFormat for Avro<T> {
    type Key<'a> = ();
    type Value<'a> = T;
    type Reader = AvroReader<T>;

    fn granule(_: &Settings) -> Result<Granule> {
        Ok(Granule::Byte)
    }

    fn open(source: Source, settings: &Settings) -> Result<AvroReader<T>> {
        AvroReader::open(source, settings)
    }

    fn position(reader: &AvroReader<T>) -> u64 {
        reader.begins
    }

    fn next(reader: &mut AvroReader<T>) -> Result<Option<((), T)>> {
        reader.next()
    }
}
