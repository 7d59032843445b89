//! What is to happen, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use policy::schedule::{AttemptIx, Nanos};

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// The job of this index in the workload is submitted.
    Submit(usize),
    /// The loss of this index in the workload.
    Loss(usize),
    /// A launcher says that an attempt runs.
    Began(AttemptIx),
    /// An attempt has loaded what it needs and wants its devices.
    Loaded(AttemptIx),
    /// An attempt's work is done.
    Done(AttemptIx),
    /// An attempt that was ordered to end has ended.
    Stopped(AttemptIx),
    /// The policy wants to be asked.
    Wake,
}

/// A queue by time; what is due at the same time comes in the order in which it was put in line.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    heap: BinaryHeap<Reverse<(Nanos, u64, Due)>>,
    sequence: u64,
}

impl Clock {
    pub(crate) fn at(&mut self, when: Nanos, due: Due) {
        self.heap.push(Reverse((when, self.sequence, due)));
        self.sequence = self.sequence.wrapping_add(1);
    }

    pub(crate) fn next(&mut self) -> Option<(Nanos, Due)> {
        self.heap.pop().map(|Reverse((when, _, due))| (when, due))
    }

    /// What is put in line so far.
    pub(crate) const fn count(&self) -> u64 {
        self.sequence
    }
}
