//! Where the inputs of reduces are gathered, before these have slots.

use std::collections::{BTreeMap, BTreeSet};

use super::{Lending, nanos};
use crate::schedule::{ContainerIx, Event, NodeIx, Share};
use crate::{ContainerId, Millis};

/// A container that gathers a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The partition.
    pub partition: u32,
    /// Its home.
    pub container: ContainerId,
    /// The host of that.
    pub host: String,
}

impl Lending {
    /// Homes for partitions of `job`, each of about so many bytes: containers that are `among` these, on the nodes that
    /// the policy says; of several on one node the one with the fewest of these partitions, of equals the first that
    /// joined. Where that node has none, or only one that is leaving, it is the one of the others whose node has the
    /// fewest gathered bytes for each of its slots. A partition for which there is none at all has no home yet.
    /// Cost: O(partitions × (nodes + containers)).
    pub fn homes(
        &mut self,
        now: Millis,
        job: u32,
        partitions: &[(u32, u64)],
        among: &BTreeSet<ContainerId>,
    ) -> Vec<Home> {
        let Some(ix) = self.jobs.get(&job).map(|borrower| borrower.ix) else {
            return Vec::new();
        };
        let mut homes = Vec::new();
        let mut has: BTreeMap<ContainerIx, u32> = BTreeMap::new();
        for (partition, bytes) in partitions {
            let node = self.driver.home(nanos(now), ix, *partition, *bytes);
            let place = node.and_then(|node| self.fewest_at(node, among, &has));
            let place = place.or_else(|| {
                let elsewhere = self.least_filled(among, &has)?;
                let to = self.driver.session().container(elsewhere)?.node;
                let mut lies = |node, bytes| {
                    let gathered = Event::Gathered {
                        job: ix,
                        partition: *partition,
                        node,
                        bytes,
                    };
                    self.driver.tell(nanos(now), &gathered);
                };
                if let Some(node) = node {
                    lies(node, 0);
                }
                lies(to, *bytes);
                Some(elsewhere)
            });
            let offer = place.and_then(|place| Some((place, self.offers.get(&place)?)));
            if let Some((container, offer)) = offer {
                let count = has.entry(container).or_default();
                *count = count.saturating_add(1);
                homes.push(Home {
                    partition: *partition,
                    container: offer.container.clone(),
                    host: offer.host.clone(),
                });
            }
        }
        homes
    }

    /// The container at a node that may be a home and has the fewest.
    fn fewest_at(
        &self,
        node: NodeIx,
        among: &BTreeSet<ContainerId>,
        has: &BTreeMap<ContainerIx, u32>,
    ) -> Option<ContainerIx> {
        let there = self.driver.session().containers_of(node);
        let there = there.filter(|container| self.may_be_home(*container, among));
        there.min_by_key(|ix| (has.get(ix).copied().unwrap_or_default(), *ix))
    }

    /// The container that may be a home whose node has the fewest gathered bytes for each of its slots.
    fn least_filled(
        &self,
        among: &BTreeSet<ContainerId>,
        has: &BTreeMap<ContainerIx, u32>,
    ) -> Option<ContainerIx> {
        let session = self.driver.session();
        let all = self.offers.keys().copied();
        let all = all.filter(|container| self.may_be_home(*container, among));
        let filled = all.filter_map(|container| {
            let node = session.container(container)?.node;
            let slots = session
                .containers_of(node)
                .map(|of| session.slots_of(of).len());
            let filled = Share {
                part: session.gathered_at(node),
                whole: u64::try_from(slots.sum::<usize>()).unwrap_or(u64::MAX),
            };
            let has = has.get(&container).copied().unwrap_or_default();
            Some((filled, has, container))
        });
        filled.min().map(|(.., container)| container)
    }

