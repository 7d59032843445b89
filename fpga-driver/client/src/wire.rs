//! What goes over the socket: one JSON message a datagram (SOCK_SEQPACKET), descriptors beside it.

use crate::function::Function;
use crate::ring::Geometry;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use serde::{Deserialize, Serialize};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// No message is longer, bytes.
pub const LONGEST: usize = 128 << 10;
/// A holder's name is cut off here, bytes.
pub const LONGEST_HOLDER: usize = 256;

/// No client may ask for more virtual devices at the same time.
pub const MOST_AT_ONCE: usize = 64;

/// What a client says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Wants a virtual device, for as long as this socket is open.
    Lease {
        /// What it must compute.
        function: Function,
        /// Who asks, for whoever looks at the map: a container's id.
        holder: String,
        /// Whether to stand in line where none is free.
        wait: bool,
    },
    /// Wants a virtual device for each of these, all of them at the same time or none: who waits holds none. Each is
    /// granted by an answer of its own, and comes with a socket of its own, for as long as that is open.
    LeaseAll {
        /// What each must compute.
        functions: Vec<Function>,
        /// As in [`Request::Lease`].
        holder: String,
        /// Whether to stand in line where not all are free.
        wait: bool,
    },
    /// Wants the lease's memory and the two ends to ring and to be rung by.
    Rings,
    /// Wants to see all devices and leases.
    Map,
}

/// What the driver says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// A virtual device is the socket's.
    Granted {
        /// Number of the lease.
        lease: u64,
        /// The virtual device.
        device: String,
        /// The board that it is on.
        board: String,
        /// Sizes of the rings.
        geometry: Geometry,
    },
    /// Not free now; [`Reply::Granted`] follows when it is.
    Waiting {
        /// How many stand in line before this one.
        ahead: usize,
    },
    /// Not given, and why.
    Refused {
        /// One sentence.
        reason: String,
    },
    /// The rings; with this come three descriptors: memory, doorbell, and the end to be woken by.
    Rings,
    /// All devices.
    Map {
        /// In the order of the profile.
        devices: Vec<MappedDevice>,
        /// In the order of the profile.
        boards: Vec<BoardRow>,
    },
    /// The lease is over, and why; nothing follows.
    Ended {
        /// One sentence.
        reason: String,
    },
}

/// A virtual device, as the map shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MappedDevice {
    /// The virtual device, as `kmeans-map#0`.
    pub device: String,
    /// The board behind it.
    pub board: String,
    /// Whose it is.
    pub lease: Option<LeaseRow>,
}

/// A lease, as the map shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeaseRow {
    /// Number of the lease.
    pub lease: u64,
    /// The process that asked.
    pub pid: i32,
    /// Its user.
    pub uid: u32,
    /// What it calls itself.
    pub holder: String,
    /// Packets answered.
    pub packets: u64,
    /// Bytes of data taken.
    pub bytes_in: u64,
    /// Bytes of results given.
    pub bytes_out: u64,
    /// Time since the lease began, ms.
    pub age_ms: u64,
    /// Packets taken and not yet answered.
    pub queued: u64,
}

/// A board, as the map shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoardRow {
    /// The board's name.
    pub board: String,
    /// Packets that wait for it.
    pub queued: usize,
    /// Packets on it.
    pub in_flight: usize,
    /// Packets answered since the driver began.
    pub packets: u64,
    /// Times that it was reset, and why the last time.
    pub resets: u64,
    /// Why it was reset the last time.
    pub last_reset: Option<String>,
    /// Leases that lost a packet for good since the card last answered one; the third turns it off.
    #[serde(default)]
    pub lost_by: usize,
    /// Why it is off.
    pub off: Option<String>,
    /// Blocks of the rings of its leases; 0: it has no lease.
    #[serde(default)]
    pub ring: usize,
    /// Time since the driver began to serve it, µs.
    #[serde(default)]
    pub served_us: u64,
    /// Of that, how long packets were on it or waited for it.
    #[serde(default)]
    pub busy_us: u64,
    /// Of that, how long packets waited for it.
    #[serde(default)]
    pub waited_us: u64,
}

/// A new socket of the kind that the driver speaks on.
///
/// # Errors
///
/// No descriptor is left.
pub fn socket() -> Result<OwnedFd, Errno> {
    rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
}

/// Two ends of a connection: the driver's, and the one that it hands to a client.
///
/// # Errors
///
/// No descriptor is left.
pub fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
}

/// Connects to the driver at `path`.
///
/// # Errors
///
/// Nobody listens there.
pub fn connect(path: &Path) -> Result<OwnedFd, Errno> {
    let socket = socket()?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

/// Sends one message, at once or not at all.
///
/// # Errors
///
/// The peer is gone, or reads nothing.
pub fn send(
    socket: impl AsFd,
    message: &impl Serialize,
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let bytes = serde_json::to_vec(message).map_err(|_unserializable| Errno::INVAL)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::INVAL);
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    rustix::net::sendmsg(socket, &[IoSlice::new(&bytes)], &mut control, flags)?;
    Ok(())
}

/// One message, and the descriptors that came with it; `None` when the peer has closed.
///
/// # Errors
///
/// Nothing is there ([`Errno::AGAIN`]), the connection is broken, or the message is not one.
pub fn receive<M: for<'de> Deserialize<'de>>(
    socket: impl AsFd,
) -> Result<Option<(M, Vec<OwnedFd>)>, Errno> {
    let mut bytes = vec![0; LONGEST];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut control,
        flags,
    )?;
    let descriptors = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    if received.bytes == 0 {
        return Ok(None);
    }
    let message =
        serde_json::from_slice(&bytes[..received.bytes]).map_err(|_not_a_message| Errno::BADMSG)?;
    Ok(Some((message, descriptors)))
}
