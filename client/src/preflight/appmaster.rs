//! Where the job's own ApplicationMaster may lie: its container takes room that the job may need.

use std::cmp::Reverse;

use follow::submit::NodeRequest;
use policy::allocate::place;
use policy::{ClusterView, Demand, NodeView, Resources};

use super::error::PreflightError;

/// Kinds of nodes on which the ApplicationMaster is tried.
const KINDS_OF_NODES: usize = 32;
/// Nodes that YARN is told of at most, the freest: each is a row of the submission.
const NAMED: usize = 100;

/// Where the ApplicationMaster may lie besides the job's own candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// On these nodes of its partition, which `--exclude` leaves out.
    Excluded(Vec<NodeRequest>),
    /// Always: the job is in another partition.
    OtherPartition,
}

/// The nodes beside whose ApplicationMaster the job fits, the freest first; none: all do. Nodes that are
/// excluded serve where it fits beside no other.
///
/// # Errors
///
/// It fits beside none, even when nothing else runs on the cluster.
pub(super) fn places(
    demand: &Demand,
    view: &ClusterView,
    elsewhere: &Elsewhere,
) -> Result<Vec<NodeRequest>, PreflightError> {
    let Elsewhere::Excluded(excluded) = elsewhere else {
        return Ok(Vec::new());
    };
    let own = view.queue.appmaster;
    let mut empty = view.clone();
    for node in &mut empty.nodes {
        node.used = Resources::default();
    }
    empty.queue.headroom = None;
    let mut tried: Vec<((Resources, u32), bool)> = Vec::new();
    let (mut refused, mut fits) = (None, Vec::new());
    for (index, node) in view.nodes.iter().enumerate() {
        if node.capability.memory < own.memory {
            continue;
        }
        // Nodes of one size, and with as much to do, are alike.
        let kind = (node.capability, processes_on(demand, node));
        let known = tried.iter().find(|(other, _)| *other == kind);
        let fits_here = match known.map(|(_, fits)| *fits) {
            Some(fits) => fits,
            None if tried.len() >= KINDS_OF_NODES => true,
            None => {
                let mut beside = empty.clone();
                beside.nodes[index].appmaster = own;
                beside.nodes[index].used = own;
                let never = place(demand, &beside, &[])
                    .err()
                    .filter(|why| !why.may_pass());
                let fits = never.is_none();
                refused = never.or(refused);
                tried.push((kind, fits));
                fits
            }
        };
        if fits_here {
            fits.push(node);
        }
    }
    match refused {
        None => Ok(Vec::new()),
        Some(_) if !fits.is_empty() => {
            let free =
                |node: &NodeView| node.capability.memory.0.saturating_sub(node.used.memory.0);
            sort::by_key(&mut fits, |node| Reverse(free(node)));
            fits.truncate(NAMED);
            Ok(fits.into_iter().map(own_place).collect())
        }
        Some(_) if !excluded.is_empty() => Ok(excluded.iter().take(NAMED).cloned().collect()),
        Some(rejection) => Err(PreflightError::BesideAppmaster {
            why: sentences::rejection(&rejection, &empty.types),
            own: own.words(&empty.types),
        }),
    }
}

/// A node, as YARN is asked for it.
pub(super) fn own_place(node: &NodeView) -> NodeRequest {
    NodeRequest {
        host: node.host.clone(),
        rack: node.rack.clone(),
    }
}

/// Processes that have to go there.
fn processes_on(demand: &Demand, node: &NodeView) -> u32 {
    let listed = demand.listed.iter();
    let listed = listed.filter(|entry| entry.host.as_ref() == Some(&node.host));
    listed
        .map(|entry| entry.processes)
        .fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use policy::{Counted, ListedHost, MiB, Mode, NodeId, Queue};

    use super::*;

    fn cluster(nodes: u64) -> ClusterView {
        let node = |number: u64| NodeView {
            id: NodeId(format!("n{number}:1")),
            host: format!("n{number}"),
            rack: "/r".into(),
            capability: Resources::new(8192, 8),
            used: Resources::new(512 * number, 1),
            ..NodeView::default()
        };
        ClusterView {
            nodes: (1..=nodes).map(node).collect(),
            maximum: Resources::new(8192, 8),
            step: MiB(1024),
            counted: Counted::Memory,
            queue: Box::new(Queue {
                appmaster: Resources::new(1024, 1),
                ..Queue::default()
            }),
            ..ClusterView::default()
        }
    }

    /// Whole nodes, which may not be shared.
    fn whole(hosts: &[&str]) -> Demand {
        let listed = hosts.iter().map(|host| ListedHost {
            host: Some((*host).to_owned()),
            processes: 8,
        });
        let processes = u32::try_from(8 * hosts.len()).unwrap();
        Demand {
            mode: Mode::None,
            oversubscribe: false,
            listed: listed.collect(),
            ..Demand::anywhere(processes.try_into().unwrap(), Resources::new(1024, 1))
        }
    }

    fn nowhere() -> Elsewhere {
        Elsewhere::Excluded(Vec::new())
    }

    fn hosts(places: &[NodeRequest]) -> Vec<&str> {
        places.iter().map(|place| place.host.as_str()).collect()
    }

    #[test]
    fn the_appmaster_keeps_off_the_nodes_that_the_job_fills() {
        let places = places(&whole(&["n1", "n3"]), &cluster(4), &nowhere()).unwrap();
        assert_eq!(hosts(&places), ["n2", "n4"]);
    }

    #[test]
    fn it_lies_on_an_excluded_node_only_where_it_is_in_the_way_on_all_others() {
        let excluded = Elsewhere::Excluded(vec![NodeRequest {
            host: "n9".into(),
            rack: "/r".into(),
        }]);
        let demand = whole(&["n1", "n3"]);
        let beside = places(&demand, &cluster(4), &excluded).unwrap();
        assert_eq!(hosts(&beside), ["n2", "n4"]);
        let mut filled = cluster(4);
        filled
            .nodes
            .retain(|node| ["n1", "n3"].contains(&node.host.as_str()));
        let beside = places(&demand, &filled, &excluded).unwrap();
        assert_eq!(hosts(&beside), ["n9"]);
        // In another partition than the job it is in nobody's way.
        let apart = places(&demand, &filled, &Elsewhere::OtherPartition).unwrap();
        assert_eq!(apart, []);
    }

    #[test]
    fn where_it_is_in_nobodys_way_it_lies_anywhere() {
        let four = Demand::anywhere(4.try_into().unwrap(), Resources::new(1024, 1));
        assert_eq!(places(&four, &cluster(4), &nowhere()).unwrap(), []);
    }

    #[test]
    fn where_it_is_in_the_way_everywhere_the_job_is_refused() {
        let refused = places(&whole(&["n1", "n2"]), &cluster(2), &nowhere()).unwrap_err();
        assert!(refused.to_string().contains("--deploy-mode"), "{refused}");
    }
}
