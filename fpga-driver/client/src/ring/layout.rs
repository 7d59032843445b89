//! Where things lie in a lease's memory.

use super::memory::SharedMemory;
use crate::packet::HEADER_LENGTH;
use crate::status::Status;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of the control page.
pub const CONTROL: usize = 4096;
/// The first bytes of the control page.
pub const MAGIC: [u8; 4] = *b"HAPR";
/// The layout that [`super`] draws.
pub const VERSION: u16 = 1;
/// Blocks that the control page has room for.
pub const MOST_BLOCKS: usize = 16;
/// No block is larger, bytes: a lease's memory stays below 1 GiB.
pub const LARGEST_BLOCK: usize = 32 << 20;

const ENDED: usize = 16;
const STARVED: usize = 20;
const INPUT_STATES: usize = 64;
const OUTPUT_STATES: usize = 128;
const VERDICTS: usize = 256;
const VERDICT: usize = 32;
const HEADERS: usize = 1024;

/// State of an input block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[expect(missing_docs, reason = "the drawing above says it")]
pub enum InputBlockState {
    Free = 0,
    Filling = 1,
    Queued = 2,
    Sending = 3,
}

/// State of an output block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[expect(missing_docs, reason = "the drawing above says it")]
pub enum OutputBlockState {
    Free = 0,
    Reserved = 1,
    Ready = 2,
    Reading = 3,
}

/// Sizes of a lease's rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Geometry {
    /// Blocks of each ring.
    pub blocks: usize,
    /// Bytes of a block, a multiple of 4096.
    pub block: usize,
}

impl Default for Geometry {
    /// 8 blocks of 1 MiB: a board is kept busy while a client prepares, and 20 leases take 320 MiB.
    fn default() -> Self {
        Self {
            blocks: 8,
            block: 1 << 20,
        }
    }
}

impl Geometry {
    /// Whether the control page can describe it.
    pub fn is_possible(self) -> bool {
        (1..=MOST_BLOCKS).contains(&self.blocks)
            && (4096..=LARGEST_BLOCK).contains(&self.block)
            && self.block.is_multiple_of(4096)
    }

    /// Bytes of the whole memory.
    pub fn length(self) -> usize {
        CONTROL + 2 * self.blocks * self.block
    }

    /// The block in which packet number `n` lies, and its result.
    pub fn index(self, n: u64) -> usize {
        usize::try_from(n % self.blocks as u64).unwrap_or(0)
    }

    /// Where input block `index` begins.
    pub fn input(self, index: usize) -> usize {
        CONTROL + index * self.block
    }

    /// Where output block `index` begins.
    pub fn output(self, index: usize) -> usize {
        CONTROL + (self.blocks + index) * self.block
    }
}

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketVerdict {
    /// Bytes of the result.
    pub length: u64,
    /// Number of the packet in its lease.
    pub sequence: u64,
    /// How it went.
    pub status: Status,
    /// CRC-32C of the result.
    pub crc: u32,
}

/// The control page, read and written one word at a time.
///
/// Every function is total: a block that is not there has no state.
#[derive(Debug, Clone, Copy)]
pub struct Control<'a>(pub &'a SharedMemory);

