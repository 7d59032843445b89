//! Amounts of memory, cores and other countable things.

use std::collections::BTreeMap;
use std::fmt;

use crate::wire::{FromWire, Incomplete, yarn};

/// The name of memory among resource types.
pub const MEMORY: &str = "memory-mb";
/// The name of virtual cores among resource types.
pub const VCORES: &str = "vcores";

/// The resource type of graphics processors.
pub const GPU: &str = "yarn.io/gpu";

/// What a container has, an application asks for, or a node offers.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Virtual cores; what a virtual core is, the cluster's administrator decides.
    pub vcores: u32,
    /// Counts of further resource types by name, in the unit that the ResourceManager configured.
    ///
    /// A type that the ResourceManager does not know is **dropped by it without a word**: compare
    /// with [`resource_types`](crate::ApplicationClient::resource_types) before asking.
    pub others: BTreeMap<String, u64>,
}

impl Resource {
    /// Memory and cores alone.
    #[must_use]
    pub fn new(memory_mib: u64, vcores: u32) -> Self {
        Self {
            memory_mib,
            vcores,
            others: BTreeMap::new(),
        }
    }

    /// The same with so much of further types.
    #[must_use]
    pub fn with_others(mut self, others: impl IntoIterator<Item = (String, u64)>) -> Self {
        self.others.extend(others);
        self
    }

    pub(crate) fn optional(wire: Option<yarn::ResourceProto>) -> Self {
        let wire = wire.unwrap_or_default();
        let mut others = BTreeMap::new();
        let mut memory = wire.memory;
        let mut vcores = wire.virtual_cores.map(i64::from);
        for row in wire.resource_value_map {
            match row.key.as_str() {
                MEMORY => memory = memory.or(row.value),
                VCORES => vcores = vcores.or(row.value),
                _ => {
                    others.insert(row.key, amount(row.value));
                }
            }
        }
        Self {
            memory_mib: amount(memory),
            vcores: u32::try_from(amount(vcores)).unwrap_or(u32::MAX),
            others,
        }
    }
}

/// Headroom and unlimited amounts may come below zero or missing; both count as none.
fn amount(value: Option<i64>) -> u64 {
    value
        .and_then(|value| u64::try_from(value).ok())
        .unwrap_or(0)
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB, {} vcores", self.memory_mib, self.vcores)?;
        self.others
            .iter()
            .try_for_each(|(name, count)| write!(f, ", {count} {name}"))
    }
}

impl From<&Resource> for yarn::ResourceProto {
    fn from(resource: &Resource) -> Self {
        let row = |(key, &value): (&String, &u64)| yarn::ResourceInformationProto {
            key: key.clone(),
            value: Some(i64::try_from(value).unwrap_or(i64::MAX)),
            // Left out, so that the ResourceManager reads the count in its own unit.
            units: None,
            r#type: None,
            tags: Vec::new(),
            attributes: Vec::new(),
        };
        Self {
            memory: Some(i64::try_from(resource.memory_mib).unwrap_or(i64::MAX)),
            virtual_cores: Some(i32::try_from(resource.vcores).unwrap_or(i32::MAX)),
            resource_value_map: resource.others.iter().map(row).collect(),
        }
    }
}

/// A resource type that the ResourceManager knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceType {
    /// Such as `memory-mb`, `vcores`, `yarn.io/gpu`.
    pub name: String,
    /// Unit prefix of the counts, such as `Mi`; empty for plain counts.
    pub units: String,
}

impl FromWire<yarn::ResourceTypeInfoProto> for ResourceType {
    fn from_wire(wire: yarn::ResourceTypeInfoProto) -> Result<Self, Incomplete> {
        Ok(Self {
            name: wire.name,
            units: wire.units.unwrap_or_default(),
        })
    }
}
