//! What the policy has seen and decided, as it is told.

use std::collections::BTreeSet;

use policy::allocate::reasons_beside;
use policy::{
    ClusterView, Counted, Counts, Demand, Millis, NodeId, Numbering, Placement, Resources,
};

use super::{Amount, Explained, PassedOver, Placed, PlacedNode, Snapshot, SnapshotNode};

/// Ranks of a node that are told one by one, at most.
pub const RANKS_APART: usize = 8;

impl Explained {
    /// The cluster as the policy sees it at `at`.
    #[must_use]
    pub fn snapshot(at: Millis, cluster: &ClusterView, headroom: Option<Resources>) -> Self {
        let amount = |resources| Amount::of(resources, &cluster.types);
        let mut nodes: Vec<SnapshotNode> = cluster
            .nodes
            .iter()
            .map(|node| SnapshotNode {
                id: node.id.0.clone(),
                host: node.host.clone(),
                rack: node.rack.clone(),
                capability: amount(node.capability),
                used: amount(node.used),
                room: amount(cluster.room(node)),
                ceiling: amount(cluster.ceiling(node)),
            })
            .collect();
        sort::by(&mut nodes, |a, b| a.id.cmp(&b.id));
        // Without a limit of its own the type's maximum is more than anybody has.
        let all = cluster.nodes.iter().map(|node| node.capability.counts);
        let most = all.fold(Counts::NONE, |most, own| most.with(own, u64::max));
        let counts = cluster.maximum.counts.with(most, u64::min);
        Self::Snapshot(Snapshot {
            at_ms: at.0,
            maximum: amount(cluster.maximum.with_counts(counts)),
            step_mib: cluster.step.0,
            counts_vcores: cluster.counted == Counted::MemoryAndVcores,
            headroom: headroom.map(amount),
            nodes,
            left_out: 0,
        })
    }

    /// The `round`th answer of the policy at `at`; the containers of the nodes `held` are there.
    #[must_use]
    pub fn placed(
        at: Millis,
        round: u32,
        demand: &Demand,
        cluster: &ClusterView,
        placement: &Placement,
        held: &BTreeSet<NodeId>,
    ) -> Self {
        let reasons = reasons_beside(demand, cluster, placement, held);
        let shares = placement.ranks(&demand.numbering).zip(reasons.used);
        Self::Placed(Placed {
            at_ms: at.0,
            round,
            mode: demand.mode.to_string(),
            processes: demand.processes.get(),
            unit: Amount::of(demand.unit, &cluster.types),
            oversubscribe: demand.oversubscribe,
            nodes: shares
                .map(|((share, ranks), reason)| PlacedNode {
                    id: share.node.0.clone(),
                    host: share.host.clone(),
                    first_rank: ranks.first().map_or(0, |rank| rank.0),
                    ranks_apart: match &demand.numbering {
                        Numbering::Slot => Vec::new(),
                        Numbering::Node | Numbering::Map(_) => {
                            ranks.iter().map(|rank| rank.0).take(RANKS_APART).collect()
                        }
                    },
                    processes: share.processes,
                    ask: Amount::of(share.ask, &cluster.types),
                    reason,
                    held: held.contains(&share.node),
                })
                .collect(),
            passed_over: reasons
                .passed_over
                .into_iter()
                .map(|(node, reason)| PassedOver { id: node.0, reason })
                .collect(),
            left_out: 0,
        })
    }
}
