//! One board's queue: packets of all virtual devices on it, a packet of each lease in turn
//! ([`super::rounds`]).
//!
//! Two threads serve it: [`super::sender`] takes packets from the rings, queues them, and brings one
//! after the other to the card; [`super::receiver`] answers the card's interrupts.  The life of a
//! packet: Queued in its ring → taken into the queue → copied, once, into private memory and checked →
//! placed on the card (in flight) → *sent*: its input block is free → *result*: copied to the output
//! block that was reserved for it → gone.
//!
//! What was on a card when it was reset flies once more, alone ([`super::recovery`]).
//!
//! The copy is what makes a second try possible when the card loses a packet whose block its holder has
//! filled again, and what no holder can change after it was checked.

use super::lease::{Broken, Lease};
use super::lines::{Lines, QueuedPacket};
use crate::board::Board;
use crate::status::Status;
use crate::wire::BoardRow;
use rustix::event::{EventfdFlags, epoll};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// The word by which the sender's own wake-up is told from doorbells.
pub(super) const WAKE: u64 = u64::MAX;

/// Leases that ended on a board's side, with the reason, for the thread that owns the sockets.
pub trait Notices: Send + Sync + std::fmt::Debug {
    /// Tells of one.
    fn ended(&self, lease: u64, reason: String);
}

/// A board, its queue, and what its threads wait on.
#[derive(Debug)]
pub struct BoardQueue {
    /// The board's name, as `model:0`.
    pub name: String,
    pub(super) board: Box<dyn Board>,
    /// How long a card may do nothing while it has something to do.
    pub(super) patience: Duration,
    pub(super) watch: OwnedFd,
    wake: OwnedFd,
    lines: Mutex<Lines>,
    pub(super) notices: Arc<dyn Notices>,
    pub(super) sender: OnceLock<Thread>,
}

impl BoardQueue {
    /// A queue for this board.
    ///
    /// # Errors
    ///
    /// No descriptors are left.
    pub fn new(
        name: String,
        board: Box<dyn Board>,
        patience: Duration,
        notices: Arc<dyn Notices>,
    ) -> std::io::Result<Self> {
        let watch = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&watch, &wake, epoll::EventData::new_u64(WAKE), edges())?;
        Ok(Self {
            name,
            board,
            patience,
            watch,
            wake,
            lines: Mutex::default(),
            notices,
            sender: OnceLock::new(),
        })
    }

    pub(super) fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to serve a lease's ring.
    ///
    /// # Errors
    ///
    /// No watches are left.
    pub fn add(&self, lease: &Arc<Lease>) -> std::io::Result<()> {
        let data = epoll::EventData::new_u64(lease.id);
        self.lines().leases.insert(lease.id, Arc::clone(lease));
        epoll::add(&self.watch, lease.doorbell(), data, edges())?;
        Ok(())
    }

    /// Ends a lease: its packets that wait are dropped, results of those on the card too.
    pub fn remove(&self, lease: u64) {
        let mut lines = self.lines();
        if let Some(lease) = lines.leases.remove(&lease) {
            lease.end();
            // It was watched, or adding it failed.
            epoll::delete(&self.watch, lease.doorbell()).ok();
        }
        lines.waiting.remove(lease);
        lines.tables.retain(|table| table.owner != lease);
    }

    /// Lets both threads end.
    pub fn close(&self) {
        self.lines().closing = true;
        self.wake_sender();
        self.board.wake();
    }

    pub(super) fn wake_sender(&self) {
        rustix::io::write(&self.wake, &1u64.to_ne_bytes()).ok();
        if let Some(thread) = self.sender.get() {
            thread.unpark();
        }
    }

    /// Why the board is off, if it is.
    pub fn off(&self) -> Option<String> {
        self.lines().off.clone()
    }

    /// The row of the map.
    pub fn row(&self) -> BoardRow {
        let mut lines = self.lines();
        lines.note();
        let [served_us, busy_us, waited_us] = lines.times.all();
        let rings = lines.leases.values();
        BoardRow {
            board: self.name.clone(),
            ring: rings
                .map(|lease| lease.geometry().blocks)
                .max()
                .unwrap_or(0),
            served_us,
            busy_us,
            waited_us,
            queued: lines.waiting.len(),
            in_flight: lines.in_flight.len(),
            packets: lines.packets,
            resets: lines.resets,
            last_reset: lines.last_reset.clone(),
            lost_by: lines.lost_by.len(),
            off: lines.off.clone(),
        }
    }

    /// Gives an answer to the lease that a packet came from.
    pub(super) fn answer(&self, job: &QueuedPacket, status: Status, length: usize, crc: u32) {
        let Some(lease) = job.lease.upgrade() else {
            return;
        };
        let number = job.taken.number;
        // Once given back, the block may hold another packet by now.
        let freed = if job.sent { Ok(()) } else { lease.sent(number) };
        let done = freed.and_then(|()| lease.publish(number, status, length, crc));
        if let Err(broken) = done {
            self.expel(&lease, &broken);
        }
    }

    /// Ends the lease of a client that broke the rules.
    pub(super) fn expel(&self, lease: &Lease, broken: &Broken) {
        lease.end();
        self.notices.ended(lease.id, broken.to_string());
    }

    pub(super) fn is_serving(&self) -> bool {
        let lines = self.lines();
        !lines.closing && lines.off.is_none()
    }

    /// Whether no thread has the lock.
    #[cfg(test)]
    pub(super) fn is_free(&self) -> bool {
        self.lines.try_lock().is_ok()
    }
}

/// What is watched by edges has not to be read.
pub(super) fn edges() -> epoll::EventFlags {
    epoll::EventFlags::IN | epoll::EventFlags::ET
}
