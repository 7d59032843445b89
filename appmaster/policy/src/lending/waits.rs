//! Why jobs have no slots.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::messages::{ShortElement, Waits, Wants};
use super::needs::elements_of;
use super::{Borrower, Lending, sizes};
use crate::Resources;
use crate::elements::ElementNeed;
use crate::schedule::{
    Bundle, JobIx, Misfit, Need, Node, NodeIx, ResourceName, Slot, SlotUse, Stage, can_run,
};

/// Those that wait as they stand now: looked at once, and then one after the other.
///
/// Cost: O(jobs · log jobs) to begin, O(slots) for each kind of need, and O(log jobs) a job.
#[derive(Debug)]
pub struct WaitingLine<'a> {
    lending: &'a Lending,
    holders: Arc<[(u32, u32)]>,
    /// Those that wait as well and came earlier, of each.
    ahead: BTreeMap<JobIx, u32>,
    /// Slots that are free, and that are there, for what a process takes.
    slots: BTreeMap<(Stage, Need), SlotsFor>,
}

/// What there is for a process.
#[derive(Clone, Debug)]
struct SlotsFor {
    /// Slots that are free and on which it can start.
    free: u32,
    /// Slots that are there for it, taken or free.
    all: u32,
    short: Option<ShortElement>,
}

impl Lending {
    /// The jobs that wait. `called` says by what number holders of slots are known to who reads of them; who has
    /// none is not named.
    #[must_use]
    pub fn line(&self, called: impl Fn(u32) -> Option<u32>) -> WaitingLine<'_> {
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let of_slots = |(job, other): (&u32, &Borrower)| {
            let slots = count(other.attempts.len());
            (slots > 0).then(|| Some((called(*job)?, slots))).flatten()
        };
        let mut holders: Vec<(u32, u32)> = self.jobs.iter().filter_map(of_slots).collect();
        holders.sort_by_key(|(job, slots)| (std::cmp::Reverse(*slots), *job));
        let waiting = (self.jobs.values()).filter(|borrower| borrower.attempts.is_empty());
        let mut waiting: Vec<(u64, JobIx)> = waiting
            .map(|borrower| (borrower.turn.seq, borrower.ix))
            .collect();
        waiting.sort_unstable();
        let ahead = waiting.into_iter().map(|(_, ix)| ix).zip(0..);
        WaitingLine {
            lending: self,
            holders: holders.into(),
            ahead: ahead.collect(),
            slots: BTreeMap::new(),
        }
    }

    /// Why `job` waits; `None`: it does not.
    #[must_use]
    pub fn waits(&self, job: u32) -> Option<Waits> {
        self.line(Some).waits(job)
    }
}

impl WaitingLine<'_> {
    /// Why `job` waits; `None`: it does not.
    pub fn waits(&mut self, job: u32) -> Option<Waits> {
        let borrower = self.lending.jobs.get(&job)?;
        if !borrower.attempts.is_empty() {
            return None;
        }
        let session = self.lending.driver.session();
        let (stage, wanted, unit) = match &borrower.request.wants {
            Wants::Gang(processes) => (Stage::Gang, *processes, borrower.request.unit),
            Wants::Tasks { map, reduce, .. } => {
                let pending = |stage, unit| {
                    let pending = session.stage(borrower.ix, stage)?.pending;
                    (pending > 0).then_some((stage, pending, unit))
                };
                pending(Stage::Map, map.unit).or_else(|| pending(Stage::Reduce, reduce.unit))?
            }
        };
        let need = session.stage(borrower.ix, stage)?.need.clone();
        let SlotsFor { free, all, short } = match self.slots.entry((stage, need)) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(unknown) => unknown
                .insert(self.lending.slots_for(borrower.ix, stage, unit))
                .clone(),
        };
        Some(Waits {
            wanted,
            unit,
            free,
            all,
            short,
            holders: Arc::clone(&self.holders),
            ahead: self.ahead.get(&borrower.ix).copied().unwrap_or(0),
        })
    }
}

impl Lending {
    /// What there is for a process of `unit` of a job's stage.
    fn slots_for(&self, job: JobIx, stage: Stage, unit: Resources) -> SlotsFor {
        let session = self.driver.session();
        let (mut free, mut all) = (0_u32, 0_u32);
        let mut is_short_there = false;
        for (container, offer) in &self.offers {
            if session.is_leaving(*container) || !sizes::fits(unit, offer.pool) {
                continue;
            }
            // What runs on one of a container's slots runs on each that is like it.
            let mut known: Option<(&Slot, bool)> = None;
            for ix in session.slots_of(*container) {
                let slot = session.slot(*ix).filter(|slot| slot.starts_tasks());
                let Some(slot) = slot else {
                    continue;
                };
                all = all.saturating_add(1);
                if slot.taken != SlotUse::Free {
                    continue;
                }
                let alike = known.filter(|(other, _)| other.stages == slot.stages);
                let fits = match alike {
                    Some((_, fits)) => fits,
                    None => match can_run(session, job, stage, *ix) {
                        Ok(()) => true,
                        Err(misfit) => {
                            is_short_there |= matches!(misfit, Misfit::Short { .. });
                            false
                        }
                    },
                };
                known = Some((slot, fits));
                free = free.saturating_add(u32::from(fits));
            }
        }
        let short = (free == 0 && is_short_there).then(|| self.short(job, stage));
        SlotsFor {
            free,
            all,
            short: short.flatten(),
        }
    }

    /// The first of the elements that a process takes for itself of which no node has enough free.
    fn short(&self, job: JobIx, stage: Stage) -> Option<ShortElement> {
        let session = self.driver.session();
        let need = &session.stage(job, stage)?.need;
        let containers = self.offers.keys();
        let nodes = containers.filter_map(|ix| Some(session.container(*ix)?.node));
        let nodes: BTreeSet<NodeIx> = nodes.collect();
        let nodes = || nodes.iter().filter_map(|node| session.node(*node));
        let needs = elements_of(need).into_iter();
        let mut needs = needs.filter(ElementNeed::is_counted);
        needs.find_map(|need| {
            let name: ResourceName = need.name.as_str().into();
            let is_short = nodes().all(|node| node.free.amount(&name) < need.count);
            let sum = |of: fn(&Node) -> &Bundle| {
                nodes().fold(0_u64, |sum, node| {
                    sum.saturating_add(of(node).amount(&name))
                })
            };
            is_short.then(|| ShortElement {
                free: sum(|node| &node.free),
                of: sum(|node| &node.pool),
                need,
            })
        })
    }
}
