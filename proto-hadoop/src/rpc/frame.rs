//! Frames off the wire: a length that is checked before anything is allocated for it.

use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

/// Longest request. Hadoop 2.10 takes 64 MiB (`ipc.maximum.data.length`), 3.x takes 128, and both
/// cut a longer one without a word.
pub(crate) const REQUEST_LIMIT: usize = 64 << 20;

/// Longest answer: `ipc.maximum.response.length` of stock clients.
pub(crate) const RESPONSE_LIMIT: usize = 128 << 20;

/// A buffer grows at most by this much ahead of the bytes that have arrived, whatever length the
/// peer announced.
const READ_AHEAD: usize = 64 << 10;

/// Why no frame came.
#[derive(Debug)]
pub(crate) enum FrameError {
    /// The connection ended; between frames this is `UnexpectedEof` too.
    Io(io::Error),
    /// The first bytes are no frame of this protocol.
    Foreign { found: String },
    /// A length beyond the limit.
    TooLong { length: usize },
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads frames of one connection.
#[derive(Debug)]
pub(crate) struct FrameReader<R> {
    reader: R,
    buffer: BytesMut,
    /// No frame has come yet, so the peer may be anything.
    first: bool,
    limit: usize,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: BytesMut::new(),
            first: true,
            limit: RESPONSE_LIMIT,
        }
    }

    /// Of a client, whose opening bytes have been read and who may send frames up to `limit`.
    pub(crate) fn of_client(reader: R, limit: usize) -> Self {
        Self {
            first: false,
            limit,
            ..Self::new(reader)
        }
    }

    /// The next frame, when it begins within `idle` and is whole within `whole` after that.
    pub(crate) async fn next_within(
        &mut self,
        idle: Duration,
        whole: Duration,
    ) -> Result<Bytes, FrameError> {
        let late = |_elapsed| FrameError::Io(io::ErrorKind::TimedOut.into());
        timeout(idle, self.fill(1)).await.map_err(late)??;
        timeout(whole, self.next()).await.map_err(late)?
    }

    /// The body of the next frame.
    pub(crate) async fn next(&mut self) -> Result<Bytes, FrameError> {
        self.fill(4).await?;
        if self.first {
            self.recognise().await?;
            self.first = false;
        }
        let length = checked_length(&self.buffer, self.limit)?;
        self.buffer.advance(4);
        self.fill(length).await?;
        Ok(self.buffer.split_to(length).freeze())
    }

    /// Reads until `wanted` bytes are there.
    async fn fill(&mut self, wanted: usize) -> Result<(), FrameError> {
        while self.buffer.len() < wanted {
            let ahead = (wanted - self.buffer.len()).min(READ_AHEAD);
            self.buffer.reserve(ahead);
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                let inside = if self.buffer.is_empty() {
                    ""
                } else {
                    " inside a message"
                };
                let words = format!("the server closed the connection{inside}");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, words).into());
            }
        }
        Ok(())
    }

    /// Names what is known to answer in other ways.
    async fn recognise(&mut self) -> Result<(), FrameError> {
        let found = match self.buffer.get(..4).unwrap_or_default() {
            b"HTTP" => "it answered HTTP, so it may be a web port".to_owned(),
            b"SSH-" => "it answered as an SSH server".to_owned(),
            [0xff, 0xff, 0xff, 0xff] => {
                "it answered in the format of Hadoop before 2.0 (another IPC version)".to_owned()
            }
            [0x15, 0x03, ..] => "it answered with a TLS alert".to_owned(),
            _ if checked_length(&self.buffer, self.limit).is_ok() => return Ok(()),
            bytes => format!("it answered \"{}\"", bytes.escape_ascii()),
        };
        Err(FrameError::Foreign { found })
    }
}

/// The length of the frame that begins in `buffer`.
fn checked_length(buffer: &[u8], limit: usize) -> Result<usize, FrameError> {
    let length = buffer
        .first_chunk::<4>()
        .map_or(0, |bytes| u32::from_be_bytes(*bytes));
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > limit {
        return Err(FrameError::TooLong { length });
    }
    Ok(length)
}

/// Cuts frames out of bytes that came inside wrapped messages; a frame may span several.
#[derive(Debug, Default)]
pub(crate) struct FrameCutter {
    buffer: BytesMut,
}

impl FrameCutter {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The body of the next frame, if all of it has come.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, FrameError> {
        if self.buffer.len() < 4 {
            return Ok(None);
        }
        let length = checked_length(&self.buffer, RESPONSE_LIMIT)?;
        if self.buffer.len() - 4 < length {
            return Ok(None);
        }
        self.buffer.advance(4);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(future)
    }

    #[test]
    fn a_lying_length_allocates_no_more_than_a_step_ahead() {
        let mut bytes = u32::try_from(RESPONSE_LIMIT)
            .unwrap()
            .to_be_bytes()
            .to_vec();
        bytes.extend([7; 100]);
        let mut reader = FrameReader::new(&bytes[..]);
        let error = block_on(reader.next()).unwrap_err();
        assert!(
            matches!(&error, FrameError::Io(e) if e.to_string().contains("inside")),
            "{error:?}"
        );
        assert!(
            reader.buffer.capacity() < 3 * READ_AHEAD,
            "{}",
            reader.buffer.capacity()
        );
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_after_the_first_frame_too() {
        let bytes = [&[0, 0, 0, 1, 9][..], &[0xff, 0xff, 0xff, 0xff]].concat();
        let mut reader = FrameReader::new(&bytes[..]);
        assert_eq!(block_on(reader.next()).unwrap(), &[9][..]);
        assert!(matches!(
            block_on(reader.next()),
            Err(FrameError::TooLong {
                length: 0xffff_ffff
            })
        ));
    }

    #[test]
    fn strangers_are_named() {
        for (bytes, words) in [
            (&b"HTTP/1.1 404 Not Found\r\n"[..], "HTTP"),
            (b"SSH-2.0-OpenSSH", "SSH"),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff", "before 2.0"),
            (b"\x15\x03\x01\x00\x02", "TLS"),
            (b"220 smtp", "\"220 \""),
        ] {
            match block_on(FrameReader::new(bytes).next()) {
                Err(FrameError::Foreign { found }) => assert!(found.contains(words), "{found}"),
                other => panic!("{other:?}"),
            }
        }
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in(
            bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..8),
            step in 1usize..50,
        ) {
            let mut bytes = Vec::new();
            for body in &bodies {
                bytes.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
                bytes.extend(body);
            }
            let mut reader = FrameReader::new(&bytes[..]);
            let mut cutter = FrameCutter::default();
            let mut cut = Vec::new();
            for chunk in bytes.chunks(step) {
                cutter.push(chunk);
                while let Some(body) = cutter.next().unwrap() {
                    cut.push(body);
                }
            }
            for (body, cut) in bodies.iter().zip(&cut) {
                prop_assert_eq!(&block_on(reader.next()).unwrap()[..], &body[..]);
                prop_assert_eq!(&cut[..], &body[..]);
            }
            prop_assert_eq!(cut.len(), bodies.len());
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut reader = FrameReader::new(&bytes[..]);
            while block_on(reader.next()).is_ok() {}
            let mut cutter = FrameCutter::default();
            cutter.push(&bytes);
            while let Ok(Some(_)) = cutter.next() {}
        }
    }
}
