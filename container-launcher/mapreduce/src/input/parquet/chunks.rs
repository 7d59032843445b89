//! Stretches of a file in memory, which the columns of a row group are read out of.

use std::io::{self, Read};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::input::Places;

/// Stretches of a file, in the order of where they begin.
#[derive(Debug)]
pub(super) struct Chunks {
    size: u64,
    stretches: Vec<(u64, Bytes)>,
}

/// Joins stretches (from, to) that touch or overlap: each byte is read once, and none that nobody asked for.
fn joined(mut wanted: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    wanted.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (from, to) in wanted {
        match joined.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => joined.push((from, to)),
        }
    }
    joined
}

impl Chunks {
    /// Reads these stretches (from, to).
    pub(super) fn read(places: &Places, wanted: Vec<(u64, u64)>) -> crate::Result<Self> {
        let stretches = joined(wanted).into_iter().map(|(from, to)| {
            let read = places.read(from, to.saturating_sub(from))?;
            Ok((from, Bytes::from(read)))
        });
        Ok(Self {
            size: places.size(),
            stretches: stretches.collect::<crate::Result<_>>()?,
        })
    }

    /// What there is from this byte on.
    fn from(&self, start: u64) -> Result<Bytes> {
        let index = self.stretches.partition_point(|(from, _)| *from <= start);
        let stretch = index
            .checked_sub(1)
            .and_then(|index| self.stretches.get(index));
        let rest = stretch.and_then(|(from, bytes)| {
            let skipped = crate::width::size(start - from);
            (skipped <= bytes.len()).then(|| bytes.slice(skipped..))
        });
        rest.ok_or_else(|| outside(start))
    }
}

fn outside(start: u64) -> ParquetError {
    ParquetError::EOF(format!("byte {start} is of none of the columns"))
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.size
    }
}

/// Reads out of a stretch.
#[derive(Debug)]
pub(super) struct Rest(Bytes);

impl Read for Rest {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = into.len().min(self.0.len());
        let taken = self.0.split_to(length);
        if let Some(into) = into.get_mut(..length) {
            into.copy_from_slice(&taken);
        }
        Ok(length)
    }
}

impl ChunkReader for Chunks {
    type T = Rest;

    fn get_read(&self, start: u64) -> Result<Rest> {
        self.from(start).map(Rest)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let rest = self.from(start)?;
        match length <= rest.len() {
            true => Ok(rest.slice(..length)),
            false => Err(outside(start)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn what_touches_or_overlaps_is_read_at_once() {
        assert_eq!(joined(vec![(9, 12), (0, 4), (4, 7)]), [(0, 7), (9, 12)]);
        assert_eq!(joined(vec![(0, 9), (2, 3), (8, 10)]), [(0, 10)]);
        assert!(joined(Vec::new()).is_empty());
    }
}
