//! Fast and slow cores of the nodes, where a session's policy tells them apart.

use std::collections::BTreeSet;

use job::element::Element;
use policy::ContainerId;
use policy::lending::{CoreClass, Offer};
use policy::schedule::Speed;

use super::Nodes;

/// What was said of them.
#[derive(Debug, Default)]
pub(super) struct Cores {
    /// Hosts of which it was said that they do not have slots on both.
    said_of: BTreeSet<String>,
    /// Some container has had both.
    had_both: bool,
}

impl Nodes {
    /// The classes of the cores of a container's node.
    pub(crate) fn core_classes(&self, container: &ContainerId) -> Vec<CoreClass> {
        let known = self.devices.get(container);
        known.map(|known| known.core_classes()).unwrap_or_default()
    }

    /// Says which of these containers do not have slots on fast and on slow cores, once a host; a sentence about one of
    /// them, where none has had both.
    pub(crate) fn without_both<'a>(
        &mut self,
        offers: impl Iterator<Item = &'a Offer>,
    ) -> Option<String> {
        let mut first = None;
        for offer in offers {
            let has = |speed| offer.slots.iter().any(|slot| slot.speed == speed);
            if has(Speed::Fast) && has(Speed::Slow) {
                self.cores.had_both = true;
                continue;
            }
            let known = self.devices.get(&offer.container).into_iter();
            let cores: Vec<&Element> = known.flat_map(|of| of.core_elements()).collect();
            let why = one_class(&offer.host, &cores);
            if self.cores.said_of.insert(offer.host.clone()) {
                tracing::warn!("{why}");
            }
            first.get_or_insert(why);
        }
        first.filter(|_| !self.cores.had_both)
    }
}

/// Why the slots of a node are neither on fast nor on slow cores.
fn one_class(host: &str, cores: &[&Element]) -> String {
    if let Some(broken) = cores.iter().find_map(|of| of.broken.as_ref()) {
        return format!("{host} has no slots on fast and on slow cores: {broken}");
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
    fn a_node_says_why_its_cores_are_alike() {
        let plain = Element {
            model: "plain".into(),
            evidence: vec!["/sys".into(), "cpu_capacity 1024 on all 8".into()],
            ..Element::none_of(ElementKind::CoreClass)
        };
        assert_eq!(
            one_class("node1", &[&plain]),
            "node1 has one class of cores (cpu_capacity 1024 on all 8): give --cores, or use --policy fifo"
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
