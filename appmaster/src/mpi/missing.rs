//! What a job waits for, with who stands in its way.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use job::explain::{Amount, Holder, Missing, MissingNode};
use policy::{ClusterView, Counted, Demand, Millis, NodeId, NodeView, Placement, Resources};

use crate::mpi::holders::Holdings;

/// Nodes that one event tells of, and holders of each.
const MOST_NODES: usize = 100;
const MOST_HOLDERS: usize = 20;
/// The freest nodes, which stand for all while no placement is possible.
const FREEST: usize = 3;
/// Nodes and applications that a sentence names.
const NAMED_NODES: usize = 4;
const NAMED_HOLDERS: usize = 3;

/// One container that is waited for, or would be if there were a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AwaitedContainer {
    pub node: NodeId,
    pub host: String,
    pub ask: Resources,
    /// There is no placement, and this is one of the freest nodes, not one that is waited for.
    pub stands_in: bool,
}

/// The shares of `placement` whose containers are not `there`.
pub(crate) fn of_placement(
    placement: &Placement,
    there: &dyn Fn(&NodeId) -> bool,
) -> Vec<AwaitedContainer> {
    let shares = placement.shares.iter();
    shares
        .filter(|share| !there(&share.node))
        .map(|share| AwaitedContainer {
            node: share.node.clone(),
            host: share.host.clone(),
            ask: share.ask,
            stands_in: false,
        })
        .collect()
}

/// The nodes that keep `demand` from being placed: the listed ones, or the freest of all, each with
/// one process.
pub(crate) fn of_demand(demand: &Demand, view: &ClusterView) -> Vec<AwaitedContainer> {
    let one = |node: &NodeView, processes: u32, stands_in: bool| AwaitedContainer {
        node: node.id.clone(),
        host: node.host.clone(),
        ask: demand.unit.times(processes),
        stands_in,
    };
    // From the back, so that of two nodes of one host the first stays.
    let by_host: BTreeMap<&str, &NodeView> = view
        .nodes
        .iter()
        .rev()
        .map(|node| (node.host.as_str(), node))
        .collect();
    let listed: Vec<AwaitedContainer> = demand
        .listed
        .iter()
        .filter_map(|entry| {
            let host = entry.host.as_deref()?;
            let node = by_host.get(host)?;
            Some(one(node, entry.processes, false))
        })
        .collect();
    let bound_to_hosts = matches!(demand.mode, policy::Mode::None | policy::Mode::Dist);
    if bound_to_hosts && !listed.is_empty() {
        return listed;
    }
    let mut nodes: Vec<&NodeView> = view.nodes.iter().collect();
    sort::by_key(&mut nodes, |node| {
        let room = view.room(node);
        (Reverse((room.memory, room.vcores)), &node.id)
    });
    let freest = nodes.into_iter().take(FREEST);
    freest.map(|node| one(node, 1, true)).collect()
}

/// `wanted` on the cluster as it is at `at`.
pub(crate) fn missing(
    at: Millis,
    wanted: &[AwaitedContainer],
    view: &ClusterView,
    holdings: &Holdings,
    headroom: Option<Resources>,
) -> Missing {
    let amount = |resources| Amount::of(resources, &view.types);
    let by_id: BTreeMap<&NodeId, &NodeView> =
        view.nodes.iter().map(|node| (&node.id, node)).collect();
    let nodes = wanted.iter().take(MOST_NODES).map(|wanted| {
        let node = by_id.get(&wanted.node).copied();
        let holders = holdings.on(&wanted.node.0);
        let holds = holders
            .iter()
            .map(|holder| holder.holds.resources(&view.types));
        let seen = holds.fold(Resources::default(), Resources::plus);
        let used = node.map(|node| node.used).unwrap_or_default();
        MissingNode {
            id: wanted.node.0.clone(),
            host: wanted.host.clone(),
            ask: amount(wanted.ask),
            room: node.map(|node| amount(view.room(node))),
            holders: holders.iter().take(MOST_HOLDERS).cloned().collect(),
            unseen: amount(used.minus(seen)),
        }
    });
    Missing {
        at_ms: at.0,
        headroom: headroom.map(amount),
        nodes: nodes.collect(),
        stand_ins: wanted.iter().any(|wanted| wanted.stands_in),
        left_out: u32::try_from(wanted.len().saturating_sub(MOST_NODES)).unwrap_or(u32::MAX),
        hidden: holdings.hidden,
        holders_are_partial: holdings.is_partial,
    }
}

