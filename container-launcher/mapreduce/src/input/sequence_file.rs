//! Hadoop's SequenceFile, version 6: without compression, with its records' values compressed, or in [`blocks`].
//!
//! ```text
//!  "SEQ" 6 | key class | value class | compressed? | in blocks? | [codec class] | metadata | sync: 16 bytes
//!  then records:  length: i32 | key length: i32 | key | value
//!  and between them now and then:  -1: i32 | sync: 16 bytes
//! ```
//!
//! All big-endian. A split has what follows the syncs that begin inside of it, as in Hadoop's reader.

mod as_text;
mod blocks;
mod codec;
mod header;
mod raw;

use std::io::{self, Read as _};
use std::marker::PhantomData;

use super::{Granule, InputFormat, Source};
use crate::datum::{Key, Value};
use crate::error::{Context as _, Error, Result};
use crate::settings::{RECORD_MAX, Settings};
pub use as_text::SequenceFileAsText;
use blocks::RecordBlock;
use codec::inflate;
use header::Header;
pub use raw::{SequenceFileRaw, Wire};

/// Bytes of a sync.
const SYNC: usize = 16;
/// Bytes in which a header is looked for: class names and some metadata are short, as a rule.
const HEADERS: [usize; 2] = [4 << 10, 1 << 20];
/// Bytes that are read at once.
const PIECE: usize = 256 << 10;

/// SequenceFiles whose Writables are those of `K` and `V`.
#[derive(Debug)]
pub struct SequenceFile<K, V>(PhantomData<fn(K, V)>);

/// Appends what a Writable's bytes are to a job.
type Take = fn(&[u8], &mut Vec<u8>) -> Result<()>;

