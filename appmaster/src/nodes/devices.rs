//! The devices of one node: what its launcher finds, what YARN has granted, and what is used of it.

use std::collections::BTreeMap;

use job::element::{Element, ElementKind, usable};
use job::wire;
use policy::elements::{
    Count, ElementNeed, FPGA, GPU, Trust, cores_counted_by, counted_by, is_function, is_taken_whole,
};
use policy::lending::{CoreClass, Offer};
use policy::schedule::Speed;
use policy::{ResourceTypes, Resources};

/// Kinds of which YARN may have a count of its own, and the policies' names of them.
const COUNTED: [(ElementKind, &str); 2] = [(ElementKind::Gpu, GPU), (ElementKind::Fpga, FPGA)];

/// Before what a driver of accelerators calls a function, the name of its type.
const FUNCTION: &str = "acc/";

/// What is said of a node of which no more is known.
pub(super) const NO_DEVICE: &str = "no device";

/// What the node of one container has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeElements {
    host: String,
    /// As its launcher has found it.
    found: Vec<Element>,
    /// Not all of it is known yet.
    is_scanning: bool,
    /// Types that the cluster counts and a session takes whole, with what was granted.
    granted: BTreeMap<String, u64>,
    /// The same of types that count cores.
    granted_cores: BTreeMap<Speed, u64>,
    /// What the node's attributes tell.
    attributed: BTreeMap<String, u64>,
}

impl NodeElements {
    /// Of a container with this grant, as its launcher says hello.
    pub(crate) fn new(
        node: &wire::NodeFacts,
        granted: Resources,
        types: &ResourceTypes,
        attributed: BTreeMap<String, u64>,
    ) -> Self {
        let all = types.iter().filter(|(_, name)| is_taken_whole(name));
        let of_cores = types
            .iter()
            .filter_map(|(index, name)| Some((cores_counted_by(name)?, granted.counts.of(index))));
        let granted_cores = of_cores.collect();
        let granted = all.map(|(index, name)| (name.to_owned(), granted.counts.of(index)));
        Self {
            granted_cores,
            host: node.hostname.clone(),
            found: node.elements.iter().cloned().map(Into::into).collect(),
            is_scanning: node.scanning,
            granted: granted.collect(),
            attributed,
        }
    }

    /// Its launcher has looked again.
    pub(super) fn hear(&mut self, told: wire::NodeElements) {
        self.found = told.elements.into_iter().map(Into::into).collect();
        self.is_scanning = told.scanning;
    }

    /// Of each kind of devices that its launcher looks for, and of each function that it has found or YARN counts.
    fn counts(&self) -> impl Iterator<Item = (String, Count)> {
        let devices = COUNTED.into_iter().map(|(kind, name)| {
            let of_it = self.granted.iter();
            let of_it = of_it.filter(|(type_name, _)| counted_by(type_name) == Some(name));
            let granted = of_it.map(|(_, count)| *count);
            let count = Count {
                scanned: usable(&self.found, kind).into(),
                granted: granted.reduce(u64::saturating_add),
                attributed: self.attributed.get(name).copied(),
            };
            (name.to_owned(), count)
        });
        devices.chain(self.functions())
    }

    /// Functions of accelerators, each by the name of its type. A launcher that does not look for any says nothing.
    fn functions(&self) -> BTreeMap<String, Count> {
        let found = self.found.iter();
        let mut found = found
            .filter(|of| of.kind == ElementKind::Function)
            .peekable();
        let mut functions: BTreeMap<String, Count> = BTreeMap::new();
        if found.peek().is_none() {
            return functions;
        }
        for element in found.filter(|of| !of.model.is_empty()) {
            let name = format!("{FUNCTION}{}", element.model);
            let count = functions.entry(name).or_default();
            count.scanned = count.scanned.saturating_add(element.usable().into());
        }
        let granted = self.granted.iter();
        for (name, granted) in granted.filter(|(name, _)| is_function(name)) {
            functions.entry(name.clone()).or_default().granted = Some(*granted);
        }
        functions
    }

