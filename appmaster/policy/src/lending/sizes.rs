//! Amounts of YARN's as the schedulers count them.

use std::collections::BTreeMap;

use crate::schedule::Bundle;
use crate::{ResourceTypes, Resources};

/// `memory-mb`, and each countable type by its name. Cores are what slots stand for, and are not counted
/// beside them.
pub(super) fn bundle(amount: Resources, types: &ResourceTypes) -> Bundle {
    let bundle = Bundle::new().with("memory-mb", amount.memory.0);
    types
        .named(amount.counts)
        .fold(bundle, |bundle, (name, count)| bundle.with(name, count))
}

/// What a node has as a whole.
pub(super) fn of_node(elements: &BTreeMap<String, u64>) -> Bundle {
    let all = elements.iter();
    all.fold(Bundle::new(), |bundle, (name, count)| {
        bundle.with(name, *count)
    })
}

/// Whether a container is large enough for one process.
pub(super) fn fits(unit: Resources, pool: Resources) -> bool {
    unit.memory <= pool.memory && unit.counts.fit(pool.counts)
}
