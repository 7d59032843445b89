//! The client's half: a lease, a writer and a reader.
//!
//! ```no_run
//! use fpga_client::Function;
//! use fpga_client::client::{Accelerator, AcceleratorError};
//! use fpga_client::echo::Echo;
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), AcceleratorError> {
//! let socket = fpga_client::client::address::default_socket();
//! let lease = Accelerator::lease(&socket, Function::Echo, "me", None)?;
//! let (mut writer, mut reader) = lease.open()?;
//! let sequence = writer.write(&Echo(b"hello"))?;
//! let (answered, bytes): (u64, Vec<u8>) = reader.read(Duration::from_secs(1))?;
//! assert_eq!((answered, bytes), (sequence, b"hello".to_vec()));
//! # Ok(())
//! # }
//! ```
//!
//! Writer and reader may live in two threads; both block.  Results come in the order of the packets.

pub mod address;
mod inherited;
mod reader;
mod rings;
mod writer;

pub use inherited::{ACCELERATORS_VARIABLE, inherited};
pub use reader::{AcceleratorReader, Answer, DeserializePacket};
pub use writer::{AcceleratorWriter, Block, Layout, SerializePacket, Unfit};

use crate::function::Function;
use crate::ring::{Geometry, MemoryError, SharedMemory};
use crate::status::Status;
use crate::wire::{self, BoardRow, MappedDevice, Reply, Request};
use crate::work::TooMuchWork;
use rings::Rings;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the driver may take for an answer that waits for nobody.
const ANSWER: Duration = Duration::from_secs(10);

/// Why an accelerator cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceleratorError {
    /// No driver answers.
    #[error("no fpgad answers at {socket}: {source}", socket = socket.display())]
    NoDriver {
        /// Where it was looked for.
        socket: PathBuf,
        /// The kernel's answer.
        source: Errno,
    },
    /// What answers where this user's own driver is looked for is somebody else's.
    #[error(
        "what answers at {socket} is run by user {uid}, who is neither you nor root: it is not used; name a driver that you trust with --fpgad",
        socket = socket.display()
    )]
    Stranger {
        /// The socket that was tried.
        socket: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// A driver was to be started, and was not.
    #[error("cannot start fpgad ({program}): {reason}", program = program.display())]
    NotStarted {
        /// The program that was run.
        program: PathBuf,
        /// What it said, or the kernel.
        reason: String,
    },
    /// The driver gives no lease.
    #[error("fpgad gives no lease: {reason}")]
    Refused {
        /// The driver's words.
        reason: String,
    },
    /// The lease is over.
    #[error("the lease is over: {reason}")]
    Ended {
        /// The driver's words, or that it is gone.
        reason: String,
    },
    /// Nothing came in time.
    #[error("nothing came for {waited:?}")]
    TimedOut {
        /// How long was waited.
        waited: Duration,
    },
    /// The driver does not speak as it should.
    #[error("fpgad does not answer as this version does: {0}")]
    Protocol(String),
    /// The rings cannot be mapped.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A packet was not answered with a result.
    #[error("packet {sequence}: {status}")]
    Packet {
        /// The packet's number.
        sequence: u64,
        /// How it went.
        status: Status,
    },
    /// A packet does not fit into a block.
    #[error("a packet of {needed} bytes does not fit into a block of {block}")]
    TooLarge {
        /// Bytes of the packet, or of its result.
        needed: usize,
        /// Bytes of a block.
        block: usize,
    },
    /// A number of a packet does not fit into its header.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// A packet asks for more work than one packet may.
    #[error(transparent)]
    TooMuchWork(#[from] TooMuchWork),
    /// A result cannot be understood.
    #[error("result of packet {sequence}: {message}")]
    Result {
        /// The packet's number.
        sequence: u64,
        /// What is wrong with it.
        message: String,
    },
}

/// A lease: a virtual device, for as long as this or a descendant's copy of its socket is open.
#[derive(Debug)]
pub struct Accelerator {
    socket: OwnedFd,
    granted: Option<Granted>,
}

/// What was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// Number of the lease.
    pub lease: u64,
    /// The virtual device.
    pub device: String,
    /// The board behind it.
    pub board: String,
    /// Sizes of the rings.
    pub geometry: Geometry,
}

