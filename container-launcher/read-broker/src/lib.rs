//! Engines of a GPU ask one broker of their node whose chunk the disk reads next.
//!
//! Each launcher whose tasks are engines starts a [`Broker`]. One of them has the lock and serves; the others stand by,
//! and one of these takes over when the first ends, in whatever way.
//!
//! | file of the turns' folder | |
//! |---|---|
//! | `KEY.broker` | locked (`flock`) by who serves |
//! | `KEY.socket` | where he listens |
//!
//! Which engine reads is decided by [`policy::read_order::ReadBroker`]; here are its socket and its clock. One thread does
//! all of it: it waits for engines and for the next deadline ([`serve`]), and never for one engine.
//!
//! Invariants: an engine gets a bounded piece of memory and a bounded time to say hello; who does not read what it is told
//! is parted with; the socket is gone when its broker has ended in order, and replaced by the next one's where not.

mod lock;
mod peer;
mod serve;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use policy::read_order::read_order;

pub use serve::HungEngine;

/// How long an engine may have a token.
pub const IO_TIMEOUT: Duration = Duration::from_secs(30);

/// What a broker is started with.
#[derive(Clone, Debug)]
pub struct BrokerSettings {
    /// Where tasks of the node take turns.
    pub folder: PathBuf,
    /// What the whole node calls the GPU.
    pub key: String,
    /// In which order chunks are read, as [`policy::read_order::read_order`] has it.
    pub order: String,
    /// How long an engine may have a token.
    pub io_timeout: Duration,
}

/// A broker that serves or stands by, until it is dropped.
#[derive(Debug)]
pub struct Broker {
    /// Its thread ends when this is closed.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
    socket: PathBuf,
}

/// Where the engines of a GPU find their broker.
#[must_use]
pub fn socket(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{key}.socket"))
}

impl Broker {
    /// Starts one. `hung` is told of an engine that has had a token for too long, so that it is killed where that is
    /// the caller's to do; `said` hears sentences for a log.
    ///
    /// # Errors
    ///
    /// The order is not known, or there is no thread.
    pub fn start(
        settings: BrokerSettings,
        hung: impl Fn(&HungEngine) + Send + 'static,
        said: impl Fn(&str) + Send + 'static,
    ) -> io::Result<Self> {
        let order = read_order(&settings.order);
        let order = order.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let socket = socket(&settings.folder, &settings.key);
        let (stop, stopped) = UnixStream::pair()?;
        let thread = std::thread::Builder::new()
            .name("read-broker".to_owned())
            .spawn(move || serve::serve(&settings, order, &stopped, &hung, &said))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
            socket,
        })
    }

    /// Where engines find this one, or the one that serves.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        drop(self.stop.take());
        // It waits for nothing but this.
        let ended = self.thread.take().map(JoinHandle::join);
        drop(ended);
    }
}