/// Reads a SequenceFile.
#[derive(Debug)]
pub struct SequenceReader {
    source: Source,
    header: Header,
    buffer: Vec<u8>,
    start: usize,
    /// Where `start` is in the file.
    position: u64,
    longest: usize,
    /// Of a file that is compressed so.
    block: Option<RecordBlock>,
    /// A key and a value as they lie in the file.
    wire_key: Vec<u8>,
    wire: Vec<u8>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl SequenceReader {
    /// Opens a file of whatever Writables, before its first record.
    fn open(source: Source, settings: &Settings) -> Result<Self> {
        let mut reader = Self {
            position: source.offset,
            source,
            header: Header::default(),
            buffer: Vec::new(),
            start: 0,
            longest: settings.record_max()?,
            block: None,
            wire_key: Vec::new(),
            wire: Vec::new(),
            key: Vec::new(),
            value: Vec::new(),
        };
        reader.header = reader.head()?;
        Ok(reader)
    }

    /// Goes to the first record of the split.
    fn begin(&mut self) -> Result<()> {
        if let Some(codec) = &self.header.codec {
            // Says what it does not know, before there is a record.
            let read = codec::reader(codec, io::empty());
            read.map_err(|error| error.context(&self.source.name))?;
        }
        if self.position == 0 {
            self.skip(self.header.length);
        } else if !self.find_sync()? {
            self.source.end = 0;
        }
        Ok(())
    }

    /// Where the record that is next is, or its block.
    fn place(&self) -> u64 {
        match &self.block {
            Some(block) if !block.is_over() => block.begins,
            Some(_) | None => self.position,
        }
    }

    /// Takes the next record into `key` and `value`; false at the end of the split.
    fn advance(&mut self, key: Take, value: Take) -> Result<bool> {
        match self.header.in_blocks {
            _ if self.source.end == 0 => Ok(false),
            true => self.record_of_block(key, value),
            false => self.record(key, value),
        }
    }

    /// The file's header, which stays in the buffer where the piece begins with it.
    fn head(&mut self) -> Result<Header> {
        let mut parsed = Err(self.cut());
        for most in HEADERS {
            let name = self.source.name.clone();
            parsed = if self.position == 0 {
                Header::parse(self.want(most)?, &name)
            } else {
                Header::parse(&self.source.beginning(most)?, &name)
            };
            if parsed.is_ok() {
                break;
            }
        }
        parsed
    }

    /// Makes sure that `count` bytes are in the buffer; fewer are there at the end of the file.
    fn want(&mut self, count: usize) -> Result<&[u8]> {
        if self.buffer.len() - self.start < count {
            self.buffer.drain(..self.start);
            self.start = 0;
            while self.buffer.len() < count {
                let more = PIECE.max(count - self.buffer.len()) as u64;
                let read = (&mut self.source.reader)
                    .take(more.min(PIECE as u64))
                    .read_to_end(&mut self.buffer);
                if read.context(|| format!("reading {}", self.source.name))? == 0 {
                    break;
                }
            }
        }
        Ok(self
            .buffer
            .get(self.start..)
            .map(|rest| &rest[..rest.len().min(count)])
            .unwrap_or_default())
    }

    fn skip(&mut self, count: usize) {
        self.start += count;
        self.position += count as u64;
    }

    fn number(&mut self) -> Result<Option<i32>> {
        let bytes = self.want(4)?;
        match bytes.first_chunk::<4>() {
            Some(bytes) => Ok(Some(i32::from_be_bytes(*bytes))),
            None if bytes.is_empty() => Ok(None),
            None => Err(self.cut()),
        }
    }

    fn cut(&self) -> Error {
        Error::new(format!(
            "{}: the SequenceFile is cut off in the record at byte {}",
            self.source.name, self.position
        ))
    }

    fn broken(&self) -> Error {
        Error::new(format!(
            "{}: the record at byte {} of this SequenceFile is broken",
            self.source.name, self.position
        ))
    }

    /// Goes to the first sync at or after the present position; false if there is none.
    fn find_sync(&mut self) -> Result<bool> {
        let pattern = [&[0xFF; 4], self.header.sync.as_slice()].concat();
        loop {
            let seen = self.want(PIECE)?;
            let (found, length) = (memchr::memmem::find(seen, &pattern), seen.len());
            match found {
                Some(at) => {
                    self.skip(at);
                    return Ok(true);
                }
                None if length < PIECE => return Ok(false),
                None => self.skip(length - pattern.len()),
            }
        }
    }

    /// Goes behind the sync that is next; false where it is the first behind the split.
    fn pass_sync(&mut self) -> Result<bool> {
        if self.position >= self.source.end {
            return Ok(false);
        }
        let sync = self.header.sync;
        let seen = self.want(4 + SYNC)?;
        if seen.len() < 4 + SYNC {
            return Err(self.cut());
        }
        if seen.get(4..) != Some(sync.as_slice()) {
            return Err(self.broken());
        }
        self.skip(4 + SYNC);
        Ok(true)
    }

    /// Takes a record into `key` and `value`; false at the end of the split.
    fn record(&mut self, take_key: Take, take_value: Take) -> Result<bool> {
        let mut length = self.number()?;
        if length == Some(-1) {
            if !self.pass_sync()? {
                return Ok(false);
            }
            length = self.number()?;
        }
        let Some(length) = length else {
            return Ok(false);
        };
        let length = usize::try_from(length).ok().ok_or_else(|| self.broken())?;
        if length > self.longest {
            return Err(Error::new(format!(
                "{}: the record at byte {} of this SequenceFile has {length} bytes where {} are the most: raise \
                 {RECORD_MAX}, unless the file is broken",
                self.source.name, self.position, self.longest
            )));
        }
        if self.want(8 + length)?.len() < 8 + length {
            return Err(self.cut());
        }
        let all = self
            .buffer
            .get(self.start..self.start + 8 + length)
            .unwrap_or_default();
        let (head, body) = all.split_first_chunk::<8>().ok_or_else(|| self.broken())?;
        let [_, _, _, _, a, b, c, d] = *head;
        let split = usize::try_from(i32::from_be_bytes([a, b, c, d])).ok();
        let (key, value) = split
            .and_then(|at| body.split_at_checked(at))
            .ok_or_else(|| self.broken())?;
        self.key.clear();
        take_key(key, &mut self.key).map_err(|error| error.context(self.broken()))?;
        self.value.clear();
        let value = match &self.header.codec {
            None => value,
            Some(codec) => {
                self.wire.clear();
                inflate(codec, value, self.longest, &mut self.wire)
                    .map_err(|error| error.context(self.broken()))?;
                &self.wire
            }
        };
        take_value(value, &mut self.value).map_err(|error| error.context(self.broken()))?;
        self.skip(8 + length);
        Ok(true)
    }
}

impl<K: Key, V: Value> InputFormat for SequenceFile<K, V> {
    type Key<'a> = K::View<'a>;
    type Value<'a> = V::View<'a>;
    type Reader = SequenceReader;

    const MAP_FILES: bool = true;

    fn granule(_: &Settings) -> Result<Granule> {
        Ok(Granule::Byte)
    }

    fn open(source: Source, settings: &Settings) -> Result<SequenceReader> {
        let name = source.name.clone();
        let mut reader = SequenceReader::open(source, settings)?;
        let header = &reader.header;
        let types = [
            ("keys", std::any::type_name::<K>(), K::WRITABLE, &header.key),
            (
                "values",
                std::any::type_name::<V>(),
                V::WRITABLE,
                &header.value,
            ),
        ];
        for (what, type_name, wanted, found) in types {
            let words = match wanted {
                Some(wanted) if wanted == found => continue,
                Some(wanted) => format!("the job reads {wanted} (as {type_name})"),
                None => format!("the job reads {type_name}, which no Writable holds"),
            };
            return Err(Error::new(format!(
                "{name}: its {what} are {found}, and {words}"
            )));
        }
        reader.begin()?;
        Ok(reader)
    }

    fn position(reader: &SequenceReader) -> u64 {
        reader.place()
    }

    fn next<'a>(reader: &'a mut SequenceReader) -> Result<Option<(K::View<'a>, V::View<'a>)>> {
        if !reader.advance(K::from_writable, V::from_writable)? {
            return Ok(None);
        }
        Ok(Some((K::decode(&reader.key)?, V::decode(&reader.value)?)))
    }
}
