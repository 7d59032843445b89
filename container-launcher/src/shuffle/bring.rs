//! Brings from another launcher what maps have left there for one reduce.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use job::JobId;
use job::lane;
use job::secrets::LAUNCHER_NAME;
use job::tls::{self, TlsError};
use job::wire::{FetchRequest, FetchedPart};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::patient::Patient;
use super::{MESSAGE_MAX, OPEN, PIECE, SILENCE};
use crate::disks::Room;
use crate::frames;
use crate::launcher_context::LauncherKeys;

/// Times in a row that a launcher is tried which is not reached, or breaks off before it has given a part.
const TRIES: u32 = 4;
/// Before the second try; longer before each further one.
const PAUSE: Duration = Duration::from_millis(250);
/// One that has given nothing for so long is not tried again.
const QUIET: Duration = SILENCE.saturating_add(OPEN);

/// With whose keys other launchers are dialled.
#[derive(Clone, Debug)]
pub(crate) struct Fetcher(Arc<ClientConfig>);

/// What is to be brought: what these maps have left for a partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartitionFetch<'a> {
    pub(crate) job: JobId,
    pub(crate) partition: u32,
    pub(crate) maps: &'a [u32],
}

/// For whom it is brought.
#[derive(Clone, Copy)]
pub(crate) struct Waiting<'a> {
    /// Nobody waits any more.
    pub(crate) is_over: &'a (dyn Fn() -> bool + Sync),
    /// Hears whenever something was brought.
    pub(crate) gets_on: &'a (dyn Fn() + Sync),
}

/// Where it is brought to.
#[derive(Clone, Copy)]
pub(crate) struct Onto<'a> {
    pub(crate) file: &'a File,
    /// From this byte on.
    pub(crate) at: u64,
    /// Nothing is asked for that there is no room for.
    pub(crate) room: &'a Room,
}

/// A part that was brought: where it lies in the file that it was brought to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fetched {
    pub(crate) map: u32,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) records: u64,
}

impl Fetched {
    pub(super) const fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// Not everything was brought.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub(crate) struct Unfetched {
    pub(crate) why: FetchError,
    /// Whose outputs the other launcher did not give, or the way from there; none: it is no fault of theirs.
    pub(crate) maps: Vec<u32>,
}

/// Why nothing was brought.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("cannot fetch what maps have left at {address}: {source}")]
    Io { address: String, source: io::Error },
    #[error("cannot fetch what maps have left at {address}: {trouble}")]
    Told { address: String, trouble: String },
    #[error("cannot keep what was fetched from {address}: {source}")]
    Full { address: String, source: io::Error },
    #[error("the task has ended")]
    Over,
}

/// What came of one launcher so far.
#[derive(Default)]
struct BroughtParts {
    parts: Vec<Fetched>,
    /// Maps whose output it does not have, and what it said of the first.
    lacking: Vec<u32>,
    trouble: String,
}

impl BroughtParts {
    /// Of how many maps it is known.
    const fn known(&self) -> usize {
        self.parts.len().saturating_add(self.lacking.len())
    }
}

impl Fetcher {
    /// Those of `place`.
    ///
    /// # Errors
    ///
    /// Keys that make no sense.
    pub(crate) fn new(place: &LauncherKeys) -> Result<Self, TlsError> {
        let keys = tls::PeerKeys {
            authority: &place.authority,
            certificate: &place.certificate,
            key: &place.key,
        };
        Ok(Self(Arc::new(keys.client()?)))
    }

