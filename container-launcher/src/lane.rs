//! Lanes to the client, as [`job::lane`] describes them: this side dials.

mod silence;

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Buf;
use job::lane::{self, TAKEN, WELCOME, header};
use job::secrets::CLIENT_NAME;
use job::tls::{self, TlsError};
use job::wire::Door;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;

use self::silence::Silence;
use crate::launcher_context::LauncherKeys;

/// Lanes of one job in a launcher at once: two streams with much to say fill the network of most nodes.
const MOST: usize = 4;
/// From the first packet to the welcome.
const OPEN_DEADLINE: Duration = Duration::from_secs(5);

/// With whose keys the clients of all jobs are dialled.
#[derive(Clone)]
pub(crate) struct ClientKeys(TlsConnector);

impl ClientKeys {
    /// Those of `place`.
    ///
    /// # Errors
    ///
    /// Keys that make no sense.
    pub(crate) fn new(place: &LauncherKeys) -> Result<Self, TlsError> {
        Ok(Self(connector(place)?))
    }
}

/// The way to the client of one job. Its clones are the same way.
#[derive(Clone)]
pub(crate) struct Lanes {
    door: watch::Sender<Option<Door>>,
    keys: ClientKeys,
    places: Arc<Semaphore>,
}

impl Lanes {
    /// One that leads nowhere yet.
    pub(crate) fn new(keys: &ClientKeys) -> Self {
        Self {
            door: watch::Sender::new(None),
            keys: keys.clone(),
            places: Arc::new(Semaphore::new(MOST)),
        }
    }

    /// Those of a launcher whose keys open nothing.
    #[cfg(test)]
    pub(crate) fn without_keys() -> Self {
        use tokio_rustls::rustls::{ClientConfig, RootCertStore};
        let config = ClientConfig::builder().with_root_certificates(RootCertStore::empty());
        let connector = TlsConnector::from(Arc::new(config.with_no_client_auth()));
        Self::new(&ClientKeys(connector))
    }

    /// The client's door is there.
    pub(crate) fn lead_to(&self, door: Door) {
        self.door.send_replace(Some(door));
    }

    /// Whether there is a door, and a place for one more lane.
    pub(crate) fn are_open(&self) -> bool {
        self.door.borrow().is_some() && self.places.available_permits() > 0
    }

    /// Opens a lane and is heard.
    pub(crate) async fn open(self) -> io::Result<Box<Lane>> {
        let no_place = |_closed| io::Error::from(ErrorKind::WouldBlock);
        let place = self.places.try_acquire_owned().map_err(no_place)?;
        let door = self.door.borrow().clone().unwrap_or_default();
        let opened = timeout(OPEN_DEADLINE, dial(&self.keys.0, &door.address)).await;
        let (number, stream) = opened.map_err(|_late| io::Error::from(ErrorKind::TimedOut))??;
        Ok(Box::new(Lane {
            number,
            silence: Silence::of(stream.get_ref().0)?,
            stream,
            _place: place,
        }))
    }
}

async fn dial(tls: &TlsConnector, address: &str) -> io::Result<(u64, TlsStream<TcpStream>)> {
    let stream = TcpStream::connect(address).await?;
    lane::set_up(&stream)?;
    let name = ServerName::try_from(CLIENT_NAME).map_err(io::Error::other)?;
    let mut stream = tls.connect(name, stream).await?;
    let number = number()?;
    write(&mut stream, &number.to_le_bytes()).await?;
    expect(&mut stream, WELCOME).await?;
    Ok((number, stream))
}

/// That nobody else has; not 0.
fn number() -> io::Result<u64> {
    let mut bytes = [0; 8];
    let provider = ring::default_provider();
    let filled = provider.secure_random.fill(&mut bytes);
    filled.map_err(|_none| io::Error::other("no random numbers"))?;
    Ok(u64::from_le_bytes(bytes).max(1))
}

/// A connection to the client that is heard.
pub(crate) struct Lane {
    number: u64,
    /// However long the client takes, it is there.
    silence: Silence,
    stream: TlsStream<TcpStream>,
    _place: OwnedSemaphorePermit,
}

impl Lane {
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Ends it at once, where it is of no use any more.
    pub(crate) fn abandon(self: Box<Self>) {
        self.silence.abandon();
    }

    /// Waits until the connection takes all of `piece`.
    pub(crate) async fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        self.silence.bounds(write(&mut self.stream, piece)).await
    }

    /// Waits until the client has written all that came.
    pub(crate) async fn end(&mut self) -> io::Result<()> {
        let taken = async {
            write(&mut self.stream, &[]).await?;
            expect(&mut self.stream, TAKEN).await
        };
        self.silence.bounds(taken).await
    }
}

async fn write(stream: &mut TlsStream<TcpStream>, piece: &[u8]) -> io::Result<()> {
    let header = header(piece.len());
    stream
        .write_all_buf(&mut Buf::chain(&header[..], piece))
        .await?;
    stream.flush().await
}

async fn expect(stream: &mut TlsStream<TcpStream>, answer: u8) -> io::Result<()> {
    match stream.read_u8().await? {
        heard if heard == answer => Ok(()),
        heard => Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("it answers {heard}, not {answer}"),
        )),
    }
}

fn connector(place: &LauncherKeys) -> Result<TlsConnector, TlsError> {
    let keys = tls::PeerKeys {
        authority: &place.authority,
        certificate: &place.certificate,
        key: &place.key,
    };
    Ok(TlsConnector::from(Arc::new(keys.client()?)))
}
