//! Threads that bring what tasks read and write.
//!
//! All bytes of a task stay on one of them. Where one thread takes a packet from a DataNode and another hands it on to
//! the task, waking that other one costs more than all copies of the packet.
//!
//! Tasks that are bound to no cores share a few. A task that is bound has one to itself, which is bound to the same cores
//! and goes with it when it is moved, with all that it is about to bring; the next bound task has it then.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::{Pid, gettid};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::cores::Cores;

/// No container has more for tasks that are not bound: each brings several hundred MB a second.
const MOST: usize = 8;
/// Threads of each for what blocks, which is what is written to a mounted folder; begun when they are needed.
const BLOCKING: usize = 4;
/// As the kernel calls them.
const NAME: &str = "porter";

/// Of tasks that are not bound one for each core, or fewer, by their slots; of those that are, one each. Each begins
/// when the first task needs it.
#[derive(Debug)]
pub(crate) struct Porters {
    stack: usize,
    /// How many there are for tasks that are not bound.
    most: usize,
    shared: Mutex<BTreeMap<usize, Runtime>>,
    own: Mutex<Vec<(Runtime, Arc<Bound>)>>,
}

/// The one of a task, as long as the task has it.
#[derive(Debug)]
pub(crate) struct Porter {
    handle: Handle,
    /// None: other tasks have it, too.
    bound: Option<Arc<Bound>>,
}

/// Where threads of a porter run, those that it begins later, too.
#[derive(Debug)]
struct Bound(Mutex<BoundThreads>);

#[derive(Debug)]
struct BoundThreads {
    cores: CpuSet,
    threads: BTreeSet<Pid>,
    is_taken: bool,
}

