//! SPMario: while the GPU has enough to do everybody is fed in turn, else whoever gives it the most to do.
//!
//! Source: SPMario, §IV and Algorithm 2, read as what it is for:
//!
//! ```text
//! Rt(task) = mean of (transfer + kernel) / io, times bytes / smallest chunk; unknown counts as infinite: probe first
//! left = tasks of the container with chunks left;   none: GiveBack
//! can = those of left with a free host buffer;       none: Wait
//! backlog > 1: least recently served of can                                    (getTaskFair)
//! else: highest priority, then highest Rt, then least recently served           (getTaskRt)
//! ```
//!
//! Differences from the text ([`SpMarioLiteral`](super::SpMarioLiteral) has none of them): a task without a free buffer
//! is not named while another has one; the backlog is carried from turn to turn and never below 0, as idle time of a GPU
//! does not come back; fair means least recently served, whatever Rt is, since ties by low Rt starve the other job.
//!
//! Algorithm 1 promises turns to containers. Within a container the text promises nothing: tasks of a job whose Rt is
//! low wait for as long as the others alone do not fill the GPU.
//!
//! | paper | here | unit |
//! |---|---|---|
//! | `deposit` | backlog | io times of the smallest chunk |
//! | `cquota` | bytes of the chunk | bytes |
//!
//! Cost: each task is looked at twice a decision, and of those with a buffer once more.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::state::ONE;
use super::{Containers, Next, ReadOrder, ReadState, ReadTask, ReadTaskIx, Turn};
use crate::schedule::Nanos;

/// How the work that a GPU has before it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backlog {
    /// What issued chunks are expected to take and have not had, by the clock.
    #[default]
    Measured,
    /// As the paper counts: Rt more for each chunk that is issued, and less by what is read meanwhile.
    Unit,
}

/// The policy.
#[derive(Clone, Debug, Default)]
pub struct SpMario {
    backlog: Backlog,
    containers: Containers,
    counted: CountedBacklog,
}

/// Backlogs that are counted, in bytes · 2^-20.
#[derive(Clone, Debug, Default)]
struct CountedBacklog {
    /// Of each GPU.
    work: BTreeMap<u32, u128>,
    /// Bytes of the chunk that was issued last.
    last: u64,
}

impl CountedBacklog {
    /// What was issued last is read by now, and the GPUs worked meanwhile.
    fn pass(&mut self) {
        let had = in_ones(self.last);
        for work in self.work.values_mut() {
            *work = work.saturating_sub(had);
        }
    }

    fn issue(&mut self, gpu: u32, work: u128, bytes: u64) {
        let known = self.work.entry(gpu).or_default();
        *known = known.saturating_add(work);
        self.last = bytes;
    }
}

impl SpMario {
    /// With a backlog of this kind.
    #[must_use]
    pub fn new(backlog: Backlog) -> Self {
        Self {
            backlog,
            ..Self::default()
        }
    }

    /// Whether the GPU has work for longer than the disk reads the smallest chunk.
    fn is_busy(&mut self, now: Nanos, state: &ReadState, gpu: u32) -> bool {
        let smallest = state.smallest_chunk();
        match self.backlog {
            Backlog::Measured => {
                let read = state.io_time(smallest);
                read.is_some_and(|read| state.gpu_backlog(gpu, now) > read)
            }
            Backlog::Unit => {
                self.counted.pass();
                let work = self.counted.work.get(&gpu);
                work.is_some_and(|work| *work > in_ones(smallest))
            }
        }
    }
}

impl ReadOrder for SpMario {
    fn turn(&mut self, _now: Nanos, state: &ReadState) -> Option<Turn> {
        self.containers.turn(state)
    }

    fn next(&mut self, now: Nanos, state: &ReadState, turn: &Turn) -> Next {
        let can = || members(state, turn.container).filter(|(_, task)| task.free > 0);
        let Some((_, first)) = can().next() else {
            let left = members(state, turn.container).next();
            return left.map_or(Next::GiveBack, |_| Next::Wait);
        };
        let chosen = if self.is_busy(now, state, first.gpu) {
            least_recently_served(can())
        } else {
            by_ratio(state, can())
        };
        let Some((number, task)) = chosen else {
            return Next::Wait;
        };
        let work = work(state, number, task).unwrap_or(0);
        self.counted.issue(task.gpu, work, task.next_bytes());
        Next::Read(number)
    }
}

/// Tasks of a container with chunks left.
pub(super) fn members(
    state: &ReadState,
    container: u32,
) -> impl Iterator<Item = (ReadTaskIx, &ReadTask)> {
    let all = state.tasks();
    all.filter(move |(_, task)| task.container == container && task.left > 0)
}

/// The paper's getTaskFair.
pub(super) fn least_recently_served<'a>(
    among: impl Iterator<Item = (ReadTaskIx, &'a ReadTask)>,
) -> Option<(ReadTaskIx, &'a ReadTask)> {
    among.min_by_key(|(number, task)| (task.served, *number))
}

/// The paper's getTaskRt; what is not known yet goes first.
pub(super) fn by_ratio<'a>(
    state: &ReadState,
    among: impl Iterator<Item = (ReadTaskIx, &'a ReadTask)>,
) -> Option<(ReadTaskIx, &'a ReadTask)> {
    among.min_by_key(|(number, task)| {
        let work = work(state, *number, task).unwrap_or(u128::MAX);
        (Reverse(task.priority), Reverse(work), task.served, *number)
    })
}

/// Rt of the next chunk times the bytes of the smallest, which is the same for all, in bytes · 2^-20.
pub(super) fn work(state: &ReadState, number: ReadTaskIx, task: &ReadTask) -> Option<u128> {
    let ratio = state.ratio(number)?;
    Some(u128::from(ratio).saturating_mul(u128::from(task.next_bytes())))
}

/// Bytes whose Rt is 1.
pub(super) fn in_ones(bytes: u64) -> u128 {
    u128::from(bytes).saturating_mul(u128::from(ONE))
}
