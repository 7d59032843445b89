//! Fast and slow cores of the nodes, where a session's policy tells them apart.

use std::collections::BTreeSet;

use job::element::{Element, core_list};
use policy::lending::{CoreClass, Offer, share_cores};
use policy::schedule::Speed;
use policy::{ContainerId, NodeId};

use super::Nodes;

/// Speeds of cores that YARN may count, with their words and the types that count them.
const COUNTED: [(Speed, &str, &str); 2] = [
    (Speed::Fast, "fast", "slot/fast"),
    (Speed::Slow, "slow", "slot/slow"),
];

/// What was said of them.
#[derive(Debug, Default)]
pub(super) struct Cores {
    /// Hosts of which it was said that they do not have slots on both, and containers that have no slot.
    said_of: BTreeSet<String>,
    /// Hosts of which it was said that YARN counts other cores than there are.
    granted_less: BTreeSet<String>,
    /// Some node has had both.
    had_both: bool,
    /// Containers whose launchers share a node, in the order of joining.
    beside: Vec<(NodeId, ContainerId)>,
}

/// Why nodes have no fast and slow cores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WithoutBoth {
    /// That of the container which must have both.
    pub(crate) joined: Option<String>,
    /// One of those of all, where none has had both.
    pub(crate) all: Option<String>,
}

impl Cores {
    fn on_node_of(&self, container: &ContainerId) -> impl Iterator<Item = &ContainerId> {
        let mut all = self.beside.iter();
        let node = all.find(|(_, other)| other == container);
        let node = node.map(|(node, _)| node);
        let there = self.beside.iter().filter(move |(of, _)| Some(of) == node);
        there.map(|(_, container)| container)
    }
}

impl Nodes {
    /// The launcher in a container shares the cores of this node with those that are there.
    pub(crate) fn shares_cores(&mut self, container: &ContainerId, node: NodeId) {
        self.cores.beside.retain(|(_, other)| other != container);
        self.cores.beside.push((node, container.clone()));
    }

    /// Containers whose launchers share a node's cores with the one in this container.
    pub(crate) fn beside(&self, container: &ContainerId) -> Vec<ContainerId> {
        let there = self.cores.on_node_of(container);
        there.filter(|other| *other != container).cloned().collect()
    }

    /// A launcher is gone: its cores are those of the others on its node.
    pub(super) fn leaves_cores(&mut self, container: &ContainerId) -> Vec<ContainerId> {
        let beside = self.beside(container);
        self.cores.beside.retain(|(_, other)| other != container);
        beside
    }

    /// The cores of a container's node that are its own, by their classes. One that YARN lets have none of a class has no part
    /// in sharing it out.
    pub(crate) fn core_classes(&self, container: &ContainerId) -> Vec<CoreClass> {
        let there: Vec<&ContainerId> = self.cores.on_node_of(container).collect();
        let at = there.iter().position(|other| *other == container);
        let all = there.iter().map(|other| {
            let mut classes = self.all_core_classes(other);
            for class in &mut classes {
                if self.granted_cores(other, class.speed) == 0 {
                    class.cpus.clear();
                }
            }
            classes
        });
        let shares = share_cores(&all.collect::<Vec<_>>());
        let own = at.and_then(|at| shares.into_iter().nth(at));
        let mut own = own.unwrap_or_else(|| self.all_core_classes(container));
        for class in &mut own {
            let most = self.granted_cores(container, class.speed);
            class.cpus.truncate(most);
        }
        own
    }

    /// How many of them YARN lets a container have.
    fn granted_cores(&self, container: &ContainerId, speed: Speed) -> usize {
        let known = self.devices.get(container);
        known.map_or(usize::MAX, |known| known.granted_cores(self.trust, speed))
    }

    /// Cores of a speed that launchers on the container's node have found.
    fn cores_on_node(&self, container: &ContainerId, speed: Speed) -> BTreeSet<u32> {
        let there = self.cores.on_node_of(container).chain([container]);
        let classes = there.flat_map(|other| self.all_core_classes(other));
        let of_speed = classes.filter(|class| class.speed == speed);
        of_speed.flat_map(|class| class.cpus).collect()
    }

    /// How many of these YARN lets the session have; `None`: it does not count them.
    fn cores_granted_on_node(&self, container: &ContainerId, speed: Speed) -> Option<usize> {
        let mut there: BTreeSet<&ContainerId> = self.cores.on_node_of(container).collect();
        there.insert(container);
        let granted = there.into_iter().map(|of| self.granted_cores(of, speed));
        let counted = granted.filter(|granted| *granted != usize::MAX);
        counted.reduce(usize::saturating_add)
    }

    /// Speeds of whose cores YARN lets the session have fewer, or more, than there are on this node: how many are used, and a
    /// sentence.
    pub(super) fn core_grants_differ(&self, offer: &Offer) -> Vec<(usize, String)> {
        let differs = COUNTED.into_iter().filter_map(|(speed, name, counted)| {
            let found = self.cores_on_node(&offer.container, speed).len();
            let granted = self.cores_granted_on_node(&offer.container, speed)?;
            (found > 0 && granted != found).then(|| {
                let cores = if found == 1 { "core" } else { "cores" };
                let used = found.min(granted);
                let sentence = format!(
                    "{}: {found} {name} {cores} found, YARN has granted {granted} {counted}: {used} used",
                    offer.host
                );
                (used, sentence)
            })
        });
        differs.collect()
    }