    /// Types of which YARN alone tells, with what it has granted.
    fn unlooked(&self) -> impl Iterator<Item = (&String, u64)> {
        let looked = self.functions();
        let granted = self.granted.iter();
        let others = granted.filter(move |(name, _)| {
            counted_by(name).is_none() && !looked.contains_key(name.as_str())
        });
        others.map(|(name, count)| (name, *count))
    }

    /// What tasks may use, by the name that they need it by, `ways` of them at a time.
    pub(super) fn offered(&self, trust: Trust, ways: u32) -> BTreeMap<String, u64> {
        let ways = u64::from(ways);
        let counts = self.counts().map(|(name, count)| {
            let ways = if is_function(&name) { 1 } else { ways };
            (name, count.used(trust).saturating_mul(ways))
        });
        let others = self.unlooked();
        let all = counts.chain(others.map(|(name, count)| (name.clone(), count)));
        all.filter(|(_, count)| *count > 0).collect()
    }

    /// The classes of its cores that can be used.
    pub(super) fn core_classes(&self) -> Vec<CoreClass> {
        let classes = self.core_elements().filter(|of| of.broken.is_none());
        let classes = classes.map(|of| CoreClass {
            speed: match of.model.as_str() {
                "fast" => Speed::Fast,
                "slow" => Speed::Slow,
                _ => Speed::Plain,
            },
            cpus: of.cpus.clone(),
        });
        classes.collect()
    }

    /// How many cores of this speed YARN lets the container have.
    pub(super) fn granted_cores(&self, trust: Trust, speed: Speed) -> usize {
        let granted = self.granted_cores.get(&speed);
        let granted = granted.filter(|_| trust != Trust::Scan);
        granted.map_or(usize::MAX, |most| {
            usize::try_from(*most).unwrap_or(usize::MAX)
        })
    }

    /// What its launcher says of its cores.
    pub(super) fn core_elements(&self) -> impl Iterator<Item = &Element> {
        let found = self.found.iter();
        found.filter(|of| of.kind == ElementKind::CoreClass)
    }

    /// Memory of the largest GPU there that can be used, MiB; 0: none tells of any.
    pub(super) fn gpu_memory(&self) -> u64 {
        let whole = self.found.iter().filter(|of| of.broken.is_none());
        let gpus = whole.filter(|of| of.kind == ElementKind::Gpu);
        gpus.map(|of| of.memory_mib).max().unwrap_or(0)
    }

