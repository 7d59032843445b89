//! Elements: what some nodes have and others do not, such as a GPU, and which tasks need one.
//!
//! Whatever a node or its container counts beside memory and cores is an element, and so is whatever tasks wait
//! for in turn.

use super::{Bundle, Need, NodeIx, ResourceName, Session};
use crate::elements::{GPU, counted_by, is_function};

/// What every container counts.
const EVERYWHERE: [&str; 2] = ["memory-mb", "vcores"];

fn is_element(name: &ResourceName) -> bool {
    !EVERYWHERE.contains(&name.0.as_str())
}

/// The elements that a task takes or waits for.
pub(super) fn elements(need: &Need) -> impl Iterator<Item = &ResourceName> {
    element_amounts(need).map(|(name, _)| name)
}

/// The same, each with how many a task takes; of what it waits for in turn one.
pub fn element_amounts(need: &Need) -> impl Iterator<Item = (&ResourceName, u64)> {
    let taken = need.bundle.iter().filter(|(_, amount)| *amount > 0);
    let taken = taken.filter(|(name, _)| is_element(name));
    let locks = need.locks.iter().map(|name| (name, 1));
    locks.chain(taken)
}

/// Whether a node has as many of each element as a task takes, in use or free.
#[must_use]
pub fn has_elements(session: &Session, need: &Need, node: NodeIx) -> bool {
    element_amounts(need)
        .all(|(name, amount)| pools(session, node).any(|pool| pool.amount(name) >= amount))
}

/// Whether a task needs an element.
pub(super) fn needs_element(need: &Need) -> bool {
    elements(need).next().is_some()
}

/// The functions of accelerators of which a task takes its own.
pub(super) fn functions(need: &Need) -> impl Iterator<Item = &ResourceName> {
    let taken = need.bundle.iter().filter(|(_, amount)| *amount > 0);
    let names = taken.map(|(name, _)| name);
    names.filter(|name| is_function(&name.0))
}

/// What a task needs beside elements.
pub(super) fn without_elements(need: &Need) -> Need {
    let bundle = need.bundle.iter().filter(|(name, _)| !is_element(name));
    let bundle = bundle.fold(Bundle::new(), |bundle, (name, amount)| {
        bundle.with(&name.0, amount)
    });
    Need {
        bundle,
        locks: Vec::new(),
        limit: need.limit,
    }
}

/// Whether a node has any element.
pub(super) fn has_element(session: &Session, node: NodeIx) -> bool {
    pools(session, node).any(|pool| {
        let mut counted = pool.iter();
        counted.any(|(name, amount)| amount > 0 && is_element(name))
    })
}

/// What the node counts, and what its containers do.
fn pools(session: &Session, node: NodeIx) -> impl Iterator<Item = &Bundle> {
    let containers = session.containers_of(node);
    let containers = containers.filter_map(|container| session.container(container));
    let own = session.node(node).map(|node| &node.pool);
    own.into_iter()
        .chain(containers.map(|container| &container.pool))
}

/// Whether GPUs are among what a node counts.
pub(super) fn has_gpu(pool: &Bundle) -> bool {
    let mut some = pool.iter().filter(|(_, amount)| *amount > 0);
    some.any(|(name, _)| name.0 == GPU || counted_by(&name.0) == Some(GPU))
}
