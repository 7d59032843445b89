//! Threads that bring what tasks read and write.
//!
//! All bytes of a task stay on one of them. Where one thread takes a packet from a DataNode and another hands it on to
//! the task, waking that other one costs more than all copies of the packet.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::cores::{Cores, numbers};

/// No container has more: each brings several hundred MB a second.
const MOST: usize = 8;
/// Threads of each for what blocks, which is what is written to a mounted folder; begun when they are needed.
const BLOCKING: usize = 4;

/// One for each core, or fewer, and as many of the tasks of each class of cores. Each begins when the first task needs
/// it, and runs on the cores that this task is started on.
#[derive(Debug)]
pub(crate) struct Porters {
    stack: usize,
    /// How many there are for tasks of the same cores.
    most: usize,
    /// By the cores; none: those that the launcher may use.
    runtimes: Mutex<BTreeMap<(BTreeSet<u32>, usize), Runtime>>,
}

impl Porters {
    /// None has begun. A thread has a stack of so many bytes.
    pub(crate) fn new(stack: usize) -> Self {
        let cores = usize::try_from(Cores::usable().whole()).unwrap_or(MOST);
        Self {
            stack,
            most: cores.clamp(1, MOST),
            runtimes: Mutex::default(),
        }
    }

    /// That of a slot, on these cores.
    ///
    /// # Errors
    ///
    /// Its thread cannot be begun.
    pub(crate) fn of(&self, slot: u32, cores: Option<&CpuSet>) -> io::Result<Handle> {
        let place = usize::try_from(slot).unwrap_or(0) % self.most;
        let key = (cores.map(numbers).unwrap_or_default(), place);
        let mut all = (self.runtimes.lock()).unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = all.get(&key) {
            return Ok(runtime.handle().clone());
        }
        let mut builder = Builder::new_multi_thread();
        if let Some(cores) = cores.copied() {
            builder.on_thread_start(move || {
                // One that may not be bound brings as much.
                let _bound = sched_setaffinity(Pid::from_raw(0), &cores).is_ok();
            });
        }
        let runtime = builder
            .worker_threads(1)
            .max_blocking_threads(BLOCKING)
            .thread_stack_size(self.stack)
            .enable_all()
            .build()?;
        Ok(all.entry(key).or_insert(runtime).handle().clone())
    }

    /// They leave, within that time each.
    pub(crate) fn leave(self, within: Duration) {
        let all = (self.runtimes.into_inner()).unwrap_or_else(PoisonError::into_inner);
        for runtime in all.into_values() {
            runtime.shutdown_timeout(within);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::mask;

    #[test]
    fn what_a_slot_begins_runs_on_one_thread() {
        let porters = Porters::new(512 << 10);
        let of = |slot| {
            let handle = porters.of(slot, None).unwrap();
            let thread = handle.spawn(async { std::thread::current().id() });
            handle.block_on(thread).unwrap()
        };
        let (first, again) = (of(3), of(3));
        assert_eq!(first, again);
        let most = u32::try_from(porters.most).unwrap();
        assert_eq!(of(3 + most), first);
        porters.leave(Duration::from_millis(100));
    }

    #[test]
    fn what_a_bound_task_reads_is_brought_on_its_cores() {
        let porters = Porters::new(512 << 10);
        for core in mask() {
            let mut set = CpuSet::new();
            set.set(usize::try_from(core).unwrap()).unwrap();
            let handle = porters.of(0, Some(&set)).unwrap();
            let there = handle.block_on(handle.spawn(async { mask() })).unwrap();
            assert_eq!(there, BTreeSet::from([core]));
        }
        porters.leave(Duration::from_millis(100));
    }
}
