//! The thread that owns the sockets.

use super::devices::{Availability, VirtualDevices};
use super::door::{Guest, SocketDoor};
use super::lease::{Holder, Lease};
use super::lock::{self, Lock};
use super::queue::{BoardQueue, Notices};
use super::{receiver, sender};
use crate::board::{self, Board, BoardError, ID, Register, VERSION};
use crate::function::Function;
use crate::profile::{BoardKind, BoardProfile, Profile};
use crate::wire::{self, MappedDevice, Reply, Request};
use rustix::event::{EventfdFlags, epoll};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Events that are looked at in one go.
const AT_ONCE: usize = 64;
const LISTENER: u64 = u64::MAX;
const NOTICE: u64 = u64::MAX - 1;

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

/// The driver.
#[derive(Debug)]
pub struct Driver {
    options: DriverOptions,
    door: SocketDoor,
    _locks: Vec<Lock>,
    queues: Vec<Arc<BoardQueue>>,
    threads: Vec<JoinHandle<()>>,
    devices: VirtualDevices,
    notices: Arc<Inbox>,
    watch: OwnedFd,
    connections: BTreeMap<u64, ClientConnection>,
    /// Which connection a lease belongs to, and on which board it is.
    leases: BTreeMap<u64, (u64, usize, Arc<Lease>)>,
    next: u64,
}

#[derive(Debug)]
struct ClientConnection {
    guest: Guest,
    lease: Option<u64>,
    holder: String,
}

/// What other threads tell this one.
#[derive(Debug)]
struct Inbox {
    said: Mutex<(Vec<(u64, String)>, bool)>,
    bell: OwnedFd,
}

impl Inbox {
    fn ring(&self) {
        rustix::io::write(&self.bell, &1u64.to_ne_bytes()).ok();
    }
}

impl Notices for Inbox {
    fn ended(&self, lease: u64, reason: String) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        // One notice a lease is enough; so leases bound this queue.
        if said.0.iter().all(|(other, _)| *other != lease) {
            said.0.push((lease, reason));
        }
        drop(said);
        self.ring();
    }
}

/// Ends a driver from another thread.
#[derive(Debug, Clone)]
pub struct Stop(Arc<Inbox>);