impl Bound {
    fn to(cores: CpuSet) -> Self {
        Self(Mutex::new(BoundThreads {
            cores,
            threads: BTreeSet::new(),
            is_taken: true,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, BoundThreads> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn thread_begins(&self) {
        let mut bound = self.lock();
        bound.threads.insert(gettid());
        bind(Pid::from_raw(0), &bound.cores);
    }

    fn thread_ends(&self) {
        self.lock().threads.remove(&gettid());
    }
}

impl BoundThreads {
    fn bind(&mut self, cores: CpuSet) {
        self.cores = cores;
        self.threads.iter().for_each(|thread| bind(*thread, &cores));
    }
}

/// A thread that may not be bound brings as much.
fn bind(thread: Pid, cores: &CpuSet) {
    let _bound = sched_setaffinity(thread, cores).is_ok();
}

impl Porter {
    pub(crate) const fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Its task runs on these cores now.
    pub(crate) fn follow(&self, cores: CpuSet) {
        if let Some(bound) = &self.bound {
            bound.lock().bind(cores);
        }
    }
}

impl Drop for Porter {
    fn drop(&mut self) {
        if let Some(bound) = &self.bound {
            bound.lock().is_taken = false;
        }
    }
}

impl Porters {
    /// None has begun. A thread has a stack of so many bytes.
    pub(crate) fn new(stack: usize) -> Self {
        let cores = usize::try_from(Cores::usable().whole()).unwrap_or(MOST);
        Self {
            stack,
            most: cores.clamp(1, MOST),
            shared: Mutex::default(),
            own: Mutex::default(),
        }
    }

    /// That of a task in this slot, on these cores.
    ///
    /// # Errors
    ///
    /// Its thread cannot be begun.
    pub(crate) fn of(&self, slot: u32, cores: Option<&CpuSet>) -> io::Result<Porter> {
        match cores {
            Some(cores) => self.bound(*cores),
            None => self.shared(slot),
        }
    }

    fn shared(&self, slot: u32) -> io::Result<Porter> {
        let place = usize::try_from(slot).unwrap_or(0) % self.most;
        let mut all = (self.shared.lock()).unwrap_or_else(PoisonError::into_inner);
        let handle = match all.get(&place) {
            Some(runtime) => runtime.handle().clone(),
            None => {
                let runtime = self.begin(None)?;
                all.entry(place).or_insert(runtime).handle().clone()
            }
        };
        Ok(Porter {
            handle,
            bound: None,
        })
    }

    fn bound(&self, cores: CpuSet) -> io::Result<Porter> {
        let mut all = (self.own.lock()).unwrap_or_else(PoisonError::into_inner);
        for (runtime, bound) in all.iter() {
            let mut threads = bound.lock();
            if !threads.is_taken {
                threads.is_taken = true;
                threads.bind(cores);
                return Ok(Porter {
                    handle: runtime.handle().clone(),
                    bound: Some(Arc::clone(bound)),
                });
            }
        }
        let bound = Arc::new(Bound::to(cores));
        let runtime = self.begin(Some(&bound))?;
        let handle = runtime.handle().clone();
        all.push((runtime, Arc::clone(&bound)));
        Ok(Porter {
            handle,
            bound: Some(bound),
        })
    }

    fn begin(&self, bound: Option<&Arc<Bound>>) -> io::Result<Runtime> {
        let mut builder = Builder::new_multi_thread();
        if let Some(bound) = bound {
            let (begins, ends) = (Arc::clone(bound), Arc::clone(bound));
            builder.on_thread_start(move || begins.thread_begins());
            builder.on_thread_stop(move || ends.thread_ends());
        }
        builder
            .worker_threads(1)
            .max_blocking_threads(BLOCKING)
            .thread_name(NAME)
            .thread_stack_size(self.stack)
            .enable_all()
            .build()
    }

    /// They leave, within that time each.
    pub(crate) fn leave(self, within: Duration) {
        let shared = (self.shared.into_inner()).unwrap_or_else(PoisonError::into_inner);
        let own = (self.own.into_inner()).unwrap_or_else(PoisonError::into_inner);
        let own = own.into_iter().map(|(runtime, _)| runtime);
        for runtime in shared.into_values().chain(own) {
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
            let porter = porters.of(slot, None).unwrap();
            let handle = porter.handle();
            let thread = handle.spawn(async { std::thread::current().id() });
            handle.block_on(thread).unwrap()
        };
        let (first, again) = (of(3), of(3));
        assert_eq!(first, again);
        let most = u32::try_from(porters.most).unwrap();
        assert_eq!(of(3 + most), first);
        porters.leave(Duration::from_millis(100));
    }

    fn set(core: u32) -> CpuSet {
        let mut set = CpuSet::new();
        set.set(usize::try_from(core).unwrap()).unwrap();
        set
    }

    /// What brings is on these cores, and what writes to a mounted folder meanwhile.
    fn is_on(porter: &Porter, core: u32) {
        let handle = porter.handle();
        let there = handle.block_on(handle.spawn(async { mask() })).unwrap();
        assert_eq!(there, BTreeSet::from([core]));
        let blocks = handle.block_on(handle.spawn_blocking(mask)).unwrap();
        assert_eq!(blocks, BTreeSet::from([core]));
    }

    #[test]
    fn what_a_bound_task_reads_is_brought_on_its_cores_wherever_it_goes() {
        let porters = Porters::new(512 << 10);
        let own: Vec<u32> = mask().into_iter().collect();
        let (first, last) = (own[0], own[own.len() - 1]);
        let one = porters.of(0, Some(&set(first))).unwrap();
        // Of the same slot, which one that has moved away has left.
        let other = porters.of(0, Some(&set(first))).unwrap();
        is_on(&one, first);
        is_on(&other, first);
        one.follow(set(last));
        is_on(&one, last);
        is_on(&other, first);
        drop(one);
        let next = porters.of(1, Some(&set(first))).unwrap();
        is_on(&next, first);
        assert_eq!(porters.own.lock().unwrap().len(), 2);
        drop((next, other));
        porters.leave(Duration::from_millis(100));
    }
}
