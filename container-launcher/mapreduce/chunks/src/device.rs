//! What chunks are copied to and computed on.

use std::io;

use crate::{ChunkBuffer, Span};

/// A device, of which each task has two streams.
pub trait Device: Sync {
    /// A stream with room for a chunk of so many bytes on the device. It is made, used and dropped by one thread.
    ///
    /// # Errors
    ///
    /// The device has no room.
    fn stream(&self, bytes: usize) -> io::Result<Box<dyn Stream + '_>>;

    /// [Pins](ChunkBuffer::pin) the host buffers, where copies gain by that.
    ///
    /// # Errors
    ///
    /// That is refused: copies do not overlap, and the engine goes on.
    fn pin(&self, buffers: &mut [ChunkBuffer]) -> io::Result<()> {
        let _ = buffers;
        Ok(())
    }
}

/// A chunk at a time: copied to the device, computed, and what came of it copied back.
pub trait Stream {
    /// Copies the chunk that begins at `offset` of the file to the device; from when to when the device did, without its
    /// waiting for other streams.
    ///
    /// # Errors
    ///
    /// The device has failed.
    fn copy(&mut self, offset: u64, chunk: &[u8]) -> io::Result<Span>;

    /// Computes the chunk that was copied last; from when to when the device did.
    ///
    /// # Errors
    ///
    /// The device has failed.
    fn map(&mut self) -> io::Result<Span>;

    /// Copies back what the kernel made, and hands it on; from when to when it was copied. The same moment twice: there
    /// is nothing.
    ///
    /// # Errors
    ///
    /// The device has failed, or nobody takes what it made.
    fn copy_back(&mut self) -> io::Result<Span>;
}
