//! What writer and reader share: the rings, and who of them waits for the driver.

use super::AcceleratorError;
use crate::ring::layout::Control;
use crate::ring::{Geometry, SharedMemory};
use crate::wire::{self, Reply};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::os::fd::OwnedFd;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The client's side of a lease.
#[derive(Debug)]
pub(super) struct Rings {
    socket: OwnedFd,
    pub(super) memory: SharedMemory,
    doorbell: OwnedFd,
    bell: OwnedFd,
    pub(super) geometry: Geometry,
    /// Whether a thread waits in the kernel; the other waits for that one.
    waits: Mutex<bool>,
    turn: Condvar,
    /// The driver's last words: they come once, and perhaps together with a last result.
    ended: OnceLock<String>,
}

impl Rings {
    pub(super) fn new(
        socket: OwnedFd,
        memory: SharedMemory,
        doorbell: OwnedFd,
        bell: OwnedFd,
    ) -> Result<Self, AcceleratorError> {
        let geometry = Control(&memory).geometry().ok_or_else(|| {
            AcceleratorError::Protocol(format!(
                "the control page of {} bytes of memory is not understood",
                memory.length()
            ))
        })?;
        Ok(Self {
            socket,
            memory,
            doorbell,
            bell,
            geometry,
            waits: Mutex::new(false),
            turn: Condvar::new(),
            ended: OnceLock::new(),
        })
    }

    pub(super) fn control(&self) -> Control<'_> {
        Control(&self.memory)
    }

    /// Tells the driver that there is something to look at.
    pub(super) fn ring(&self) {
        // It can only be full where somebody else rings it: the driver is told then too.
        rustix::io::write(&self.doorbell, &1u64.to_ne_bytes()).ok();
    }

    /// Waits until `found` finds something; for ever without an end.
    ///
    /// # Errors
    ///
    /// The time is over, or the lease.
    pub(super) fn wait<T>(
        &self,
        until: Option<Instant>,
        mut found: impl FnMut() -> Option<T>,
    ) -> Result<T, AcceleratorError> {
        let began = Instant::now();
        loop {
            if let Some(found) = found() {
                return Ok(found);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(AcceleratorError::TimedOut {
                    waited: began.elapsed(),
                });
            }
            let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
            if *waits {
                // What the other was woken for may have been ours, before the lock was got.
                if let Some(found) = found() {
                    return Ok(found);
                }
                let pause = left.unwrap_or(Duration::from_secs(1));
                drop(self.turn.wait_timeout(waits, pause));
                continue;
            }
            *waits = true;
            drop(waits);
            let ended = match found() {
                Some(found) => {
                    self.hand_over();
                    return Ok(found);
                }
                None => self.sleep(left),
            };
            self.hand_over();
            if let Some(reason) = ended {
                // A last result may have come with the end.
                return found().ok_or(AcceleratorError::Ended { reason });
            }
        }
    }

    fn hand_over(&self) {
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.turn.notify_all();
    }

    /// Waits for the driver to ring; why the lease is over, if it is.
    fn sleep(&self, left: Option<Duration>) -> Option<String> {
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let mut polled = [
            PollFd::new(&self.bell, PollFlags::IN),
            PollFd::new(&self.socket, PollFlags::IN),
        ];
        // A signal, or the end of the time: the caller looks again.
        rustix::event::poll(&mut polled, timeout.as_ref()).ok();
        let [bell, socket] = polled.map(|it| it.revents());
        if bell.contains(PollFlags::IN) {
            rustix::io::read(&self.bell, &mut [0u8; 4096]).ok();
        }
        if socket.is_empty() {
            return None;
        }
        match wire::receive::<Reply>(&self.socket) {
            Ok(Some((Reply::Ended { reason }, _))) => {
                Some(self.ended.get_or_init(|| reason).clone())
            }
            Ok(Some(_)) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => None,
            Ok(None) | Err(_) => {
                let gone = || "fpgad has closed the connection".to_owned();
                Some(self.ended.get().cloned().unwrap_or_else(gone))
            }
        }
    }
}