impl Accelerator {
    /// Asks the driver at `socket` for a virtual device; `holder` is the name that the map shows.
    /// With `wait`, stands in line for so long where none is free.
    ///
    /// # Errors
    ///
    /// No driver answers, it refuses, or none came free in time.
    pub fn lease(
        socket: &Path,
        function: Function,
        holder: &str,
        wait: Option<Duration>,
    ) -> Result<Self, AcceleratorError> {
        let connection = connect(socket)?;
        let request = Request::Lease {
            function,
            holder: holder.to_owned(),
            wait: wait.is_some(),
        };
        say(&connection, &request)?;
        let mut until = Instant::now() + ANSWER;
        let (granted, _) = next_granted(&connection, &mut until, wait)?;
        Ok(Self {
            socket: connection,
            granted: Some(granted),
        })
    }

    /// Asks for a virtual device for each of these functions, all of them at the same time or none: with `wait` it
    /// stands in line for so long without holding any, so that two who want several each never wait for one another.
    ///
    /// # Errors
    ///
    /// No driver answers, it refuses, or they did not come free in time.
    pub fn lease_all(
        socket: &Path,
        functions: &[Function],
        holder: &str,
        wait: Option<Duration>,
    ) -> Result<Vec<Self>, AcceleratorError> {
        let connection = connect(socket)?;
        let request = Request::LeaseAll {
            functions: functions.to_vec(),
            holder: holder.to_owned(),
            wait: wait.is_some(),
        };
        say(&connection, &request)?;
        let mut until = Instant::now() + ANSWER;
        let mut leases = Vec::with_capacity(functions.len());
        while leases.len() < functions.len() {
            let (granted, sockets) = next_granted(&connection, &mut until, wait)?;
            let [socket] = <[OwnedFd; 1]>::try_from(sockets).map_err(|found| {
                AcceleratorError::Protocol(format!("{} sockets for a lease, not 1", found.len()))
            })?;
            leases.push(Self {
                socket,
                granted: Some(granted),
            });
        }
        Ok(leases)
    }

    /// Takes over a lease whose socket was inherited.
    pub fn inherit(socket: OwnedFd) -> Self {
        Self {
            socket,
            granted: None,
        }
    }

    /// Whether the lease is over: the driver has ended it, or is gone. Who holds a copy of the socket that another
    /// process uses looks by this, and takes no message from that.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let mut polled = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let looked = rustix::event::poll(&mut polled, Some(&Timespec::default()));
        let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        looked.is_ok() && polled[0].revents().intersects(gone)
    }

    /// What was granted; `None` for a lease that was inherited.
    pub fn granted(&self) -> Option<&Granted> {
        self.granted.as_ref()
    }

    /// The socket, for a child to inherit.
    pub fn into_socket(self) -> OwnedFd {
        self.socket
    }

    /// Maps the rings.
    ///
    /// # Errors
    ///
    /// The lease is over, or no descriptors are left.
    pub fn open(self) -> Result<(AcceleratorWriter, AcceleratorReader), AcceleratorError> {
        say(&self.socket, &Request::Rings)?;
        let (reply, descriptors) = hear(&self.socket, Instant::now() + ANSWER)?;
        match reply {
            Reply::Rings => {}
            Reply::Refused { reason } => return Err(AcceleratorError::Refused { reason }),
            other => return Err(AcceleratorError::Protocol(format!("{other:?}"))),
        }
        let [memory, doorbell, bell] = <[OwnedFd; 3]>::try_from(descriptors).map_err(|found| {
            AcceleratorError::Protocol(format!("{} descriptors, not 3", found.len()))
        })?;
        let rings = Arc::new(Rings::new(
            self.socket,
            SharedMemory::open(memory)?,
            doorbell,
            bell,
        )?);
        Ok((
            AcceleratorWriter::new(Arc::clone(&rings)),
            AcceleratorReader::new(rings),
        ))
    }
}

impl AsFd for Accelerator {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Accelerator {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.socket.as_raw_fd()
    }
}

