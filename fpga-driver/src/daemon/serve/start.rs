//! How a driver starts: boards, locks, and the threads of each board.

use super::inbox::Inbox;
use super::{Driver, LISTENER, NOTICE, add};
use crate::board::{self, Board, BoardError, ID, Register, VERSION};
use crate::daemon::devices::VirtualDevices;
use crate::daemon::door::SocketDoor;
use crate::daemon::lock::{self, Lock};
use crate::daemon::queue::{BoardQueue, Notices};
use crate::daemon::{receiver, sender};
use crate::profile::{BoardKind, BoardProfile, Profile};
use rustix::event::{EventfdFlags, epoll};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// How a driver is to run.
#[derive(Debug, Clone)]
pub struct DriverOptions {
    /// Where it listens.
    pub socket: PathBuf,
    /// Users besides this process's own and root who may connect.
    pub allowed: Vec<u32>,
    /// What it offers.
    pub profile: Profile,
}

/// Why there is no driver.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// Another driver listens there.
    #[error("another fpgad listens at {socket}", socket = socket.display())]
    Running {
        /// The socket that this one was to listen at.
        socket: PathBuf,
    },
    /// The socket cannot be made.
    #[error("{what} {path}: {source}", path = path.display())]
    Socket {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// No board could be had.
    #[error("no board to serve: {reasons}")]
    NoBoard {
        /// Why each was not got.
        reasons: String,
    },
    /// The kernel gave no descriptor or thread.
    #[error("cannot serve: {0}")]
    Kernel(#[from] std::io::Error),
}

/// Stack of a board's thread, bytes: deep enough for the functions of the model.
const STACK: usize = 512 << 10;

impl Driver {
    /// Takes boards and socket.  Boards that others hold are left out, and said by `warn`.
    ///
    /// # Errors
    ///
    /// Another driver listens there, or no board can be had.
    pub fn start(options: DriverOptions, mut warn: impl FnMut(&str)) -> Result<Self, DriverError> {
        let door = SocketDoor::open(&options.socket, &options.allowed)?;
        let watch = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(std::io::Error::from)?;
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let bell = rustix::event::eventfd(0, flags).map_err(std::io::Error::from)?;
        add(&watch, &door, LISTENER)?;
        add(&watch, &bell, NOTICE)?;
        let notices = Arc::new(Inbox {
            said: Mutex::default(),
            bell,
        });
        let mut driver = Self {
            door,
            _locks: Vec::new(),
            queues: Vec::new(),
            threads: Vec::new(),
            devices: VirtualDevices::default(),
            notices,
            watch,
            connections: BTreeMap::new(),
            leases: BTreeMap::new(),
            next: 1,
            options,
        };
        let mut reasons = Vec::new();
        let profiles = std::mem::take(&mut driver.options.profile.boards);
        for profile in &profiles {
            match driver.open(profile) {
                Ok(()) => driver.options.profile.boards.push(profile.clone()),
                Err(error) => {
                    warn(&error.to_string());
                    reasons.push(error.to_string());
                }
            }
        }
        if driver.queues.is_empty() {
            return Err(DriverError::NoBoard {
                reasons: reasons.join("; "),
            });
        }
        driver.spawn()?;
        Ok(driver)
    }

    fn open(&mut self, profile: &BoardProfile) -> Result<(), BoardError> {
        let beside = self.options.socket.parent().unwrap_or(Path::new("/"));
        let (path, lock) = if let (BoardKind::Xdma, Some(path)) = (profile.kind, &profile.path) {
            let path = board::xdma::file(path, "user");
            let lock = Lock::take_device(&path);
            (path, lock)
        } else {
            let path = beside.join(format!("board-{}.lock", profile.name.replace(':', "-")));
            let lock = Lock::take(&path);
            (path, lock)
        };
        let lock = lock.map_err(|error| lock::held(&profile.name, &path, error))?;
        let board = board::open(profile)?;
        identify(&profile.name, board.as_ref())?;
        let offered = board.read(Register::Functions)?;
        let queue = BoardQueue::new(
            profile.name.clone(),
            board,
            profile.patience,
            Arc::clone(&self.notices) as Arc<dyn Notices>,
        )
        .map_err(|source| BoardError::Device {
            what: "cannot watch",
            path: profile.name.clone(),
            source,
        })?;
        for (function, count) in &profile.functions {
            if offered & function.bit() == 0 {
                return Err(BoardError::NotBuilt {
                    board: profile.name.clone(),
                    reason: format!(
                        "the card does not compute {function} (its functions register says {offered:#x}); take it out of the profile"
                    ),
                });
            }
            self.devices.add(*function, self.queues.len(), *count);
        }
        self._locks.push(lock);
        self.queues.push(Arc::new(queue));
        Ok(())
    }

    fn spawn(&mut self) -> Result<(), DriverError> {
        for queue in &self.queues {
            let mine = Arc::clone(queue);
            let thread = std::thread::Builder::new()
                .name(format!("send {}", queue.name))
                .stack_size(STACK)
                .spawn(move || sender::run(&mine))?;
            // The cell is new.
            drop(queue.sender.set(thread.thread().clone()));
            self.threads.push(thread);
            let mine = Arc::clone(queue);
            let thread = std::thread::Builder::new()
                .name(format!("receive {}", queue.name))
                .stack_size(STACK)
                .spawn(move || receiver::run(&mine))?;
            self.threads.push(thread);
        }
        Ok(())
    }
}

/// Opens a board without serving it; nobody else can while the lock lives.
///
/// # Errors
///
/// A driver holds it, or it cannot be opened.
pub fn open_alone(profile: &BoardProfile) -> Result<(Box<dyn Board>, Option<Lock>), BoardError> {
    let lock = match (profile.kind, &profile.path) {
        (BoardKind::Xdma, Some(path)) => {
            let path = board::xdma::file(path, "user");
            let lock = Lock::take_device(&path);
            Some(lock.map_err(|error| lock::held(&profile.name, &path, error))?)
        }
        _ => None,
    };
    Ok((board::open(profile)?, lock))
}

fn identify(name: &str, board: &dyn Board) -> Result<(), BoardError> {
    let (id, version) = (board.read(Register::Id)?, board.read(Register::Version)?);
    if (id, version) == (ID, VERSION) {
        return Ok(());
    }
    Err(BoardError::Stranger {
        board: name.to_owned(),
        id,
        version,
    })
}
