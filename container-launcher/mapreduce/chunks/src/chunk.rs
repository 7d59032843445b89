//! What becomes of a task's chunks and host buffers.

use std::collections::VecDeque;

/// What a host buffer is in use for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkState {
    /// For nothing.
    Free,
    /// The disk reads into it.
    Reading,
    /// Its chunk waits for a stream.
    Ready,
    /// Its chunk is copied to the device.
    Copying,
    /// Its chunk is computed.
    Mapping,
}

/// When a host buffer is free again: `gpu.buffer`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freed {
    /// When its chunk is on the device.
    #[default]
    Copy,
    /// When its chunk is computed.
    Kernel,
}

/// A buffer was not in the state that it should leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongChunk {
    /// Which.
    pub buffer: usize,
    /// Its state.
    pub is: Option<ChunkState>,
    /// The one that it should leave.
    pub wanted: ChunkState,
}

impl std::fmt::Display for WrongChunk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { buffer, is, wanted } = self;
        write!(f, "buffer {buffer} is {is:?}, and {wanted:?} was expected")
    }
}

impl std::error::Error for WrongChunk {}

/// A chunk of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedChunk {
    /// The buffer that it is read into.
    pub buffer: usize,
    /// Its first byte.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// The chunks of one task: a pure machine, which is told what happens.
#[derive(Clone, Debug)]
pub struct ChunkLine {
    chunk: u64,
    offset: u64,
    left: u64,
    freed: Freed,
    buffers: Vec<ChunkState>,
    /// Buffers whose chunks wait for a stream, in the order in which they were read.
    ready: VecDeque<usize>,
    /// Chunks that were begun and are not computed.
    under_way: usize,
}

impl ChunkLine {
    /// `bytes` from `offset` on, in chunks of `chunk` bytes through so many buffers.
    #[must_use]
    pub fn new(chunk: u64, offset: u64, bytes: u64, buffers: usize, freed: Freed) -> Self {
        Self {
            chunk: chunk.max(1),
            offset,
            left: bytes,
            freed,
            buffers: vec![ChunkState::Free; buffers],
            ready: VecDeque::new(),
            under_way: 0,
        }
    }

    /// Bytes that nobody has begun to read.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.left
    }

    /// Buffers that are free.
    #[must_use]
    pub fn free(&self) -> usize {
        let free = self.buffers.iter();
        free.filter(|state| **state == ChunkState::Free).count()
    }

    /// Whether everything is computed.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.left == 0 && self.under_way == 0
    }

    /// The next chunk, which is about to be read; the last one may be short. `None`: none is left, or no buffer is free.
    pub fn begin_read(&mut self) -> Option<PlacedChunk> {
        let bytes = self.chunk.min(self.left);
        let mut states = self.buffers.iter();
        let buffer = states.position(|state| *state == ChunkState::Free)?;
        if bytes == 0 {
            return None;
        }
        let offset = self.offset;
        self.offset = offset.saturating_add(bytes);
        self.left = self.left.saturating_sub(bytes);
        self.under_way = self.under_way.saturating_add(1);
        self.enter(buffer, ChunkState::Reading);
        Some(PlacedChunk {
            buffer,
            offset,
            bytes,
        })
    }

    /// The chunk is in its buffer.
    ///
    /// # Errors
    ///
    /// Nobody was reading it.
    pub fn read(&mut self, buffer: usize) -> Result<(), WrongChunk> {
        self.leave(buffer, ChunkState::Reading)?;
        self.enter(buffer, ChunkState::Ready);
        self.ready.push_back(buffer);
        Ok(())
    }

    /// A stream takes the oldest chunk that is read.
    pub fn begin_copy(&mut self) -> Option<usize> {
        let buffer = self.ready.pop_front()?;
        self.enter(buffer, ChunkState::Copying);
        Some(buffer)
    }

    /// The chunk is on the device; whether its host buffer is free by that.
    ///
    /// # Errors
    ///
    /// Nobody was copying it.
    pub fn copied(&mut self, buffer: usize) -> Result<bool, WrongChunk> {
        self.leave(buffer, ChunkState::Copying)?;
        let is_free = self.freed == Freed::Copy;
        self.enter(
            buffer,
            match is_free {
                true => ChunkState::Free,
                false => ChunkState::Mapping,
            },
        );
        Ok(is_free)
    }

    /// The chunk that came out of this buffer is computed; whether the buffer is free by that.
    ///
    /// # Errors
    ///
    /// Nobody was computing it.
    pub fn mapped(&mut self, buffer: usize) -> Result<bool, WrongChunk> {
        self.under_way = self.under_way.saturating_sub(1);
        if self.freed == Freed::Copy {
            return Ok(false);
        }
        self.leave(buffer, ChunkState::Mapping)?;
        self.enter(buffer, ChunkState::Free);
        Ok(true)
    }

    fn leave(&self, buffer: usize, wanted: ChunkState) -> Result<(), WrongChunk> {
        let is = self.buffers.get(buffer).copied();
        match is == Some(wanted) {
            true => Ok(()),
            false => Err(WrongChunk { buffer, is, wanted }),
        }
    }

    fn enter(&mut self, buffer: usize, state: ChunkState) {
        if let Some(known) = self.buffers.get_mut(buffer) {
            *known = state;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_free_when_its_chunk_is_copied_or_when_it_is_computed() {
        for (freed, by_copy) in [(Freed::Copy, true), (Freed::Kernel, false)] {
            let mut line = ChunkLine::new(100, 1000, 250, 2, freed);
            let first = line.begin_read().unwrap();
            assert_eq!((first.offset, first.bytes), (1000, 100));
            let second = line.begin_read().unwrap();
            assert_eq!((second.offset, line.begin_read()), (1100, None));
            assert_eq!(line.begin_copy(), None);
            line.read(first.buffer).unwrap();
            assert_eq!(line.begin_copy(), Some(first.buffer));
            assert_eq!(line.copied(first.buffer), Ok(by_copy));
            assert_eq!(line.free(), usize::from(by_copy));
            assert_eq!(line.mapped(first.buffer), Ok(!by_copy));
            // The last is short.
            let last = line.begin_read().unwrap();
            assert_eq!((last.offset, last.bytes, line.left()), (1200, 50, 0));
            for chunk in [second, last] {
                line.read(chunk.buffer).unwrap();
            }
            for chunk in [second, last] {
                assert_eq!(line.begin_copy(), Some(chunk.buffer));
                line.copied(chunk.buffer).unwrap();
                assert!(!line.is_done());
                line.mapped(chunk.buffer).unwrap();
            }
            assert!(line.is_done());
            assert_eq!(line.begin_read(), None);
        }
    }

    #[test]
    fn what_is_not_under_way_does_not_end() {
        let mut line = ChunkLine::new(100, 0, 100, 1, Freed::Kernel);
        let wrong = line.read(0).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "buffer 0 is Some(Free), and Reading was expected"
        );
        assert!(line.copied(7).is_err());
        line.begin_read().unwrap();
        assert!(line.copied(0).is_err());
    }
}
