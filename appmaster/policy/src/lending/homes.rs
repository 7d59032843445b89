//! Where the inputs of reduces are gathered, before these have slots.

use std::collections::{BTreeMap, BTreeSet};

use super::{Lending, nanos};
use crate::schedule::ContainerIx;
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
    /// joined. A partition for which that node has none, or only one that is leaving, has no home yet.
    /// Cost: O(partitions × nodes).
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
            let Some(node) = self.driver.home(nanos(now), ix, *partition, *bytes) else {
                continue;
            };
            let session = self.driver.session();
            let there = session.containers_of(node).filter_map(|container| {
                let offer = self.offers.get(&container)?;
                let may = among.contains(&offer.container) && !session.is_leaving(container);
                may.then_some((container, offer))
            });
            let fewest =
                there.min_by_key(|(ix, _)| (has.get(ix).copied().unwrap_or_default(), *ix));
            if let Some((container, offer)) = fewest {
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lending::{Offer, SlotRequest, StageTerms, Wants};
    use crate::schedule::named;
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
                    slots: 2,
                    pool: Resources::new(1024, 1).times(2),
                    elements: BTreeMap::new(),
                },
            );
        }
        let terms = StageTerms {
            unit: Resources::new(1024, 1),
            needs: Vec::new(),
            speculative: false,
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
            for home in lending.homes(NOW, 1, &all, &among) {
                prop_assert!(among.contains(&home.container) && home.container != id(leaving));
            }
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
