//! What lies ahead in a piece of a file, in memory.

use std::io::Read as _;

use crate::error::{Context as _, Result};
use crate::input::Source;

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;

/// A source, and what was read of it and not passed over yet.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) source: Source,
    buffer: Vec<u8>,
    start: usize,
    /// Where `start` is in the file.
    pub(super) position: u64,
}

impl Window {
    pub(super) const fn new(source: Source) -> Self {
        Self {
            position: source.offset,
            source,
            buffer: Vec::new(),
            start: 0,
        }
    }

    /// The next `count` bytes; fewer are there at the end of the file.
    pub(super) fn want(&mut self, count: usize) -> Result<&[u8]> {
        if self.buffer.len() - self.start < count {
            self.buffer.drain(..self.start);
            self.start = 0;
            while self.buffer.len() < count {
                let read = (&mut self.source.reader)
                    .take(PIECE as u64)
                    .read_to_end(&mut self.buffer);
                if read.context(|| format!("reading {}", self.source.name))? == 0 {
                    break;
                }
            }
        }
        let rest = self.buffer.get(self.start..).unwrap_or_default();
        Ok(rest.get(..count).unwrap_or(rest))
    }

    /// Passes over bytes that were seen.
    pub(super) fn skip(&mut self, count: usize) {
        self.start += count;
        self.position += count as u64;
    }

    /// Goes to the first place where these bytes are, at or after the present one; false if there is none.
    pub(super) fn find(&mut self, pattern: &[u8]) -> Result<bool> {
        loop {
            let seen = self.want(PIECE)?;
            let (found, length) = (memchr::memmem::find(seen, pattern), seen.len());
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
}

/// An integer as Avro writes it, at the front of `bytes`, which are behind it then. None: they are cut off, or it is none.
pub(super) fn long(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
        }
    }
    None
}

/// Bytes behind their length, likewise.
pub(super) fn counted<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(long(bytes)?).ok()?;
    let (counted, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(counted)
}

#[cfg(test)]
mod tests {
    use super::long;

    #[test]
    fn integers_are_zigzag() {
        let numbers: [(&[u8], Option<i64>); 6] = [
            (&[0], Some(0)),
            (&[1], Some(-1)),
            (&[2], Some(1)),
            (&[0x80, 0x01], Some(64)),
            (
                &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
                Some(i64::MIN),
            ),
            (&[0x80], None),
        ];
        for (mut bytes, number) in numbers {
            assert_eq!(long(&mut bytes), number);
        }
    }
}