    /// Says these sentences, once a host.
    fn say_of_grants(&mut self, host: &str, differ: &[(usize, String)]) {
        if !differ.is_empty() && self.cores.granted_less.insert(host.to_owned()) {
            for (_, difference) in differ {
                tracing::warn!("{difference}");
            }
        }
    }

    /// Those that it may use, though others may, too.
    fn all_core_classes(&self, container: &ContainerId) -> Vec<CoreClass> {
        let known = self.devices.get(container);
        known.map(|known| known.core_classes()).unwrap_or_default()
    }

    /// Says which of these containers are on nodes without fast and slow cores, once a host; a sentence about one of
    /// them, where none has had both, and one about `must`, which is to have both (`--strict`).
    pub(crate) fn without_both<'a>(
        &mut self,
        offers: impl Iterator<Item = &'a Offer>,
        must: Option<&ContainerId>,
    ) -> WithoutBoth {
        let (mut first, mut joined) = (None, None);
        for offer in offers {
            if offer.slots.is_empty() && self.cores.said_of.insert(offer.container.0.clone()) {
                tracing::warn!(
                    "{} has no slot in {}: the session has as many containers there as the node has cores, or more",
                    offer.host,
                    offer.container
                );
            }
            let differ = self.core_grants_differ(offer);
            let has = |speed| {
                let found = self.cores_on_node(&offer.container, speed);
                !found.is_empty() && self.cores_granted_on_node(&offer.container, speed) != Some(0)
            };
            if has(Speed::Fast) && has(Speed::Slow) {
                self.cores.had_both = true;
                self.say_of_grants(&offer.host, &differ);
                continue;
            }
            let known = self.devices.get(&offer.container).into_iter();
            let cores: Vec<&Element> = known.flat_map(|of| of.core_elements()).collect();
            let mut ungranted = differ.into_iter().filter(|(used, _)| *used == 0);
            let why = match ungranted.next() {
                Some((_, sentence)) => sentence,
                None => one_class(&offer.host, &cores),
            };
            if self.cores.said_of.insert(offer.host.clone()) {
                tracing::warn!("{why}");
            }
            if must == Some(&offer.container) {
                joined = Some(why.clone());
            }
            first.get_or_insert(why);
        }
        WithoutBoth {
            joined,
            all: first.filter(|_| !self.cores.had_both),
        }
    }
}

/// A launcher may use other cores than before.
pub(super) fn other_cores(
    host: &str,
    container: &ContainerId,
    before: &[CoreClass],
    now: &[CoreClass],
) -> String {
    let words = |classes: &[CoreClass]| {
        let classes = classes.iter().map(|of| {
            let speed = match of.speed {
                Speed::Fast => "fast ",
                Speed::Slow => "slow ",
                Speed::Plain | Speed::Parked => "",
            };
            let cores = match of.cpus.is_empty() {
                true => "none".to_owned(),
                false => core_list(&of.cpus),
            };
            format!("{speed}{cores}")
        });
        classes.collect::<Vec<_>>().join(", ")
    };
    format!(
        "{host} lets {container} use other cores than before: {} (before: {})",
        words(now),
        words(before)
    )
}

/// Why the slots of a node are neither on fast nor on slow cores.
fn one_class(host: &str, cores: &[&Element]) -> String {
    if let Some(broken) = cores.iter().find_map(|of| of.broken.as_ref()) {
        return format!("{host} has no slots on fast and on slow cores: {broken}");
    }
    if let Some(none_left) = cores.iter().find(|of| of.cpus.is_empty()) {
        return format!("{host} has no {} core left", none_left.model);
    }
    let known = cores.first().and_then(|of| of.evidence.last());
    let known = known.map_or("nothing tells of them", String::as_str);
    format!("{host} has one class of cores ({known}): give --cores, or use --policy fifo")
}

#[cfg(test)]
mod tests {
    use job::element::ElementKind;

    use super::*;

    #[test]
    fn a_node_that_loses_cores_says_what_is_left() {
        let of = |speed, cpus: &[u32]| CoreClass {
            speed,
            cpus: cpus.to_vec(),
        };
        let container = ContainerId("container_1_0001_01_000002".into());
        let before = [of(Speed::Fast, &[0, 1]), of(Speed::Slow, &[2, 3, 5])];
        let now = [of(Speed::Fast, &[]), of(Speed::Slow, &[2, 3])];
        assert_eq!(
            other_cores("n1", &container, &before, &now),
            "n1 lets container_1_0001_01_000002 use other cores than before: fast none, slow 2-3 (before: fast 0-1, slow 2-3,5)"
        );
    }

    #[test]
    fn a_node_says_why_its_cores_are_alike() {
        let plain = Element {
            model: "plain".into(),
            cpus: (0..8).collect(),
            evidence: vec!["/sys".into(), "cpu_capacity 1024 on all 8".into()],
            ..Element::none_of(ElementKind::CoreClass)
        };
        assert_eq!(
            one_class("node1", &[&plain]),
            "node1 has one class of cores (cpu_capacity 1024 on all 8): give --cores, or use --policy fifo"
        );
        let lost = Element {
            model: "fast".into(),
            cpus: Vec::new(),
            ..plain.clone()
        };
        assert_eq!(
            one_class("node1", &[&lost, &plain]),
            "node1 has no fast core left"
        );
        let broken = Element {
            broken: Some("--cores names core 9, and the launcher may use cores 0-1".into()),
            ..plain
        };
        assert_eq!(
            one_class("node1", &[&broken]),
            "node1 has no slots on fast and on slow cores: --cores names core 9, and the launcher may use cores 0-1"
        );
    }
}
