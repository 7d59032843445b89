//! The registers of a card, and what every board can do.
//!
//! Two stages (§3.4 of the paper): the driver polls STATE until the card is ready and writes the
//! header's address, its length and the doorbell; the card pulls the header, then the data, and raises
//! *sent*; it computes, writes the result and raises *result*.  An interrupt only says that the IRQ
//! register is worth reading: one that comes late, after a reset, finds it empty.
//!
//! ```text
//! 00 id "HAPB"       10 STATE             20 header length    30 result length   40 cycles
//! 04 version         14 COMMAND           24 doorbell         34 error           44 CRC of the result
//! 08 functions       18 header address    28 IRQ              38 loaded model      48 its sequence
//!                    1c   its upper half  2c acknowledge      3c   its upper half
//! ```
//!
//! A card raises each of *sent* and *result* again only after the last one was acknowledged, and
//! presents results in the order of the doorbells.  Beside a result stands the sequence of its packet
//! (the lower half): after a card has forgotten some, the next result is not taken for theirs.

pub mod card;
pub mod check;
pub mod emulate;
pub mod exchange;
pub mod fault;
pub mod model;
pub mod rtl;
pub mod xdma;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::packet::HEADER_LENGTH;
use crate::profile::{BoardKind, BoardProfile};

/// The id register: "HAPB".
pub const ID: u32 = u32::from_le_bytes(*b"HAPB");
/// The registers drawn above.
pub const VERSION: u32 = 1;
/// Packets that a driver may have placed and not collected.
pub const SLOTS: usize = 3;

/// Takes a header.
pub const READY: u32 = 0;
/// Takes none for now.
pub const BUSY: u32 = 1;
/// Takes none before a reset.
pub const ERROR: u32 = 2;

/// COMMAND: forget all packets and tables.
pub const RESET: u32 = 1;

/// IRQ bit: header and data of a packet are on the card.
pub const SENT: u32 = 1;
/// IRQ bit: a result is there.
pub const RESULT: u32 = 2;

/// What the error register says of the result that is presented.
pub mod error {
    /// Nothing is wrong.
    pub const NONE: u32 = 0;
    /// The header arrived damaged.
    pub const HEADER: u32 = 1;
    /// The data arrived damaged.
    pub const DATA_CRC: u32 = 2;
    /// The model is not loaded.
    pub const NO_MODEL: u32 = 3;
    /// The data names what does not exist.
    pub const DATA: u32 = 4;
    /// More centroids or dimensions than the card has room for.
    pub const TOO_LARGE: u32 = 5;
}

/// A register, by its offset in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[expect(missing_docs, reason = "the table above")]
pub enum Register {
    Id = 0x00,
    Version = 0x04,
    Functions = 0x08,
    State = 0x10,
    Command = 0x14,
    HeaderAddress = 0x18,
    HeaderAddressHigh = 0x1c,
    HeaderLength = 0x20,
    Doorbell = 0x24,
    Irq = 0x28,
    Acknowledge = 0x2c,
    ResultLength = 0x30,
    Error = 0x34,
    Model = 0x38,
    ModelHigh = 0x3c,
    Cycles = 0x40,
    ResultCrc = 0x44,
    ResultSequence = 0x48,
}

/// Bytes that the registers take.
pub const REGISTERS: usize = 0x4c;

/// Why a board cannot be used any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// A device file did not do what it should.
    #[error("{what} {path}: {source}")]
    Device {
        /// What was tried.
        what: &'static str,
        /// The device file.
        path: String,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// Another process holds the board.
    #[error("board {board} is held by another fpgad ({lock} is locked)")]
    Held {
        /// The board's name.
        board: String,
        /// The file that is locked.
        lock: String,
    },
    /// The registers are not those of a card that this driver knows.
    #[error(
        "{board} is no card of ours: its id is {id:#010x}, version {version}; this driver knows {ID:#010x}, version {VERSION}"
    )]
    Stranger {
        /// The board's name.
        board: String,
        /// What the id register said.
        id: u32,
        /// What the version register said.
        version: u32,
    },
    /// This build cannot drive such a board.
    #[error("{board}: {reason}")]
    NotBuilt {
        /// The board's name.
        board: String,
        /// What is missing, and how to get it.
        reason: String,
    },
}

/// Where the card finds the parts of a packet, on its own bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// Of the header.
    pub header: u64,
    /// Of the data.
    pub data: u64,
    /// Of the result.
    pub result: u64,
}

/// A card, or what behaves like one.
///
/// One thread sends and another receives; registers may be touched by both.
pub trait Board: Send + Sync + fmt::Debug {
    /// Reads a register.
    ///
    /// # Errors
    ///
    /// The device is gone.
    fn read(&self, register: Register) -> Result<u32, BoardError>;

    /// Writes a register.
    ///
    /// # Errors
    ///
    /// The device is gone.
    fn write(&self, register: Register, value: u32) -> Result<(), BoardError>;

    /// Waits for an interrupt until then, or for ever; false where none came.
    ///
    /// # Errors
    ///
    /// The device is gone.
    fn wait(&self, until: Option<Instant>) -> Result<bool, BoardError>;

    /// Lets [`Board::wait`] return.
    fn wake(&self);

    /// Makes header and data of a packet reachable for the card, at [`addresses`].
    ///
    /// # Errors
    ///
    /// The device is gone.
    fn place(
        &self,
        slot: usize,
        header: &[u8; HEADER_LENGTH],
        data: &Arc<Vec<u8>>,
    ) -> Result<(), BoardError>;

    /// Hands over the first `length` bytes of the result that is presented, which is this slot's.
    ///
    /// # Errors
    ///
    /// The device is gone.
    fn collect(
        &self,
        slot: usize,
        length: usize,
        into: &mut dyn FnMut(&[u8]),
    ) -> Result<(), BoardError>;
}

/// Room on the card's bus for a slot: header, data, result, each in a window of its own.
const WINDOW: u64 = 64 << 20;

/// Where a slot's packet lies on the card's bus.
pub fn addresses(slot: usize) -> Addresses {
    let start = slot as u64 * 2 * WINDOW;
    Addresses {
        header: start,
        data: start + 4096,
        result: start + WINDOW,
    }
}

/// The slot whose header is at this address.
pub fn slot_of(header: u64) -> Option<usize> {
    (0..SLOTS).find(|&slot| addresses(slot).header == header)
}

/// Opens the board that a profile describes.
///
/// # Errors
///
/// The device cannot be opened, or this build cannot drive it.
pub fn open(profile: &BoardProfile) -> Result<Box<dyn Board>, BoardError> {
    let card = |engine: Box<dyn card::Engine>| {
        let orders = profile.faults.clone();
        Box::new(card::Card::new(engine, profile.timing, orders)) as Box<dyn Board>
    };
    match (profile.kind, &profile.path) {
        (BoardKind::Model, _) => Ok(card(Box::new(model::Model))),
        (BoardKind::Rtl, _) => Ok(card(rtl::engine(&profile.name)?)),
        (BoardKind::Xdma, Some(path)) => Ok(Box::new(xdma::Xdma::open(path)?)),
        (BoardKind::Xdma, None) => Err(BoardError::NotBuilt {
            board: profile.name.clone(),
            reason: "it has no path".to_owned(),
        }),
    }
}
