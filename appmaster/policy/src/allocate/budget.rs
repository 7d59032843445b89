//! Containers within what the queue gives the job: the last step of every mode.
//!
//! A mode goes by the rooms of the nodes. Where the queue gives less than all of it together, containers
//! whose processes may share are cut, the largest first; how many processes go where stays. What cannot
//! be cut is asked for as it is and waits, unless it is more than the queue can ever give.

use super::rest::Rest;
use crate::queue::{level, together};
use crate::{Counted, MiB, NodeShare, Rejection, Resources, Vcores};

/// What the rest of the job may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// At the most, when nothing else is in the queue.
    ever: Option<Resources>,
    /// By the queue's headroom, with what is in it at present; `None`: no limit is known.
    now: Option<Resources>,
}

impl Budget {
    pub(super) fn new(rest: &Rest<'_>) -> Self {
        let queue = &rest.cluster.queue;
        let held = together(rest.held.iter().map(|share| share.ask), rest.cluster.step);
        Self {
            ever: queue.ever().map(|ever| ever.minus(held)),
            now: queue.headroom,
        }
    }

    /// The least of both.
    fn least(self) -> Option<Resources> {
        match (self.ever, self.now) {
            (Some(ever), Some(now)) => Some(ever.least(now)),
            (one, other) => one.or(other),
        }
    }

    /// The most nodes that can be given one process each; `None`: any number.
    ///
    /// # Errors
    /// Not one can, now or ever.
    pub(super) fn nodes(self, rest: &Rest<'_>) -> Result<Option<usize>, Rejection> {
        let cluster = rest.cluster;
        let unit = together(std::iter::once(rest.demand.unit), cluster.step);
        let units = |limit| usize::try_from(cluster.units_in(unit, limit)).unwrap_or(usize::MAX);
        match (self.least().map(units), self.ever.map(units)) {
            (Some(0), Some(0)) => Err(Self::never(rest, unit)),
            (Some(0), _) => Err(Rejection::QueueFull {
                queue: cluster.queue.name.clone(),
                left: self.now.unwrap_or_default(),
                unit: rest.demand.unit,
            }),
            (nodes, _) => Ok(nodes),
        }
    }

    fn never(rest: &Rest<'_>, wanted: Resources) -> Rejection {
        let queue = &rest.cluster.queue;
        Rejection::QueueTooSmall {
            processes: rest.processes,
            wanted,
            queue: queue.name.clone(),
            maximum: queue.maximum.unwrap_or_default(),
            appmaster: queue.appmaster,
            unit: rest.demand.unit,
        }
    }

    /// `shares` cut to what the queue gives.
    ///
    /// # Errors
    /// The queue can never give as much.
    pub(super) fn apply(
        self,
        rest: &Rest<'_>,
        mut shares: Vec<NodeShare>,
    ) -> Result<Vec<NodeShare>, Rejection> {
        let cluster = rest.cluster;
        let fits = |wanted, limit: Option<Resources>| {
            limit.is_none_or(|limit| cluster.fits(wanted, limit))
        };
        let wanted = together(shares.iter().map(|share| share.ask), cluster.step);
        if fits(wanted, self.least()) {
            return Ok(shares);
        }
        if rest.is_whole() {
            return match fits(wanted, self.ever) {
                true => Ok(shares),
                false => Err(Self::never(rest, wanted)),
            };
        }
        // Within what there is now; else, waiting for it, within what there can ever be.
        for limit in [self.least(), self.ever] {
            if limit.is_none_or(|limit| cut(rest, &mut shares, limit)) {
                return Ok(shares);
            }
        }
        let least = shares.iter().map(|_| rest.demand.unit);
        Err(Self::never(rest, together(least, cluster.step)))
    }
}

/// Cuts `shares` to `limit`; false, and nothing is cut, where not even one process of each fits.
fn cut(rest: &Rest<'_>, shares: &mut [NodeShare], limit: Resources) -> bool {
    let (unit, step) = (rest.demand.unit, rest.cluster.step.0.max(1));
    let memory: Vec<u64> = shares
        .iter()
        .map(|share| share.ask.memory.0.next_multiple_of(step))
        .collect();
    let least = unit.memory.0.next_multiple_of(step);
    let Some(memory) = level(&memory, least, step, limit.memory.0) else {
        return false;
    };
    let vcores: Vec<u64> = shares
        .iter()
        .map(|share| share.ask.vcores.0.into())
        .collect();
    let vcores = match rest.cluster.counted {
        Counted::Memory => Some(vcores),
        Counted::MemoryAndVcores => level(&vcores, unit.vcores.0.into(), 1, limit.vcores.0.into()),
    };
    let Some(vcores) = vcores else {
        return false;
    };
    for ((share, memory), vcores) in shares.iter_mut().zip(memory).zip(vcores) {
        share.ask.memory = MiB(memory);
        share.ask.vcores = Vcores(u32::try_from(vcores).unwrap_or(u32::MAX));
    }
    true
}
