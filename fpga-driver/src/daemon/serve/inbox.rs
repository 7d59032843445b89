//! What other threads tell the thread that owns the sockets.

use crate::daemon::queue::Notices;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// What they have told and it has not heard.
#[derive(Debug)]
pub(super) struct Inbox {
    /// Leases that ended and why, and whether the driver is to end.
    pub(super) said: Mutex<(Vec<(u64, String)>, bool)>,
    pub(super) bell: OwnedFd,
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
pub struct Stop(pub(super) Arc<Inbox>);

impl Stop {
    /// Lets [`Driver::run`](super::Driver::run) return.
    pub fn stop(&self) {
        self.0.said.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.0.ring();
    }
}
