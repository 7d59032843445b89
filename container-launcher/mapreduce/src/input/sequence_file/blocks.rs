//! Records that are compressed many at a time.
//!
//! ```text
//!  -1: i32 | sync: 16 bytes | records: vint | lengths of keys | keys | lengths of values | values
//!  where each of the four is:  stored bytes: vint | one stream of the file's codec
//! ```
//!
//! Lengths are vints, one a record. Streams are decoded as records are taken: a block takes the memory of what is
//! stored, and of one record.

use std::fmt;
use std::io::{BufReader, Cursor, Read};

use super::{SequenceReader, codec};
use crate::datum::{Value, writable::read_long};
use crate::error::{Error, Result};

/// Bytes that are decoded at once.
const DECODED: usize = 16 << 10;
/// Most bytes of a vint.
const VINT: usize = 9;

type Stream = BufReader<Box<dyn Read>>;

/// What is left of a block.
pub(super) struct Block {
    /// Where its sync begins in the file.
    pub(super) begins: u64,
    /// Records.
    left: u64,
    key_lengths: Stream,
    keys: Stream,
    value_lengths: Stream,
    values: Stream,
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("begins", &self.begins)
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl Block {
    /// One of so many records: of its `stored` parts, in the file's order.
    pub(super) fn new(
        begins: u64,
        records: u64,
        codec: &str,
        stored: [Vec<u8>; 4],
    ) -> Result<Self> {
        let stream = |stored: Vec<u8>| -> Result<Stream> {
            let decoded = codec::reader(codec, Cursor::new(stored))?;
            Ok(BufReader::with_capacity(DECODED, decoded))
        };
        let [key_lengths, keys, value_lengths, values] = stored;
        Ok(Self {
            begins,
            left: records,
            key_lengths: stream(key_lengths)?,
            keys: stream(keys)?,
            value_lengths: stream(value_lengths)?,
            values: stream(values)?,
        })
    }

    /// Whether all its records are taken.
    pub(super) const fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Takes a record, of `longest` bytes at the most; `Err(None)`: the block is broken.
    fn take(
        &mut self,
        longest: usize,
        (key, value): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<(), Option<Error>> {
        let lengths = [&mut self.key_lengths, &mut self.value_lengths].map(vint);
        let [Some(key_length), Some(value_length)] = lengths else {
            return Err(None);
        };
        let length = key_length.saturating_add(value_length);
        if length > longest {
            return Err(Some(codec::too_long("a record", length, longest)));
        }
        fill(&mut self.keys, key_length, key)?;
        fill(&mut self.values, value_length, value)?;
        self.left = self.left.saturating_sub(1);
        Ok(())
    }
}

fn fill(stream: &mut Stream, length: usize, into: &mut Vec<u8>) -> Result<(), Option<Error>> {
    into.clear();
    match stream.take(length as u64).read_to_end(into) {
        Ok(read) if read == length => Ok(()),
        Ok(_cut) => Err(None),
        Err(error) => Err(Some(error.into())),
    }
}

/// The next length of a stream.
fn vint(stream: &mut Stream) -> Option<usize> {
    let mut bytes = [0; VINT];
    let mut filled = 0;
    loop {
        let next = bytes.get_mut(filled..=filled)?;
        stream.read_exact(next).ok()?;
        filled += 1;
        if let Some(length) = read_long(&mut bytes.get(..filled)?) {
            return usize::try_from(length).ok();
        }
    }
}

impl SequenceReader {
    /// Takes a record out of blocks; false at the end of the split.
    pub(super) fn record_of_block<K: Value, V: Value>(&mut self) -> Result<bool> {
        while self.block.as_ref().is_none_or(Block::is_over) {
            if !self.next_block()? {
                return Ok(false);
            }
        }
        let Some(block) = &mut self.block else {
            return Ok(false);
        };
        let (longest, begins) = (self.longest, block.begins);
        let mut key = std::mem::take(&mut self.wire_key);
        let taken = block.take(longest, (&mut key, &mut self.wire));
        let broken = || {
            Error::new(format!(
                "{}: the block at byte {begins} of this SequenceFile is broken",
                self.source.name
            ))
        };
        taken.map_err(|why| why.map_or_else(broken, |why| why.context(broken())))?;
        self.key.clear();
        K::from_writable(&key, &mut self.key).map_err(|error| error.context(broken()))?;
        self.value.clear();
        V::from_writable(&self.wire, &mut self.value).map_err(|error| error.context(broken()))?;
        self.wire_key = key;
        Ok(true)
    }

    /// Takes the next block of the split, if there is one.
    fn next_block(&mut self) -> Result<bool> {
        let begins = self.position;
        match self.number()? {
            None => return Ok(false),
            Some(-1) if !self.pass_sync()? => return Ok(false),
            Some(-1) => {}
            Some(_) => return Err(self.broken()),
        }
        let records = self.vint()? as u64;
        let mut stored = [const { Vec::new() }; 4];
        for part in &mut stored {
            let length = self.vint()?;
            if length > self.longest {
                let words = codec::too_long("a block", length, self.longest);
                return Err(words.context(self.broken()));
            }
            part.extend_from_slice(self.want(length)?);
            if part.len() < length {
                return Err(self.cut());
            }
            self.skip(length);
        }
        let codec = self.header.codec.as_deref().unwrap_or_default();
        let block = Block::new(begins, records, codec, stored);
        self.block = Some(block.map_err(|error| error.context(self.broken()))?);
        Ok(true)
    }

    fn vint(&mut self) -> Result<usize> {
        let mut bytes = self.want(VINT)?;
        let before = bytes.len();
        let number = read_long(&mut bytes);
        let taken = before - bytes.len();
        let Some(number) = number else {
            return Err(self.cut());
        };
        let number = usize::try_from(number).ok().ok_or_else(|| self.broken())?;
        self.skip(taken);
        Ok(number)
    }
}