    fn may_be_home(&self, container: ContainerIx, among: &BTreeSet<ContainerId>) -> bool {
        let offer = self.offers.get(&container);
        offer.is_some_and(|offer| among.contains(&offer.container))
            && !self.driver.session().is_leaving(container)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lending::{Offer, OfferedSlot, SlotRequest, StageTerms, Wants};
    use crate::schedule::{JobProfile, named};
    use crate::{NodeId, ResourceTypes, Resources};

    const NOW: Millis = Millis(0);

    fn id(number: u32) -> ContainerId {
        ContainerId(format!("c{number}"))
    }

    fn lending(policy: &str, nodes: u32, containers: u32) -> Lending {
        let mut lending = Lending::new(named(policy).unwrap(), ResourceTypes::default());
        for number in 0..nodes * containers {
            let node = number % nodes;
            lending.joined(
                NOW,
                Offer {
                    container: id(number),
                    node: NodeId(format!("n{node}:1")),
                    host: format!("n{node}"),
                    rack: "/r".into(),
                    slots: OfferedSlot::alike(2),
                    pool: Resources::new(1024, 1).times(2),
                    elements: BTreeMap::new(),
                },
            );
        }
        let terms = StageTerms {
            unit: Resources::new(1024, 1),
            needs: Vec::new(),
            speculative: false,
            per_node: None,
        };
        let request = SlotRequest {
            wants: Wants::Tasks {
                map: terms.clone(),
                reduce: terms,
                node_failures: 3,
            },
            unit: Resources::new(1024, 1),
            user: "ann".into(),
            queue: "default".into(),
            priority: 0,
            deadline: None,
            profile: JobProfile::default(),
            any_speed: false,
        };
        lending.wanted(NOW, 1, request);
        lending
    }

    proptest! {
        #[test]
        fn partitions_have_homes_where_they_may_and_as_many_everywhere(
            nodes in 1..6_u32,
            containers in 1..3_u32,
            partitions in 1..40_u32,
            bytes in 1..1_000_u64,
            policy in prop::sample::select(vec!["fifo+gang", "fair+gang", "hpe+gang"]),
        ) {
            let mut lending = lending(policy, nodes, containers);
            let among: BTreeSet<ContainerId> = (0..nodes * containers).map(id).collect();
            let all: Vec<(u32, u64)> = (0..partitions).map(|number| (number, bytes)).collect();
            let homes = lending.homes(NOW, 1, &all, &among);
            let named: Vec<u32> = homes.iter().map(|home| home.partition).collect();
            prop_assert_eq!(named, (0..partitions).collect::<Vec<u32>>());
            let mut counts: BTreeMap<&ContainerId, u32> =
                among.iter().map(|container| (container, 0)).collect();
            for home in &homes {
                *counts.get_mut(&home.container).unwrap() += 1;
            }
            let (least, most) = (counts.values().min().unwrap(), counts.values().max().unwrap());
            prop_assert!(most - least <= 1, "{:?}", counts);
        }

        #[test]
        fn no_home_is_a_container_that_may_be_none(
            nodes in 1..5_u32,
            partitions in 1..20_u32,
            barred in prop::collection::btree_set(0..5_u32, 0..5),
            leaving in 0..5_u32,
        ) {
            let mut lending = lending("fifo+gang", nodes, 1);
            let _words = lending.leaving(NOW, &id(leaving), Millis(1_000));
            let among: BTreeSet<ContainerId> =
                (0..nodes).filter(|number| !barred.contains(number)).map(id).collect();
            let all: Vec<(u32, u64)> = (0..partitions).map(|number| (number, 1)).collect();
            let homes = lending.homes(NOW, 1, &all, &among);
            for home in &homes {
                prop_assert!(among.contains(&home.container) && home.container != id(leaving));
            }
            // Wherever there is one that may be, each has a home, and all have as many.
            let mut counts: BTreeMap<&ContainerId, u32> =
                among.iter().filter(|of| **of != id(leaving)).map(|of| (of, 0)).collect();
            prop_assert!(homes.len() == all.len() || counts.is_empty());
            for home in &homes {
                *counts.get_mut(&home.container).unwrap() += 1;
            }
            let (least, most) = (counts.values().min(), counts.values().max());
            prop_assert!(least.zip(most).is_none_or(|(least, most)| most - least <= 1), "{counts:?}");
        }
    }

    #[test]
    fn a_job_that_is_not_there_has_no_homes() {
        let mut lending = lending("fifo+gang", 1, 1);
        assert_eq!(lending.homes(NOW, 2, &[(0, 1)], &[id(0)].into()), []);
        let home = lending.homes(NOW, 1, &[(0, 1)], &[id(0)].into());
        assert_eq!(home.len(), 1);
        let _words = lending.lost(NOW, &id(0));
        assert_eq!(lending.homes(NOW, 1, &[(0, 1)], &[id(0)].into()), []);
    }
}
