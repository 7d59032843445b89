//! How containers ended, as far as YARN has told it.

use std::collections::BTreeMap;

use policy::ContainerId;
use policy::lifecycle::Event;

/// YARN's exit statuses, by container.
#[derive(Debug, Default)]
pub(crate) struct Exits {
    statuses: BTreeMap<ContainerId, i32>,
}

impl Exits {
    /// Takes in what an event says of those that are `ours`: not of what was given back, of which a
    /// job that waits for long has ever more.
    pub(crate) fn hear(&mut self, event: &Event, ours: impl Fn(&ContainerId) -> bool) {
        if let Event::ContainerEnded {
            container, status, ..
        } = event
            && ours(container)
        {
            self.statuses.insert(container.clone(), *status);
        }
    }

    /// That of one container; `None`: not told.
    pub(crate) fn of(&self, container: &ContainerId) -> Option<i32> {
        self.statuses.get(container).copied()
    }
}
