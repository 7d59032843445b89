//! Amounts of YARN's as the schedulers count them.

use std::collections::BTreeMap;

use crate::elements::ElementNeed;
use crate::schedule::{Bundle, Need, ResourceName};
use crate::{ResourceTypes, Resources};

/// `memory-mb`, and each countable type by its name. Cores are what slots stand for, and are not counted
/// beside them.
pub(super) fn bundle(amount: Resources, types: &ResourceTypes) -> Bundle {
    let bundle = Bundle::new().with("memory-mb", amount.memory.0);
    types
        .named(amount.counts)
        .fold(bundle, |bundle, (name, count)| bundle.with(name, count))
}

/// What a task takes of its container and its node, and what it waits for in turn.
pub(super) fn need(unit: Resources, types: &ResourceTypes, needs: &[ElementNeed]) -> Need {
    let (counted, locks) = counted_and_locks(needs);
    let taken = counted.iter();
    Need {
        bundle: taken.fold(bundle(unit, types), |bundle, (name, amount)| {
            bundle.with(&name.0, amount)
        }),
        locks,
        limit: None,
    }
}

/// Elements of which each task takes its own, and those that all tasks on a node use in turn.
pub(super) fn counted_and_locks(needs: &[ElementNeed]) -> (Bundle, Vec<ResourceName>) {
    let (counted, locks): (Vec<_>, Vec<_>) = needs.iter().partition(|need| need.is_counted());
    let counted = counted.into_iter();
    let counted = counted.fold(Bundle::new(), |bundle, need| {
        bundle.with(&need.name, need.count)
    });
    let locks = locks.into_iter().map(|need| need.name.as_str().into());
    (counted, locks.collect())
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
