//! Records that maps leave out, because the job's code failed on them.

use std::collections::{BTreeMap, BTreeSet};

use crate::schedule::TaskIx;

/// What is to be done about a failure over a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The record is left out from now on.
    New,
    /// It is left out already.
    Known,
    /// The map may leave no more out.
    TooMany,
}

/// The lists of a job. They only grow, so that whoever runs later leaves out at least what those before did.
#[derive(Clone, Debug)]
pub(super) struct Skips {
    /// Records that each map may leave out.
    most: usize,
    of: BTreeMap<TaskIx, BTreeSet<u64>>,
}

impl Skips {
    pub(super) fn new(most: u32) -> Self {
        Self {
            most: usize::try_from(most).unwrap_or(usize::MAX),
            of: BTreeMap::new(),
        }
    }

    /// Whether the map leaves this record out, or may.
    pub(super) fn may(&self, map: TaskIx, record: u64) -> bool {
        self.of(map).len() < self.most || self.of(map).any(|known| known == record)
    }

    /// A map failed over this record.
    pub(super) fn found(&mut self, map: TaskIx, record: u64) -> Found {
        if !self.may(map, record) {
            return Found::TooMany;
        }
        match self.of.entry(map).or_default().insert(record) {
            true => Found::New,
            false => Found::Known,
        }
    }

    /// What attempts at a map leave out, ascending.
    pub(super) fn of(&self, map: TaskIx) -> impl ExactSizeIterator<Item = u64> {
        const NONE: &BTreeSet<u64> = &BTreeSet::new();
        self.of.get(&map).unwrap_or(NONE).iter().copied()
    }
}
