//! How containers ended, as far as YARN has told it.

use std::collections::BTreeMap;

use policy::ContainerId;

/// YARN's exit statuses, by container.
#[derive(Debug, Default)]
pub(crate) struct Exits {
    statuses: BTreeMap<ContainerId, i32>,
}

impl Exits {
    /// One of ours has ended.
    pub(crate) fn ended(&mut self, container: ContainerId, status: i32) {
        self.statuses.insert(container, status);
    }

    /// That of one container; `None`: not told.
    pub(crate) fn of(&self, container: &ContainerId) -> Option<i32> {
        self.statuses.get(container).copied()
    }
}
