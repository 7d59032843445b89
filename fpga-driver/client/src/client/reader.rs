//! Results from the output ring.

use super::AcceleratorError;
use super::rings::Rings;
use crate::ring::{OutputBlockState, PacketVerdict};
use crate::status::Status;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a result is made into.
pub trait DeserializePacket: Sized {
    /// Reads a result.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    fn deserialize(result: &[u8]) -> Result<Self, String>;
}

impl DeserializePacket for Vec<u8> {
    fn deserialize(result: &[u8]) -> Result<Self, String> {
        Ok(result.to_vec())
    }
}

/// The output ring: reads block until a result is there.
#[derive(Debug)]
pub struct AcceleratorReader {
    rings: Arc<Rings>,
    next: u64,
}

impl AcceleratorReader {
    pub(super) fn new(rings: Arc<Rings>) -> Self {
        Self { rings, next: 0 }
    }

    /// The next result, and its packet's number.
    ///
    /// # Errors
    ///
    /// The packet has no result, nothing came in time, or the lease is over.
    pub fn read<R: DeserializePacket>(
        &mut self,
        timeout: Duration,
    ) -> Result<(u64, R), AcceleratorError> {
        let result = self.result(Some(timeout))?;
        let PacketVerdict {
            sequence, status, ..
        } = result.verdict;
        if status != Status::Done {
            return Err(AcceleratorError::Packet { sequence, status });
        }
        let value = R::deserialize(&result)
            .map_err(|message| AcceleratorError::Result { sequence, message })?;
        Ok((sequence, value))
    }

    /// The next result, in place; waits for ever without a time-out.
    ///
    /// # Errors
    ///
    /// Nothing came in time, or the lease is over.
    pub fn result(&mut self, timeout: Option<Duration>) -> Result<Answer<'_>, AcceleratorError> {
        let index = self.rings.geometry.index(self.next);
        let rings = &self.rings;
        let until = timeout.map(|timeout| Instant::now() + timeout);
        rings.wait(until, || {
            rings
                .control()
                .move_output(index, OutputBlockState::Ready, OutputBlockState::Reading)
                .then_some(())
        })?;
        let verdict = rings.control().verdict(index);
        self.next += 1;
        Ok(Answer {
            rings: &self.rings,
            index,
            verdict,
        })
    }

    /// Gives back the result that [`Answer::keep`] left.
    pub fn release(&mut self) {
        let last = self.next.saturating_sub(1);
        give_back(&self.rings, self.rings.geometry.index(last));
    }
}

fn give_back(rings: &Rings, index: usize) {
    let control = rings.control();
    control.move_output(index, OutputBlockState::Reading, OutputBlockState::Free);
    if control.starved() {
        rings.ring();
    }
}

/// A result in its block, which is free again when this is dropped.
#[derive(Debug)]
pub struct Answer<'a> {
    rings: &'a Rings,
    index: usize,
    /// What the driver says of it.
    pub verdict: PacketVerdict,
}

impl Answer<'_> {
    /// Leaves the block as it is, for a C program that reads it.
    pub fn keep(self) {
        std::mem::forget(self);
    }

    /// Whether the bytes are those that the card computed.
    pub fn is_whole(&self) -> bool {
        crc32c::crc32c(self) == self.verdict.crc
    }
}

impl std::ops::Deref for Answer<'_> {
    type Target = [u8];

    #[expect(unsafe_code, reason = "a block of shared memory, read in place")]
    fn deref(&self) -> &[u8] {
        let geometry = self.rings.geometry;
        let length = usize::try_from(self.verdict.length).unwrap_or(0);
        let start = geometry.output(self.index);
        // SAFETY: the block is Reading: the driver does not touch it until it is free again.
        unsafe { self.rings.memory.block(start, length.min(geometry.block)) }
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        give_back(self.rings, self.index);
    }
}
