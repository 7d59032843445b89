//! Gangs: what is lent to one, all at once, and how its job sees that.

use std::collections::{BTreeMap, BTreeSet};

use super::{Lending, Lent, Word, nanos};
use crate::schedule::{AttemptIx, ContainerIx, Event, JobIx, SlotIx, Speed};
use crate::{ClusterView, ContainerId, Counted, Millis, NodeId, NodeView, Resources};

impl Lending {
    /// A gang has all its slots, and these attempts begin.
    pub(super) fn gang(
        &mut self,
        now: Millis,
        job: JobIx,
        attempts: impl Iterator<Item = AttemptIx>,
    ) -> Option<Word> {
        let number = *self.numbers.get(&job)?;
        let session = self.driver.session();
        let own: Vec<(AttemptIx, SlotIx)> = attempts
            .filter_map(|ix| Some((ix, session.attempt(ix)?.slot)))
            .collect();
        let lent = self.lent(number, &own);
        let attempts: BTreeSet<AttemptIx> = own.into_iter().map(|(ix, _)| ix).collect();
        for attempt in &attempts {
            // From now on they are the job's, until it returns them.
            self.driver.tell(nanos(now), &Event::Began(*attempt));
        }
        self.jobs.get_mut(&number)?.attempts = attempts;
        Some(Word::Lent(lent))
    }

    /// What the slots of these attempts, of one gang, come to.
    fn lent(&self, job: u32, attempts: &[(AttemptIx, SlotIx)]) -> Lent {
        let mut shares: BTreeMap<ContainerIx, u32> = BTreeMap::new();
        let mut cores: BTreeMap<ContainerId, BTreeSet<u32>> = BTreeMap::new();
        let mut speeds: BTreeMap<Speed, u32> = BTreeMap::new();
        for (_, ix) in attempts {
            let Some(slot) = self.driver.session().slot(*ix) else {
                continue;
            };
            let share = shares.entry(slot.container).or_default();
            *share = share.saturating_add(1);
            let of_speed = speeds.entry(slot.speed).or_default();
            *of_speed = of_speed.saturating_add(1);
            if let Some(offer) = self.offers.get(&slot.container)
                && !slot.cpus.is_empty()
            {
                let there = cores.entry(offer.container.clone()).or_default();
                there.extend(&slot.cpus);
            }
        }
        let shares = shares.into_iter().filter_map(|(ix, processes)| {
            Some((self.offers.get(&ix)?.container.clone(), processes))
        });
        Lent {
            job,
            shares: shares.collect(),
            cores,
            speeds,
        }
    }

    /// Whether a gang still has all that was lent to it: a container may have been lost since.
    #[must_use]
    pub fn is_whole(&self, lent: &Lent) -> bool {
        let borrower = self.jobs.get(&lent.job);
        borrower.is_some_and(|borrower| !self.driver.session().has_left(borrower.ix))
    }

    /// What was lent as the whole cluster of a job: one node a container, which bears the container's id, with just
    /// the room for its processes, and nothing that anybody else uses. Containers of one host are apart there, too:
    /// what their processes share is not always the same.
    #[must_use]
    pub fn view(&self, lent: &Lent, unit: Resources) -> ClusterView {
        let shares = lent.shares.iter();
        let nodes = shares.filter_map(|(id, processes)| {
            let offer = self.offer(id)?;
            Some(NodeView {
                id: NodeId(offer.container.0.clone()),
                host: offer.host.clone(),
                rack: offer.rack.clone(),
                capability: unit.times(*processes),
                ..NodeView::default()
            })
        });
        let nodes: Vec<NodeView> = nodes.collect();
        let capabilities = nodes.iter().map(|node| node.capability);
        ClusterView {
            types: self.types.clone(),
            maximum: capabilities.fold(Resources::default(), most),
            nodes,
            step: unit.memory,
            counted: Counted::Memory,
            queue: Box::default(),
        }
    }
}

fn most(one: Resources, other: Resources) -> Resources {
    Resources {
        memory: one.memory.max(other.memory),
        vcores: one.vcores.max(other.vcores),
        counts: one.counts.with(other.counts, u64::max),
    }
}
