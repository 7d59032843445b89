//! Round robin over jobs: so many chunks of one, then of the next.
//!
//! Source: SPMario, §V.D, whose baseline for two jobs is "SPMario with round-robin". The paper says neither how many chunks
//! a job has in its turn nor what happens where the job has no free buffer then: both are settings. Within a job the least
//! recently served task is next.
//!
//! With `wait` the disk stands still until a buffer of the job is free; without, the turn ends there, and a job without a
//! free buffer gets none.
//!
//! Cost: each task is looked at twice a decision and three times a turn.

use super::spmario::least_recently_served;
use super::{Containers, Next, ReadOrder, ReadState, ReadTask, Turn};
use crate::schedule::Nanos;

/// The policy.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    /// Chunks of a turn, above 0.
    pub turn: u64,
    /// Whether a job without a free buffer keeps its turn.
    pub wait: bool,
    /// Jobs, in place of containers.
    round: Containers,
}

impl RoundRobin {
    /// Turns of so many chunks.
    #[must_use]
    pub fn new(turn: u64, wait: bool) -> Self {
        Self {
            turn,
            wait,
            round: Containers::default(),
        }
    }
}

impl ReadOrder for RoundRobin {
    fn turn(&mut self, _now: Nanos, state: &ReadState) -> Option<Turn> {
        let counts = |task: &ReadTask| task.left > 0 && (self.wait || task.free > 0);
        let of = |task: &ReadTask| counts(task).then_some(task.job);
        let job = self.round.next(state, of)?;
        let tasks = state.tasks().filter(|(_, task)| of(task) == Some(job));
        let chunk = tasks.map(|(_, task)| task.chunk).max().unwrap_or(1);
        Some(Turn {
            container: job,
            quota: self.turn.saturating_mul(chunk),
        })
    }

    fn next(&mut self, _now: Nanos, state: &ReadState, turn: &Turn) -> Next {
        let of_job = || {
            let all = state.tasks();
            all.filter(|(_, task)| task.job == turn.container && task.left > 0)
        };
        let can = of_job().filter(|(_, task)| task.free > 0);
        match least_recently_served(can) {
            Some((number, _)) => Next::Read(number),
            None if self.wait && of_job().next().is_some() => Next::Wait,
            None => Next::GiveBack,
        }
    }
}
