//! Chunks of files that come through pipes, as those of HDFS do.

use std::io::{self, ErrorKind, Read};
use std::sync::{Mutex, PoisonError};

use crate::ChunkSource;

/// Streams of one file, each of which begins at a place of its own: one for each task of an engine, whose chunks follow each
/// other.
#[derive(Debug)]
pub struct ChunkPipes<R>(Mutex<Vec<Pipe<R>>>);

#[derive(Debug)]
struct Pipe<R> {
    /// Of the byte that comes out next.
    at: u64,
    reader: R,
}

impl<R: Read + Send> ChunkPipes<R> {
    /// Readers, and the byte of the file that each begins with.
    #[must_use]
    pub fn new(readers: impl IntoIterator<Item = (u64, R)>) -> Self {
        let pipes = readers.into_iter().map(|(at, reader)| Pipe { at, reader });
        Self(Mutex::new(pipes.collect()))
    }
}

impl<R: Read + Send> ChunkSource for ChunkPipes<R> {
    fn read(&self, offset: u64, bytes: u64, into: &mut [u8]) -> io::Result<()> {
        let mut pipes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pipe) = pipes.iter_mut().find(|pipe| pipe.at == offset) else {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                format!("no pipe is at byte {offset}"),
            ));
        };
        let room = usize::try_from(bytes).unwrap_or(usize::MAX);
        let into = into.get_mut(..room).ok_or(ErrorKind::InvalidInput)?;
        pipe.reader.read_exact(into)?;
        pipe.at = offset.saturating_add(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_two_tasks_come_out_of_the_pipe_that_is_there() {
        let file: Vec<u8> = (0..100).collect();
        let pipes = ChunkPipes::new([(10, &file[10..]), (50, &file[50..])]);
        let mut into = [0; 20];
        for (offset, bytes) in [(10, 20), (50, 20), (30, 20), (70, 5)] {
            pipes.read(offset, bytes, &mut into).unwrap();
            let wanted = offset..offset + bytes;
            let found = &into[..usize::try_from(bytes).unwrap()];
            assert!(wanted.eq(found.iter().map(|byte| u64::from(*byte))));
        }
        let said = |offset, bytes| {
            let refused = pipes.read(offset, bytes, &mut [0; 40]).unwrap_err();
            (refused.kind(), refused.to_string())
        };
        assert_eq!(said(20, 5).1, "no pipe is at byte 20");
        assert_eq!(said(75, 30).0, ErrorKind::UnexpectedEof);
        assert_eq!(said(50, 41).0, ErrorKind::InvalidInput);
    }
}