/// What is the cause of it: of nodes with room for what is asked there nobody stands in the way, and the queue does only
/// where it has less than one of these wants.
pub(crate) fn causes(missing: &Missing, counted: Counted) -> Missing {
    let fits = |wanted: &Amount, room: &Amount| {
        let vcores = counted == Counted::Memory || wanted.vcores <= room.vcores;
        wanted.memory_mib <= room.memory_mib && vcores
    };
    let mut causes = missing.clone();
    let mut waits_for_queue = false;
    for node in &mut causes.nodes {
        if node.room.as_ref().is_some_and(|room| fits(&node.ask, room)) {
            node.holders.clear();
            node.unseen = Amount::default();
            let left = missing.headroom.as_ref();
            waits_for_queue |= left.is_some_and(|left| !fits(&node.ask, left));
        }
    }
    causes.headroom = causes.headroom.filter(|_| waits_for_queue);
    causes
}

/// The missing nodes with what is asked of them and their room, for a sentence.
pub(crate) fn nodes(missing: &Missing) -> String {
    let asked = match missing.stand_ins {
        true => "wanted",
        false => "asked for",
    };
    let named = missing.nodes.iter().take(NAMED_NODES).map(|node| {
        let room = match &node.room {
            None => "the node is gone".to_owned(),
            Some(room) => format!("{room} left"),
        };
        format!("{} ({} {asked}, {room})", node.host, node.ask)
    });
    let mut text = named.collect::<Vec<_>>().join(", ");
    let listed = missing.nodes.len().saturating_sub(NAMED_NODES);
    let left_out = usize::try_from(missing.left_out).unwrap_or(usize::MAX);
    match listed.saturating_add(left_out) {
        0 => {}
        more => text.push_str(&format!(" and {more} more")),
    }
    text
}

/// Who stands in the way on the missing nodes, for the end of a sentence that has named them; empty
/// when nobody is known to. `own` is the application that asks.
pub(crate) fn in_the_way(missing: &Missing, own: &str, counted: Counted) -> String {
    // By application: its words, what it holds on all of them, and where.
    let mut holders: BTreeMap<&str, (&Holder, u64, Vec<&str>)> = BTreeMap::new();
    let mut unseen: (u64, Vec<&str>) = (0, Vec::new());
    for node in &missing.nodes {
        for holder in &node.holders {
            let entry = holders.entry(&holder.application);
            let (_, mib, hosts) = entry.or_insert_with(|| (holder, 0, Vec::new()));
            *mib = mib.saturating_add(holder.holds.memory_mib);
            hosts.push(&node.host);
        }
        if node.unseen.memory_mib > 0 {
            unseen.0 = unseen.0.saturating_add(node.unseen.memory_mib);
            unseen.1.push(&node.host);
        }
    }
    let mut holders: Vec<(&Holder, u64, Vec<&str>)> = holders.into_values().collect();
    sort::by_key(&mut holders, |(_, mib, _)| Reverse(*mib));
    let more = holders.len().saturating_sub(NAMED_HOLDERS);

    let mut parts: Vec<String> = holders
        .iter()
        .take(NAMED_HOLDERS)
        .map(|(holder, mib, hosts)| {
            let Holder {
                application,
                name,
                user,
                queue,
                ..
            } = holder;
            let who = if application == own {
                "this job itself".to_owned()
            } else {
                format!("{application} ({name}, of {user} in {queue})")
            };
            format!("{who} holds {mib} MiB on {}", on(hosts))
        })
        .collect();
    match more {
        0 => {}
        1 => parts.push("1 more application holds something there".into()),
        more => parts.push(format!("{more} more applications hold something there")),
    }
    if unseen.0 > 0 {
        let (mib, hosts) = unseen;
        let which = match missing.holders_are_partial {
            true => "applications that you may not see or that were not asked about",
            false => "applications that you may not see",
        };
        parts.push(format!("{which} hold {mib} MiB on {}", on(&hosts)));
    }
    if let Some(headroom) = &missing.headroom {
        parts.push(match counted {
            Counted::Memory => format!(
                "the queue still gives this job {}",
                policy::MiB(headroom.memory_mib)
            ),
            Counted::MemoryAndVcores => format!("the queue still gives this job {headroom}"),
        });
    }
    parts.join("; ")
}

