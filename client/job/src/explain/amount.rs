//! Amounts of what a cluster counts, as they are told.

use std::collections::BTreeMap;
use std::fmt;

use policy::{MiB, ResourceTypes, Resources, Vcores};
use serde::{Deserialize, Serialize};

/// Memory, cores and what else the cluster counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Virtual cores, as YARN counts them.
    pub vcores: u32,
    /// GPUs, where the cluster counts them; left out where there are none.
    #[serde(default, skip_serializing_if = "no_gpus")]
    pub gpus: u64,
    /// Further countable types, by name; left out where there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
const fn no_gpus(gpus: &u64) -> bool {
    *gpus == 0
}

impl Amount {
    /// Of `resources`, whose counts are named by `types`.
    #[must_use]
    pub fn of(resources: Resources, types: &ResourceTypes) -> Self {
        let mut amount = Self {
            memory_mib: resources.memory.0,
            vcores: resources.vcores.0,
            ..Self::default()
        };
        for (name, count) in types.named(resources.counts) {
            amount.add(name, count);
        }
        amount
    }

    /// So many of a countable type more.
    pub fn add(&mut self, name: &str, count: u64) {
        let all = match name {
            policy::GPU => &mut self.gpus,
            other => self.others.entry(other.to_owned()).or_default(),
        };
        *all = all.saturating_add(count);
    }

    /// This and `other` together.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        self.memory_mib = self.memory_mib.saturating_add(other.memory_mib);
        self.vcores = self.vcores.saturating_add(other.vcores);
        for (name, count) in other.named() {
            self.add(name, count);
        }
        self
    }

    /// With counts as `types` has them.
    #[must_use]
    pub fn resources(&self, types: &ResourceTypes) -> Resources {
        let count = |name: &str| match name {
            policy::GPU => Some(self.gpus),
            other => self.others.get(other).copied(),
        };
        Resources::new(self.memory_mib, self.vcores).with_counts(types.counts(count))
    }

    /// The countable types of which there are some.
    fn named(&self) -> impl Iterator<Item = (&str, u64)> {
        let gpus = (self.gpus > 0).then_some((policy::GPU, self.gpus));
        let others = self
            .others
            .iter()
            .map(|(name, count)| (name.as_str(), *count));
        gpus.into_iter().chain(others)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&policy::in_words(
            MiB(self.memory_mib),
            Vcores(self.vcores),
            self.named(),
        ))
    }
}
