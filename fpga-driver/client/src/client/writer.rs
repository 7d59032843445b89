//! Packets into the input ring.

use super::AcceleratorError;
use super::rings::Rings;
use crate::function::{self, TABLES_PER_LEASE};
use crate::packet::Header;
use crate::ring::{Geometry, InputBlockState};
use crate::work::Work;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What becomes a packet.
pub trait SerializePacket {
    /// Writes the packet's data into a block, and says what the header shall say of it.
    ///
    /// # Errors
    ///
    /// It does not fit into the block, or a number of it does not fit into the header.
    fn serialize(&self, block: &mut [u8]) -> Result<Layout, Unfit>;
}

/// Why something cannot become a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It does not fit into the block: the bytes that it needs.
    #[error("{0} bytes do not fit into a block")]
    Block(usize),
    /// The header has no room for a number.
    #[error(
        "{number} {what} are more than {most}, the most that the header of a packet can say: use fewer"
    )]
    Header {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        number: usize,
        /// How many the header can say.
        most: u16,
    },
}

impl Unfit {
    /// The header's dimension, which counts `what`.
    ///
    /// # Errors
    ///
    /// The number is too large for the header.
    pub fn dimension(what: &'static str, number: usize) -> Result<u16, Self> {
        u16::try_from(number).map_err(|_beyond| Self::Header {
            what,
            number,
            most: u16::MAX,
        })
    }
}

/// What a header says of data; addresses, sequence and checksum are the writer's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of the block that are data.
    pub length: usize,
    /// The header's other fields; those that the writer knows may be zero.
    pub header: Header,
}

/// The input ring: writes block until a block is free.
#[derive(Debug)]
pub struct AcceleratorWriter {
    rings: Arc<Rings>,
    next: u64,
    /// Models of the tables that were sent, and their classes, oldest first.
    tables: Vec<(u64, usize)>,
}

impl AcceleratorWriter {
    pub(super) fn new(rings: Arc<Rings>) -> Self {
        Self {
            rings,
            next: 0,
            tables: Vec::new(),
        }
    }

    /// Sizes of the rings.
    pub fn geometry(&self) -> Geometry {
        self.rings.geometry
    }

    /// Sends a packet; its number, with which its result comes.
    ///
    /// # Errors
    ///
    /// The packet does not fit into a block or its header, it asks for too much work, or the lease is over.
    pub fn write(&mut self, packet: &impl SerializePacket) -> Result<u64, AcceleratorError> {
        let mut block = self.block(None)?;
        let room = block.len();
        match packet.serialize(&mut block) {
            Ok(layout) => block.send(&layout),
            Err(Unfit::Block(needed)) => Err(AcceleratorError::TooLarge {
                needed,
                block: room,
            }),
            Err(unfit) => Err(unfit.into()),
        }
    }

    /// The next block, to be filled in place; waits until one is free, for ever without a time-out.
    ///
    /// # Errors
    ///
    /// None came free in time, or the lease is over.
    pub fn block(&mut self, timeout: Option<Duration>) -> Result<Block<'_>, AcceleratorError> {
        let index = self.rings.geometry.index(self.next);
        let rings = &self.rings;
        let until = timeout.map(|timeout| Instant::now() + timeout);
        rings.wait(until, || {
            rings
                .control()
                .move_input(index, InputBlockState::Free, InputBlockState::Filling)
                .then_some(())
        })?;
        Ok(Block {
            writer: self,
            index,
            sent: false,
        })
    }

    /// Refuses a packet that the driver would refuse for its work.  The driver alone knows the tables of a
    /// lease that was inherited, and it answers all other faults of a header.
    fn check_work(&mut self, header: &Header) -> Result<(), AcceleratorError> {
        let Ok(shape) = function::shape(header) else {
            return Ok(());
        };
        let table = self.tables.iter().find(|it| it.0 == shape.model);
        Work::of(&shape, table.map_or(0, |it| it.1)).allowed()?;
        if shape.load {
            self.tables.retain(|it| it.0 != shape.model);
            if self.tables.len() == TABLES_PER_LEASE {
                self.tables.remove(0);
            }
            self.tables.push((shape.model, shape.k));
        }
        Ok(())
    }

    /// The block that [`Block::keep`] left.
    pub fn resume(&mut self) -> Block<'_> {
        let index = self.rings.geometry.index(self.next);
        Block {
            writer: self,
            index,
            sent: false,
        }
    }
}

/// A free block of the input ring.  Dropped unsent, it is free again.
#[derive(Debug)]
pub struct Block<'a> {
    writer: &'a mut AcceleratorWriter,
    index: usize,
    sent: bool,
}

impl Block<'_> {
    /// Leaves the block as it is, for a C program that fills it.
    pub fn keep(self) {
        std::mem::forget(self);
    }

    /// Queues what was written; its number.
    ///
    /// # Errors
    ///
    /// The layout speaks of more than the block holds, or asks for too much work.
    pub fn send(mut self, layout: &Layout) -> Result<u64, AcceleratorError> {
        let geometry = self.writer.rings.geometry;
        let Some(data) = self.get(..layout.length) else {
            return Err(AcceleratorError::TooLarge {
                needed: layout.length,
                block: geometry.block,
            });
        };
        let data_crc = crc32c::crc32c(data);
        let sequence = self.writer.next;
        let header = Header {
            sequence,
            data_address: geometry.input(self.index) as u64,
            data_length: layout.length as u64,
            result_address: geometry.output(self.index) as u64,
            result_capacity: geometry.block as u64,
            data_crc,
            ..layout.header
        };
        self.writer.check_work(&header)?;
        let rings = &self.writer.rings;
        rings.control().set_header(self.index, &header.encode());
        rings.control().move_input(
            self.index,
            InputBlockState::Filling,
            InputBlockState::Queued,
        );
        rings.ring();
        self.sent = true;
        self.writer.next += 1;
        Ok(sequence)
    }
}

impl std::ops::Deref for Block<'_> {
    type Target = [u8];

    #[expect(unsafe_code, reason = "a block of shared memory, read in place")]
    fn deref(&self) -> &[u8] {
        let geometry = self.writer.rings.geometry;
        // SAFETY: the block is Filling: the driver does not touch it, and this is its one owner.
        unsafe {
            self.writer
                .rings
                .memory
                .block(geometry.input(self.index), geometry.block)
        }
    }
}

impl std::ops::DerefMut for Block<'_> {
    #[expect(unsafe_code, reason = "a block of shared memory, filled in place")]
    fn deref_mut(&mut self) -> &mut [u8] {
        let geometry = self.writer.rings.geometry;
        // SAFETY: as above; and the borrow is the only one.
        unsafe {
            self.writer
                .rings
                .memory
                .block_mut(geometry.input(self.index), geometry.block)
        }
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        if !self.sent {
            self.writer.rings.control().move_input(
                self.index,
                InputBlockState::Filling,
                InputBlockState::Free,
            );
        }
    }
}
