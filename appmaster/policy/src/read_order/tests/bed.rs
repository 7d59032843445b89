//! A disk that reads one chunk at a time and a GPU that computes one at a time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use crate::read_order::{
    ChunkCost, Next, ReadDriver, ReadOrder, ReadState, ReadTask, ReadTaskIx, Turn, read_order,
};
use crate::schedule::Nanos;

/// Chunks of 1 MiB, two buffers.
#[derive(Clone, Copy, Debug)]
pub(super) struct BedTask {
    pub(super) container: u32,
    pub(super) priority: u8,
    pub(super) chunks: u64,
    /// Of a chunk, in ns.
    pub(super) io: u64,
    /// Of a chunk, in ns.
    pub(super) kernel: u64,
}

impl Default for BedTask {
    fn default() -> Self {
        Self {
            container: 0,
            priority: 1,
            chunks: 1,
            io: 10,
            kernel: 1,
        }
    }
}

/// A turn, and how it went.
#[derive(Clone, Debug)]
pub(super) struct BedTurn {
    pub(super) turn: Turn,
    /// Containers that had something to read when it began.
    pub(super) wanting: Vec<u32>,
    /// Bytes.
    pub(super) read: u64,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Bed {
    pub(super) turns: Vec<BedTurn>,
    /// Numbers of the tasks whose chunks were read.
    pub(super) reads: Vec<usize>,
    pub(super) most_under_way: u32,
    /// How often the disk stood still although a task of the turn's container could read.
    pub(super) stood: u32,
}

/// Keeps what it decides.
#[derive(Debug)]
struct Kept {
    inner: Box<dyn ReadOrder>,
    turns: Arc<Mutex<Vec<BedTurn>>>,
}

impl ReadOrder for Kept {
    fn turn(&mut self, now: Nanos, state: &ReadState) -> Option<Turn> {
        let turn = self.inner.turn(now, state)?;
        let reading = state.tasks().filter(|(_, task)| task.left > 0);
        let wanting = reading.map(|(_, task)| task.container).collect();
        let read = 0;
        self.turns.lock().unwrap().push(BedTurn {
            turn,
            wanting,
            read,
        });
        Some(turn)
    }

    fn next(&mut self, now: Nanos, state: &ReadState, turn: &Turn) -> Next {
        let next = self.inner.next(now, state, turn);
        if let Next::Read(task) = next {
            let task = state.task(task).unwrap();
            assert!(task.can_read(), "{task:?} cannot read");
            self.turns.lock().unwrap().last_mut().unwrap().read += task.next_bytes();
        }
        next
    }
}

#[derive(Debug)]
enum Due {
    Read(ReadTaskIx),
    Computed(ReadTaskIx),
}

impl Bed {
    /// Plays tasks to their end; each is a job of its own.
    pub(super) fn play(order: &str, tasks: &[BedTask]) -> Self {
        let turns = Arc::new(Mutex::new(Vec::new()));
        let kept = Kept {
            inner: read_order(order).unwrap(),
            turns: Arc::clone(&turns),
        };
        let mut driver = ReadDriver::new(Box::new(kept));
        for (job, task) in (0..).zip(tasks) {
            driver.add(ReadTask {
                job,
                container: task.container,
                priority: task.priority,
                ..ReadTask::new(1 << 20, task.chunks << 20, 2)
            });
        }
        let times = |number: ReadTaskIx| tasks[number.0 as usize];
        let (mut due, mut now, mut sequence) = (BTreeMap::new(), 0, 0);
        let (mut disk_is_free, mut gpu_is_free, mut line) = (true, true, VecDeque::new());
        let (mut reads, mut most_under_way, mut stood) = (Vec::new(), 0, 0);
        loop {
            if disk_is_free {
                if let Some((task, _)) = driver.next(Nanos(now)) {
                    reads.push(task.0 as usize);
                    due.insert((now + times(task).io, sequence), Due::Read(task));
                    disk_is_free = false;
                } else {
                    let could = driver.state().tasks().any(|(_, task)| task.can_read());
                    stood += u32::from(could);
                }
            }
            if gpu_is_free && let Some(task) = line.pop_front() {
                due.insert(
                    (now + times(task).kernel, sequence + 1),
                    Due::Computed(task),
                );
                gpu_is_free = false;
            }
            sequence += 2;
            let all = driver.state().tasks();
            let under_way = all.map(|(_, task)| task.under_way).max();
            most_under_way = most_under_way.max(under_way.unwrap_or(0));
            let Some(((when, _), event)) = due.pop_first() else {
                break;
            };
            now = when;
            match event {
                Due::Read(task) => {
                    driver.read(Nanos(now), task);
                    line.push_back(task);
                    disk_is_free = true;
                }
                Due::Computed(task) => {
                    driver.freed(task);
                    let cost = ChunkCost {
                        bytes: 1 << 20,
                        io: Nanos(times(task).io),
                        transfer: Nanos(0),
                        kernel: Nanos(times(task).kernel),
                    };
                    driver.done(Nanos(now), task, &cost);
                    gpu_is_free = true;
                }
            }
        }
        let left = driver.state().tasks().map(|(_, task)| task.left);
        assert_eq!(left.sum::<u64>(), 0, "{order}: bytes that nobody read");
        let turns = turns.lock().unwrap().clone();
        Self {
            turns,
            reads,
            most_under_way,
            stood,
        }
    }
}
