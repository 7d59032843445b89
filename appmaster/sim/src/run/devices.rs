//! Who has the devices of nodes, and who waits for them: in order of arrival, and a lock dies with its holder.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use policy::schedule::{AttemptIx, NodeIx, ResourceName};

/// A kind of device of a node.
type DeviceOfNode = (NodeIx, ResourceName);

/// One line for each kind of device of each node.
#[derive(Debug, Default)]
pub(super) struct DeviceLines {
    lines: BTreeMap<DeviceOfNode, DeviceLine>,
    at: BTreeMap<AttemptIx, DeviceOfNode>,
}

#[derive(Debug, Default)]
struct DeviceLine {
    holders: BTreeSet<AttemptIx>,
    waiting: VecDeque<AttemptIx>,
}

impl DeviceLines {
    /// An attempt wants a device of which `most` attempts have one at a time; whether it has it at once.
    pub(super) fn enter(&mut self, place: DeviceOfNode, most: u64, attempt: AttemptIx) -> bool {
        let line = self.lines.entry(place.clone()).or_default();
        self.at.insert(attempt, place);
        let holders = u64::try_from(line.holders.len()).unwrap_or(u64::MAX);
        if holders < most {
            line.holders.insert(attempt)
        } else {
            line.waiting.push_back(attempt);
            false
        }
    }

    /// Whether an attempt has its device.
    pub(super) fn has(&self, attempt: AttemptIx) -> bool {
        let place = self.at.get(&attempt);
        let line = place.and_then(|place| self.lines.get(place));
        line.is_some_and(|line| line.holders.contains(&attempt))
    }

    /// An attempt gives its device back, or does not wait any more: who has it now.
    pub(super) fn leave(&mut self, attempt: AttemptIx) -> Option<AttemptIx> {
        let place = self.at.remove(&attempt)?;
        let line = self.lines.get_mut(&place)?;
        if line.holders.remove(&attempt) {
            let next = line.waiting.pop_front()?;
            line.holders.insert(next);
            Some(next)
        } else {
            line.waiting.retain(|other| *other != attempt);
            None
        }
    }
}