/// All virtual devices and boards of the driver at `socket`.
///
/// # Errors
///
/// No driver answers.
pub fn map(socket: &Path) -> Result<(Vec<MappedDevice>, Vec<BoardRow>), AcceleratorError> {
    map_within(socket, ANSWER)
}

/// The same, if the driver answers within this time.
///
/// # Errors
///
/// No driver answers, or not in time.
pub fn map_within(
    socket: &Path,
    within: Duration,
) -> Result<(Vec<MappedDevice>, Vec<BoardRow>), AcceleratorError> {
    let connection = connect(socket)?;
    say(&connection, &Request::Map)?;
    match hear(&connection, Instant::now() + within)?.0 {
        Reply::Map { devices, boards } => Ok((devices, boards)),
        Reply::Refused { reason } => Err(AcceleratorError::Refused { reason }),
        other => Err(AcceleratorError::Protocol(format!("{other:?}"))),
    }
}

/// Connects.  Where this user's own driver is looked for, anybody could have been first in `/tmp`.
fn connect(socket: &Path) -> Result<OwnedFd, AcceleratorError> {
    let failed = |source| AcceleratorError::NoDriver {
        socket: socket.to_owned(),
        source,
    };
    let connection = wire::connect(socket).map_err(failed)?;
    let peer = rustix::net::sockopt::socket_peercred(&connection).map_err(failed)?;
    let trusted = peer.uid == rustix::process::geteuid() || peer.uid.is_root();
    if trusted || socket != address::own_socket() {
        return Ok(connection);
    }
    Err(AcceleratorError::Stranger {
        socket: socket.to_owned(),
        uid: peer.uid.as_raw(),
    })
}

/// What is granted next, and what came with it, before `until`; who stands in line does so for `wait`.
fn next_granted(
    connection: &OwnedFd,
    until: &mut Instant,
    wait: Option<Duration>,
) -> Result<(Granted, Vec<OwnedFd>), AcceleratorError> {
    loop {
        match hear(connection, *until)? {
            (
                Reply::Granted {
                    lease,
                    device,
                    board,
                    geometry,
                },
                sockets,
            ) => {
                let granted = Granted {
                    lease,
                    device,
                    board,
                    geometry,
                };
                return Ok((granted, sockets));
            }
            (Reply::Waiting { .. }, _) => *until = Instant::now() + wait.unwrap_or_default(),
            (Reply::Refused { reason }, _) => return Err(AcceleratorError::Refused { reason }),
            (other, _) => return Err(AcceleratorError::Protocol(format!("{other:?}"))),
        }
    }
}

fn say(socket: &OwnedFd, request: &Request) -> Result<(), AcceleratorError> {
    match wire::send(socket, request, &[]) {
        // A driver that refused and hung up: its words are still to be read.
        Ok(()) | Err(Errno::PIPE | Errno::CONNRESET) => Ok(()),
        Err(errno) => Err(AcceleratorError::Ended {
            reason: format!("fpgad takes no message: {errno}"),
        }),
    }
}

fn hear(socket: &OwnedFd, until: Instant) -> Result<(Reply, Vec<OwnedFd>), AcceleratorError> {
    let began = Instant::now();
    let mut reset = false;
    loop {
        match wire::receive(socket) {
            // A driver that refuses closes with our message unread: its words come after this error.
            Err(Errno::CONNRESET) if !std::mem::replace(&mut reset, true) => continue,
            Ok(Some((Reply::Ended { reason }, _))) => {
                return Err(AcceleratorError::Ended { reason });
            }
            Ok(Some(reply)) => return Ok(reply),
            Ok(None) | Err(Errno::CONNRESET) => {
                return Err(AcceleratorError::Ended {
                    reason: "fpgad has closed the connection".to_owned(),
                });
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(AcceleratorError::Protocol(errno.to_string())),
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(AcceleratorError::TimedOut {
                waited: began.elapsed(),
            });
        }
        let mut polled = [PollFd::new(socket, PollFlags::IN)];
        let timeout = Timespec::try_from(left).unwrap_or_default();
        // A signal or the end of the time: the loop looks again.
        rustix::event::poll(&mut polled, Some(&timeout)).ok();
    }
}
