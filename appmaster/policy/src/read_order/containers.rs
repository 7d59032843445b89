//! Containers take turns at the disk.
//!
//! Source: SPMario, §III.A, §IV and Algorithm 1:
//!
//! ```text
//! for container c in C:
//!     pr ← getPriority(c, Pl);  quota ← getQuota(c, pr)
//!     status ← scheduleContainer(c, quota);  updateStatus(status)
//! ```
//!
//! Containers go in order of their numbers, round after round. One without anything to read is passed over. A quota that
//! is not used up is not saved. So between two turns of one container each other that has something to read has a turn.
//!
//! Differences: the paper gives no quota; here it is 16 of the smallest chunks times the priority, which is the highest of
//! the container's tasks.
//!
//! Cost: each task is looked at three times a turn.

use super::{ReadState, ReadTask, Turn};

/// Chunks of a turn at priority 1.
pub const QUOTA: u64 = 16;

/// Where the round is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Containers {
    /// Who had the last turn.
    last: Option<u32>,
}

impl Containers {
    /// The next turn of Algorithm 1; `None` where no task has anything to read.
    pub fn turn(&mut self, state: &ReadState) -> Option<Turn> {
        let of = |task: &ReadTask| (task.left > 0).then_some(task.container);
        let container = self.next(state, of)?;
        let members = state
            .tasks()
            .filter(|(_, task)| of(task) == Some(container));
        let priority = members.map(|(_, task)| task.priority).max();
        let chunks = QUOTA.saturating_mul(priority.map_or(1, u64::from));
        let quota = chunks.saturating_mul(state.smallest_chunk());
        Some(Turn { container, quota })
    }

    /// Whose turn is next, where `of` says to whom a task belongs that counts.
    pub(super) fn next(
        &mut self,
        state: &ReadState,
        of: impl Fn(&ReadTask) -> Option<u32>,
    ) -> Option<u32> {
        let all = || state.tasks().filter_map(|(_, task)| of(task));
        let later = all().filter(|number| self.last.is_none_or(|last| *number > last));
        self.last = later.min().or_else(|| all().min());
        self.last
    }
}
