//! The containers that were ordered to start, and what has become of their launchers.

use std::collections::{BTreeMap, BTreeSet};

use super::messages::{RunEvent, Seat};
use crate::ContainerId;

/// Every container of the job that was ordered to start and has not been given back.
#[derive(Debug, Default)]
pub(super) struct Launchers {
    started: BTreeSet<ContainerId>,
    /// Those whose launchers have dialled in and whose links stand.
    there: BTreeSet<ContainerId>,
    /// Those that are lost, and whether their nodes are in doubt, too.
    gone: BTreeMap<ContainerId, bool>,
}

impl Launchers {
    /// These are ordered to start.
    pub(super) fn start(&mut self, seats: &[Seat]) {
        let containers = seats.iter().map(|seat| seat.container.clone());
        self.started.extend(containers);
    }

    /// Takes in what an event says of them.
    pub(super) fn hear(&mut self, event: &RunEvent) {
        let (RunEvent::Joined(container)
        | RunEvent::LinkLost(container)
        | RunEvent::ContainerEnded { container, .. }
        | RunEvent::StartFailed { container, .. }) = event
        else {
            return;
        };
        if !self.started.contains(container) {
            return;
        }
        let container = container.clone();
        match event {
            RunEvent::Joined(_) => {
                self.there.insert(container);
            }
            RunEvent::LinkLost(_) => {
                self.there.remove(&container);
                self.gone.entry(container).or_insert(true);
            }
            RunEvent::ContainerEnded { status, .. } => {
                self.gone.insert(container, is_of_the_node(*status));
            }
            _ => {
                self.gone.insert(container, true);
            }
        }
    }

    pub(super) fn is_started(&self, container: &ContainerId) -> bool {
        self.started.contains(container)
    }

    /// Its launcher has dialled in and its link stands, whatever YARN says of the container.
    pub(super) fn is_there(&self, container: &ContainerId) -> bool {
        self.there.contains(container)
    }

    /// Nothing bad is known of it.
    pub(super) fn is_sound(&self, container: &ContainerId) -> bool {
        self.started.contains(container) && !self.gone.contains_key(container)
    }

    /// It was lost, and others on its node might be.
    pub(super) fn is_node_in_doubt(&self, container: &ContainerId) -> bool {
        self.gone.get(container).copied().unwrap_or(false)
    }

    /// All but these are given back.
    pub(super) fn keep(&mut self, kept: &[ContainerId]) {
        let kept: BTreeSet<&ContainerId> = sort::set(kept.iter());
        self.retain(|container| kept.contains(container));
    }

    /// These are given back.
    pub(super) fn forget(&mut self, given_back: &[ContainerId]) {
        let given_back: BTreeSet<&ContainerId> = sort::set(given_back.iter());
        self.retain(|container| !given_back.contains(container));
    }

    fn retain(&mut self, stays: impl Fn(&ContainerId) -> bool) {
        self.started.retain(&stays);
        self.there.retain(&stays);
        self.gone.retain(|container, _| stays(container));
    }
}

/// Whether YARN's exit status of a container speaks of its node: lost, without disks, unable to start
/// it. Otherwise the next container there is as good as any.
const fn is_of_the_node(status: i32) -> bool {
    matches!(status, -100 | -101 | -1000)
}
