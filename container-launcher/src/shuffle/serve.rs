//! Gives other launchers what maps have left here.

use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use job::JobId;
use job::interface::{self, InterfaceError};
use job::lane;
use job::tls::{self, TlsError};
use job::wire::{FetchRequest, FetchedPart};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::door::{Caller, Door};
use super::map_outputs::{MapOutput, MapOutputs};
use super::turns::Turns;
use super::{MESSAGE_MAX, OPEN, SERVED_MAX, SILENCE};
use crate::frames;
use crate::launcher_context::LauncherKeys;
use crate::node_facts;

/// Stack of a thread that serves, bytes: what it reads lies on the heap.
const STACK: usize = 128 * 1024;
/// Whoever takes nothing of a frame for so long has its turn no longer, and takes the rest of what is under way without.
const HELD: Duration = Duration::from_millis(100);
/// After the kernel had no descriptor or memory for one more connection.
const SHORT_PAUSE: Duration = Duration::from_millis(100);

/// The port at which others fetch. Closed when it is dropped; whoever is served then is served to the end of the
/// process, which does not wait for it.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    closed: Arc<AtomicBool>,
}

struct Serving {
    tls: Arc<ServerConfig>,
    /// The certificate that every launcher of the application shows, DER.
    launcher: Vec<u8>,
    kept: MapOutputs,
    door: Door<TcpStream>,
    served: ConnectionLimit,
    turns: Turns,
    closed: Arc<AtomicBool>,
}

/// A launcher that is served.
type FetchingPeer = StreamOwned<ServerConnection, TcpStream>;

/// Why nothing can be fetched here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error(transparent)]
    Keys(#[from] TlsError),
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    #[error(
        "no port of {first}-{last} is free for this launcher; widen --launcher-ports: it needs one for each container \
         of a node"
    )]
    NoPort { first: u16, last: u16 },
    #[error("cannot listen for other launchers: {0}")]
    Listen(#[from] io::Error),
}

impl Server {
    /// Listens, with the keys of `place` and at its interface, and serves what `kept` has.
    ///
    /// # Errors
    ///
    /// Keys that make no sense; no port can be had; there is no such interface.
    pub(crate) fn open(place: &LauncherKeys, kept: MapOutputs) -> Result<Self, ServeError> {
        let keys = tls::PeerKeys {
            authority: &place.authority,
            certificate: &place.certificate,
            key: &place.key,
        };
        let closed = Arc::new(AtomicBool::new(false));
        let serving = Arc::new(Serving {
            tls: Arc::new(keys.server()?),
            launcher: tls::certificate(&place.certificate)?.as_ref().to_vec(),
            kept,
            door: Door::default(),
            served: ConnectionLimit::default(),
            turns: Turns::default(),
            closed: Arc::clone(&closed),
        });
        let ports = place.context.ports;
        let listener = match &place.context.interface {
            Some(name) => {
                let own = interface::address(name, &node_facts::hostname())?;
                listen(ports, |port| TcpListener::bind((own, port)))?
            }
            None => listen(ports, every)?,
        };
        let address = listener.local_addr()?;
        let thread = thread::Builder::new().name("fetch port".into());
        thread
            .stack_size(STACK)
            .spawn(move || let_in(&listener, &serving))?;
        Ok(Self { address, closed })
    }

    /// Its address is unspecified where it listens at any.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        // Its thread looks when somebody comes.
        drop(match self.address.ip().is_unspecified() {
            true => TcpStream::connect(("localhost", self.address.port())),
            false => TcpStream::connect(self.address),
        });
    }
}

/// At a port that is free: any, or the first of these, inclusive.
fn listen(
    ports: Option<(u16, u16)>,
    at: impl Fn(u16) -> io::Result<TcpListener>,
) -> Result<TcpListener, ServeError> {
    let Some((first, last)) = ports else {
        return Ok(at(0)?);
    };
    let free = (first..=last).find_map(|port| at(port).ok());
    free.ok_or(ServeError::NoPort { first, last })
}

/// On both families, where the node has both.
fn every(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))
        .or_else(|_no_such_family| TcpListener::bind(("0.0.0.0", port)))
}

fn let_in(listener: &TcpListener, serving: &Arc<Serving>) {
    loop {
        // A connection without a place waits: a launcher takes one that is closed for a fault.
        serving.door.wait();
        let (stream, from) = match listener.accept() {
            Ok((stream, from)) => (stream, from.ip()),
            Err(_exhausted) => {
                thread::park_timeout(SHORT_PAUSE);
                continue;
            }
        };
        if serving.closed.load(Ordering::Relaxed) {
            serving.door.close();
            return;
        }
        if let Caller::LookedAt(stream) = serving.door.comes(from, stream) {
            look_at(serving, Some((from, stream)));
        }
    }
}

/// Authenticates a connection and serves it, on a thread of its own.
fn look_at(serving: &Arc<Serving>, mut next: Option<(IpAddr, TcpStream)>) {
    while let Some((from, stream)) = next.take() {
        let own = Arc::clone(serving);
        let thread = thread::Builder::new().name("fetch".into());
        let started = thread.stack_size(STACK).spawn(move || {
            let known = own.known(stream);
            // It keeps its place of a handshake until it has one of those that are served.
            let is_known = known.is_ok();
            if is_known {
                own.served.take();
            }
            look_at(&own, own.door.leaves(from));
            if let Ok(peer) = known {
                // A launcher that is cut off tells what is missing; a stranger is no news.
                drop(own.serve(peer));
            }
            if is_known {
                own.served.leave();
            }
        });
        if started.is_err() {
            next = serving.door.leaves(from);
        }
    }
}

