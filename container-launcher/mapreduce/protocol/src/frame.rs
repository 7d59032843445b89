//! A message on a Unix socket: its length, its JSON, and the descriptors that come with it.
//!
//! ```text
//!  0        4                          4+n
//!  +--------+---------------------------+
//!  | n: u32 | n bytes of JSON           |   little-endian
//!  +--------+---------------------------+
//! ```

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::read_broker::BROKER_FRAME_MAX;

/// Longest frame, bytes of JSON: the completion of a map with a hundred thousand partitions.
pub const FRAME_MAX: usize = 16 << 20;
/// Longest frame between a driver and its client, bytes of JSON: some million files, or the splits of them.
pub const DRIVER_FRAME_MAX: usize = 256 << 20;
/// The other side reads what is sent within this time, or longer if it is given longer.
const READ_WITHIN: Duration = Duration::from_secs(30);
/// Most descriptors that one message may bring.
const DESCRIPTORS: usize = 4;
/// Most descriptors that have come and were not taken: each message's are taken before the next message is heard.
const UNTAKEN_MAX: usize = 2 * DESCRIPTORS;

/// What goes wrong on the socket between launcher and task.
#[derive(Debug)]
#[non_exhaustive]
pub enum FrameError {
    /// The other side has closed the socket.
    Closed,
    /// Nothing came within the deadline; what has come of a frame is kept.
    Silent,
    /// A frame is longer than any may be.
    TooLong {
        /// Its length.
        length: usize,
        /// How long it may be.
        most: usize,
    },
    /// A frame is not a message of this version.
    Malformed(serde_json::Error),
    /// A message lacks the descriptor that belongs to it.
    NoDescriptor,
    /// Descriptors have come with messages to which none belong.
    TooManyDescriptors,
    /// What the kernel says.
    Socket(io::Error),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the other side has closed the task socket"),
            Self::Silent => f.write_str("nothing was said on the task socket in time"),
            Self::TooLong { length, most } => write!(
                f,
                "a frame of {length} bytes on the task socket; the longest may have {most}"
            ),
            Self::Malformed(error) => {
                write!(
                    f,
                    "a message on the task socket that makes no sense: {error}"
                )
            }
            Self::NoDescriptor => {
                f.write_str("a message on the task socket without its descriptor")
            }
            Self::TooManyDescriptors => f.write_str(
                "messages on the task socket with descriptors that do not belong to them",
            ),
            Self::Socket(error) => write!(f, "task socket: {error}"),
        }
    }
}

impl std::error::Error for FrameError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            Self::Socket(error) => Some(error),
            Self::Closed
            | Self::Silent
            | Self::TooLong { .. }
            | Self::NoDescriptor
            | Self::TooManyDescriptors => None,
        }
    }
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        Self::Socket(error)
    }
}

/// One end of the socket between launcher and task.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    received: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
    frame_max: usize,
}

