//! Mode `all`: any nodes, any number of processes on each, any number of nodes.
//!
//! Source: Xu, Li, Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III-C, Table II and Algorithm 2.
//! Differences from the paper: processes are dealt by the room left, not by the order of the node
//! list; a container is never larger than its node and the queue allow, since such a request would
//! wait for ever; whether a job is overloaded is a fact of what was granted, not of the plan.
//!
//! | paper                         | here                         | unit              |
//! |-------------------------------|------------------------------|-------------------|
//! | n, number of processes        | `demand.processes`           | processes         |
//! | c, container per process      | `demand.unit`                | MiB, vcores       |
//! | available resources of a node | [`ClusterView::room`]        | MiB, vcores       |
//!
//! Candidates: with oversubscription the nodes whose room holds at least one unit; when there is
//! none the job waits and looks again. Without it all usable nodes, full ones included, and fewer
//! slots than processes in all ceilings together is a rejection at once.
//!
//! Cost: O((nodes + processes) · log nodes).

use super::{round_robin, size};
use crate::{ClusterView, Demand, MiB, NodeShare, NodeView, Placement, Rejection};

/// Places `demand` in mode `all`.
pub(super) fn place(
    demand: &Demand,
    cluster: &ClusterView,
    _held: &[NodeShare],
) -> Result<Placement, Rejection> {
    if cluster.nodes.is_empty() {
        return Err(Rejection::NoNodes);
    }
    let holds_a_unit = |node: &NodeView| cluster.fits(demand.unit, cluster.ceiling(node));
    if !cluster.nodes.iter().any(holds_a_unit) {
        return Err(Rejection::UnitTooLarge {
            unit: demand.unit,
            largest: largest_ceiling(cluster),
        });
    }
    let slots = round_robin::slots(demand.unit, cluster, cluster.nodes.iter());
    let must_be_whole = demand.memory_is_explicit || !demand.oversubscribe;
    if must_be_whole && slots < u64::from(demand.processes.get()) {
        return Err(Rejection::TooFewSlots {
            wanted: demand.processes.get(),
            unit: demand.unit,
            slots,
            nodes: cluster.nodes.len(),
        });
    }

    let mut candidates: Vec<&NodeView> = cluster.nodes.iter().filter(|n| holds_a_unit(n)).collect();
    if demand.oversubscribe {
        let free: Vec<&NodeView> = candidates
            .iter()
            .copied()
            .filter(|node| cluster.fits(demand.unit, cluster.room(node)))
            .collect();
        if free.is_empty() {
            return Err(Rejection::NoRoomNow {
                unit: demand.unit,
                freest: freest(&candidates, cluster),
            });
        }
        // Explicit memory cannot share a node's room, so it may need the full nodes too.
        let enough = round_robin::slots(demand.unit, cluster, free.iter().copied())
            >= u64::from(demand.processes.get());
        if !demand.memory_is_explicit || enough {
            candidates = free;
        }
    }
    let shares = round_robin::deal(demand, cluster, candidates)
        .into_iter()
        .map(|dealt| NodeShare {
            node: dealt.node.id.clone(),
            host: dealt.node.host.clone(),
            rack: dealt.node.rack.clone(),
            processes: dealt.processes,
            ask: size::container(demand, cluster, dealt.node, dealt.processes),
        })
        .collect();
    Ok(Placement { shares })
}

fn largest_ceiling(cluster: &ClusterView) -> crate::Resources {
    let ceilings = cluster.nodes.iter().map(|node| cluster.ceiling(node));
    ceilings
        .max_by_key(|ceiling| (ceiling.memory, ceiling.vcores))
        .unwrap_or_default()
}