/// How many are served.
#[derive(Debug, Default)]
struct ConnectionLimit {
    taken: Mutex<usize>,
    one_left: Condvar,
}

impl ConnectionLimit {
    /// Takes one; waits until there is one.
    fn take(&self) {
        let is_full = |taken: &mut usize| *taken >= SERVED_MAX;
        let taken = self.one_left.wait_while(self.lock(), is_full);
        let mut taken = taken.unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_add(1);
    }

    fn leave(&self) {
        let mut taken = self.lock();
        *taken = taken.saturating_sub(1);
        self.one_left.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        // Nothing in here panics while it holds the lock.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Serving {
    fn serve(&self, mut peer: FetchingPeer) -> io::Result<()> {
        peer.sock.set_read_timeout(Some(SILENCE))?;
        let request: FetchRequest = frames::receive(&mut peer, MESSAGE_MAX)?;
        if request.build != job::BUILD {
            return Err(ErrorKind::InvalidData.into());
        }
        peer.sock.set_write_timeout(Some(HELD))?;
        let job = JobId(request.job);
        for map in request.maps {
            let output = self.kept.get(job, map);
            let part = output
                .as_ref()
                .and_then(|output| output.part(request.partition));
            let (Some(output), Some(part)) = (output, part) else {
                let trouble = format!("it has no output of map {map}");
                tell(
                    &mut peer,
                    &FetchedPart {
                        map,
                        trouble,
                        ..FetchedPart::default()
                    },
                )?;
                continue;
            };
            let announced = FetchedPart {
                map,
                length: part.length,
                records: part.records,
                trouble: String::new(),
            };
            tell(&mut peer, &announced)?;
            self.give(job, &output, (part.offset, part.length), &mut peer)?;
        }
        peer.conn.send_close_notify();
        settle(&mut peer)
    }

    /// Sends a part of a file, a frame in each turn. One that cannot be read breaks the connection: what was announced
    /// is missing.
    fn give(
        &self,
        job: JobId,
        output: &MapOutput,
        (offset, length): (u64, u64),
        to: &mut FetchingPeer,
    ) -> io::Result<()> {
        let (mut at, end) = (offset, offset.saturating_add(length));
        while at < end {
            let mut turn = self.turns.take(job)?;
            let frame = turn.frame(end.saturating_sub(at));
            output.file.read_exact_at(frame, at)?;
            let taken = send(to, frame)?;
            drop(turn);
            at = at.saturating_add(taken);
            settle(to)?;
        }
        Ok(())
    }
}

impl Serving {
    /// Lets a launcher in. All of that has one deadline: a stranger who says a byte now and then keeps no place.
    fn known(&self, mut stream: TcpStream) -> io::Result<FetchingPeer> {
        lane::set_up(&stream)?;
        stream.set_write_timeout(Some(SILENCE))?;
        let until = Instant::now() + OPEN;
        let mut peer = ServerConnection::new(Arc::clone(&self.tls)).map_err(io::Error::other)?;
        while peer.is_handshaking() {
            while peer.wants_write() {
                unless_broken_off(peer.write_tls(&mut stream))?;
            }
            if !peer.is_handshaking() {
                break;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            stream.set_read_timeout(Some(left))?;
            if unless_broken_off(peer.read_tls(&mut stream))? == Some(0) {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Err(error) = peer.process_new_packets() {
                // Why not is said to it.
                drop(peer.write_tls(&mut stream));
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
        }
        let shown = peer.peer_certificates().and_then(|chain| chain.first());
        match shown.is_some_and(|shown| shown.as_ref() == self.launcher) {
            true => Ok(StreamOwned::new(peer, stream)),
            false => Err(ErrorKind::PermissionDenied.into()),
        }
    }
}

/// Sends of a frame what a launcher takes while it has its turn; how many bytes that is.
fn send(to: &mut FetchingPeer, frame: &[u8]) -> io::Result<u64> {
    let until = Instant::now() + HELD;
    let mut rest = frame;
    while !rest.is_empty() && Instant::now() < until {
        match to.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(taken) => rest = rest.get(taken..).unwrap_or_default(),
            Err(error) if waits(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(u64::try_from(frame.len().saturating_sub(rest.len())).unwrap_or(0))
}

fn tell(to: &mut FetchingPeer, part: &FetchedPart) -> io::Result<()> {
    frames::send(to, part)?;
    settle(to)
}

/// Until a launcher has taken all that is on the way to it: what is sent next is begun whole.
fn settle(to: &mut FetchingPeer) -> io::Result<()> {
    let by = Instant::now() + SILENCE;
    while to.conn.wants_write() {
        match to.conn.write_tls(&mut to.sock) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(_) => {}
            Err(error) if waits(&error) && Instant::now() < by => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Of a call that a signal broke off nothing: it is made again.
fn unless_broken_off(called: io::Result<usize>) -> io::Result<Option<usize>> {
    match called {
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
        other => other.map(Some),
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}
