//! Elements of a node: what it has beside cores and memory, as its launcher finds it.

use std::fmt;
use std::num::NonZeroU32;

use policy::Millis;
pub use policy::elements::Trust;
use serde::{Deserialize, Serialize};

pub use crate::given_cores::{GivenCores, core_list};
use crate::wire;

/// What an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElementKind {
    /// A graphics processor.
    Gpu,
    /// A card of programmable logic.
    Fpga,
    /// Cores that are as fast as each other.
    CoreClass,
    /// A function of accelerators, as its driver leases it: the model, `kmeans-map`.
    Function,
}

impl ElementKind {
    /// As policies, options and tables call it: `gpu`, `fpga`, `core-class`, `function`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Fpga => "fpga",
            Self::CoreClass => "core-class",
            Self::Function => "function",
        }
    }
}

impl fmt::Display for ElementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Elements of one kind and model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// What they are.
    pub kind: ElementKind,
    /// Who makes them, in small letters: `nvidia`, `amd`, `intel`, `xilinx`; empty: not known.
    pub maker: String,
    /// As the driver calls them; of cores `plain`, or `fast` and `slow` where they differ. Empty: not known.
    pub model: String,
    /// Memory of each, MiB; 0: not known, or none of its own.
    pub memory_mib: u64,
    /// How many there are. 0: it was looked for, and the evidence says why there is none.
    pub count: u32,
    /// The driver's version, `CUDA 13.0`; empty: not known.
    pub driver: String,
    /// Device files, libraries and answers by which they were found.
    pub evidence: Vec<String>,
    /// Why they cannot be used, `signal 11 in cuInit`; `None`: they can.
    pub broken: Option<String>,
    /// Of a class of cores: their numbers.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// Of a class of cores: how fast the slowest of them is, in hundredths of the node's fastest core; 0: not known.
    #[serde(default)]
    pub speed: u32,
}

impl Element {
    /// One of which nothing is known yet but that it was looked for.
    #[must_use]
    pub const fn none_of(kind: ElementKind) -> Self {
        Self {
            kind,
            maker: String::new(),
            model: String::new(),
            memory_mib: 0,
            count: 0,
            driver: String::new(),
            evidence: Vec::new(),
            broken: None,
            cpus: Vec::new(),
            speed: 0,
        }
    }

    /// How many can be used.
    #[must_use]
    pub const fn usable(&self) -> u32 {
        match self.broken {
            Some(_) => 0,
            None => self.count,
        }
    }
}

/// How many elements of this kind can be used.
#[must_use]
pub fn usable(elements: &[Element], kind: ElementKind) -> u32 {
    let of_kind = elements.iter().filter(|element| element.kind == kind);
    of_kind.map(Element::usable).fold(0, u32::saturating_add)
}

/// What a launcher is told of elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    /// Below which folder `dev`, `sys`, `run` and libraries are looked for; `/` but for trials.
    pub root: String,
    /// Tasks that a device runs at a time.
    pub ways: NonZeroU32,
    /// Between two scans; `None`: there is one, in the beginning.
    pub interval: Option<Millis>,
    /// GPUs that YARN has granted, where that alone counts (`--elements yarn`); `None`: those count that are found.
    pub granted: Option<u32>,
    /// GPUs that this container's tasks may have at a time, where more may be found than YARN has granted
    /// (`--elements both`); `None`: all that are found.
    pub most: Option<u32>,
    /// Classes of cores that are given, in place of what the nodes tell of theirs.
    #[serde(default)]
    pub cores: Vec<GivenCores>,
    /// Where a node tells nothing of its cores, each is measured.
    #[serde(default)]
    pub measures_cores: bool,
}

/// What stands in [`Scan::root`] for the node's host.
pub const HOST_IN_ROOT: &str = "%h";

impl Scan {
    /// The same for a node of this name.
    #[must_use]
    pub fn at(&self, host: &str) -> Self {
        Self {
            root: self.root.replace(HOST_IN_ROOT, host),
            cores: GivenCores::at(&self.cores, host)
                .cloned()
                .into_iter()
                .collect(),
            ..self.clone()
        }
    }
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            root: "/".to_owned(),
            ways: NonZeroU32::MIN,
            interval: None,
            granted: None,
            most: None,
            cores: Vec::new(),
            measures_cores: false,
        }
    }
}

impl From<Element> for wire::Element {
    fn from(element: Element) -> Self {
        use wire::element::Kind;
        let kind = match element.kind {
            ElementKind::Gpu => Kind::Gpu,
            ElementKind::Fpga => Kind::Fpga,
            ElementKind::CoreClass => Kind::CoreClass,
            ElementKind::Function => Kind::Function,
        };
        Self {
            kind: kind.into(),
            maker: element.maker,
            model: element.model,
            memory_mib: element.memory_mib,
            count: element.count,
            driver: element.driver,
            evidence: element.evidence,
            broken: element.broken,
            cpus: element.cpus,
            speed: element.speed,
        }
    }
}

impl From<wire::Element> for Element {
    fn from(element: wire::Element) -> Self {
        use wire::element::Kind;
        let kind = match element.kind() {
            Kind::Gpu => ElementKind::Gpu,
            Kind::Fpga => ElementKind::Fpga,
            Kind::CoreClass => ElementKind::CoreClass,
            Kind::Function => ElementKind::Function,
        };
        Self {
            kind,
            maker: element.maker,
            model: element.model,
            memory_mib: element.memory_mib,
            count: element.count,
            driver: element.driver,
            evidence: element.evidence,
            broken: element.broken,
            cpus: element.cpus,
            speed: element.speed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu() -> Element {
        Element {
            maker: "nvidia".into(),
            model: "H100".into(),
            memory_mib: 81_559,
            count: 2,
            driver: "CUDA 13.0".into(),
            evidence: vec!["/dev/nvidia0".into(), "/dev/nvidia1".into()],
            ..Element::none_of(ElementKind::Gpu)
        }
    }

    #[test]
    fn an_element_is_the_same_on_the_wire_and_as_json() {
        let broken = Element {
            broken: Some("signal 11 in cuInit".into()),
            ..gpu()
        };
        for element in [gpu(), broken, Element::none_of(ElementKind::CoreClass)] {
            assert_eq!(Element::from(wire::Element::from(element.clone())), element);
            let text = serde_json::to_string(&element).unwrap();
            assert_eq!(serde_json::from_str::<Element>(&text).unwrap(), element);
        }
        let json = serde_json::to_value(Element::none_of(ElementKind::CoreClass)).unwrap();
        assert_eq!(json["kind"], "core-class");
    }

    #[test]
    fn what_is_broken_is_not_usable() {
        let broken = Element {
            broken: Some("hangs in cuInit".into()),
            ..gpu()
        };
        assert_eq!(usable(&[gpu(), broken], ElementKind::Gpu), 2);
        assert_eq!(usable(&[gpu()], ElementKind::Fpga), 0);
    }

    #[test]
    fn a_root_may_differ_by_host() {
        let scan = Scan {
            root: "/trial/%h".into(),
            ..Scan::default()
        };
        assert_eq!(scan.at("node1").root, "/trial/node1");
    }
}
