//! SPMario as its pseudocode says.
//!
//! Source: SPMario, Algorithm 2:
//!
//! ```text
//! quota ← getQuota();  deposit ← 0
//! while quota:
//!     if Qt is empty: return the control to the scheduler
//!     if first chunk in the current round: T ← getTaskRt(Qt)
//!     else: deposit ← deposit − 1
//!           if deposit > 1: T ← getTaskFair(Qt)      a task that is not scheduled yet
//!           else:           T ← getTaskRt(Qt)        highest priority, then highest Rt
//!     deposit ← deposit + Rt;  pushQr(T, cquota);  quota ← quota − cquota
//! ```
//!
//! The text knows no buffers: the task is named first and its buffer waited for, although another has one free. Its
//! deposit forgets at each turn what the GPU still has to do, and may be negative. "Not scheduled yet" is of the turn;
//! where all were, the least recently served of all. Rt that is not known counts as infinite when it is compared and as 0
//! when it is added. Kept to compare [`SpMario`](super::SpMario) with.
//!
//! Cost: each task is looked at three times a decision.

use super::spmario::{by_ratio, in_ones, least_recently_served, members, work};
use super::{Containers, Next, ReadOrder, ReadState, ReadTaskIx, Turn};
use crate::schedule::Nanos;

/// The policy.
#[derive(Clone, Debug, Default)]
pub struct SpMarioLiteral {
    containers: Containers,
    /// Of this turn, in bytes · 2^-20 of the smallest chunk.
    deposit: i128,
    /// Tasks that were named in this turn.
    named: Vec<ReadTaskIx>,
    /// Named, and without a free buffer when it was.
    waited_for: Option<ReadTaskIx>,
}

impl SpMarioLiteral {
    fn choose(&mut self, state: &ReadState, turn: &Turn) -> Option<ReadTaskIx> {
        let left = || members(state, turn.container);
        let smallest = i128::try_from(in_ones(state.smallest_chunk())).unwrap_or(i128::MAX);
        let is_first = self.named.is_empty();
        if !is_first {
            self.deposit = self.deposit.saturating_sub(smallest);
        }
        let (number, task) = if !is_first && self.deposit > smallest {
            let fresh = left().filter(|(number, _)| !self.named.contains(number));
            least_recently_served(fresh).or_else(|| least_recently_served(left()))
        } else {
            by_ratio(state, left())
        }?;
        let work = work(state, number, task).unwrap_or(0);
        let work = i128::try_from(work).unwrap_or(i128::MAX);
        self.deposit = self.deposit.saturating_add(work);
        if !self.named.contains(&number) {
            self.named.push(number);
        }
        Some(number)
    }
}

impl ReadOrder for SpMarioLiteral {
    fn turn(&mut self, _now: Nanos, state: &ReadState) -> Option<Turn> {
        self.deposit = 0;
        self.named.clear();
        self.waited_for = None;
        self.containers.turn(state)
    }

    fn next(&mut self, _now: Nanos, state: &ReadState, turn: &Turn) -> Next {
        let waited_for = self.waited_for.take();
        // The number may be another task's by now.
        let is_member = |number: &ReadTaskIx| {
            let mut members = members(state, turn.container);
            members.any(|(member, _)| member == *number)
        };
        let still = waited_for.filter(is_member);
        let Some(number) = still.or_else(|| self.choose(state, turn)) else {
            return Next::GiveBack;
        };
        if state.task(number).is_some_and(|task| task.free > 0) {
            return Next::Read(number);
        }
        self.waited_for = Some(number);
        Next::Wait
    }
}
