//! What chunks are copied to and computed on.

use std::io;

use crate::Span;

/// A device, of which each task has two streams.
pub trait Device: Sync {
    /// A stream with room for a chunk of so many bytes on the device.
    ///
    /// # Errors
    ///
    /// The device has no room.
    fn stream(&self, bytes: usize) -> io::Result<Box<dyn Stream + '_>>;
}

/// A chunk at a time, copied and then computed.
pub trait Stream: Send {
    /// Copies a chunk to the device; from when to when the device did, without its waiting for other streams.
    ///
    /// # Errors
    ///
    /// The device has failed.
    fn copy(&mut self, chunk: &[u8]) -> io::Result<Span>;

    /// Computes the chunk that was copied last; from when to when the device did.
    ///
    /// # Errors
    ///
    /// The device has failed.
    fn map(&mut self) -> io::Result<Span>;
}
