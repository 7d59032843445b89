//! Takes connections in.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::connection::{self, ACCEPT_PAUSE};
use super::{Faults, Keyring, Protocol};

/// Connections at a time; more wait in the kernel's queue.
pub const CONNECTIONS: usize = 512;

/// Who may come in.
#[derive(Clone)]
pub enum Door {
    /// Processes of this machine that belong to the user of this one; the name they say is believed.
    User,
    /// Bearers of tokens.
    Token(Arc<dyn Keyring>),
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "User",
            Self::Token(_) => "Token",
        })
    }
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A name that was believed.
    User(String),
    /// The identifier of a token whose password was proved.
    Token(Vec<u8>),
}

/// What all connections of a server share.
pub(crate) struct ServerTerms {
    pub(crate) protocol: Protocol,
    pub(crate) door: Door,
    pub(crate) faults: Faults,
}

/// A port that speaks one protocol. Dropping it ends it and its connections.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    /// One task, which owns those of the connections.
    tasks: JoinSet<()>,
}

impl Server {
    /// Serves `protocol` on `listener` from now on.
    ///
    /// # Errors
    ///
    /// When the listener has no address.
    pub fn start(
        listener: TcpListener,
        protocol: Protocol,
        door: Door,
        faults: Faults,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let shared = Arc::new(ServerTerms {
            protocol,
            door,
            faults,
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, shared));
        Ok(Self { address, tasks })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it and its connections.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

async fn accept(listener: TcpListener, shared: Arc<ServerTerms>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(seat) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _peer)) => {
                let shared = Arc::clone(&shared);
                connections.spawn(async move {
                    let _seat = seat;
                    // Answers are small and waited for.
                    let _delayed = stream.set_nodelay(true).is_err();
                    connection::serve(stream, &shared).await;
                });
            }
            // No descriptors left, or a peer that was gone before it was taken in.
            Err(error) => {
                tracing::debug!(%error, "accept");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