impl Control<'_> {
    /// Writes what the page begins with.
    pub fn describe(self, geometry: Geometry) {
        let mut start = [0; 16];
        start[..4].copy_from_slice(&MAGIC);
        start[4..6].copy_from_slice(&VERSION.to_le_bytes());
        let blocks = u16::try_from(geometry.blocks).unwrap_or(0);
        start[6..8].copy_from_slice(&blocks.to_le_bytes());
        start[8..].copy_from_slice(&(geometry.block as u64).to_le_bytes());
        self.0.write(0, &start);
    }

    /// Reads what the page begins with.
    pub fn geometry(self) -> Option<Geometry> {
        let mut start = [0; 16];
        self.0.read(0, &mut start);
        let (head, block) = start.split_at(8);
        let blocks = u16::from_le_bytes([head[6], head[7]]);
        let version = u16::from_le_bytes([head[4], head[5]]);
        let geometry = Geometry {
            blocks: blocks.into(),
            block: usize::try_from(u64::from_le_bytes(block.try_into().ok()?)).ok()?,
        };
        (head[..4] == MAGIC
            && version == VERSION
            && geometry.is_possible()
            && geometry.length() == self.0.length())
        .then_some(geometry)
    }

    /// Whether the driver looks no more.
    pub fn ended(self) -> bool {
        self.load(ENDED) != 0
    }

    /// Says that the driver looks no more.
    pub fn end(self) {
        self.store(ENDED, 1);
    }

    /// Whether the driver waits for an output block: whoever frees one then rings.
    pub fn starved(self) -> bool {
        self.load(STARVED) != 0
    }

    /// Says whether the driver waits for an output block.
    pub fn set_starved(self, starved: bool) {
        self.store(STARVED, starved.into());
    }

    /// The word of an input block.
    pub fn input(self, index: usize) -> u32 {
        self.load(INPUT_STATES + 4 * index)
    }

    /// The word of an output block.
    pub fn output(self, index: usize) -> u32 {
        self.load(OUTPUT_STATES + 4 * index)
    }

    /// Moves an input block on; false where it was not in `from`.
    pub fn move_input(self, index: usize, from: InputBlockState, to: InputBlockState) -> bool {
        self.exchange(INPUT_STATES + 4 * index, from as u32, to as u32)
    }

    /// Moves an output block on; false where it was not in `from`.
    pub fn move_output(self, index: usize, from: OutputBlockState, to: OutputBlockState) -> bool {
        self.exchange(OUTPUT_STATES + 4 * index, from as u32, to as u32)
    }

    /// Copies the header of an input block.
    pub fn header(self, index: usize) -> [u8; HEADER_LENGTH] {
        let mut header = [0; HEADER_LENGTH];
        self.0.read(HEADERS + HEADER_LENGTH * index, &mut header);
        header
    }

    /// Writes the header of an input block.
    pub fn set_header(self, index: usize, header: &[u8; HEADER_LENGTH]) {
        self.0.write(HEADERS + HEADER_LENGTH * index, header);
    }

    /// Reads what became of the packet in an output block.
    pub fn verdict(self, index: usize) -> PacketVerdict {
        let mut bytes = [0; VERDICT];
        self.0.read(VERDICTS + VERDICT * index, &mut bytes);
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        PacketVerdict {
            length: u64_at(0),
            sequence: u64_at(8),
            status: Status::of(u32_at(16), u32_at(20)),
            crc: u32_at(24),
        }
    }

    /// Writes what became of the packet in an output block.
    pub fn set_verdict(self, index: usize, verdict: &PacketVerdict) {
        let mut bytes = [0; VERDICT];
        bytes[..8].copy_from_slice(&verdict.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&verdict.sequence.to_le_bytes());
        let (status, field) = verdict.status.words();
        bytes[16..20].copy_from_slice(&status.to_le_bytes());
        bytes[20..24].copy_from_slice(&field.to_le_bytes());
        bytes[24..28].copy_from_slice(&verdict.crc.to_le_bytes());
        self.0.write(VERDICTS + VERDICT * index, &bytes);
    }

    fn word(&self, offset: usize) -> Option<&AtomicU32> {
        self.0.word(offset)
    }

    fn load(self, offset: usize) -> u32 {
        self.word(offset)
            .map_or(u32::MAX, |word| u32::from_le(word.load(Ordering::SeqCst)))
    }

    fn store(self, offset: usize, value: u32) {
        if let Some(word) = self.word(offset) {
            word.store(value.to_le(), Ordering::SeqCst);
        }
    }

    fn exchange(self, offset: usize, from: u32, to: u32) -> bool {
        self.word(offset).is_some_and(|word| {
            word.compare_exchange(from.to_le(), to.to_le(), Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_page_has_room_for_all() {
        const { assert!(INPUT_STATES + 4 * MOST_BLOCKS <= OUTPUT_STATES) };
        const { assert!(OUTPUT_STATES + 4 * MOST_BLOCKS <= VERDICTS) };
        const { assert!(VERDICTS + VERDICT * MOST_BLOCKS <= HEADERS) };
        const { assert!(HEADERS + HEADER_LENGTH * MOST_BLOCKS <= CONTROL) };
    }

    #[test]
    fn the_page_says_its_sizes() {
        let geometry = Geometry {
            blocks: 3,
            block: 8192,
        };
        let memory = SharedMemory::create(geometry.length()).unwrap();
        let control = Control(&memory);
        assert_eq!(control.geometry(), None);
        control.describe(geometry);
        assert_eq!(control.geometry(), Some(geometry));
        assert_eq!(geometry.output(2) + geometry.block, geometry.length());
        assert!(control.move_input(2, InputBlockState::Free, InputBlockState::Filling));
        assert!(!control.move_input(2, InputBlockState::Free, InputBlockState::Filling));
        assert_eq!(control.input(1 << 20), u32::MAX, "no such block");
        let verdict = PacketVerdict {
            length: 5,
            sequence: 6,
            status: Status::Lost,
            crc: 7,
        };
        control.set_verdict(1, &verdict);
        assert_eq!(control.verdict(1), verdict);
    }
}
