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
            // What came while this process itself stood still is there when it looks once more.
            let is_last = Instant::now() >= by;
            match act(&mut self.stream) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if (self.is_over)() {
                        return Err(io::Error::other("the task that it is for is over"));
                    }
                    if is_last {
                        let seconds = self.silence.as_secs_f32();
                        let silent = format!("it was silent for {seconds} s");
                        return Err(io::Error::new(ErrorKind::TimedOut, silent));
                    }
                }
                // The kernel breaks off what has a deadline at a signal, and when a process that was stopped goes on, whatever its
                // handlers say.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
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

    /// One that says something now and then, with this much between: what was read of it, and the longest time that there
    /// was between in truth, since the machine may have had the peer wait.
    #[expect(
        clippy::disallowed_methods,
        reason = "a thread of the peer's own is slow on purpose"
    )]
    fn read_of_a_slow_one(between: Duration, silence: Duration) -> (io::Result<Vec<u8>>, Duration) {
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(port.local_addr().unwrap()).unwrap();
        let mut patient = Patient::new(stream, silence, &|| false).unwrap();
        patient.begun();
        let (mut peer, _) = port.accept().unwrap();
        let began = Instant::now();
        let slow = std::thread::spawn(move || {
            let (mut last, mut longest) = (began, Duration::ZERO);
            for _ in 0..3 {
                std::thread::sleep(between);
                if peer.write_all(b"b").is_err() {
                    return Duration::MAX;
                }
                longest = longest.max(last.elapsed());
                last = Instant::now();
            }
            longest.max(last.elapsed())
        });
        let mut read = Vec::new();
        let outcome = patient.read_to_end(&mut read);
        drop(patient);
        (outcome.map(|_length| read), slow.join().unwrap())
    }

    #[test]
    fn one_that_says_nothing_is_given_up() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(port.local_addr().unwrap()).unwrap();
        let silence = Duration::from_millis(500);
        let mut patient = Patient::new(stream, silence, &|| false).unwrap();
        // As a launcher that stands still: the kernel has opened the connection.
        let silent = patient.read(&mut [0]).unwrap_err();
        assert_eq!(silent.kind(), ErrorKind::TimedOut);
        assert_eq!(silent.to_string(), "it was silent for 0.5 s");
        // What has come by then is read, however late it is looked at.
        let (mut peer, _) = port.accept().unwrap();
        peer.write_all(b"a").unwrap();
        let mut read = [0];
        patient.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"a");
    }

    #[test]
    fn what_a_signal_breaks_off_is_tried_again() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(port.local_addr().unwrap()).unwrap();
        let mut patient = Patient::new(stream, Duration::from_secs(60), &|| false).unwrap();
        let mut breaks = 3;
        let read = patient.wait(|_| match breaks {
            0 => Ok(7),
            _ => {
                breaks -= 1;
                Err(ErrorKind::Interrupted.into())
            }
        });
        assert_eq!((read.unwrap(), breaks), (7, 0));
    }

    #[test]
    fn one_that_says_something_now_and_then_is_not_given_up() {
        // Three times as long as the silence together. Where the machine has kept the peer waiting for longer than the
        // silence, the reader was right, and the peer is slower the next time.
        let mut silence = Duration::from_millis(300);
        loop {
            let (read, longest) = read_of_a_slow_one(silence * 2 / 3, silence);
            match read {
                Ok(read) => return assert_eq!(read, b"bbb"),
                Err(error) => assert!(longest >= silence, "{error} after {longest:?}"),
            }
            silence *= 2;
        }
    }
}
