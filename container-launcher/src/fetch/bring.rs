//! Brings from another launcher what maps have left there for one reduce.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::Duration;

use job::lane;
use job::secrets::LAUNCHER_NAME;
use job::tls::{self, TlsError};
use job::wire::{FetchRequest, FetchedPart};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::{OPEN, PIECE, SILENCE, frames};
use crate::process::JobId;
use crate::seat::LauncherKeys;

/// Times that a launcher is tried which has no place, or is not reached.
const TRIES: u32 = 4;
/// Before the second try; longer before each further one.
const PAUSE: Duration = Duration::from_millis(250);

/// With whose keys other launchers are dialled.
#[derive(Clone, Debug)]
pub(crate) struct Fetcher(Arc<ClientConfig>);

/// A part that was brought: where it lies in the file that it was brought to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fetched {
    pub(crate) map: u32,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) records: u64,
}

/// Why not everything was brought.
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

impl FetchError {
    /// Whether the other launcher may be at fault, or the way there.
    pub(crate) const fn accuses(&self) -> bool {
        match self {
            Self::Io { .. } | Self::Told { .. } => true,
            Self::Full { .. } | Self::Over => false,
        }
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

    /// Brings what `maps` of `job` have left for `partition` at the launcher at `address`, in this order, into
    /// `into`, from byte `at` on. Waits for the network and the disk, and ends soon after it `is_over`.
    ///
    /// # Errors
    ///
    /// Why not everything is there.
    pub(crate) fn bring(
        &self,
        address: &str,
        (job, partition, maps): (JobId, u32, &[u32]),
        into: (&File, u64),
        is_over: &dyn Fn() -> bool,
    ) -> Result<Vec<Fetched>, FetchError> {
        let request = FetchRequest {
            build: job::BUILD.to_owned(),
            job: job.0,
            partition,
            maps: maps.to_vec(),
        };
        let mut tries = 1;
        loop {
            match self.once(address, &request, into, is_over) {
                Err(FetchError::Io { source, .. }) if tries < TRIES && !is_over() => {
                    crate::say(&format!("{address}, try {tries}: {source}"));
                    // A thread of one task's own: nobody else waits with it.
                    std::thread::park_timeout(PAUSE * tries);
                    tries = tries.saturating_add(1);
                }
                other => return other,
            }
        }
    }

    fn once(
        &self,
        address: &str,
        request: &FetchRequest,
        (into, mut at): (&File, u64),
        is_over: &dyn Fn() -> bool,
    ) -> Result<Vec<Fetched>, FetchError> {
        let broken = |source| FetchError::Io {
            address: address.to_owned(),
            source,
        };
        let mut peer = self.dial(address).map_err(broken)?;
        frames::send(&mut peer, request).map_err(broken)?;
        let mut piece = vec![0; PIECE];
        let mut all = Vec::with_capacity(request.maps.len());
        for map in &request.maps {
            let part: FetchedPart = frames::receive(&mut peer).map_err(broken)?;
            if !part.trouble.is_empty() || part.map != *map {
                return Err(FetchError::Told {
                    address: address.to_owned(),
                    trouble: match part.trouble.is_empty() {
                        true => format!("it gave map {} instead of {map}", part.map),
                        false => part.trouble,
                    },
                });
            }
            let offset = at;
            let end = at.saturating_add(part.length);
            while at < end {
                if is_over() {
                    return Err(FetchError::Over);
                }
                let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
                let most = left.min(piece.len());
                let room = piece.get_mut(..most).unwrap_or_default();
                let read = peer.read(room).map_err(broken)?;
                let read = room.get(..read).unwrap_or_default();
                if read.is_empty() {
                    return Err(broken(ErrorKind::UnexpectedEof.into()));
                }
                into.write_all_at(read, at)
                    .map_err(|source| FetchError::Full {
                        address: address.to_owned(),
                        source,
                    })?;
                at = at.saturating_add(u64::try_from(read.len()).unwrap_or(0));
            }
            all.push(Fetched {
                map: *map,
                offset,
                length: part.length,
                records: part.records,
            });
        }
        Ok(all)
    }

    fn dial(&self, address: &str) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let mut last = io::Error::new(ErrorKind::NotFound, "it has no address");
        for address in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, OPEN) {
                Ok(stream) => {
                    lane::set_up(&stream)?;
                    stream.set_read_timeout(Some(SILENCE))?;
                    stream.set_write_timeout(Some(OPEN))?;
                    let name = ServerName::try_from(LAUNCHER_NAME).map_err(io::Error::other)?;
                    let connection = ClientConnection::new(Arc::clone(&self.0), name);
                    let connection = connection.map_err(io::Error::other)?;
                    return Ok(StreamOwned::new(connection, stream));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}
