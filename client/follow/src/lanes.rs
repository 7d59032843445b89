//! Lanes from the launchers, as [`job::lane`] describes them: this side listens, once output comes in such
//! amounts that it is worth it ([`door`]).
//!
//! Each lane has a thread of its own, which reads, opens and writes in turn: nothing is copied or handed
//! on that need not be. It stands still until the chunk that announces it has come through the
//! ApplicationMaster, and while what reads our output does.

mod door;
mod lane;
mod tls;

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

pub(crate) use door::Door;

/// Lanes and strangers at once. A thread each, and one connection.
const MOST: usize = 16;

/// Takes what comes by a lane. `false`: nobody wants any more of it.
pub(crate) type Take = Box<dyn FnMut(Bytes) -> bool + Send>;

/// All lanes of one job, by the order in which they came.
#[derive(Clone, Default)]
pub(crate) struct Lanes(Arc<Mutex<All>>);

#[derive(Default)]
struct All {
    next: u64,
    connections: BTreeMap<u64, TcpStream>,
    /// By the launcher's number: those that wait for their announcement.
    waiting: BTreeMap<u64, SyncSender<Take>>,
    is_closed: bool,
}

impl Lanes {
    /// What comes by the lane of this number goes to `take` from now on. Nothing happens where it has
    /// gone meanwhile: its launcher tells that by the common way.
    pub(crate) fn begin(&self, number: u64, take: Take) {
        let waiting = self.lock().waiting.remove(&number);
        if let Some(waiting) = waiting {
            let _heard = waiting.try_send(take).is_ok();
        }
    }

    /// Ends all of them, and lets no other in.
    pub(crate) fn close(&self) {
        let mut all = self.lock();
        all.is_closed = true;
        all.waiting.clear();
        for connection in all.connections.values() {
            // One that has ended by itself.
            let _ended = connection.shutdown(Shutdown::Both).is_ok();
        }
    }

    /// A place for one more.
    fn enter(&self, connection: &TcpStream) -> Option<Entered> {
        let connection = connection.try_clone().ok()?;
        let mut all = self.lock();
        if all.is_closed || all.connections.len() >= MOST {
            return None;
        }
        let place = all.next;
        all.next += 1;
        all.connections.insert(place, connection);
        Some(Entered {
            lanes: self.clone(),
            place,
            number: None,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the lanes, given back when dropped.
struct Entered {
    lanes: Lanes,
    place: u64,
    number: Option<u64>,
}

impl Entered {
    /// Waits for the announcement of `number` from now on.
    fn wait_as(&mut self, number: u64, waiting: SyncSender<Take>) {
        let mut all = self.lanes.lock();
        if !all.is_closed {
            all.waiting.insert(number, waiting);
            self.number = Some(number);
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut all = self.lanes.lock();
        all.connections.remove(&self.place);
        if let Some(number) = self.number {
            all.waiting.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests;
