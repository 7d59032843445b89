//! Whether a task of a stage may run on a slot.

use std::fmt;

use super::element::without_elements;
use super::{Bundle, JobIx, Need, NodeIx, NodeLimit, ResourceName, Session, SlotIx, Stage};

/// Why it may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The slot, or the job, is not there.
    Gone,
    /// The slot does not run tasks of this stage.
    Stage(Stage),
    /// Its container is wanted back.
    Leaving,
    /// Too little is free.
    Short {
        /// The resource that is short.
        name: ResourceName,
        /// How much a task takes.
        needed: u64,
        /// How much is free.
        free: u64,
        /// How much there is at all.
        of: u64,
    },
    /// The node has no such device.
    Device(ResourceName),
    /// As many of the stage run on the node as the job lets run there at a time.
    Limit(NodeLimit),
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("the slot is gone"),
            Self::Stage(stage) => write!(f, "the slot runs no tasks of stage {stage:?}"),
            Self::Leaving => f.write_str("the slot's container is wanted back"),
            Self::Short {
                name,
                needed,
                free,
                of,
            } => {
                write!(f, "a task takes {needed} {name}: {free} of {of} free")
            }
            Self::Device(name) => write!(f, "the node has no {name}"),
            Self::Limit(NodeLimit::Most { most, .. }) => write!(
                f,
                "its job lets {most} tasks run on a node at a time, and they do"
            ),
            Self::Limit(NodeLimit::Boards) => {
                f.write_str("as many tasks run on the node as its boards can use")
            }
        }
    }
}

/// Whether a task of `job`'s `stage` may run on `slot`, be it free or not.
///
/// # Errors
///
/// It may not, and why.
pub fn can_run(session: &Session, job: JobIx, stage: Stage, slot: SlotIx) -> Result<(), Misfit> {
    let need = &session.stage(job, stage).ok_or(Misfit::Gone)?.need;
    fits(session, need, stage, slot)
}

/// The same for who knows of no elements: only what every container counts is looked at.
pub(super) fn can_run_blindly(
    session: &Session,
    job: JobIx,
    stage: Stage,
    slot: SlotIx,
) -> Result<(), Misfit> {
    let need = &session.stage(job, stage).ok_or(Misfit::Gone)?.need;
    fits(session, &without_elements(need), stage, slot)
}

/// Whether what a task takes is free where `slot` is.
pub(super) fn fits(
    session: &Session,
    need: &Need,
    stage: Stage,
    slot: SlotIx,
) -> Result<(), Misfit> {
    let place = session.slot(slot).ok_or(Misfit::Gone)?;
    if !place.stages.contains(&stage) || !place.starts_tasks() {
        return Err(Misfit::Stage(stage));
    }
    if session.is_leaving(place.container) {
        return Err(Misfit::Leaving);
    }
    let container = session.container(place.container).ok_or(Misfit::Gone)?;
    let node = session.node(container.node).ok_or(Misfit::Gone)?;
    if let Some(limit) = need
        .limit
        .filter(|_| session.is_limited(container.node, need))
    {
        return Err(Misfit::Limit(limit));
    }
    for (name, needed) in need.bundle.iter() {
        let (pool, free) = whose(
            name,
            (&container.pool, &container.free),
            (&node.pool, &node.free),
        );
        let free = free.amount(name);
        if needed > free {
            return Err(Misfit::Short {
                name: name.clone(),
                needed,
                free,
                of: pool.amount(name),
            });
        }
    }
    has_devices(session, need, container.node)
}

/// The container's amounts where it counts `name`, else the node's.
fn whose<'a>(
    name: &ResourceName,
    container: (&'a Bundle, &'a Bundle),
    node: (&'a Bundle, &'a Bundle),
) -> (&'a Bundle, &'a Bundle) {
    if container.0.counts(name) {
        container
    } else {
        node
    }
}

fn has_devices(session: &Session, need: &Need, node: NodeIx) -> Result<(), Misfit> {
    let Some(node) = session.node(node) else {
        return Err(Misfit::Gone);
    };
    let missing = need.locks.iter().find(|name| node.pool.amount(name) == 0);
    missing.map_or(Ok(()), |name| Err(Misfit::Device(name.clone())))
}

/// Whether `slot` could run such a task if nothing else ran: by what there is, not by what is free. None could whose
/// container is wanted back.
pub(super) fn could_run(session: &Session, need: &Need, stage: Stage, slot: SlotIx) -> bool {
    let Some(place) = session
        .slot(slot)
        .filter(|slot| slot.starts_tasks() && slot.stages.contains(&stage))
        .filter(|slot| !session.is_leaving(slot.container))
    else {
        return false;
    };
    let Some(container) = session.container(place.container) else {
        return false;
    };
    let Some(node) = session.node(container.node) else {
        return false;
    };
    let enough = need.bundle.iter().all(|(name, needed)| {
        let pool = if container.pool.counts(name) {
            &container.pool
        } else {
            &node.pool
        };
        needed <= pool.amount(name)
    });
    enough && has_devices(session, need, container.node).is_ok()
}

/// Whether such a task would fit on `slot` if an attempt that took `freed` ended there.
pub(super) fn would_run(
    session: &Session,
    need: &Need,
    stage: Stage,
    slot: SlotIx,
    freed: &Bundle,
) -> bool {
    match fits(session, need, stage, slot) {
        Ok(()) => true,
        Err(Misfit::Short { .. }) => {
            let Some(place) = session.slot(slot) else {
                return false;
            };
            let Some(container) = session.container(place.container) else {
                return false;
            };
            let Some(node) = session.node(container.node) else {
                return false;
            };
            let enough = need.bundle.iter().all(|(name, needed)| {
                let (_, free) = whose(
                    name,
                    (&container.pool, &container.free),
                    (&node.pool, &node.free),
                );
                needed <= free.amount(name).saturating_add(freed.amount(name))
            });
            enough && has_devices(session, need, container.node).is_ok()
        }
        Err(_) => false,
    }
}
