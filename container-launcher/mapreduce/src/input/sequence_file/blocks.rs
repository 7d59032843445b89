//! Records that are compressed many at a time.
//!
//! ```text
//!  -1: i32 | sync: 16 bytes | records: vint | lengths of keys | keys | lengths of values | values
//!  where each of the four is:  stored bytes: vint | one stream of the file's codec
//! ```
//!
//! Lengths are vints, one a record. Streams are decoded as records are taken: a block takes the memory of what is
//! stored, twice while it is read, and of one record. Streams end with the block's last record, and are read to their ends
//! then, where gzip, bzip2 and zlib have their checksums.

use std::fmt;
use std::io::{self, BufReader, Cursor, Read};

use super::{SequenceReader, Take, codec};
use crate::datum::writable::read_long;
use crate::error::{Error, Result};
use crate::settings::RECORD_MAX;

/// Bytes that are decoded at once.
const DECODED: usize = 16 << 10;
/// Most bytes of a vint.
const VINT: usize = 9;

type Stream = BufReader<Box<dyn Read>>;

/// What is left of a block.
pub(super) struct RecordBlock {
    /// Where its sync begins in the file.
    pub(super) begins: u64,
    /// Records.
    left: u64,
    key_lengths: Stream,
    keys: Stream,
    value_lengths: Stream,
    values: Stream,
}

/// What is wrong with a block.
enum BlockFault {
    /// Its streams do not fit each other.
    Misfit,
    /// A stream is none of the codec's.
    Stream(io::Error),
    /// A record has so many bytes, more than it may.
    TooLong(usize),
}

impl fmt::Debug for RecordBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordBlock")
            .field("begins", &self.begins)
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl RecordBlock {
    /// One of so many records: of its `stored` parts, in the file's order.
    pub(super) fn new(
        begins: u64,
        records: u64,
        codec: &str,
        stored: [Vec<u8>; 4],
    ) -> Result<Self> {
        let stream = |stored: Vec<u8>| -> Result<Stream> {
            let decoded: Box<dyn Read> = match stored.is_empty() {
                // No codec writes nothing, but nothing is in it.
                true => Box::new(io::empty()),
                false => codec::reader(codec, Cursor::new(stored))?,
            };
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

    /// Takes a record, of `longest` bytes at the most.
    fn take(
        &mut self,
        longest: usize,
        (key, value): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<(), BlockFault> {
        let (key_length, value_length) =
            (vint(&mut self.key_lengths)?, vint(&mut self.value_lengths)?);
        let length = key_length.saturating_add(value_length);
        if length > longest {
            return Err(BlockFault::TooLong(length));
        }
        fill(&mut self.keys, key_length, key)?;
        fill(&mut self.values, value_length, value)?;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.end()?;
        }
        Ok(())
    }

    /// Reads what is behind the last record, which is nothing but checksums.
    fn end(&mut self) -> Result<(), BlockFault> {
        let streams = [
            &mut self.key_lengths,
            &mut self.keys,
            &mut self.value_lengths,
            &mut self.values,
        ];
        for stream in streams {
            match stream.read(&mut [0]) {
                Ok(0) => {}
                Ok(_more) => return Err(BlockFault::Misfit),
                Err(error) => return Err(BlockFault::Stream(error)),
            }
        }
        Ok(())
    }
}

fn fill(stream: &mut Stream, length: usize, into: &mut Vec<u8>) -> Result<(), BlockFault> {
    into.clear();
    match stream.take(length as u64).read_to_end(into) {
        Ok(read) if read == length => Ok(()),
        Ok(_cut) => Err(BlockFault::Misfit),
        Err(error) => Err(BlockFault::Stream(error)),
    }
}

/// The next length of a stream.
fn vint(stream: &mut Stream) -> Result<usize, BlockFault> {
    let mut bytes = [0; VINT];
    for filled in 1..=VINT {
        let (taken, next) = (bytes.get_mut(..filled), filled.saturating_sub(1));
        let Some(taken) = taken else { break };
        let byte = taken.get_mut(next..).unwrap_or_default();
        stream
            .read_exact(byte)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => BlockFault::Misfit,
                _ => BlockFault::Stream(error),
            })?;
        if let Some(length) = read_long(&mut &*taken) {
            return usize::try_from(length).map_err(|_negative| BlockFault::Misfit);
        }
    }
    Err(BlockFault::Misfit)
}

impl SequenceReader {
    /// Takes a record out of blocks; false at the end of the split.
    pub(super) fn record_of_block(&mut self, take_key: Take, take_value: Take) -> Result<bool> {
        while self.block.as_ref().is_none_or(RecordBlock::is_over) {
            if !self.next_block()? {
                return Ok(false);
            }
        }
        let Some(block) = &mut self.block else {
            return Ok(false);
        };
        let (name, begins) = (&self.source.name, block.begins);
        let broken = || broken(name, begins);
        block
            .take(self.longest, (&mut self.wire_key, &mut self.wire))
            .map_err(|why| match why {
                BlockFault::Misfit => broken(),
                BlockFault::Stream(error) => Error::from(error).context(broken()),
                BlockFault::TooLong(length) => {
                    too_long(name, ("a record", length), begins, self.longest)
                }
            })?;
        self.key.clear();
        take_key(&self.wire_key, &mut self.key).map_err(|error| error.context(broken()))?;
        self.value.clear();
        take_value(&self.wire, &mut self.value).map_err(|error| error.context(broken()))?;
        Ok(true)
    }

    /// Takes the next block of the split, if there is one.
    fn next_block(&mut self) -> Result<bool> {
        self.block = None;
        let begins = self.position;
        match self.number()? {
            None => return Ok(false),
            Some(-1) if !self.pass_sync()? => return Ok(false),
            Some(-1) => {}
            Some(_) => return Err(broken(&self.source.name, begins)),
        }
        let records = self.vint(begins)? as u64;
        let mut stored = [const { Vec::new() }; 4];
        let mut all = 0_usize;
        for part in &mut stored {
            let length = self.vint(begins)?;
            all = all.saturating_add(length);
            if all > self.longest {
                let what = ("what is stored", all);
                return Err(too_long(&self.source.name, what, begins, self.longest));
            }
            part.extend_from_slice(self.want(length)?);
            if part.len() < length {
                return Err(cut(&self.source.name, begins));
            }
            self.skip(length);
        }
        let codec = self.header.codec.as_deref().unwrap_or_default();
        self.block = Some(RecordBlock::new(begins, records, codec, stored)?);
        Ok(true)
    }

    fn vint(&mut self, begins: u64) -> Result<usize> {
        let mut bytes = self.want(VINT)?;
        let before = bytes.len();
        let number = read_long(&mut bytes);
        let taken = before - bytes.len();
        let name = &self.source.name;
        let number = number.ok_or_else(|| cut(name, begins))?;
        let number = usize::try_from(number).ok();
        let number = number.ok_or_else(|| broken(name, begins))?;
        self.skip(taken);
        Ok(number)
    }
}

fn broken(name: &str, begins: u64) -> Error {
    Error::new(format!(
        "{name}: the block at byte {begins} of this SequenceFile is broken"
    ))
}

fn cut(name: &str, begins: u64) -> Error {
    Error::new(format!(
        "{name}: the SequenceFile is cut off in the block at byte {begins}"
    ))
}

fn too_long(name: &str, (what, length): (&str, usize), begins: u64, longest: usize) -> Error {
    Error::new(format!(
        "{name}: {what} of the block at byte {begins} of this SequenceFile has {length} bytes where {longest} are the \
         most: raise {RECORD_MAX}, unless the file is broken"
    ))
}
