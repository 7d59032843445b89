//! A connection whose reads and writes have a deadline each, and end when nobody waits for them any more.
//!
//! It is read far at a time: TLS by itself asks the kernel for 4 KiB.

use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::net::TcpStream;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Between two looks whether somebody still waits.
const LOOK: Duration = Duration::from_millis(200);

/// What is read ahead, bytes.
const AHEAD: usize = 64 * 1024;

/// The connection.
pub(super) struct Patient<'a> {
    stream: TcpStream,
    /// What was read, and from where to where nobody has had it yet.
    ahead: Vec<u8>,
    unread: Range<usize>,
    is_over: &'a (dyn Fn() -> bool + Sync),
    /// Of all that is read and written until it is taken away; none: each time `silence`.
    by: Option<Instant>,
    silence: Duration,
}

impl<'a> Patient<'a> {
    /// Of `stream`, for as long as it is not over; in the beginning all together may take as long as later one
    /// `silence`.
    pub(super) fn new(
        stream: TcpStream,
        silence: Duration,
        is_over: &'a (dyn Fn() -> bool + Sync),
    ) -> io::Result<Self> {
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(LOOK))?;
        Ok(Self {
            stream,
            ahead: vec![0; AHEAD],
            unread: 0..0,
            is_over,
            by: Some(Instant::now() + silence),
            silence,
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
        let by = self.by.unwrap_or_else(|| Instant::now() + self.silence);
        loop {
            match act(&mut self.stream) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if (self.is_over)() {
                        return Err(io::Error::other("nobody waits for it any more"));
                    }
                    if Instant::now() >= by {
                        let seconds = self.silence.as_secs_f32();
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
        if self.unread.is_empty() {
            let mut ahead = mem::take(&mut self.ahead);
            let read = self.wait(|stream| stream.read(&mut ahead));
            self.ahead = ahead;
            self.unread = 0..read?;
        }
        let unread = self.ahead.get(self.unread.clone()).unwrap_or_default();
        let taken = unread.len().min(into.len());
        let (from, to) = (unread.get(..taken), into.get_mut(..taken));
        if let (Some(from), Some(to)) = (from, to) {
            to.copy_from_slice(from);
        }
        self.unread.start = self.unread.start.saturating_add(taken);
        Ok(taken)
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn one_that_says_nothing_is_given_up_and_one_that_says_something_now_and_then_is_not() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let silence = Duration::from_millis(500);
        let stream = TcpStream::connect(port.local_addr().unwrap()).unwrap();
        let mut patient = Patient::new(stream, silence, &|| false).unwrap();
        // As a launcher that stands still: the kernel has opened the connection.
        let silent = patient.read(&mut [0]).unwrap_err();
        assert_eq!(silent.kind(), ErrorKind::TimedOut);
        assert_eq!(silent.to_string(), "it was silent for 0.5 s");
        let (mut peer, _) = port.accept().unwrap();
        peer.write_all(b"a").unwrap();
        patient.begun();
        let slow = std::thread::spawn(move || {
            for _ in 0..3 {
                std::thread::park_timeout(silence / 2);
                peer.write_all(b"b").unwrap();
            }
        });
        let mut read = [0; 4];
        patient.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"abbb");
        slow.join().unwrap();
        assert_eq!(patient.read(&mut read).unwrap(), 0);
    }
}
