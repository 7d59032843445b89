//! TLS over a connection that blocks, opened in the buffer into which the kernel wrote.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};

/// Read at once, bytes.
const READ: usize = 256 * 1024;
/// What is held at most: of an unfinished record of TLS, and what is read behind it.
const HELD: usize = READ + 32 * 1024;
/// What is written at once: the messages of a handshake, or one byte.
const WRITTEN: usize = 16 * 1024;
/// What a launcher may say before it is answered, bytes: its number.
const EARLY: usize = 64;

/// One connection, the server's side.
pub(super) struct Tls {
    connection: UnbufferedServerConnection,
    stream: TcpStream,
    incoming: Vec<u8>,
    /// Where in `incoming` that lies which is still to be opened.
    from: usize,
    to: usize,
    outgoing: Vec<u8>,
    written: usize,
    /// What came with the last message of the handshake.
    early: Vec<u8>,
}

/// What came of looking at what has been read.
enum TlsStep {
    Again,
    ReadOn,
    Ready,
}

impl Tls {
    /// Shakes hands with who shows `certificate` within `deadline`, which holds until
    /// [`Tls::wait_for_ever`].
    pub(super) fn accept(
        stream: TcpStream,
        config: Arc<ServerConfig>,
        certificate: &[u8],
        deadline: Duration,
    ) -> io::Result<Self> {
        let until = Instant::now() + deadline;
        stream.set_write_timeout(Some(deadline))?;
        let connection = UnbufferedServerConnection::new(config).map_err(io::Error::other)?;
        let mut tls = Self {
            connection,
            stream,
            incoming: vec![0; HELD],
            from: 0,
            to: 0,
            outgoing: vec![0; WRITTEN],
            written: 0,
            early: Vec::new(),
        };
        let mut early = Vec::new();
        let mut hear = |data: &[u8]| match early.len() + data.len() {
            0..=EARLY => {
                early.extend_from_slice(data);
                Ok(())
            }
            _ => Err(ErrorKind::InvalidData.into()),
        };
        loop {
            match tls.step(&mut hear, None)? {
                TlsStep::Again => {}
                TlsStep::Ready => break,
                TlsStep::ReadOn => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(ErrorKind::TimedOut.into());
                    }
                    tls.stream.set_read_timeout(Some(left))?;
                    tls.fill()?;
                }
            }
        }
        tls.early = early;
        let shown = tls.connection.peer_certificates().and_then(<[_]>::first);
        match shown.is_some_and(|shown| shown.as_ref() == certificate) {
            true => Ok(tls),
            false => Err(ErrorKind::PermissionDenied.into()),
        }
    }

    /// The launcher is one: it may be silent for as long as its rank is.
    pub(super) fn wait_for_ever(&self) -> io::Result<()> {
        self.stream.set_read_timeout(None)?;
        self.stream.set_write_timeout(None)
    }

    /// Whether the other end has not closed the connection before it said anything more.
    ///
    /// # Errors
    ///
    /// Those of the connection.
    pub(super) fn is_there(&self) -> io::Result<bool> {
        self.stream.set_nonblocking(true)?;
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false)?;
        match peeked {
            Ok(length) => Ok(length > 0),
            Err(error) => Ok(error.kind() == ErrorKind::WouldBlock),
        }
    }

    /// Reads once, and gives `hear` what it brings.
    ///
    /// # Errors
    ///
    /// Those of the connection, its end too, and those of `hear`.
    pub(super) fn read(&mut self, mut hear: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let early = std::mem::take(&mut self.early);
        if !early.is_empty() {
            return hear(&early);
        }
        self.fill()?;
        loop {
            match self.step(&mut hear, None)? {
                TlsStep::Again => {}
                TlsStep::ReadOn | TlsStep::Ready => return Ok(()),
            }
        }
    }

    /// Sends `data`, when nothing lies unread.
    pub(super) fn send(&mut self, data: &[u8]) -> io::Result<()> {
        let mut unread = |_: &[u8]| Err(ErrorKind::InvalidData.into());
        loop {
            match self.step(&mut unread, Some(data))? {
                TlsStep::Again => {}
                TlsStep::Ready => return self.flush(),
                TlsStep::ReadOn => return Err(ErrorKind::InvalidData.into()),
            }
        }
    }

    /// Goes on as far as it goes without the network; encrypts `data` when it may be sent.
    fn step(
        &mut self,
        hear: &mut dyn FnMut(&[u8]) -> io::Result<()>,
        data: Option<&[u8]>,
    ) -> io::Result<TlsStep> {
        let unread = self.incoming.get_mut(self.from..self.to);
        let status = self
            .connection
            .process_tls_records(unread.unwrap_or_default());
        let UnbufferedStatus {
            mut discard, state, ..
        } = status;
        let step = match state.map_err(io::Error::other)? {
            ConnectionState::EncodeTlsData(mut data) => {
                let room = self.outgoing.get_mut(self.written..).unwrap_or_default();
                self.written += data.encode(room).map_err(too_much)?;
                TlsStep::Again
            }
            ConnectionState::TransmitTlsData(data) => {
                let whole = self.outgoing.get(..self.written).unwrap_or_default();
                self.stream.write_all(whole)?;
                self.written = 0;
                data.done();
                TlsStep::Again
            }
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    let record = record.map_err(io::Error::other)?;
                    discard += record.discard;
                    hear(record.payload)?;
                }
                TlsStep::Again
            }
            ConnectionState::WriteTraffic(mut traffic) => {
                if let Some(data) = data {
                    let room = self.outgoing.get_mut(self.written..).unwrap_or_default();
                    self.written += traffic.encrypt(data, room).map_err(too_long)?;
                }
                TlsStep::Ready
            }
            ConnectionState::BlockedHandshake => TlsStep::ReadOn,
            ConnectionState::PeerClosed | ConnectionState::Closed => {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            _ => return Err(ErrorKind::Unsupported.into()),
        };
        self.from += discard;
        if self.from >= self.to {
            (self.from, self.to) = (0, 0);
        }
        Ok(step)
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = std::mem::take(&mut self.written);
        let whole = self.outgoing.get(..written).unwrap_or_default();
        self.stream.write_all(whole)
    }

    /// Reads behind what is there.
    fn fill(&mut self) -> io::Result<()> {
        if self.from > 0 {
            self.incoming.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
        let end = self.incoming.len().min(self.to + READ);
        let room = self.incoming.get_mut(self.to..end).unwrap_or_default();
        match self.stream.read(room) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                self.to += read;
                Ok(())
            }
            // A signal broke it off, and the next step reads again.
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn too_much(error: EncodeError) -> io::Error {
    io::Error::other(format!("{error:?}"))
}

fn too_long(error: EncryptError) -> io::Error {
    io::Error::other(format!("{error:?}"))
}
