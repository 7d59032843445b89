//! Why a placement is as it is, a sentence a node.
//!
//! Cost: O(nodes · log nodes).

use std::collections::{BTreeMap, BTreeSet};

use crate::placement::number;
use crate::quantities::enumerated;
use crate::{
    ClusterView, Counted, Demand, Mode, NodeId, NodeShare, NodeView, Placement, Resources, counted,
};

/// The reasons of one placement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// For each share, in the order of the shares: why this node, this number and this size.
    pub used: Vec<String>,
    /// The nodes that got nothing, by id, and why.
    pub passed_over: Vec<(NodeId, String)>,
}

/// Puts into words why [`super::place`] answered `placement` to `demand` on `cluster`, when nothing
/// was held.
#[must_use]
pub fn reasons(demand: &Demand, cluster: &ClusterView, placement: &Placement) -> Reasons {
    reasons_beside(demand, cluster, placement, &BTreeSet::new())
}

/// Puts into words why [`super::place`] answered `placement` to `demand` on `cluster`, where the
/// containers of the nodes `held` were there already.
#[must_use]
pub fn reasons_beside(
    demand: &Demand,
    cluster: &ClusterView,
    placement: &Placement,
    held: &BTreeSet<NodeId>,
) -> Reasons {
    let nodes: BTreeMap<&NodeId, &NodeView> =
        cluster.nodes.iter().map(|node| (&node.id, node)).collect();
    let used = placement.shares.iter();
    let fresh: Vec<(&NodeShare, &NodeView)> = used
        .filter(|share| !held.contains(&share.node))
        .filter_map(|share| Some((share, *nodes.get(&share.node)?)))
        .collect();
    let words = PlacementWords {
        demand,
        cluster,
        shares: &placement.shares,
        rack: rack_kept(demand, cluster, &placement.shares, &fresh),
        least_room: fresh.iter().map(|(_, node)| room_key(cluster, node)).min(),
    };
    let used = placement.shares.iter().map(|share| {
        if held.contains(&share.node) {
            return "its container is there already".into();
        }
        match nodes.get(&share.node) {
            Some(node) => words.used(share, node),
            None => "is no longer in the cluster".into(),
        }
    });
    let taken: BTreeSet<&NodeId> = sort::set(placement.shares.iter().map(|share| &share.node));
    let passed_over = nodes
        .iter()
        .filter(|(id, _)| !taken.contains(*id))
        .map(|(id, node)| ((*id).clone(), words.passed_over(node)));
    Reasons {
        used: used.collect(),
        passed_over: passed_over.collect(),
    }
}

/// What all sentences of one placement need.
struct PlacementWords<'a> {
    demand: &'a Demand,
    cluster: &'a ClusterView,
    shares: &'a [NodeShare],
    /// The rack that the job is kept on.
    rack: Option<&'a str>,
    /// The least room of the nodes that were newly chosen.
    least_room: Option<(u64, u32)>,
}

