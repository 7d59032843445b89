//! The AM's port before TLS is done: everybody in the cluster may knock, and all are strangers.
//!
//! A stranger costs a socket and some kilobytes until it has shown a certificate of this job, so
//! the time for that is bounded, and so is their number. Who comes when all places are taken waits in
//! the kernel's queue until one is done, or until the longest has had [`StrangerBounds::spared`], which is
//! more than any peer needs that means it; then that one is turned away. A flood therefore costs an
//! honest peer seconds, which it has: it dials again for half a minute.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use job::tls::{self, TlsError};
use job::transport::LEASE;
use job::{LargeReads, lane};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::keys::Keys;

/// A peer that has shown a certificate of this job.
pub(crate) type KnownPeer = TlsStream<LargeReads>;

/// After the kernel had no descriptor or memory for one more connection.
const SHORT_PAUSE: Duration = Duration::from_millis(50);
/// Between two lines of the log about strangers.
const LOG_PAUSE: Duration = Duration::from_secs(1);

/// How much strangers are given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StrangerBounds {
    /// Handshakes under way. A gang of thousands dials in within a second or two.
    pub most: usize,
    /// A handshake takes no longer than this.
    pub deadline: Duration,
    /// None is cut short before, however many wait. A busy node needs a tenth of it.
    pub spared: Duration,
    /// Taken from the kernel at once, bytes.
    pub piece: usize,
}

impl Default for StrangerBounds {
    fn default() -> Self {
        Self {
            most: 512,
            deadline: Duration::from_secs(10),
            spared: Duration::from_secs(3),
            piece: job::CHUNK_MAX,
        }
    }
}

/// TLS with the keys of one job, for gRPC.
pub(crate) fn acceptor(keys: &Keys) -> Result<TlsAcceptor, TlsError> {
    let keys = tls::PeerKeys {
        authority: &keys.authority,
        certificate: &keys.certificate,
        key: &keys.key,
    };
    let mut config = keys.server()?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Lets in who shows a certificate of this job, until `leaving`.
pub(crate) async fn let_in(
    listener: TcpListener,
    tls: TlsAcceptor,
    bounds: StrangerBounds,
    known: mpsc::Sender<io::Result<KnownPeer>>,
    leaving: CancellationToken,
) {
    let mut strangers = Strangers::new(bounds);
    loop {
        let has_room = strangers.have_room();
        tokio::select! {
            () = leaving.cancelled() => return,
            peer = strangers.next() => {
                if let Some(peer) = peer
                    && known.send(Ok(peer)).await.is_err()
                {
                    // Nobody serves them any more.
                    return;
                }
            }
            accepted = listener.accept(), if has_room => match accepted {
                Ok((stream, from)) => strangers.meet(stream, from, tls.clone()),
                Err(error) => {
                    strangers.refused("a connection", &error.to_string());
                    // Those that wait hold what is missing.
                    strangers.turn_away_the_oldest();
                    sleep(SHORT_PAUSE).await;
                }
            }
        }
    }
}

/// A handshake under way.
struct Stranger {
    task: AbortHandle,
    from: SocketAddr,
    since: Instant,
}

/// Those whose handshake is under way, oldest first.
struct Strangers {
    bounds: StrangerBounds,
    tasks: JoinSet<Result<KnownPeer, Refused>>,
    all: VecDeque<Stranger>,
    /// The log is not written to before.
    quiet_until: Instant,
    /// Refusals that the log does not know of.
    unsaid: u64,
}

/// Why a handshake came to nothing.
struct Refused {
    from: SocketAddr,
    cause: String,
}

impl Strangers {
    fn new(bounds: StrangerBounds) -> Self {
        Self {
            bounds,
            tasks: JoinSet::new(),
            all: VecDeque::new(),
            quiet_until: Instant::now(),
            unsaid: 0,
        }
    }

    fn have_room(&self) -> bool {
        self.all.len() < self.bounds.most
    }

    fn meet(&mut self, stream: TcpStream, from: SocketAddr, tls: TlsAcceptor) {
        let StrangerBounds {
            deadline, piece, ..
        } = self.bounds;
        let task = self.tasks.spawn(async move {
            let refused = |cause| Refused { from, cause };
            // The kernel finds out whether the machine at the other end is still there, also of a client that has
            // paused. No sooner than a silent client is lost: a network that is away for a while is no loss.
            lane::keep_alive(&stream, LEASE).map_err(|e| refused(e.to_string()))?;
            let stream = LargeReads::new(stream, piece);
            match timeout(deadline, tls.accept(stream)).await {
                Ok(Ok(known)) => Ok(known),
                Ok(Err(error)) => Err(refused(error.to_string())),
                Err(_late) => {
                    let seconds = deadline.as_secs_f32();
                    Err(refused(format!("no handshake within {seconds} s")))
                }
            }
        });
        let since = Instant::now();
        self.all.push_back(Stranger { task, from, since });
    }

    /// The next that is none any more; `None` when one went away. May be dropped and called again.
    async fn next(&mut self) -> Option<KnownPeer> {
        let overdue = match self.all.front() {
            Some(oldest) if !self.have_room() => Some(oldest.since + self.bounds.spared),
            _ => None,
        };
        let ended = tokio::select! {
            ended = self.tasks.join_next_with_id(), if !self.tasks.is_empty() => ended,
            () = until(overdue) => {
                self.turn_away_the_oldest();
                return None;
            }
        };
        match ended {
            Some(Ok((id, ended))) => {
                self.all.retain(|stranger| stranger.task.id() != id);
                match ended {
                    Ok(known) => Some(known),
                    Err(Refused { from, cause }) => {
                        self.refused(&from.to_string(), &cause);
                        None
                    }
                }
            }
            // Turned away, and gone from the list already.
            Some(Err(_)) | None => None,
        }
    }

    fn turn_away_the_oldest(&mut self) {
        if let Some(oldest) = self.all.pop_front() {
            oldest.task.abort();
            let cause = format!("turned away, since {} others wait", self.all.len());
            self.refused(&oldest.from.to_string(), &cause);
        }
    }

    /// One line a second at most: a flood of strangers is none of lines.
    fn refused(&mut self, who: &str, cause: &str) {
        let now = Instant::now();
        if now < self.quiet_until {
            self.unsaid += 1;
            return;
        }
        self.quiet_until = now + LOG_PAUSE;
        let more = match std::mem::take(&mut self.unsaid) {
            0 => String::new(),
            unsaid => format!(" ({unsaid} more before, of which nothing was said)"),
        };
        tracing::warn!("refused {who} at this ApplicationMaster's port: {cause}{more}");
    }
}

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