impl Connection {
    /// Speaks over `stream`, in frames of at most [`FRAME_MAX`] bytes.
    #[must_use]
    pub const fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            received: Vec::new(),
            descriptors: VecDeque::new(),
            frame_max: FRAME_MAX,
        }
    }

    /// Speaks as drivers and clients do, in frames of at most [`DRIVER_FRAME_MAX`] bytes.
    #[must_use]
    pub const fn of_driver(mut self) -> Self {
        self.frame_max = DRIVER_FRAME_MAX;
        self
    }

    /// Speaks as engines and read brokers do, in frames of at most [`BROKER_FRAME_MAX`] bytes.
    #[must_use]
    pub const fn of_engine(mut self) -> Self {
        self.frame_max = BROKER_FRAME_MAX;
        self
    }

    /// A second hand on the same socket, to say something from elsewhere: a panic's hook. It must not listen.
    ///
    /// # Errors
    /// What the kernel says: no descriptor is left.
    pub fn speaker(&self) -> io::Result<Self> {
        Ok(Self::new(self.stream.try_clone()?))
    }

    /// How long to wait for the other side to say something, and to read, for which it has half a minute at the
    /// least: a long frame is not given up in its middle. `None` is for ever.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_deadline(&self, wait: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(wait)?;
        self.stream
            .set_write_timeout(wait.map(|wait| wait.max(READ_WITHIN)))
    }

    /// Says one message.
    ///
    /// # Errors
    /// As [`FrameError`] tells.
    pub fn send(&mut self, message: &impl Serialize) -> Result<(), FrameError> {
        self.send_with(message, &[])
    }

    /// Says one message that hands over descriptors.
    ///
    /// # Errors
    /// As [`FrameError`] tells.
    pub fn send_with(
        &mut self,
        message: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), FrameError> {
        let json = serde_json::to_vec(message).map_err(FrameError::Malformed)?;
        let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
        if json.len() > self.frame_max {
            return Err(self.too_long(json.len()));
        }
        let mut frame = Vec::with_capacity(4 + json.len());
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(&json);
        let mut sent = 0;
        if !descriptors.is_empty() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
                return Err(FrameError::NoDescriptor);
            }
            sent = loop {
                match sendmsg(
                    &self.stream,
                    &[IoSlice::new(&frame)],
                    &mut ancillary,
                    SendFlags::NOSIGNAL,
                ) {
                    Err(rustix::io::Errno::INTR) => {}
                    other => break other.map_err(closed)?,
                }
            };
        }
        self.stream
            .write_all(frame.get(sent..).unwrap_or_default())
            .map_err(|error| match error.kind() {
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => FrameError::Closed,
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => FrameError::Silent,
                _ => FrameError::Socket(error),
            })
    }

    /// Hears one message, within the deadline set.
    ///
    /// # Errors
    /// As [`FrameError`] tells; after [`FrameError::Silent`] one may go on listening.
    pub fn receive<T: DeserializeOwned>(&mut self) -> Result<T, FrameError> {
        loop {
            if let Some((head, rest)) = self.received.split_first_chunk::<4>() {
                let length = u32::from_le_bytes(*head) as usize;
                if length > self.frame_max {
                    return Err(self.too_long(length));
                }
                if let Some(json) = rest.get(..length) {
                    let message = serde_json::from_slice(json).map_err(FrameError::Malformed);
                    self.received.drain(..4 + length);
                    return message;
                }
            }
            self.read_more()?;
        }
    }

    /// The next descriptor that came, in the order of arrival.
    ///
    /// # Errors
    /// [`FrameError::NoDescriptor`] when none came.
    pub fn descriptor(&mut self) -> Result<OwnedFd, FrameError> {
        self.descriptors.pop_front().ok_or(FrameError::NoDescriptor)
    }

    const fn too_long(&self, length: usize) -> FrameError {
        FrameError::TooLong {
            length,
            most: self.frame_max,
        }
    }

    fn read_more(&mut self) -> Result<(), FrameError> {
        let mut piece = [0; 64 << 10];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let heard = recvmsg(
            &self.stream,
            &mut [IoSliceMut::new(&mut piece)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        );
        let bytes = match heard {
            Ok(heard) => heard.bytes,
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(errno) => return Err(closed(errno)),
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        if self.descriptors.len() > UNTAKEN_MAX {
            return Err(FrameError::TooManyDescriptors);
        }
        if bytes == 0 {
            return Err(FrameError::Closed);
        }
        self.received
            .extend_from_slice(piece.get(..bytes).unwrap_or_default());
        Ok(())
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn closed(errno: rustix::io::Errno) -> FrameError {
    match errno {
        rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET => FrameError::Closed,
        rustix::io::Errno::AGAIN => FrameError::Silent,
        other => FrameError::Socket(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _, Write as _};
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::{Connection, FRAME_MAX, FrameError, UNTAKEN_MAX};
    use crate::{FromTask, ToTask};

    fn pair() -> (Connection, Connection) {
        let (one, two) = UnixStream::pair().unwrap();
        (Connection::new(one), Connection::new(two))
    }

    #[test]
    fn messages_and_descriptors_arrive_in_order() {
        let (mut launcher, mut task) = pair();
        let name = rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = std::fs::File::from(name);
        file.write_all(b"hello").unwrap();
        launcher
            .send(&ToTask::Refused {
                sentence: "no".into(),
            })
            .unwrap();
        launcher
            .send_with(&ToTask::Opened, &[file.as_fd()])
            .unwrap();
        assert!(matches!(task.receive(), Ok(ToTask::Refused { sentence }) if sentence == "no"));
        assert!(matches!(task.receive(), Ok(ToTask::Opened)));
        let mut got = std::fs::File::from(task.descriptor().unwrap());
        got.rewind().unwrap();
        let mut text = String::new();
        got.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
        assert!(matches!(task.descriptor(), Err(FrameError::NoDescriptor)));
    }

    /// Each of them is one of the launcher's own, of which it has some thousand.
    #[test]
    fn descriptors_that_nobody_asked_for_are_not_collected() {
        let (mut launcher, mut task) = pair();
        let file = std::fs::File::open("/dev/null").unwrap();
        let status = FromTask::Status {
            text: String::new(),
        };
        for _ in 0..=UNTAKEN_MAX {
            task.send_with(&status, &[file.as_fd()]).unwrap();
        }
        for _ in 0..UNTAKEN_MAX {
            assert_eq!(launcher.receive::<FromTask>().unwrap(), status);
        }
        assert!(matches!(
            launcher.receive::<FromTask>(),
            Err(FrameError::TooManyDescriptors)
        ));
    }

    #[test]
    fn silence_long_frames_nonsense_and_an_end_are_told_apart() {
        let (one, mut two) = UnixStream::pair().unwrap();
        let mut launcher = Connection::new(one);
        launcher
            .set_deadline(Some(Duration::from_millis(5)))
            .unwrap();
        assert!(matches!(
            launcher.receive::<FromTask>(),
            Err(FrameError::Silent)
        ));
        two.write_all(&[2, 0, 0]).unwrap();
        assert!(matches!(
            launcher.receive::<FromTask>(),
            Err(FrameError::Silent)
        ));
        two.write_all(&[0, b'{', b'}']).unwrap();
        assert!(matches!(
            launcher.receive::<FromTask>(),
            Err(FrameError::Malformed(_))
        ));
        two.write_all(&u32::MAX.to_le_bytes()).unwrap();
        assert!(
            matches!(launcher.receive::<FromTask>(), Err(FrameError::TooLong { length, .. }) if length > FRAME_MAX)
        );
        let (one, two) = UnixStream::pair().unwrap();
        drop(two);
        assert!(matches!(
            Connection::new(one).receive::<FromTask>(),
            Err(FrameError::Closed)
        ));
    }

    #[test]
    fn a_long_frame_is_not_given_up_because_the_other_side_is_slow() {
        let (mut launcher, mut task) = pair();
        launcher
            .set_deadline(Some(Duration::from_millis(5)))
            .unwrap();
        let sentence = "x".repeat(4 << 20);
        let slow = std::thread::spawn(move || {
            std::thread::park_timeout(Duration::from_millis(300));
            task.receive::<ToTask>()
        });
        let long = ToTask::Refused { sentence };
        launcher.send(&long).unwrap();
        assert_eq!(slow.join().unwrap().unwrap(), long);
    }

    proptest::proptest! {
        #[test]
        fn whatever_comes_is_an_answer_or_an_error(bytes: Vec<u8>) {
            let (one, mut two) = UnixStream::pair().unwrap();
            two.write_all(&bytes).unwrap();
            drop(two);
            let mut launcher = Connection::new(one);
            while launcher.receive::<FromTask>().is_ok() {}
        }
    }
}
