//! One disk, its tasks and the order in which it reads for them.

use super::{ChunkCost, Next, ReadOrder, ReadState, ReadTask, ReadTaskIx, Turn};
use crate::schedule::Nanos;

/// Asks a [`ReadOrder`] for the next chunk, turn after turn.
#[derive(Debug)]
pub struct ReadDriver {
    state: ReadState,
    order: Box<dyn ReadOrder>,
    turn: Option<Turn>,
}

impl ReadDriver {
    /// Nothing reads.
    #[must_use]
    pub fn new(order: Box<dyn ReadOrder>) -> Self {
        Self {
            state: ReadState::new(),
            order,
            turn: None,
        }
    }

    /// What is known.
    #[must_use]
    pub const fn state(&self) -> &ReadState {
        &self.state
    }

    /// Whether tasks read beside each other.
    #[must_use]
    pub fn side_by_side(&self) -> bool {
        self.order.side_by_side()
    }

    /// A task more.
    pub fn add(&mut self, task: ReadTask) -> ReadTaskIx {
        self.state.add(task)
    }

    /// The task ended.
    pub fn remove(&mut self, task: ReadTaskIx) {
        self.state.remove(task);
    }

    /// The disk has read a chunk of the task.
    pub fn read(&mut self, now: Nanos, task: ReadTaskIx) {
        self.state.read(now, task);
    }

    /// A host buffer of the task is free.
    pub fn freed(&mut self, task: ReadTaskIx) {
        self.state.freed(task);
    }

    /// A chunk of the task is done.
    pub fn done(&mut self, now: Nanos, task: ReadTaskIx, cost: &ChunkCost) {
        self.state.done(now, task, cost);
    }

    /// The task whose next chunk is to be read now, and its bytes, which count as issued; `None`: ask again when a
    /// buffer is free, or a task is added.
    pub fn next(&mut self, now: Nanos) -> Option<(ReadTaskIx, u64)> {
        // Each task gives a turn back at most once, and then one reads or waits.
        let most = self.state.tasks().count().saturating_add(2);
        for _ in 0..most {
            let turn = match self.turn {
                Some(turn) => turn,
                None => self.order.turn(now, &self.state)?,
            };
            self.turn = Some(turn);
            match self.order.next(now, &self.state, &turn) {
                Next::Read(task) => {
                    let bytes = self.state.issue(task)?;
                    let quota = turn.quota.saturating_sub(bytes);
                    self.turn = (quota > 0).then_some(Turn { quota, ..turn });
                    return Some((task, bytes));
                }
                Next::Wait => return None,
                Next::GiveBack => self.turn = None,
            }
        }
        None
    }
}