impl PlacementWords<'_> {
    fn used(&self, share: &NodeShare, node: &NodeView) -> String {
        let rack = match self.rack {
            Some(rack) => format!(", on rack {rack}"),
            None => String::new(),
        };
        let near = match self.demand.near.predicate(&node.host) {
            Some(predicate) if self.is_relaxed() => format!(", {predicate}"),
            _ => String::new(),
        };
        format!(
            "{}{near}{rack}; {}",
            self.why_here(share, node),
            self.why_so_large(share, node)
        )
    }

    /// Why this node, and why this number of processes.
    fn why_here(&self, share: &NodeShare, node: &NodeView) -> String {
        let demand = self.demand;
        let own = number(share.processes);
        let dealt = if demand.pack {
            format!("{own} of {}, nodes filled in turn", demand.processes)
        } else {
            let rule = match demand.near.held.is_empty() {
                true => "by most room left",
                false => "by the data there, then by most room left",
            };
            format!("{own} of {} {rule}", demand.processes)
        };
        let order = if !demand.near.held.is_empty() {
            "nearest to the data first"
        } else if demand.sort_nodes {
            "freest first"
        } else {
            "by node id"
        };
        match demand.mode {
            Mode::None => format!("listed with {own}"),
            Mode::Loc => format!("taken, {order}, for a listed {own}"),
            Mode::Dist => format!("listed; {dealt}"),
            Mode::LocDist => {
                let nodes = self.shares.len();
                format!("one of {nodes} nodes taken {order}; {dealt}")
            }
            Mode::All if self.units_now(node) == 0 => format!("full now; {dealt}"),
            Mode::All if self.shares.len() == 1 && self.others_with_room() == 0 => {
                format!("the only node with room for a process; all {own}")
            }
            Mode::All => format!("has room; {dealt}"),
        }
    }

    /// Why a container of this size.
    fn why_so_large(&self, share: &NodeShare, node: &NodeView) -> String {
        let (cluster, unit) = (self.cluster, self.demand.unit);
        let whole = unit.times(share.processes);
        let (room, ask) = (cluster.room(node), share.ask);
        let left = self.amount(room);
        let is_whole = cluster.fits(whole, ask);
        match (cluster.fits(ask, room), is_whole) {
            (true, true) => format!("{left} left hold {} whole", self.amount(whole)),
            (true, false) => format!(
                "{} of {} share {} of {left} left",
                number(share.processes),
                self.amount(unit),
                self.amount(ask)
            ),
            (false, true) => format!(
                "waits: {left} left now, the whole {} asked for",
                self.amount(ask)
            ),
            (false, false) => format!(
                "waits: {left} left now, {} asked for, which is all it can ever give and {} share",
                self.amount(ask),
                number(share.processes)
            ),
        }
    }

    fn passed_over(&self, node: &NodeView) -> String {
        let (cluster, demand) = (self.cluster, self.demand);
        let ceiling = cluster.ceiling(node);
        let left = self.amount(cluster.room(node));
        if matches!(demand.mode, Mode::None | Mode::Dist) {
            return format!("not listed ({left} left)");
        }
        if cluster.units_in(demand.unit, ceiling) == 0 {
            let (ceiling, unit) = (self.amount(ceiling), self.amount(demand.unit));
            return format!("too small: at most {ceiling}, one process wants {unit}");
        }
        if let Some(rack) = self.rack
            && rack != node.rack
        {
            let own = &node.rack;
            return format!("on rack {own}, the job is kept on {rack} ({left} left)");
        }
        if self.units_now(node) == 0 {
            let unit = self.amount(demand.unit);
            return format!("full: {left} left, one process wants {unit}");
        }
        if demand.mode == Mode::All && demand.pack {
            return format!("not needed: the nodes before it are filled first ({left} left)");
        }
        if !demand.near.held.is_empty() {
            let has = demand.near.predicate(&node.host);
            let has = has.unwrap_or_else(|| format!("holds nothing of {}", demand.near.of));
            return format!("not needed: {has} ({left} left)");
        }
        if !demand.sort_nodes && demand.mode != Mode::All {
            return format!("not needed: later by node id ({left} left)");
        }
        if self
            .least_room
            .is_some_and(|least| room_key(cluster, node) > least)
        {
            let ceiling = self.amount(ceiling);
            return format!("cannot hold a part whole ({left} left, at most {ceiling})");
        }
        format!("no more room than the nodes chosen ({left} left)")
    }

    /// Whether the nodes are chosen here.
    const fn is_relaxed(&self) -> bool {
        matches!(self.demand.mode, Mode::Loc | Mode::LocDist | Mode::All)
    }

    fn units_now(&self, node: &NodeView) -> u64 {
        let room = self.cluster.room(node);
        self.cluster.units_in(self.demand.unit, room)
    }

    /// Nodes beside those used that have room for a process. Linear: asked of one share at most.
    fn others_with_room(&self) -> usize {
        let with_room = self.cluster.nodes.iter().filter(|n| self.units_now(n) > 0);
        with_room
            .filter(|node| self.shares.iter().all(|share| share.node != node.id))
            .count()
    }

    /// An amount, without what the scheduler does not count, and what the job does not ask for.
    fn amount(&self, resources: Resources) -> String {
        let mut parts = vec![resources.memory.to_string()];
        if self.cluster.counted == Counted::MemoryAndVcores {
            parts.push(resources.vcores.to_string());
        }
        let wanted = self.demand.unit.counts;
        for (index, name) in self.cluster.types.iter() {
            // Also where none is left.
            if wanted.of(index) > 0 {
                parts.push(counted(name, resources.counts.of(index)));
            }
        }
        enumerated(&parts)
    }
}

fn room_key(cluster: &ClusterView, node: &NodeView) -> (u64, u32) {
    let room = cluster.room(node);
    (room.memory.0, room.vcores.0)
}

/// The rack that holds the whole job, where one was to be preferred and was taken.
fn rack_kept<'a>(
    demand: &Demand,
    cluster: &ClusterView,
    shares: &'a [NodeShare],
    fresh: &[(&NodeShare, &NodeView)],
) -> Option<&'a str> {
    let relaxed = matches!(demand.mode, Mode::Loc | Mode::LocDist | Mode::All);
    let rack = shares.first()?.rack.as_str();
    let on_one = shares.iter().all(|share| share.rack == rack);
    let unshared_now = fresh.iter().all(|(share, node)| {
        let whole = demand.unit.times(share.processes);
        cluster.fits(whole, cluster.room(node))
    });
    (demand.same_rack && relaxed && on_one && unshared_now).then_some(rack)
}
