//! What a session knows of the nodes of its containers: which devices they have, whether their launchers and YARN agree
//! about that, and whether their launchers reach each other.
//!
//! ```text
//! launcher ── joined, looked again ──▶ Nodes ──▶ what is offered of its node
//!          ── has tried others ──────▶       ──▶ who tries whom next, who does not reach whom
//! jobs' needs ───────────────────────▶       ──▶ why a node does not serve them
//! ```

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod cores;
mod devices;
mod peers;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use job::wire;
use policy::ContainerId;
use policy::elements::{ElementNeed, Trust};
use policy::lending::Offer;

use cores::{Cores, other_cores};
use devices::NO_DEVICE;
use peers::{Peers, Try, Unreached};

pub(crate) use devices::NodeElements;

/// What follows for launchers and for the clients of jobs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NodeEffect {
    /// The launcher in this container is to open its port, and to try these.
    Try {
        by: ContainerId,
        peers: Vec<wire::Peer>,
    },
    /// The launcher of one container does not reach that of the other.
    Unreached {
        from: ContainerId,
        to: ContainerId,
        sentence: String,
    },
}

/// The nodes of the containers whose launchers have joined.
#[derive(Debug)]
pub(crate) struct Nodes {
    /// Whose count of devices is used.
    trust: Trust,
    /// How many tasks use a device at a time.
    ways: u32,
    devices: BTreeMap<ContainerId, NodeElements>,
    /// Hosts of which it was said what their launchers and YARN do not agree about.
    differing: BTreeSet<String>,
    peers: Peers,
    cores: Cores,
    /// Nodes, or what jobs need of them, have changed since the needs of jobs were compared with them.
    has_changed: bool,
}

impl Nodes {
    /// None yet.
    pub(crate) fn new(trust: Trust, ways: u32) -> Self {
        Self {
            trust,
            ways,
            devices: BTreeMap::new(),
            differing: BTreeSet::new(),
            peers: Peers::default(),
            cores: Cores::default(),
            has_changed: false,
        }
    }

    /// A launcher has joined, whose node YARN calls `host`: what is offered of the node.
    pub(crate) fn joined(
        &mut self,
        container: &ContainerId,
        host: String,
        known: NodeElements,
    ) -> BTreeMap<String, u64> {
        let offered = known.offered(self.trust, self.ways);
        say_once(&known, self.trust, host, &mut self.differing);
        self.devices.insert(container.clone(), known);
        offered
    }

    /// A launcher has looked again: what is offered of its node, where that or the classes of its cores have changed.
    pub(crate) fn found(
        &mut self,
        container: &ContainerId,
        host: String,
        found: wire::NodeElements,
    ) -> Option<BTreeMap<String, u64>> {
        let known = self.devices.get_mut(container)?;
        self.has_changed = true;
        let before = (known.offered(self.trust, self.ways), known.core_classes());
        known.hear(found);
        let offered = known.offered(self.trust, self.ways);
        let cores = known.core_classes();
        if cores != before.1 {
            tracing::warn!("{}", other_cores(&host, container, &before.1, &cores));
        }
        say_once(known, self.trust, host, &mut self.differing);
        let after = (offered, cores);
        (after != before).then_some(after.0)
    }

    /// The launcher that has joined is to open its port.
    pub(crate) fn opens_port(&mut self, container: &ContainerId, host: String) -> NodeEffect {
        self.peers.joined(container, host).into()
    }

    /// A launcher has tried others.
    pub(crate) fn has_tried(
        &mut self,
        by: &ContainerId,
        answer: wire::PeersTried,
    ) -> Vec<NodeEffect> {
        if !answer.trouble.is_empty() {
            tracing::warn!("{by}: {}", answer.trouble);
        }
        let (tries, news) = self.peers.tried(by, answer);
        let tries = tries.into_iter().map(NodeEffect::from);
        tries
            .chain(news.into_iter().map(NodeEffect::from))
            .collect()
    }

    /// A container or its launcher is gone: containers that have its cores now.
    pub(crate) fn lost(&mut self, container: &ContainerId) -> Vec<ContainerId> {
        self.devices.remove(container);
        self.peers.lost(container);
        self.leaves_cores(container)
    }

    /// What is offered of the node of a container.
    pub(crate) fn offered(&self, container: &ContainerId) -> BTreeMap<String, u64> {
        let known = self.devices.get(container);
        let offered = known.map(|known| known.offered(self.trust, self.ways));
        offered.unwrap_or_default()
    }

    /// Nodes have come or gone, or jobs need something else of them.
    pub(crate) const fn change(&mut self) {
        self.has_changed = true;
    }

    /// Whether the needs of jobs are to be compared with what the nodes have. Some launcher may not have found all yet.
    pub(crate) fn may_compare(&self) -> bool {
        let is_scanning = self.devices.values().any(NodeElements::is_scanning);
        self.has_changed && !is_scanning
    }

    /// Every job that wants slots now could run somewhere.
    pub(crate) const fn have_compared(&mut self) {
        self.has_changed = false;
    }

    /// Why the node of a container does not serve tasks with these needs.
    pub(crate) fn why_not(&self, container: &ContainerId, needs: &[ElementNeed]) -> String {
        let known = self.devices.get(container);
        let words = known.and_then(|known| known.without(self.trust, needs));
        words.unwrap_or_else(|| NO_DEVICE.to_owned())
    }

    /// Containers on whose nodes no GPU has more memory than where this one is, itself included.
    pub(crate) fn without_larger_gpu(&self, container: &ContainerId) -> Vec<ContainerId> {
        let all = &self.devices;
        let here = all.get(container).map_or(0, NodeElements::gpu_memory);
        let small = all.iter().filter(|(_, known)| known.gpu_memory() <= here);
        small.map(|(container, _)| container.clone()).collect()
    }

    /// Which of `others` do not reach this container, or are not reached from it, in sentences.
    pub(crate) fn between(&self, container: &ContainerId, others: &[ContainerId]) -> Vec<String> {
        self.peers.between(container, others).cloned().collect()
    }

    /// All launchers that do not reach another, or cannot be reached, in sentences.
    pub(crate) fn unreached(&self) -> Vec<String> {
        self.peers.sentences()
    }

    /// What the nodes of these containers have, in this order.
    pub(crate) fn table<'a>(&self, offers: impl Iterator<Item = &'a Offer>) -> wire::SessionNodes {
        let nodes = offers.filter_map(|offer| {
            let known = self.devices.get(&offer.container)?;
            let mut row = known.row(self.trust, offer);
            let differ = self.core_grants_differ(offer).into_iter();
            row.differences.extend(differ.map(|(_, sentence)| sentence));
            Some(row)
        });
        wire::SessionNodes {
            nodes: nodes.collect(),
        }
    }
}

impl From<Try> for NodeEffect {
    fn from(Try { by, peers }: Try) -> Self {
        Self::Try { by, peers }
    }
}

impl From<Unreached> for NodeEffect {
    fn from(Unreached { from, to, sentence }: Unreached) -> Self {
        Self::Unreached { from, to, sentence }
    }
}

/// Says the difference of the node that YARN calls `host`, once: whatever containers the session has there, and has
/// there again.
fn say_once(known: &NodeElements, trust: Trust, host: String, said_of: &mut BTreeSet<String>) {
    let differences = known.differences(trust);
    if !differences.is_empty() && said_of.insert(host) {
        for difference in differences {
            tracing::warn!("{difference}");
        }
    }
}
