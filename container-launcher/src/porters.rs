//! Threads that bring what tasks read and write.
//!
//! All bytes of a task stay on one of them. Where one thread takes a packet from a DataNode and another hands it on to
//! the task, waking that other one costs more than all copies of the packet.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::cores::Cores;

/// No container has more: each brings several hundred MB a second.
const MOST: usize = 8;
/// Threads of each for what blocks, which is what is written to a mounted folder; begun when they are needed.
const BLOCKING: usize = 4;

/// One for each core, or fewer. Each begins when the first task needs it.
#[derive(Debug)]
pub(crate) struct Porters {
    stack: usize,
    runtimes: Mutex<Vec<Option<Runtime>>>,
}

impl Porters {
    /// None has begun. A thread has a stack of so many bytes.
    pub(crate) fn new(stack: usize) -> Self {
        let cores = usize::try_from(Cores::usable().whole()).unwrap_or(MOST);
        let runtimes = (0..cores.clamp(1, MOST)).map(|_| None).collect();
        Self {
            stack,
            runtimes: Mutex::new(runtimes),
        }
    }

    /// That of a slot, which has a task at a time.
    ///
    /// # Errors
    ///
    /// Its thread cannot be begun.
    pub(crate) fn of(&self, slot: u32) -> io::Result<Handle> {
        let mut all = (self.runtimes.lock()).unwrap_or_else(PoisonError::into_inner);
        let place = usize::try_from(slot).unwrap_or(0) % all.len().max(1);
        let Some(one) = all.get_mut(place) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        if let Some(runtime) = one {
            return Ok(runtime.handle().clone());
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(BLOCKING)
            .thread_stack_size(self.stack)
            .enable_all()
            .build()?;
        Ok(one.insert(runtime).handle().clone())
    }

    /// They leave, within that time each.
    pub(crate) fn leave(self, within: Duration) {
        let all = (self.runtimes.into_inner()).unwrap_or_else(PoisonError::into_inner);
        for runtime in all.into_iter().flatten() {
            runtime.shutdown_timeout(within);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_slot_begins_runs_on_one_thread() {
        let porters = Porters::new(512 << 10);
        let of = |slot| {
            let handle = porters.of(slot).unwrap();
            let thread = handle.spawn(async { std::thread::current().id() });
            handle.block_on(thread).unwrap()
        };
        let (first, again) = (of(3), of(3));
        assert_eq!(first, again);
        let most = u32::try_from(porters.runtimes.lock().unwrap().len()).unwrap();
        assert_eq!(of(3 + most), first);
        porters.leave(Duration::from_millis(100));
    }
}
