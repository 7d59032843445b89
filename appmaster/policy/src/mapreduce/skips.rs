//! Records that maps leave out, and groups that reduces do, because the job's code failed on them.

use std::collections::{BTreeMap, BTreeSet};

use crate::schedule::{Stage, TaskIx};

/// What is to be done about a failure over a record or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkipOutcome {
    /// It is left out from now on.
    New,
    /// It is left out already.
    Known,
    /// The task may leave no more out.
    TooMany,
}

/// The lists of a job. They only grow, so that whoever runs later leaves out at least what those before did.
#[derive(Clone, Debug)]
pub(super) struct Skips {
    /// Records that each map may leave out.
    records: usize,
    /// Groups that each reduce may.
    groups: usize,
    of: BTreeMap<(Stage, TaskIx), BTreeSet<u64>>,
}

impl Skips {
    pub(super) fn new(records: u32, groups: u32) -> Self {
        let [records, groups] =
            [records, groups].map(|most| usize::try_from(most).unwrap_or(usize::MAX));
        Self {
            records,
            groups,
            of: BTreeMap::new(),
        }
    }

    /// Whether the task leaves this one out, or may.
    pub(super) fn may(&self, task: (Stage, TaskIx), number: u64) -> bool {
        let most = match task.0 {
            Stage::Map => self.records,
            Stage::Reduce => self.groups,
            Stage::Gang => 0,
        };
        self.of(task).len() < most || self.of(task).any(|known| known == number)
    }

    /// A task failed over this record or group.
    pub(super) fn found(&mut self, task: (Stage, TaskIx), number: u64) -> SkipOutcome {
        if !self.may(task, number) {
            return SkipOutcome::TooMany;
        }
        match self.of.entry(task).or_default().insert(number) {
            true => SkipOutcome::New,
            false => SkipOutcome::Known,
        }
    }

    /// What attempts at a task leave out, ascending.
    pub(super) fn of(&self, task: (Stage, TaskIx)) -> impl ExactSizeIterator<Item = u64> {
        const NONE: &BTreeSet<u64> = &BTreeSet::new();
        self.of.get(&task).unwrap_or(NONE).iter().copied()
    }
}