    /// Brings what is `wanted` of the launcher at `address`, in this order. Waits
    /// for the network and the disk, and ends soon after it is over. What came before a connection broke is
    /// not fetched again.
    ///
    /// # Errors
    ///
    /// Why not everything is there.
    pub(crate) fn bring(
        &self,
        address: &str,
        wanted: PartitionFetch<'_>,
        onto: Onto<'_>,
        waiting: Waiting<'_>,
    ) -> Result<Vec<Fetched>, Unfetched> {
        let mut brought = BroughtParts::default();
        let (mut tries, mut since) = (1, Instant::now());
        loop {
            let known = brought.known();
            let left = wanted.maps.get(known..).unwrap_or_default();
            let request = FetchRequest {
                build: job::BUILD.to_owned(),
                job: wanted.job.0,
                partition: wanted.partition,
                maps: left.to_vec(),
            };
            let at = brought.parts.last().map_or(onto.at, Fetched::end);
            let onto = Onto { at, ..onto };
            let outcome = self.once(address, &request, onto, waiting, &mut brought);
            if brought.known() > known {
                (tries, since) = (1, Instant::now());
            }
            let why = match outcome {
                Ok(()) => break,
                Err(_broken) if (waiting.is_over)() => FetchError::Over,
                Err(FetchError::Io { source, .. }) if tries < TRIES && since.elapsed() < QUIET => {
                    crate::say(&format!("{address}, try {tries}: {source}"));
                    // A thread of one task's own: nobody else waits with it.
                    std::thread::park_timeout(PAUSE * tries);
                    tries = tries.saturating_add(1);
                    continue;
                }
                Err(why) => why,
            };
            let maps = match why {
                FetchError::Io { .. } | FetchError::Told { .. } => {
                    let unknown = wanted.maps.get(brought.known()..).unwrap_or_default();
                    [brought.lacking.as_slice(), unknown].concat()
                }
                FetchError::Full { .. } | FetchError::Over => Vec::new(),
            };
            return Err(Unfetched { why, maps });
        }
        if brought.lacking.is_empty() {
            return Ok(brought.parts);
        }
        Err(Unfetched {
            why: FetchError::Told {
                address: address.to_owned(),
                trouble: brought.trouble,
            },
            maps: brought.lacking,
        })
    }

    fn once(
        &self,
        address: &str,
        request: &FetchRequest,
        onto: Onto<'_>,
        waiting: Waiting<'_>,
        brought: &mut BroughtParts,
    ) -> Result<(), FetchError> {
        let broken = |source| FetchError::Io {
            address: address.to_owned(),
            source,
        };
        let full = |source| FetchError::Full {
            address: address.to_owned(),
            source,
        };
        let mut at = onto.at;
        let mut peer = self.dial(address, waiting).map_err(broken)?;
        frames::send(&mut peer, request).map_err(broken)?;
        let mut piece = vec![0; PIECE];
        for map in &request.maps {
            let part: FetchedPart = frames::receive(&mut peer, MESSAGE_MAX).map_err(broken)?;
            if part.map != *map {
                let trouble = format!("it gave map {} instead of {map}", part.map);
                return Err(broken(io::Error::new(ErrorKind::InvalidData, trouble)));
            }
            if !part.trouble.is_empty() {
                if brought.lacking.is_empty() {
                    brought.trouble = part.trouble;
                }
                brought.lacking.push(*map);
                continue;
            }
            let mut promise = onto.room.promise(onto.file, part.length).map_err(full)?;
            let offset = at;
            let end = at.saturating_add(part.length);
            while at < end {
                if (waiting.is_over)() {
                    return Err(FetchError::Over);
                }
                let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
                let most = left.min(piece.len());
                let room = piece.get_mut(..most).unwrap_or_default();
                let mut filled = 0;
                // A record of TLS is a sixteenth of a piece: written one by one they cost the disk's cache twice as much.
                while let Some(rest) = room.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                    let read = peer.read(rest).map_err(broken)?;
                    if read == 0 {
                        return Err(broken(ErrorKind::UnexpectedEof.into()));
                    }
                    filled = filled.saturating_add(read);
                    (waiting.gets_on)();
                }
                onto.file.write_all_at(room, at).map_err(full)?;
                let length = u64::try_from(most).unwrap_or(0);
                promise.kept(length);
                at = at.saturating_add(length);
            }
            brought.parts.push(Fetched {
                map: *map,
                offset,
                length: part.length,
                records: part.records,
            });
        }
        Ok(())
    }

    /// Whether the launcher at `address` answers. Waits for it, up to both deadlines of a connection's begin.
    ///
    /// # Errors
    ///
    /// Why not.
    pub(crate) fn reach(&self, address: &str) -> io::Result<()> {
        let waiting = Waiting {
            is_over: &|| false,
            gets_on: &|| {},
        };
        self.dial(address, waiting).map(drop)
    }

    fn dial<'a>(
        &self,
        address: &str,
        waiting: Waiting<'a>,
    ) -> io::Result<StreamOwned<ClientConnection, Patient<'a>>> {
        let mut last = io::Error::new(ErrorKind::NotFound, "it has no address");
        for address in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, OPEN) {
                Ok(stream) => {
                    lane::set_up(&stream)?;
                    let name = ServerName::try_from(LAUNCHER_NAME).map_err(io::Error::other)?;
                    let connection = ClientConnection::new(Arc::clone(&self.0), name);
                    let mut connection = connection.map_err(io::Error::other)?;
                    let mut stream = Patient::new(stream, SILENCE, waiting.is_over)?;
                    while connection.is_handshaking() {
                        connection.complete_io(&mut stream)?;
                    }
                    stream.begun();
                    return Ok(StreamOwned::new(connection, stream));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}
