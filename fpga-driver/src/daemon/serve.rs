//! The thread that owns the sockets.

mod grant;
mod inbox;
mod start;

pub use inbox::Stop;
pub use start::{DriverError, DriverOptions, open_alone};

use super::devices::VirtualDevices;
use super::door::{Guest, SocketDoor};
use super::lease::Lease;
use super::lock::Lock;
use super::queue::BoardQueue;
use crate::function::Function;
use crate::wire::{self, MappedDevice, Reply, Request};
use grant::GrantRequest;
use inbox::Inbox;
use rustix::event::epoll;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

/// Events that are looked at in one go.
const AT_ONCE: usize = 64;
const LISTENER: u64 = u64::MAX;
const NOTICE: u64 = u64::MAX - 1;
/// What is wrong with a request is cut off here, bytes: it repeats the client's words.
const LONGEST_FAULT: usize = 512;

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
    /// What it asked for last.
    asked: GrantRequest,
}

impl Driver {
    /// A handle that ends it.
    pub fn stopper(&self) -> Stop {
        Stop(Arc::clone(&self.notices))
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
            asked: GrantRequest::Own,
        };
        self.connections.insert(id, connection);
    }

    /// One message of a connection, or its end.
    fn hear(&mut self, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let said = match wire::receive::<serde_json::Value>(&connection.guest.socket) {
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(Errno::BADMSG) => {
                let most = wire::LONGEST;
                self.say(
                    id,
                    &refused(&format!(
                        "the request is not one JSON message of at most {most} bytes: the connection ends"
                    )),
                );
                return self.hang_up(id, None);
            }
            Ok(None) | Err(_) => return self.hang_up(id, None),
            Ok(Some((said, _))) => said,
        };
        let reply = match serde_json::from_value(said) {
            Err(error) => Some(refused(&format!(
                "this fpgad does not know such a request: {}",
                cut(&error.to_string(), LONGEST_FAULT)
            ))),
            Ok(Request::Rings) => match connection.lease {
                Some(lease) => return self.send_rings(id, lease),
                None => Some(refused(
                    "there is no lease on this connection: ask for one first",
                )),
            },
            Ok(Request::Map) => Some(self.map()),
            Ok(Request::Lease {
                function,
                holder,
                wait,
            }) => self.asks(id, (&[function], GrantRequest::Own), &holder, wait),
            Ok(Request::LeaseAll {
                functions,
                holder,
                wait,
            }) => self.asks(id, (&functions, GrantRequest::All), &holder, wait),
        };
        if let Some(reply) = reply {
            self.say(id, &reply);
        }
    }

    fn asks(
        &mut self,
        id: u64,
        (functions, asked): (&[Function], GrantRequest),
        holder: &str,
        wait: bool,
    ) -> Option<Reply> {
        let connection = self.connections.get_mut(&id)?;
        if connection.lease.is_some() || self.devices.waits(id) {
            return Some(refused(
                "there is a lease on this connection already: open another",
            ));
        }
        connection.holder = cut(holder, wire::LONGEST_HOLDER).to_owned();
        self.wish(id, functions, asked, wait)
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
}

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