fn freest(nodes: &[&NodeView], cluster: &ClusterView) -> MiB {
    let rooms = nodes.iter().map(|node| cluster.room(node).memory);
    rooms.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use proptest::prelude::*;

    use super::*;
    use crate::{Counted, NodeId, Resources};

    fn node(id: &str, capability_mib: u64, used_mib: u64) -> NodeView {
        NodeView {
            id: NodeId(id.into()),
            host: id.into(),
            rack: "/default-rack".into(),
            capability: Resources::new(capability_mib, 64),
            used: Resources::new(used_mib, 0),
        }
    }

    fn cluster(nodes: Vec<NodeView>, maximum_mib: u64) -> ClusterView {
        ClusterView {
            nodes,
            maximum: Resources::new(maximum_mib, 64),
            step: MiB(1024),
            counted: Counted::Memory,
        }
    }

    fn demand(processes: u32, oversubscribe: bool) -> Demand {
        let processes = NonZeroU32::new(processes).unwrap();
        Demand {
            oversubscribe,
            ..Demand::anywhere(processes, Resources::new(1024, 1))
        }
    }

    fn at(demand: &Demand, cluster: &ClusterView) -> Result<Placement, Rejection> {
        place(demand, cluster, &[])
    }

    fn counts(placement: &Placement) -> Vec<(&str, u32, u64)> {
        let shares = placement.shares.iter();
        shares
            .map(|s| (s.host.as_str(), s.processes, s.ask.memory.0))
            .collect()
    }

    /// The paper's Table III: groups A and B are full, group C has 4, 4, 4 and 2 units left.
    #[test]
    fn table_iii_starts_at_once_on_what_the_background_left() {
        let mut nodes: Vec<NodeView> = (0..14)
            .map(|i| node(&format!("ab{i:02}"), 4096, 4096))
            .collect();
        nodes.extend([
            node("c1", 4096, 0),
            node("c2", 4096, 0),
            node("c3", 4096, 0),
            node("c4", 4096, 2048),
        ]);
        let placement = at(&demand(16, true), &cluster(nodes, 8192)).unwrap();
        assert_eq!(
            counts(&placement),
            [
                ("c1", 4, 4096),
                ("c2", 4, 4096),
                ("c3", 4, 4096),
                // Four processes share the two units that the ApplicationMaster left.
                ("c4", 4, 2048),
            ]
        );
    }

    #[test]
    fn without_oversubscription_it_waits_for_a_full_node_rather_than_overload() {
        let nodes = vec![node("a", 4096, 0), node("b", 16384, 16384)];
        let placement = at(&demand(10, false), &cluster(nodes, 16384)).unwrap();
        assert_eq!(counts(&placement), [("a", 4, 4096), ("b", 6, 6144)]);
    }

    #[test]
    fn beyond_every_ceiling_the_overload_spreads_evenly() {
        let nodes = vec![node("a", 2048, 0), node("b", 2048, 0)];
        let placement = at(&demand(8, true), &cluster(nodes, 8192)).unwrap();
        assert_eq!(counts(&placement), [("a", 4, 2048), ("b", 4, 2048)]);
    }

    #[test]
    fn says_by_how_much_it_does_not_fit() {
        let full = cluster(vec![node("a", 4096, 4096)], 8192);
        assert_eq!(
            at(&demand(1, true), &full),
            Err(Rejection::NoRoomNow {
                unit: Resources::new(1024, 1),
                freest: MiB(0)
            })
        );
        assert_eq!(
            at(&demand(5, false), &full),
            Err(Rejection::TooFewSlots {
                wanted: 5,
                unit: Resources::new(1024, 1),
                slots: 4,
                nodes: 1
            })
        );
        let mut large = demand(1, true);
        large.unit = Resources::new(5000, 1);
        assert_eq!(
            at(&large, &full),
            Err(Rejection::UnitTooLarge {
                unit: Resources::new(5000, 1),
                largest: Resources::new(4096, 64)
            })
        );
        assert_eq!(
            at(&demand(1, true), &cluster(vec![], 8192)),
            Err(Rejection::NoNodes)
        );
    }

    #[test]
    fn explicit_memory_is_never_shrunk() {
        let mut explicit = demand(4, true);
        explicit.memory_is_explicit = true;
        let view = cluster(vec![node("a", 4096, 2048)], 8192);
        let placement = at(&explicit, &view).unwrap();
        assert_eq!(counts(&placement), [("a", 4, 4096)]);
    }

    #[test]
    fn vcores_are_capped_where_the_scheduler_only_carries_them() {
        let mut view = cluster(vec![node("a", 8192, 0)], 8192);
        view.maximum = Resources::new(8192, 4);
        let placement = at(&demand(8, true), &view).unwrap();
        assert_eq!(placement.shares[0].ask, Resources::new(8192, 4));
    }

    prop_compose! {
        fn any_node()(id in 0u32..500, capability in 0u64..20, used in 0u64..20) -> NodeView {
            node(&format!("n{id:03}"), capability * 1024, used.min(capability) * 1024)
        }
    }

    fn any_cluster() -> impl Strategy<Value = ClusterView> {
        (proptest::collection::vec(any_node(), 0..30), 1u64..16).prop_map(|(mut nodes, maximum)| {
            nodes.sort_by(|a, b| a.id.cmp(&b.id));
            nodes.dedup_by(|a, b| a.id == b.id);
            cluster(nodes, maximum * 1024)
        })
    }

    proptest! {
        #[test]
        fn every_process_is_placed_and_no_ask_exceeds_its_ceiling(
            view in any_cluster(), processes in 1u32..200, oversubscribe: bool,
        ) {
            let Ok(placement) = at(&demand(processes, oversubscribe), &view) else {
                return Ok(());
            };
            let placed: u32 = placement.shares.iter().map(|s| s.processes).sum();
            prop_assert_eq!(placed, processes);
            for share in &placement.shares {
                let node = view.nodes.iter().find(|n| n.id == share.node).unwrap();
                prop_assert!(share.ask.memory <= view.ceiling(node).memory);
                prop_assert!(share.ask.memory.0 >= 1024);
            }
        }

        #[test]
        fn the_order_of_the_node_list_is_irrelevant(
            view in any_cluster(), processes in 1u32..100, oversubscribe: bool,
        ) {
            let mut reversed = view.clone();
            reversed.nodes.reverse();
            let demand = demand(processes, oversubscribe);
            prop_assert_eq!(at(&demand, &view), at(&demand, &reversed));
        }

        #[test]
        fn more_room_never_makes_a_placeable_job_unplaceable(
            view in any_cluster(), processes in 1u32..100, oversubscribe: bool,
        ) {
            let demand = demand(processes, oversubscribe);
            if at(&demand, &view).is_ok() {
                let mut freer = view;
                for node in &mut freer.nodes {
                    node.used = Resources::default();
                }
                prop_assert!(at(&demand, &freer).is_ok());
            }
        }
    }
}