    /// Why tasks that need these cannot run there; `None`: they can.
    pub(super) fn without(&self, trust: Trust, needs: &[ElementNeed]) -> Option<String> {
        let offered = self.offered(trust, 1);
        let there = |need: &ElementNeed| offered.get(&need.name).copied().unwrap_or(0);
        let missing = needs.iter().filter(|need| there(need) < need.count);
        let words = missing.map(|need| {
            let why = match there(need) {
                0 => self.why_none(trust, &need.name),
                some => format!("{some} there"),
            };
            match needs {
                [_] => why,
                _ => format!("{}: {why}", need.name),
            }
        });
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    fn why_none(&self, trust: Trust, need: &str) -> String {
        let Some((name, count)) = self.counts().find(|(name, _)| *name == need) else {
            return format!("YARN has granted no {need}");
        };
        let granted = count.granted.unwrap_or(0);
        if trust == Trust::Yarn {
            return format!("YARN has granted {granted}");
        }
        if count.scanned > 0 {
            return match (count.granted, count.attributed) {
                (Some(0), _) => format!("{} found, YARN has granted 0", count.scanned),
                _ => format!("{} found, the node's attributes say 0", count.scanned),
            };
        }
        let of_it = self.found.iter();
        let mut of_it = of_it.filter(|element| is_of(element, &name));
        let broken = of_it.clone().find_map(|element| element.broken.as_ref());
        // Where it was looked for in vain the evidence says why.
        let vain = of_it.find_map(|element| element.evidence.first());
        match (broken, vain) {
            (Some(why), _) => format!("broken: {why}"),
            (None, Some(why)) => format!("{NO_DEVICE}: {why}"),
            (None, None) => NO_DEVICE.to_owned(),
        }
    }

    /// Not all of it is known yet.
    pub(super) const fn is_scanning(&self) -> bool {
        self.is_scanning
    }

    /// The row of it in the table of a session's nodes, for the container that offers its slots.
    pub(super) fn row(&self, trust: Trust, offer: &Offer) -> wire::SessionNode {
        let counts = self.counts().map(|(name, count)| wire::ElementCount {
            name,
            scanned: count.scanned,
            granted: count.granted,
            attributed: count.attributed,
            used: count.used(trust),
        });
        let others = self.unlooked().map(|(name, count)| wire::ElementCount {
            name: name.clone(),
            scanned: 0,
            granted: Some(count),
            attributed: None,
            used: count,
        });
        wire::SessionNode {
            container: offer.container.to_string(),
            host: offer.host.clone(),
            slots: offer.size(),
            scanning: self.is_scanning,
            counts: counts.chain(others).collect(),
            differences: self.differences(trust),
            elements: self.found.iter().cloned().map(Into::into).collect(),
        }
    }

    /// What its launcher and YARN do not agree about, in sentences.
    pub(super) fn differences(&self, trust: Trust) -> Vec<String> {
        if self.is_scanning || trust == Trust::Scan {
            return Vec::new();
        }
        let differ = self.counts().filter(|(_, count)| count.differs());
        differ
            .map(|(name, count)| {
                let name = name.strip_prefix(FUNCTION).unwrap_or(&name);
                sentences::elements_differ(&self.host, name, count, trust)
            })
            .collect()
    }
}

/// Whether an element tells of what is called so; one of functions without a name tells of all.
fn is_of(element: &Element, name: &str) -> bool {
    match (element.kind, name.strip_prefix(FUNCTION)) {
        (ElementKind::Function, Some(function)) => {
            element.model.is_empty() || element.model == function
        }
        (kind, _) => kind.name() == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpus(count: u32, broken: bool) -> wire::Element {
        Element {
            count,
            broken: broken.then(|| "signal 11 in cuInit".to_owned()),
            ..Element::none_of(ElementKind::Gpu)
        }
        .into()
    }

    fn known(found: Vec<wire::Element>, types: &[&str], granted: u64) -> NodeElements {
        let types = ResourceTypes::new(types.iter().copied());
        let facts = wire::NodeFacts {
            hostname: "n1".into(),
            elements: found,
            ..wire::NodeFacts::default()
        };
        let granted = Resources {
            counts: types.counts(|_| Some(granted)),
            ..Resources::new(1024, 1)
        };
        NodeElements::new(&facts, granted, &types, BTreeMap::new())
    }

    #[test]
    fn what_is_offered_is_the_smaller_count_times_the_ways() {
        let two = known(vec![gpus(2, false)], &["acc/gpu", "license"], 1);
        let offered = |of: &NodeElements, trust| of.offered(trust, 3).get(GPU).copied();
        assert_eq!(offered(&two, Trust::Both), Some(3));
        assert_eq!(offered(&two, Trust::Scan), Some(6));
        // A license is no accelerator: it is not offered.
        assert_eq!(two.offered(Trust::Both, 1).len(), 1);
        let difference = "n1: 2 gpu found, YARN has granted 1: 1 used (--elements both)";
        assert_eq!(two.differences(Trust::Both), [difference]);
        assert!(two.differences(Trust::Scan).is_empty());
        let uncounted = known(vec![gpus(2, false)], &[], 0);
        assert_eq!(offered(&uncounted, Trust::Both), Some(6));
        assert!(uncounted.differences(Trust::Both).is_empty());
        let none = known(Vec::new(), &["acc/gpu", "acc/kmeans-map"], 1);
        assert_eq!(offered(&none, Trust::Both), None);
        assert_eq!(offered(&none, Trust::Yarn), Some(3));
        assert_eq!(none.offered(Trust::Both, 3)["acc/kmeans-map"], 1);
    }

    fn functions(model: &str, count: u32) -> wire::Element {
        Element {
            model: model.to_owned(),
            count,
            evidence: vec!["no fpgad answers at /run/gerbil/fpgad.sock".to_owned()],
            ..Element::none_of(ElementKind::Function)
        }
        .into()
    }

    #[test]
    fn of_a_function_the_smaller_count_is_offered_and_no_ways_multiply_it() {
        const MAP: &str = "acc/kmeans-map";
        let offered = |of: &NodeElements, trust| of.offered(trust, 3).get(MAP).copied();
        for (found, granted, both, yarn) in [(1, 2, 1, 2), (2, 1, 1, 1), (2, 2, 2, 2)] {
            let node = known(vec![functions("kmeans-map", found)], &[MAP], granted);
            let used = [Trust::Both, Trust::Yarn, Trust::Scan].map(|trust| offered(&node, trust));
            assert_eq!(used, [Some(both), Some(yarn), Some(found.into())]);
        }
        let one = known(vec![functions("kmeans-map", 1)], &[MAP], 2);
        let difference = "n1: 1 kmeans-map found, YARN has granted 2: 1 used (--elements both)";
        assert_eq!(one.differences(Trust::Both), [difference]);
        // Where YARN counts none, what is found; and where no driver answers nothing, for the driver's reason.
        let uncounted = known(vec![functions("kmeans-map", 2)], &[], 0);
        assert_eq!(offered(&uncounted, Trust::Both), Some(2));
        let gone = known(vec![functions("", 0)], &[MAP, "acc/bayes-map"], 2);
        assert_eq!(offered(&gone, Trust::Both), None);
        assert_eq!(offered(&gone, Trust::Yarn), Some(2));
        assert_eq!(
            gone.without(Trust::Both, &[ElementNeed::one(MAP)]).unwrap(),
            "no device: no fpgad answers at /run/gerbil/fpgad.sock"
        );
        let three = "acc/kmeans-map=3".parse().unwrap();
        assert_eq!(one.without(Trust::Both, &[three]).unwrap(), "1 there");
    }

    #[test]
    fn a_node_says_why_it_has_none() {
        let why = |node: &NodeElements, trust| node.without(trust, &[ElementNeed::one(GPU)]);
        let said = |found, granted| {
            let types: &[&str] = match granted {
                Some(_) => &["acc/gpu"],
                None => &[],
            };
            why(&known(found, types, granted.unwrap_or(0)), Trust::Both)
        };
        assert_eq!(said(vec![gpus(1, false)], None), None);
        assert_eq!(said(Vec::new(), None).unwrap(), "no device");
        assert_eq!(
            said(vec![gpus(1, true)], Some(1)).unwrap(),
            "broken: signal 11 in cuInit"
        );
        assert_eq!(
            said(vec![gpus(2, false)], Some(0)).unwrap(),
            "2 found, YARN has granted 0"
        );
        let vain = Element {
            evidence: vec!["cuInit says 100 (no device)".to_owned()],
            ..Element::none_of(ElementKind::Gpu)
        };
        assert_eq!(
            said(vec![vain.into()], None).unwrap(),
            "no device: cuInit says 100 (no device)"
        );
        let none = known(Vec::new(), &["acc/gpu"], 0);
        assert_eq!(why(&none, Trust::Yarn).unwrap(), "YARN has granted 0");
        assert_eq!(
            none.without(
                Trust::Scan,
                &[ElementNeed::one(GPU), ElementNeed::one("acc/kmeans-map")]
            )
            .unwrap(),
            "gpu: no device, acc/kmeans-map: YARN has granted no acc/kmeans-map"
        );
    }

    #[test]
    fn a_device_that_breaks_is_offered_no_longer() {
        let mut node = known(vec![gpus(1, false)], &[], 0);
        assert_eq!(node.offered(Trust::Both, 1).len(), 1);
        // Until its launcher has looked again it may be there.
        let mut lost = wire::NodeElements {
            elements: vec![gpus(1, true)],
            scanning: true,
            loads: Vec::new(),
        };
        node.hear(lost.clone());
        assert!(node.offered(Trust::Both, 1).is_empty() && node.is_scanning);
        lost.scanning = false;
        node.hear(lost);
        assert!(node.offered(Trust::Both, 1).is_empty() && !node.is_scanning);
    }
}
