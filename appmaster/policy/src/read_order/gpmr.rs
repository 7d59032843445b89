//! The paper's baseline: processes that know nothing of each other.
//!
//! Source: SPMario, §V.C, whose baseline is an optimized GPMR (J. A. Stuart, J. D. Owens, "Multi-GPU MapReduce on GPU
//! Clusters", IPDPS 2011). Each process reads a chunk, copies it, computes it, and then reads its next. Nobody orders
//! them, so they read beside each other and share the disk.
//!
//! Cost: each task is looked at twice a decision.

use super::spmario::least_recently_served;
use super::{Next, ReadOrder, ReadState, Turn};
use crate::schedule::Nanos;

/// The policy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gpmr;

impl ReadOrder for Gpmr {
    fn turn(&mut self, _now: Nanos, state: &ReadState) -> Option<Turn> {
        let reads = state.tasks().any(|(_, task)| task.left > 0);
        reads.then_some(Turn {
            container: 0,
            quota: u64::MAX,
        })
    }

    fn next(&mut self, _now: Nanos, state: &ReadState, _turn: &Turn) -> Next {
        let left = || state.tasks().filter(|(_, task)| task.left > 0);
        let idle = left().filter(|(_, task)| task.under_way == 0 && task.free > 0);
        match least_recently_served(idle) {
            Some((number, _)) => Next::Read(number),
            None if left().next().is_some() => Next::Wait,
            None => Next::GiveBack,
        }
    }

    fn side_by_side(&self) -> bool {
        true
    }
}