impl Stop {
    /// Lets [`Driver::run`] return.
    pub fn stop(&self) {
        self.0.said.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.0.ring();
    }
}

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

    /// A handle that ends it.
    pub fn stopper(&self) -> Stop {
        Stop(Arc::clone(&self.notices))
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

    /// Serves until it is stopped.
    ///
    /// # Errors
    ///
    /// The kernel tells of no events any more.
    pub fn run(mut self) -> Result<(), DriverError> {
        loop {
            let mut events = Vec::with_capacity(AT_ONCE);
            match epoll::wait(
                &self.watch,
                rustix::buffer::spare_capacity(&mut events),
                None,
            ) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(std::io::Error::from(errno).into()),
            }
            for event in events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    NOTICE => {
                        if self.notices() {
                            return Ok(());
                        }
                    }
                    connection => self.hear(connection),
                }
            }
        }
    }

    fn accept(&mut self) {
        let Some(guest) = self.door.accept(self.connections.len()) else {
            return;
        };
        let id = self.next;
        self.next += 1;
        if add(&self.watch, &guest.socket, id).is_err() {
            return;
        }
        let connection = ClientConnection {
            guest,
            lease: None,
            holder: String::new(),
        };
        self.connections.insert(id, connection);
    }

    /// One message of a connection, or its end.
    fn hear(&mut self, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let reply = match wire::receive::<Request>(&connection.guest.socket) {
            Err(Errno::AGAIN | Errno::INTR) => return,
            Ok(None) | Err(_) => return self.hang_up(id, None),
            Ok(Some((Request::Rings, _))) => match connection.lease {
                Some(lease) => return self.send_rings(id, lease),
                None => refused("there is no lease on this connection: ask for one first"),
            },
            Ok(Some((Request::Map, _))) => self.map(),
            Ok(Some((
                Request::Lease {
                    function,
                    holder,
                    wait,
                },
                _,
            ))) => {
                if connection.lease.is_some() || self.devices.waits(id) {
                    refused("there is a lease on this connection already: open another")
                } else {
                    connection.holder = cut(&holder, wire::LONGEST_HOLDER).to_owned();
                    self.wish(id, function, wait)
                }
            }
        };
        self.say(id, &reply);
    }

    fn wish(&mut self, id: u64, function: Function, wait: bool) -> Reply {
        match self.devices.find(function) {
            Availability::Free(index) => self.grant(id, function, index),
            Availability::None => refused(&format!(
                "no board of this node computes {function}, or it is off"
            )),
            Availability::Taken if wait => Reply::Waiting {
                ahead: self.devices.wait(id, function),
            },
            Availability::Taken => {
                refused(&format!("all virtual devices for {function} are leased"))
            }
        }
    }

    fn grant(&mut self, id: u64, function: Function, index: usize) -> Reply {
        let device = self.devices.all()[index].clone();
        let (Some(connection), Some(queue)) =
            (self.connections.get_mut(&id), self.queues.get(device.board))
        else {
            return refused("the connection is gone");
        };
        let number = self.next;
        self.next += 1;
        let holder = Holder {
            name: connection.holder.clone(),
            pid: connection.guest.pid,
            uid: connection.guest.uid,
        };
        let geometry = self.options.profile.boards[device.board].geometry;
        let lease = match Lease::new(number, function, holder, geometry) {
            Ok(lease) => Arc::new(lease),
            Err(error) => return refused(&error.to_string()),
        };
        if let Err(error) = queue.add(&lease) {
            queue.remove(number);
            return refused(&format!("cannot watch the rings: {error}"));
        }
        connection.lease = Some(number);
        self.devices.give(index, number);
        self.leases.insert(number, (id, device.board, lease));
        Reply::Granted {
            lease: number,
            device: device.name,
            board: queue.name.clone(),
            geometry,
        }
    }

    fn send_rings(&mut self, id: u64, lease: u64) {
        let (Some(connection), Some((_, _, lease))) =
            (self.connections.get(&id), self.leases.get(&lease))
        else {
            return;
        };
        if wire::send(
            &connection.guest.socket,
            &Reply::Rings,
            &lease.descriptors(),
        )
        .is_err()
        {
            self.hang_up(id, None);
        }
    }

    fn map(&self) -> Reply {
        let devices = self.devices.all().iter().map(|device| MappedDevice {
            device: device.name.clone(),
            board: self.queues[device.board].name.clone(),
            lease: device
                .lease
                .and_then(|lease| Some(self.leases.get(&lease)?.2.row())),
        });
        Reply::Map {
            devices: devices.collect(),
            boards: self.queues.iter().map(|queue| queue.row()).collect(),
        }
    }

    /// What the boards' threads tell; true where this one is to end.
    fn notices(&mut self) -> bool {
        // The bell is this process's own; where it was not rung there is nothing to read.
        rustix::io::read(&self.notices.bell, &mut [0; 8]).ok();
        let (ended, stop) = {
            let mut said = self
                .notices
                .said
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            (std::mem::take(&mut said.0), said.1)
        };
        for (index, queue) in self.queues.iter().enumerate() {
            if queue.off().is_some() {
                self.devices.turn_off(index);
            }
        }
        for (lease, reason) in ended {
            if let Some((connection, _, _)) = self.leases.get(&lease) {
                self.hang_up(*connection, Some(reason));
            }
        }
        self.serve_line();
        stop
    }

    fn say(&mut self, id: u64, reply: &Reply) {
        let Some(connection) = self.connections.get(&id) else {
            return;
        };
        if wire::send(&connection.guest.socket, reply, &[]).is_err() {
            self.hang_up(id, None);
        }
    }

    /// Ends a connection, and with it its lease.
    fn hang_up(&mut self, id: u64, reason: Option<String>) {
        let Some(connection) = self.connections.remove(&id) else {
            return;
        };
        if let Some(reason) = reason {
            // Whoever does not read it sees the end of the connection.
            wire::send(&connection.guest.socket, &Reply::Ended { reason }, &[]).ok();
        }
        self.devices.leave(id);
        if let Some(lease) = connection.lease {
            if let Some(board) = self.devices.take_back(lease) {
                self.queues[board].remove(lease);
            }
            self.leases.remove(&lease);
        }
        self.serve_line();
    }

    /// Gives what is free to those who wait.
    fn serve_line(&mut self) {
        while let Some((id, function, wish)) = self.devices.next_in_line() {
            let reply = match wish {
                Availability::Free(index) => self.grant(id, function, index),
                _ => refused(&format!(
                    "no board of this node computes {function} any more"
                )),
            };
            self.say(id, &reply);
        }
    }
}

/// Stack of a board's thread, bytes: deep enough for the functions of the model.
const STACK: usize = 512 << 10;

impl Drop for Driver {
    fn drop(&mut self) {
        for queue in &self.queues {
            queue.close();
        }
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so.
            drop(thread.join());
        }
    }
}

fn refused(reason: &str) -> Reply {
    Reply::Refused {
        reason: reason.to_owned(),
    }
}

/// The first `longest` bytes of a text, whole characters.
fn cut(text: &str, longest: usize) -> &str {
    let end = (0..=longest.min(text.len()))
        .rev()
        .find(|&end| text.is_char_boundary(end))
        .unwrap_or(0);
    &text[..end]
}

fn add(watch: &OwnedFd, what: impl AsFd, data: u64) -> Result<(), std::io::Error> {
    let data = epoll::EventData::new_u64(data);
    epoll::add(watch, what, data, epoll::EventFlags::IN)?;
    Ok(())
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
