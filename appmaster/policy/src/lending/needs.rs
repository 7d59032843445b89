//! What tasks need that only some nodes have.

use std::collections::BTreeSet;

use super::messages::{Lack, Word};
use super::{Lending, sizes};
use crate::elements::ElementNeed;
use crate::schedule::{Event, Need, NodeIx, ResourceName, Stage, element_amounts, has_elements};
use crate::{ContainerId, Millis};

impl Lending {
    /// Tasks of this stage of `job` need these elements from now on, whatever was said before.
    pub fn needed(
        &mut self,
        now: Millis,
        job: u32,
        stage: Stage,
        needs: &[ElementNeed],
    ) -> Vec<Word> {
        let Some(borrower) = self.jobs.get(&job) else {
            return Vec::new();
        };
        let (counted, locks) = sizes::counted_and_locks(needs);
        let needed = Event::Needed {
            job: borrower.ix,
            stage,
            locks,
            counted,
        };
        self.happened(now, &needed)
    }

    /// Tasks of `job` get no further attempt on the nodes of these containers, as long as another node has what they
    /// need: what is there is too small, or lacks a way to what they read. So it is also where no number of failures
    /// keeps the job off a node.
    pub fn avoid(&mut self, now: Millis, job: u32, containers: &[ContainerId]) -> Vec<Word> {
        let Some(borrower) = self.jobs.get(&job) else {
            return Vec::new();
        };
        let session = self.driver.session();
        let named: BTreeSet<_> = containers
            .iter()
            .filter_map(|container| self.containers.get(container).copied())
            .collect();
        let avoided = Event::Avoided {
            job: borrower.ix,
            nodes: named
                .into_iter()
                .filter_map(|ix| Some(session.container(ix)?.node))
                .collect(),
        };
        self.happened(now, &avoided)
    }

    /// A stage of `job` whose tasks need what no node has where the session has containers, or more of it than any
    /// has; of several the first. A policy that knows of no elements lacks none. `why` says what the node of a container
    /// lacks of these.
    #[must_use]
    pub fn lack(
        &self,
        job: u32,
        why: &dyn Fn(&ContainerId, &[ElementNeed]) -> String,
    ) -> Option<Lack> {
        if self.driver.is_blind() {
            return None;
        }
        let ix = self.jobs.get(&job)?.ix;
        let session = self.driver.session();
        let mut seen = BTreeSet::new();
        let nodes = self.offers.iter().filter_map(|(ix, offer)| {
            let node = session.container(*ix)?.node;
            seen.insert(node).then_some((node, offer))
        });
        let nodes: Vec<(NodeIx, _)> = nodes.collect();
        [Stage::Map, Stage::Reduce].into_iter().find_map(|stage| {
            let need = &session.stage(ix, stage)?.need;
            let needs = elements_of(need);
            let is_there = |(node, _): &(NodeIx, _)| has_elements(session, need, *node);
            if needs.is_empty() || nodes.iter().any(is_there) {
                return None;
            }
            let without = nodes
                .iter()
                .map(|(_, offer)| (offer.host.clone(), why(&offer.container, &needs)));
            Some(Lack {
                stage,
                nodes: without.collect(),
                needs,
            })
        })
    }
}

/// What a task needs of its node beside a slot.
pub(super) fn elements_of(need: &Need) -> Vec<ElementNeed> {
    let of = |(name, count): (&ResourceName, u64)| ElementNeed {
        name: name.0.clone(),
        count,
    };
    let mut needs: Vec<ElementNeed> = element_amounts(need).map(of).collect();
    needs.sort_unstable();
    needs.dedup();
    needs
}
