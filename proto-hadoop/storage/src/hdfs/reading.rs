//! A file that is being read: packets as DataNodes send them, never copied.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt as _};
use hdfs_native::HdfsError;
use hdfs_native::file::FileReader;

use super::Asks;
use crate::StorageError;

/// First step beyond what is expected to be read, bytes: more than almost any record has.
const STEP: u64 = 256 << 10;
/// Each further step is twice as long, up to this: a step costs a question to a DataNode.
const STEP_MAX: u64 = 32 << 20;

type Packets = BoxStream<'static, Result<Bytes, HdfsError>>;

/// A file that is being read.
pub(crate) struct Reading {
    asks: Arc<Asks>,
    path: String,
    reader: FileReader,
    /// The first byte that was not handed on.
    at: u64,
    steps: Steps,
    /// Of the part under way.
    packets: Option<Packets>,
}

impl Reading {
    pub(super) fn new(asks: Arc<Asks>, path: &str, reader: FileReader, from: u64) -> Self {
        let size = reader.file_length() as u64;
        Self {
            asks,
            path: path.to_owned(),
            reader,
            at: from,
            steps: Steps::new(from, size),
            packets: None,
        }
    }

    pub(crate) fn expect(&mut self, end: u64) {
        self.steps.expected = end;
    }

    pub(crate) const fn size(&self) -> u64 {
        self.steps.size
    }

    /// The next piece; an empty one is the end.
    pub(crate) async fn next(&mut self) -> Result<Bytes, StorageError> {
        loop {
            let packets = match &mut self.packets {
                Some(packets) => packets,
                None => {
                    let Some((begin, length)) = self.steps.next() else {
                        return Ok(Bytes::new());
                    };
                    let too_large = |_| StorageError::Refused {
                        doing: "reading",
                        url: self.asks.url(&self.path),
                        said: "it is larger than the memory of this machine can count".to_owned(),
                    };
                    let begin = usize::try_from(begin).map_err(too_large)?;
                    let length = usize::try_from(length).map_err(too_large)?;
                    let packets = self.reader.read_range_stream(begin, length);
                    self.packets.insert(packets.boxed())
                }
            };
            let call = Box::pin(async { packets.next().await.transpose() });
            let moved = self.asks.moving("reading", &self.path, call).await;
            match moved.map_err(|error| self.of_block(error))? {
                Some(piece) if piece.is_empty() => {}
                Some(piece) => {
                    self.at = self.at.saturating_add(piece.len() as u64);
                    return Ok(piece);
                }
                None => self.packets = None,
            }
        }
    }

    /// Of which block of the file an error is, where that is what an error is of.
    fn of_block(&self, error: StorageError) -> StorageError {
        match error {
            StorageError::DataNodes { said, .. } => StorageError::Block {
                origin: self.asks.origin.clone(),
                path: self.path.clone(),
                at: self.at,
                said,
            },
            other => other,
        }
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading")
            .field("url", &self.asks.url(&self.path))
            .finish_non_exhaustive()
    }
}

/// The parts of a file that are asked for, one after the other.
#[derive(Debug)]
struct Steps {
    at: u64,
    size: u64,
    /// Up to here it is one part.
    expected: u64,
    /// How long the first one behind that is.
    step: u64,
}

impl Steps {
    const fn new(at: u64, size: u64) -> Self {
        Self {
            at,
            size,
            expected: size,
            step: STEP,
        }
    }

    /// Where the next part begins, and its length; none at the file's end.
    fn next(&mut self) -> Option<(u64, u64)> {
        let begin = self.at;
        let rest = self.size.checked_sub(begin).filter(|rest| *rest > 0)?;
        let wanted = match self.expected.checked_sub(begin) {
            Some(wanted @ 1..) => wanted,
            _ => {
                let wanted = self.step;
                self.step = wanted.saturating_mul(2).min(STEP_MAX);
                wanted
            }
        };
        let length = wanted.min(rest);
        self.at = begin.saturating_add(length);
        Some((begin, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut steps: Steps) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| steps.next()).collect()
    }

    #[test]
    fn what_is_expected_is_one_part_and_what_follows_comes_in_growing_ones() {
        const MIB: u64 = 1 << 20;
        assert_eq!(all(Steps::new(5, 100)), [(5, 95)]);
        assert_eq!(all(Steps::new(100, 100)), []);
        assert_eq!(all(Steps::new(101, 100)), []);
        let mut steps = Steps::new(MIB, 300 * MIB);
        steps.expected = 2 * MIB;
        let all = all(steps);
        assert_eq!(
            all[..3],
            [(MIB, MIB), (2 * MIB, STEP), (2 * MIB + STEP, 2 * STEP)]
        );
        assert!(all.iter().all(|(_, length)| *length <= STEP_MAX));
        let end = all.iter().try_fold(MIB, |at, (begin, length)| {
            (at == *begin).then_some(at + length)
        });
        assert_eq!(end, Some(300 * MIB));
        // An end before the beginning, or behind that of the file.
        let mut steps = Steps::new(10, 20);
        steps.expected = 3;
        assert_eq!(steps.next(), Some((10, 10)));
        let mut steps = Steps::new(10, 20);
        steps.expected = 30;
        assert_eq!(steps.next(), Some((10, 10)));
    }
}