/// One host by its name, more by their number.
fn on(hosts: &[&str]) -> String {
    match hosts {
        [one] => (*one).to_owned(),
        many => format!("{} of these nodes", many.len()),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use policy::{ListedHost, MiB, Mode, NodeShare};

    use super::*;

    fn node(host: &str, used_mib: u64) -> NodeView {
        NodeView {
            id: NodeId(format!("{host}:1")),
            host: host.into(),
            rack: "/r".into(),
            capability: Resources::new(8192, 8),
            used: Resources::new(used_mib, 2),
            ..NodeView::default()
        }
    }

    fn view() -> ClusterView {
        ClusterView {
            nodes: vec![
                node("a", 8192),
                node("b", 6144),
                node("c", 7168),
                node("d", 7168),
            ],
            maximum: Resources::new(4096, 4),
            step: MiB(1024),
            counted: Counted::Memory,
            ..ClusterView::default()
        }
    }

    fn holder(id: u32, memory_mib: u64) -> Holder {
        Holder {
            application: format!("application_1_{id:04}"),
            name: "pi".into(),
            user: "bob".into(),
            queue: "default".into(),
            containers: 1,
            holds: Amount {
                memory_mib,
                vcores: 1,
                ..Amount::default()
            },
        }
    }

    fn hosts(wanted: &[AwaitedContainer]) -> Vec<(&str, u64)> {
        wanted
            .iter()
            .map(|one| (one.host.as_str(), one.ask.memory.0))
            .collect()
    }

    #[test]
    fn without_a_placement_the_listed_or_the_freest_nodes_are_waited_for() {
        let four = NonZeroU32::new(4).unwrap();
        let mut demand = Demand::anywhere(four, Resources::new(1024, 1));
        assert_eq!(
            hosts(&of_demand(&demand, &view())),
            [("b", 1024), ("c", 1024), ("d", 1024)]
        );
        let wanted = of_demand(&demand, &view());
        let stand_in = missing(Millis(0), &wanted, &view(), &Holdings::default(), None);
        assert!(stand_in.stand_ins);
        assert!(nodes(&stand_in).starts_with("b (1024 MiB and 1 vcore wanted, 2048 MiB "));
        demand.mode = Mode::None;
        demand.listed = vec![ListedHost {
            host: Some("a".into()),
            processes: 4,
        }];
        let wanted = of_demand(&demand, &view());
        assert_eq!(hosts(&wanted), [("a", 4096)]);
        assert!(!missing(Millis(0), &wanted, &view(), &Holdings::default(), None).stand_ins);
    }

    #[test]
    fn who_has_room_is_not_in_the_way_and_a_queue_without_it_is() {
        let amount = |memory_mib, vcores| Amount {
            memory_mib,
            vcores,
            ..Amount::default()
        };
        let node = |host: &str, room_mib| MissingNode {
            id: format!("{host}:1"),
            host: host.into(),
            ask: amount(3072, 3),
            room: Some(amount(room_mib, 8)),
            holders: vec![holder(1, 1024)],
            unseen: amount(512, 1),
        };
        let of = |rooms: &[u64], left: u64| {
            let missing = Missing {
                at_ms: 0,
                headroom: Some(amount(left, 8)),
                nodes: rooms.iter().map(|room| node("a", *room)).collect(),
                stand_ins: false,
                left_out: 0,
                hidden: 0,
                holders_are_partial: false,
            };
            in_the_way(&causes(&missing, Counted::Memory), "", Counted::Memory)
        };
        assert_eq!(of(&[4096], 2304), "the queue still gives this job 2304 MiB");
        assert_eq!(of(&[4096], 8192), "");
        let held = "application_1_0001 (pi, of bob in default) holds 1024 MiB on a; applications that you may not see \
                    hold 512 MiB on a";
        assert_eq!(of(&[2048], 2304), held);
        assert_eq!(
            of(&[2048, 4096], 0),
            format!("{held}; the queue still gives this job 0 MiB")
        );
    }

    #[test]
    fn what_is_missing_is_told_with_holders_and_what_nobody_may_see() {
        let share = |host: &str| NodeShare {
            node: NodeId(format!("{host}:1")),
            host: host.into(),
            rack: "/r".into(),
            processes: 2,
            ask: Resources::new(2048, 2),
        };
        let placement = Placement {
            shares: vec![share("a"), share("b"), share("gone")],
        };
        let wanted = of_placement(&placement, &|node| node.0 == "b:1");
        assert_eq!(hosts(&wanted), [("a", 2048), ("gone", 2048)]);
        let holdings = Holdings::of("a:1", vec![holder(7, 6144), holder(8, 1024)], 1);
        let headroom = Some(Resources::new(1024, 1));
        let missing = missing(Millis(2000), &wanted, &view(), &holdings, headroom);
        let room = missing.nodes[0].room.as_ref().map(|room| room.memory_mib);
        assert_eq!(room, Some(0));
        assert_eq!(missing.nodes[0].unseen.memory_mib, 1024);
        assert_eq!((&missing.nodes[1].room, missing.hidden), (&None, 1));
        assert_eq!(
            in_the_way(&missing, "application_1_0008", Counted::Memory),
            "application_1_0007 (pi, of bob in default) holds 6144 MiB on a; this job itself holds \
             1024 MiB on a; applications that you may not see hold 1024 MiB on a; the queue still \
             gives this job 1024 MiB"
        );
        assert_eq!(
            nodes(&missing),
            "a (2048 MiB and 2 vcores asked for, 0 MiB and 4 vcores left), gone (2048 MiB and 2 \
             vcores asked for, the node is gone)"
        );
    }

    #[test]
    fn a_sentence_has_a_bound() {
        let wanted: Vec<AwaitedContainer> = (0..MOST_NODES + 5)
            .map(|number| AwaitedContainer {
                node: NodeId(format!("a{number}:1")),
                host: format!("a{number}"),
                ask: Resources::new(1024, 1),
                stands_in: false,
            })
            .collect();
        let mut view = view();
        view.nodes = (0..MOST_NODES)
            .map(|number| node(&format!("a{number}"), 1024))
            .collect();
        let missing = missing(Millis(0), &wanted, &view, &Holdings::default(), None);
        assert_eq!((missing.nodes.len(), missing.left_out), (MOST_NODES, 5));
        assert!(nodes(&missing).ends_with(" and 101 more"));
        assert_eq!(
            in_the_way(&missing, "", Counted::Memory),
            "applications that you may not see hold 102400 MiB on 100 of these nodes"
        );
        let partial = Missing {
            holders_are_partial: true,
            ..missing
        };
        assert_eq!(
            in_the_way(&partial, "", Counted::Memory),
            "applications that you may not see or that were not asked about hold 102400 MiB on 100 \
             of these nodes"
        );
    }

    #[test]
    fn the_largest_holders_of_all_nodes_are_named() {
        let node = |host: &str, holders: Vec<Holder>| MissingNode {
            id: format!("{host}:1"),
            host: host.into(),
            ask: Amount::default(),
            room: None,
            holders,
            unseen: Amount::default(),
        };
        let missing = Missing {
            at_ms: 0,
            headroom: Some(Amount::default()),
            nodes: vec![
                node("a", (1..=5).map(|id| holder(id, 1024)).collect()),
                node("b", vec![holder(5, 1024)]),
            ],
            stand_ins: false,
            left_out: 0,
            hidden: 0,
            holders_are_partial: false,
        };
        let said = in_the_way(&missing, "", Counted::MemoryAndVcores);
        assert!(
            said.starts_with(
                "application_1_0005 (pi, of bob in default) holds 2048 MiB on 2 of these nodes; \
                 application_1_0001 "
            ) && said.ends_with(
                "; 2 more applications hold something there; the queue still gives this job 0 MiB \
                 and 0 vcores"
            ),
            "{said}"
        );
    }
}
