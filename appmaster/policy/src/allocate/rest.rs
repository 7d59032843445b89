//! What of a job has no container yet, and the nodes that it may still go to.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::candidate::Candidate;
use super::round_robin::{self, Rule};
use super::size;
use crate::{ClusterView, Demand, NodeShare, NodeView, Rejection};

/// The part of a job that is still to be placed.
#[derive(Debug)]
pub(super) struct Rest<'a> {
    pub demand: &'a Demand,
    pub cluster: &'a ClusterView,
    /// Shares whose containers are there.
    pub held: &'a [NodeShare],
    /// Processes that are in none of them, at least 1.
    pub processes: u32,
    /// Every node that is not held, by id.
    pub candidates: Vec<Candidate<'a>>,
}

impl<'a> Rest<'a> {
    /// `processes` of `demand` beside what is `held`.
    ///
    /// # Errors
    /// There is no node, or none could ever hold one process.
    pub(super) fn new(
        demand: &'a Demand,
        cluster: &'a ClusterView,
        held: &'a [NodeShare],
        processes: u32,
    ) -> Result<Self, Rejection> {
        if cluster.nodes.is_empty() {
            return Err(Rejection::NoNodes);
        }
        let ceilings = || cluster.nodes.iter().map(|node| cluster.ceiling(node));
        if !ceilings().any(|ceiling| cluster.fits(demand.unit, ceiling)) {
            let wanted = demand.unit.counts;
            let largest = ceilings().max_by_key(|ceiling| {
                let of_use = ceiling.counts.with(wanted, u64::min);
                (of_use, ceiling.memory, ceiling.vcores)
            });
            return Err(Rejection::UnitTooLarge {
                unit: demand.unit,
                largest: largest.unwrap_or_default(),
            });
        }
        let taken: BTreeSet<_> = sort::set(held.iter().map(|share| &share.node));
        let free = cluster.nodes.iter().filter(|n| !taken.contains(&n.id));
        let mut nodes: Vec<&NodeView> = free.collect();
        sort::by(&mut nodes, |a, b| a.id.cmp(&b.id));
        let numbered = nodes.into_iter().enumerate();
        Ok(Self {
            demand,
            cluster,
            held,
            processes,
            candidates: numbered
                .map(|(by_id, node)| Candidate::new(demand, cluster, node, by_id))
                .collect(),
        })
    }

    /// Candidates whose ceiling holds at least one process, in the order of the cluster list: those
    /// with room for one now and most of the data that the job is to be near; then those with room for
    /// one now, then most room in memory, in vcores, then node id; by node id alone if the user does
    /// not want them sorted.
    ///
    /// (Where memory alone is counted the first rule follows from the second.)
    pub(super) fn cluster_list(&self) -> Vec<Candidate<'a>> {
        let usable = self.candidates.iter().filter(|c| c.ever > 0);
        let mut list: Vec<Candidate<'a>> = usable.copied().collect();
        sort::by_key(&mut list, |candidate| self.list_key(candidate));
        list
    }

    /// Key of the order of the cluster list.
    fn list_key(&self, candidate: &Candidate<'_>) -> impl Ord + use<> {
        let freest = (
            Reverse(candidate.now > 0),
            Reverse((candidate.room.memory, candidate.room.vcores)),
        );
        let near = Reverse(candidate.near);
        (
            near,
            self.demand.sort_nodes.then_some(freest),
            candidate.by_id,
        )
    }

    /// Whether something of a process must not be shared, so that no node may be overloaded.
    pub(super) fn is_whole(&self) -> bool {
        let demand = self.demand;
        !demand.oversubscribe || demand.memory_is_explicit || !demand.unit.counts.is_empty()
    }

    /// Deals the processes to `candidates`, which stand in list order.
    pub(super) fn deal(
        &self,
        candidates: &[Candidate<'a>],
        one_each_first: bool,
    ) -> Vec<NodeShare> {
        let rule = Rule {
            one_each_first,
            pack: self.demand.pack,
        };
        round_robin::deal(candidates, self.demand.unit, self.processes, rule)
            .into_iter()
            .map(|(index, processes)| self.share(&candidates[index], processes))
            .collect()
    }

    /// The share of a node that is given `processes`.
    pub(super) fn share(&self, candidate: &Candidate<'_>, processes: u32) -> NodeShare {
        NodeShare {
            node: candidate.node.id.clone(),
            host: candidate.node.host.clone(),
            rack: candidate.node.rack.clone(),
            processes,
            ask: size::container(self.demand, self.cluster, candidate, processes),
        }
    }

    /// The rejection for fewer `slots` than processes on `nodes` nodes.
    pub(super) const fn too_few_slots(&self, slots: u64, nodes: usize) -> Rejection {
        Rejection::TooFewSlots {
            wanted: self.processes,
            unit: self.demand.unit,
            slots,
            nodes,
        }
    }

    /// The rejection for fewer nodes than the mode must use.
    pub(super) const fn too_few_nodes(&self, wanted: usize, usable: usize) -> Rejection {
        Rejection::TooFewNodes {
            mode: self.demand.mode,
            wanted,
            usable,
            unit: self.demand.unit,
        }
    }
}
