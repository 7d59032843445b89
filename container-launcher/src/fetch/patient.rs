//! A connection whose reads and writes have a deadline each, and end when nobody waits for them any more.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::SILENCE;

/// Between two looks whether somebody still waits.
const LOOK: Duration = Duration::from_millis(200);

/// The connection.
pub(super) struct Patient<'a> {
    stream: TcpStream,
    is_over: &'a (dyn Fn() -> bool + Sync),
    /// Of all that is read and written until it is taken away; none: each time [`SILENCE`].
    by: Option<Instant>,
}

impl<'a> Patient<'a> {
    /// Of `stream`, for as long as it is not over; in the beginning all together may take [`SILENCE`].
    pub(super) fn new(
        stream: TcpStream,
        is_over: &'a (dyn Fn() -> bool + Sync),
    ) -> io::Result<Self> {
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(LOOK))?;
        Ok(Self {
            stream,
            is_over,
            by: Some(Instant::now() + SILENCE),
        })
    }

    /// From now on each read and write has its own deadline.
    pub(super) const fn begun(&mut self) {
        self.by = None;
    }

    fn wait(
        &mut self,
        mut act: impl FnMut(&mut TcpStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let by = self.by.unwrap_or_else(|| Instant::now() + SILENCE);
        loop {
            match act(&mut self.stream) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if (self.is_over)() {
                        return Err(io::Error::other("nobody waits for it any more"));
                    }
                    if Instant::now() >= by {
                        let seconds = SILENCE.as_secs();
                        let silent = format!("it was silent for {seconds} s");
                        return Err(io::Error::new(ErrorKind::TimedOut, silent));
                    }
                }
                other => return other,
            }
        }
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.wait(|stream| stream.read(into))
    }
}

impl Write for Patient<'_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.wait(|stream| stream.write(from))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
