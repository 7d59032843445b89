//! How far one partition is at its home, and how fast a home is.

use std::collections::VecDeque;

use super::LATE;
use crate::{ContainerId, Millis};

/// Times at which outputs were told that are kept apart; later ones count with the last.
const TIMES: usize = 64;
/// Looks of which bytes are kept.
const LOOKS: usize = 6;

/// Outputs that a home was told of at one time.
#[derive(Clone, Copy, Debug)]
struct ToldOutputs {
    at: Millis,
    outputs: u32,
    /// About how many an average partition has of them.
    bytes: u64,
}

/// How far one partition is.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub(super) home: ContainerId,
    /// What is not dealt with, in the order of time.
    open: VecDeque<ToldOutputs>,
    /// Outputs that the home has dealt with so far.
    handled: u32,
    /// Bytes that have come so far.
    bytes: u64,
}

impl Progress {
    pub(super) const fn begins(home: ContainerId) -> Self {
        Self {
            home,
            open: VecDeque::new(),
            handled: 0,
            bytes: 0,
        }
    }

    pub(super) fn told(&mut self, at: Millis, outputs: u32, bytes: u64) {
        let are_many = self.open.len() >= TIMES;
        match self.open.back_mut() {
            Some(last) if are_many => {
                last.outputs = last.outputs.saturating_add(outputs);
                last.bytes = last.bytes.saturating_add(bytes);
            }
            _ => self.open.push_back(ToldOutputs { at, outputs, bytes }),
        }
    }

    /// The home has dealt with so many outputs in all, and has so many bytes; how many more than before.
    pub(super) fn seen(&mut self, handled: u32, bytes: u64) -> u64 {
        let gained = bytes.saturating_sub(self.bytes);
        self.bytes = self.bytes.max(bytes);
        let mut more = handled.saturating_sub(self.handled);
        self.handled = self.handled.max(handled);
        while let Some(first) = self.open.front_mut().filter(|_| more > 0) {
            let left = first.outputs.saturating_sub(more);
            more = more.saturating_sub(first.outputs);
            if left == 0 {
                self.open.pop_front();
                continue;
            }
            let each = first.bytes.checked_div(first.outputs.into());
            first.bytes = each.unwrap_or_default().saturating_mul(left.into());
            first.outputs = left;
        }
        gained
    }

    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Outputs that are late, and about how many bytes of them.
    pub(super) fn late(&self, now: Millis) -> (u32, u64) {
        let late = self.open.iter();
        let late = late.take_while(|told| now >= told.at.plus(LATE));
        late.fold((0, 0), |(outputs, bytes): (u32, u64), told| {
            (
                outputs.saturating_add(told.outputs),
                bytes.saturating_add(told.bytes),
            )
        })
    }

    /// About how many bytes are not dealt with, and for how long the first of them.
    pub(super) fn lacks(&self, now: Millis) -> (u64, Millis) {
        let bytes = self.open.iter();
        let bytes = bytes.fold(0_u64, |sum, told| sum.saturating_add(told.bytes));
        let since = self.open.front().map_or(now, |told| told.at);
        (bytes, Millis(now.0.saturating_sub(since.0)))
    }
}

/// How fast a container gathers.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// Bytes that have come of all its partitions.
    bytes: u64,
    /// For how long it had something to gather, as far as looks tell, ms.
    busy: u64,
    /// The last looks at `bytes`.
    looks: VecDeque<(Millis, u64)>,
}

impl Pace {
    pub(super) const fn gained(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// It is looked at, so long after the last time; whether it has something to gather.
    pub(super) fn looked(&mut self, now: Millis, passed: Millis, is_open: bool) {
        let (last, before) = self.looks.back().copied().unwrap_or_default();
        let was_busy = is_open || self.bytes > before;
        if was_busy {
            self.busy = self.busy.saturating_add(passed.0);
        }
        if !was_busy || last.plus(passed) < now {
            // It had nothing to do for a while.
            self.looks.clear();
            let since = Millis(now.0.saturating_sub(passed.0));
            self.looks.push_back((since, before));
        }
        self.looks.push_back((now, self.bytes));
        if self.looks.len() > LOOKS {
            self.looks.pop_front();
        }
    }

    /// Bytes a second over all the time that it has gathered; of one that has had nothing to gather none.
    pub(super) fn usual(&self) -> Option<u64> {
        let bytes = Some(self.bytes).filter(|bytes| *bytes > 0)?;
        bytes
            .saturating_mul(1_000)
            .checked_div(self.busy.max(1_000))
    }

    /// Bytes a second lately; none where that is not known yet.
    pub(super) fn lately(&self) -> Option<u64> {
        let ((first, before), (last, after)) = (self.looks.front()?, self.looks.back()?);
        let (gained, passed) = (
            after.saturating_sub(*before),
            last.0.saturating_sub(first.0),
        );
        gained.saturating_mul(1_000).checked_div(passed)
    }
}
