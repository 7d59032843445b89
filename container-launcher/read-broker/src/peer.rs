//! An engine's connection, which is never waited for.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use gerbil_task::{BROKER_FRAME_MAX, FromEngine, ToEngine};
use policy::read_order::EngineIx;

/// Most that is kept for an engine that does not read, bytes.
const UNSENT_MAX: usize = 64 << 10;
/// Read at a time, bytes; with a frame that is not whole the most that is kept of one.
const PIECE: usize = 4 << 10;

/// Why an engine is parted with.
#[derive(Debug, thiserror::Error)]
pub(super) enum PeerError {
    #[error("it has closed its connection")]
    Closed,
    #[error("a frame of {0} bytes; the longest may have {BROKER_FRAME_MAX}")]
    TooLong(usize),
    #[error("a message that makes no sense: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("it reads nothing of what it is told")]
    Deaf,
    #[error("{0}")]
    Socket(#[from] std::io::Error),
}

/// One engine.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) engine: EngineIx,
    pub(super) stream: UnixStream,
    /// As the kernel says; 0 where it does not.
    pub(super) pid: i32,
    /// By when it has to say hello; `None`: it has.
    pub(super) hello_by: Option<Instant>,
    heard: Vec<u8>,
    unsent: VecDeque<u8>,
}

impl Peer {
    pub(super) fn new(
        engine: EngineIx,
        stream: UnixStream,
        hello_by: Instant,
    ) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        let credentials = rustix::net::sockopt::socket_peercred(&stream).ok();
        Ok(Self {
            engine,
            stream,
            pid: credentials.map_or(0, |of| of.pid.as_raw_nonzero().get()),
            hello_by: Some(hello_by),
            heard: Vec::new(),
            unsent: VecDeque::new(),
        })
    }

    pub(super) fn is_behind(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// What it has said by now.
    pub(super) fn hear(&mut self) -> Result<Vec<FromEngine>, PeerError> {
        let mut piece = [0; PIECE];
        match self.stream.read(&mut piece) {
            Ok(0) => return Err(PeerError::Closed),
            Ok(length) => {
                let piece = piece.get(..length).unwrap_or_default();
                self.heard.extend_from_slice(piece);
            }
            Err(error) if is_later(&error) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                return Err(PeerError::Closed);
            }
            Err(error) => return Err(error.into()),
        }
        let mut messages = Vec::new();
        while let Some((head, rest)) = self.heard.split_first_chunk::<4>() {
            let length = u32::from_le_bytes(*head);
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            if length > BROKER_FRAME_MAX {
                return Err(PeerError::TooLong(length));
            }
            let Some(json) = rest.get(..length) else {
                break;
            };
            messages.push(serde_json::from_slice(json)?);
            self.heard.drain(..length.saturating_add(4));
        }
        Ok(messages)
    }

    /// Says something, now or when the engine reads.
    pub(super) fn tell(&mut self, message: &ToEngine) -> Result<(), PeerError> {
        let json = serde_json::to_vec(message)?;
        let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
        if self.unsent.len().saturating_add(json.len()) > UNSENT_MAX {
            return Err(PeerError::Deaf);
        }
        self.unsent.extend(length.to_le_bytes());
        self.unsent.extend(json);
        self.send()
    }

    /// Sends what the engine has room for.
    pub(super) fn send(&mut self) -> Result<(), PeerError> {
        while !self.unsent.is_empty() {
            let unsent = self.unsent.make_contiguous();
            match self.stream.write(unsent) {
                Ok(0) => return Err(PeerError::Closed),
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_later(&error) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    return Err(PeerError::Closed);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn is_later(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
