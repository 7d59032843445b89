//! A lane: a connection of its own, from a launcher straight to the client, for one stream of one rank
//! that has much to say.
//!
//! What ranks print goes through the ApplicationMaster (AM), which keeps the order of things but pays
//! for every byte twice. The life of a lane:
//!
//! 1. A client that has been given much opens a door, and tells the AM where ([`crate::wire::Door`]);
//!    the AM tells its launchers. A job that prints little opens none.
//! 2. A launcher whose rank goes on writing fast dials the door. Both show certificates of the job
//!    (TLS 1.3). It sends the lane's number as the first piece; the client answers [`WELCOME`]. Where
//!    no way leads to the door, everything goes on as before.
//! 3. Through the AM, behind all that this stream has said so far, comes a chunk with that number and
//!    without data. When the client has come to it, it reads the lane.
//! 4. An empty piece ends the lane: when the stream has ended or has little to say. The client answers
//!    [`TAKEN`] when all of it has been written, and what the stream says from then on comes through
//!    the AM, first of all a chunk that may be empty.
//! 5. An end that hears nothing of the other for 25 s gives the lane up, which a client whose reader stands
//!    still is no reason for. What had not been taken is lost then; the launcher says so through the AM, by
//!    a chunk that is marked.
//!
//! The launcher's call that carries output to the AM is open all the while, and the AM knows by the two
//! chunks that a lane is under way: it waits for it as it waits for output that comes by itself.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use bytes::Bytes;
use socket2::{SockRef, TcpKeepalive};
use thiserror::Error;

/// The client has heard a lane's number.
pub const WELCOME: u8 = b'w';
/// The client has written all that came by a lane.
pub const TAKEN: u8 = b't';

/// Longest piece, bytes: what is read, encrypted and sent in one turn.
pub const PIECE_MAX: usize = 256 * 1024;

/// Bytes before each piece: its length, little endian.
pub const HEADER: usize = 4;

/// A connection that is silent for so long is asked whether its other end is there, and then so often.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// A lane that is silent for so long has lost its other end.
const LANE_SILENCE: Duration = Duration::from_secs(25);

/// Sets a connection up as a lane, the same at both ends; also others that may be silent for long.
///
/// # Errors
///
/// Those of the kernel.
pub fn set_up(connection: &impl AsFd) -> io::Result<()> {
    keep_alive(connection, LANE_SILENCE)
}

/// Has the kernel end a connection that may be silent, once the machine at its other end has answered nothing for this
/// time.
///
/// # Errors
///
/// Those of the kernel.
pub fn keep_alive(connection: &impl AsFd, silence: Duration) -> io::Result<()> {
    let asked = silence.saturating_sub(KEEPALIVE_AFTER).as_secs();
    let times = asked.div_ceil(KEEPALIVE_INTERVAL.as_secs());
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_AFTER)
        .with_interval(KEEPALIVE_INTERVAL)
        .with_retries(u32::try_from(times).unwrap_or(u32::MAX));
    let connection = SockRef::from(connection);
    connection.set_tcp_nodelay(true)?;
    connection.set_tcp_keepalive(&keepalive)
}

/// Has what was not yet taken forgotten when the connection is closed: it would come behind what goes by
/// another way from then on.
///
/// # Errors
///
/// Those of the kernel.
pub fn abandon(connection: &impl AsFd) -> io::Result<()> {
    SockRef::from(connection).set_linger(Some(Duration::ZERO))
}

/// What stands before a piece of `length` bytes.
#[must_use]
pub fn header(length: usize) -> [u8; HEADER] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}

/// A peer that does not speak so.
#[derive(Debug, Error)]
#[error("a piece of {length} bytes was announced, more than {PIECE_MAX}")]
pub struct PieceError {
    length: usize,
}

/// Cuts what comes by a lane into the pieces that were sent.
#[derive(Debug, Default)]
pub struct Pieces {
    header: Vec<u8>,
    piece: Vec<u8>,
    /// Of the piece, once its header is whole.
    length: Option<usize>,
}

impl Pieces {
    /// Takes bytes as they come, off the front of `data`; gives the next piece that is whole. `None`:
    /// `data` is used up.
    ///
    /// # Errors
    ///
    /// A piece that is too long.
    pub fn next(&mut self, data: &mut &[u8]) -> Result<Option<Bytes>, PieceError> {
        let length = match self.length {
            Some(length) => length,
            None => {
                let missing = HEADER.saturating_sub(self.header.len());
                self.header.extend_from_slice(split_off(data, missing));
                let Ok(header) = <[u8; HEADER]>::try_from(self.header.as_slice()) else {
                    return Ok(None);
                };
                let length = usize::try_from(u32::from_le_bytes(header)).unwrap_or(usize::MAX);
                if length > PIECE_MAX {
                    return Err(PieceError { length });
                }
                self.header.clear();
                self.piece.reserve_exact(length);
                *self.length.insert(length)
            }
        };
        let missing = length.saturating_sub(self.piece.len());
        self.piece.extend_from_slice(split_off(data, missing));
        if self.piece.len() < length {
            return Ok(None);
        }
        self.length = None;
        Ok(Some(std::mem::take(&mut self.piece).into()))
    }
}

/// At most `length` bytes off the front.
fn split_off<'a>(data: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (front, rest) = data.split_at(length.min(data.len()));
    *data = rest;
    front
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(stream: &[u8], step: usize) -> Vec<Bytes> {
        let (mut pieces, mut found) = (Pieces::default(), Vec::new());
        for mut data in stream.chunks(step) {
            while let Some(piece) = pieces.next(&mut data).unwrap() {
                found.push(piece);
            }
        }
        found
    }

    #[test]
    fn pieces_come_as_they_were_sent_however_they_arrive() {
        let long = vec![7; PIECE_MAX];
        let sent: [&[u8]; 5] = [b"one", b"", b"three", &long, b""];
        let stream: Vec<u8> = (sent.iter())
            .flat_map(|piece| [&header(piece.len()), *piece].concat())
            .collect();
        for step in [1, 2, 3, 5, 1000, stream.len()] {
            assert!(all(&stream, step) == sent, "in steps of {step}");
        }
        assert!(all(&stream[..stream.len() - 1], 9) == sent[..4]);
    }

    #[test]
    fn a_piece_that_is_too_long_is_refused_before_there_is_room_for_it() {
        let mut pieces = Pieces::default();
        let error = pieces.next(&mut &header(PIECE_MAX + 1)[..]).unwrap_err();
        assert!(error.to_string().contains("262145"), "{error}");
        assert_eq!(pieces.piece.capacity(), 0);
    }
}
