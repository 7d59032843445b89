//! One packet to a board and its result back, without a driver: for proving boards.

use super::{Board, READY};
use super::{BoardError, RESULT, Register, SENT, addresses, error};
use crate::function::shape;
use crate::packet::{Field, HEADER_LENGTH, Header};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchanged {
    /// The result.
    pub result: Vec<u8>,
    /// The error register.
    pub error: u32,
    /// Cycles, as the card says.
    pub cycles: u32,
    /// From the doorbell to *sent*.
    pub sent: Duration,
    /// From the doorbell to *result*.
    pub done: Duration,
}

/// Why nothing came back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The device is gone.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The header is none.
    #[error("the header's {0} is wrong")]
    Header(Field),
    /// Nothing happened in time.
    #[error("{what} for {waited:?}")]
    Silent {
        /// What was waited for.
        what: &'static str,
        /// For how long it was waited for.
        waited: Duration,
    },
    /// The result is not what the card says it is.
    #[error(
        "a result of {length} bytes (expected {expected}) with CRC {found:#010x}, not {said:#010x}"
    )]
    Damaged {
        /// Bytes, as the card says.
        length: u32,
        /// Bytes that this packet's result has.
        expected: usize,
        /// CRC of what was read.
        found: u32,
        /// CRC, as the card says.
        said: u32,
    },
}

/// Sends one packet through slot 0 and waits for its result; addresses and checksum are filled in.
///
/// # Errors
///
/// The board does not answer, or not as it should.
pub fn exchange(
    board: &dyn Board,
    header: &Header,
    data: &Arc<Vec<u8>>,
    patience: Duration,
) -> Result<Exchanged, ExchangeError> {
    let at = addresses(0);
    let mut header = Header {
        data_address: at.data,
        data_length: data.len() as u64,
        result_address: at.result,
        result_capacity: u64::from(u32::MAX),
        data_crc: crc32c::crc32c(data),
        ..*header
    };
    let shape = shape(&header).map_err(ExchangeError::Header)?;
    header.result_capacity = shape.result as u64;
    let silent = |what| ExchangeError::Silent {
        what,
        waited: patience,
    };

    let until = Instant::now() + patience;
    while board.read(Register::State)? != READY {
        if Instant::now() > until {
            return Err(silent("STATE was not ready"));
        }
        std::thread::park_timeout(Duration::from_micros(50));
    }
    board.place(0, &header.encode(), data)?;
    let began = Instant::now();
    let until = began + patience;
    let half = |shift: u32| u32::try_from((at.header >> shift) & 0xffff_ffff).unwrap_or(0);
    board.write(Register::HeaderAddress, half(0))?;
    board.write(Register::HeaderAddressHigh, half(32))?;
    let length = u32::try_from(HEADER_LENGTH).unwrap_or(0);
    board.write(Register::HeaderLength, length)?;
    board.write(Register::Doorbell, 1)?;

    let mut sent = None;
    loop {
        if !board.wait(Some(until))? && Instant::now() >= until {
            return Err(silent(if sent.is_none() {
                "no interrupt (sent)"
            } else {
                "no interrupt (result)"
            }));
        }
        let irq = board.read(Register::Irq)?;
        if irq & SENT != 0 {
            sent = Some(began.elapsed());
            board.write(Register::Acknowledge, SENT)?;
        }
        if irq & RESULT == 0 {
            continue;
        }
        let done = began.elapsed();
        let error = board.read(Register::Error)?;
        let length = board.read(Register::ResultLength)?;
        let said = board.read(Register::ResultCrc)?;
        let expected = if error == error::NONE {
            shape.result
        } else {
            0
        };
        let mut result = Vec::with_capacity(expected);
        if usize::try_from(length).is_ok_and(|length| length == expected) {
            board.collect(0, expected, &mut |bytes| result.extend_from_slice(bytes))?;
        }
        board.write(Register::Acknowledge, RESULT)?;
        let found = crc32c::crc32c(&result);
        if result.len() != expected || found != said {
            return Err(ExchangeError::Damaged {
                length,
                expected,
                found,
                said,
            });
        }
        return Ok(Exchanged {
            result,
            error,
            cycles: board.read(Register::Cycles)?,
            sent: sent.unwrap_or(done),
            done,
        });
    }
}
