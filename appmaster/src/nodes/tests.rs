//! Launchers join, look again and go.

use job::element::{Element, ElementKind};
use policy::elements::GPU;
use policy::{ResourceTypes, Resources};

use super::*;

fn id(number: u32) -> ContainerId {
    ContainerId(format!("container_1_0001_01_{number:06}"))
}

fn gpus(count: u32, memory_mib: u64) -> wire::Element {
    Element {
        count,
        memory_mib,
        ..Element::none_of(ElementKind::Gpu)
    }
    .into()
}

/// A node that YARN has granted so many GPUs of.
fn node(found: Vec<wire::Element>, granted: u64, scanning: bool) -> NodeElements {
    let types = ResourceTypes::new(["yarn.io/gpu"]);
    let facts = wire::NodeFacts {
        hostname: "n1".into(),
        elements: found,
        scanning,
        ..wire::NodeFacts::default()
    };
    let granted = Resources {
        counts: types.counts(|_| Some(granted)),
        ..Resources::new(1024, 1)
    };
    NodeElements::new(&facts, granted, &types, BTreeMap::new())
}

#[test]
fn a_node_that_disagrees_with_yarn_is_offered_by_the_smaller_count_and_said_of_once() {
    let mut nodes = Nodes::new(Trust::Both, 2);
    let two = || node(vec![gpus(2, 16_384)], 1, false);
    let offered = nodes.joined(&id(2), "n1".into(), two());
    assert_eq!(
        offered.get(GPU),
        Some(&2),
        "one device, two tasks at a time"
    );
    assert_eq!(nodes.differing.len(), 1);
    // Another container of the same host says nothing new.
    nodes.joined(&id(3), "n1".into(), two());
    assert_eq!(nodes.differing.len(), 1);
    let offer = Offer {
        container: id(2),
        node: policy::NodeId("n1:45454".into()),
        host: "n1".into(),
        rack: "/default-rack".into(),
        slots: policy::lending::OfferedSlot::alike(4),
        pool: Resources::new(1024, 1),
        elements: offered,
    };
    let table = nodes.table([&offer].into_iter());
    let difference = "n1: 2 gpu found, YARN has granted 1: 1 used (--elements both)";
    assert_eq!(table.nodes[0].differences, [difference]);
}

#[test]
fn a_launcher_that_looks_again_tells_only_what_has_changed() {
    let mut nodes = Nodes::new(Trust::Both, 1);
    let found = |count, scanning| wire::NodeElements {
        elements: vec![gpus(count, 16_384)],
        scanning,
        loads: Vec::new(),
    };
    nodes.joined(&id(2), "n1".into(), node(Vec::new(), 2, true));
    nodes.change();
    assert!(!nodes.may_compare(), "it has not found all yet");
    let offered = nodes.found(&id(2), "n1".into(), found(2, false));
    assert_eq!(offered.and_then(|of| of.get(GPU).copied()), Some(2));
    assert!(nodes.may_compare());
    nodes.have_compared();
    assert_eq!(nodes.found(&id(2), "n1".into(), found(2, false)), None);
    assert!(nodes.may_compare());
    nodes.have_compared();
    // What is not there, or is gone, tells nothing.
    assert_eq!(nodes.found(&id(9), "n9".into(), found(2, false)), None);
    nodes.lost(&id(2));
    assert_eq!(nodes.found(&id(2), "n1".into(), found(3, false)), None);
    assert!(!nodes.may_compare());
}

#[test]
fn containers_without_a_larger_gpu_are_those_that_are_of_no_use_to_a_task_that_did_not_fit() {
    let mut nodes = Nodes::new(Trust::Scan, 1);
    for (number, memory) in [(2, 16_384), (3, 40_960), (4, 8_192)] {
        let known = node(vec![gpus(1, memory)], 1, false);
        nodes.joined(&id(number), format!("n{number}"), known);
    }
    assert_eq!(nodes.without_larger_gpu(&id(2)), [id(2), id(4)]);
    assert_eq!(nodes.without_larger_gpu(&id(3)), [id(2), id(3), id(4)]);
}

#[test]
fn a_launcher_that_is_not_reached_is_told_of_until_it_is_gone() {
    let mut nodes = Nodes::new(Trust::Both, 1);
    let port = |port| wire::PeersTried {
        port,
        ..wire::PeersTried::default()
    };
    for number in [2, 3] {
        let opens = nodes.opens_port(&id(number), format!("n{number}"));
        assert!(
            matches!(opens, NodeEffect::Try { by, peers } if by == id(number) && peers.is_empty())
        );
    }
    assert!(nodes.has_tried(&id(2), port(40_002)).is_empty());
    let tries = nodes.has_tried(&id(3), port(40_003));
    let [NodeEffect::Try { by, peers }, NodeEffect::Try { .. }] = &tries[..] else {
        panic!("{tries:?}");
    };
    assert_eq!((by, peers[0].address.as_str()), (&id(3), "n2:40002"));
    let answer = wire::PeersTried {
        tried: vec![wire::PeerTried {
            container: id(2).to_string(),
            trouble: "no route to host".into(),
        }],
        ..port(40_003)
    };
    let said = nodes.has_tried(&id(3), answer);
    assert!(
        matches!(&said[..], [NodeEffect::Unreached { from, to, .. }] if (from, to) == (&id(3), &id(2)))
    );
    assert_eq!(nodes.between(&id(2), &[id(3)]).len(), 1);
    assert_eq!(nodes.unreached().len(), 1);
    nodes.lost(&id(2));
    assert!(nodes.between(&id(2), &[id(3)]).is_empty() && nodes.unreached().is_empty());
}

fn class(model: &str, cpus: &[u32]) -> wire::Element {
    let class = Element {
        model: model.to_owned(),
        cpus: cpus.to_vec(),
        evidence: vec!["--cores".to_owned()],
        ..Element::none_of(ElementKind::CoreClass)
    };
    class.into()
}

/// A node of three fast and two slow cores, of which YARN has granted so many.
fn counted_cores(fast: u64, slow: u64) -> NodeElements {
    let types = ResourceTypes::new(["slot/fast", "slot/slow"]);
    let facts = wire::NodeFacts {
        hostname: "n1".into(),
        elements: vec![class("fast", &[0, 1, 2]), class("slow", &[3, 4])],
        ..wire::NodeFacts::default()
    };
    let count = |name: &str| Some(if name == "slot/fast" { fast } else { slow });
    let granted = Resources {
        counts: types.counts(count),
        ..Resources::new(1024, 1)
    };
    NodeElements::new(&facts, granted, &types, BTreeMap::new())
}

fn plain_offer(number: u32, node: &str) -> Offer {
    Offer {
        container: id(number),
        node: policy::NodeId(format!("{node}:1")),
        host: node.to_owned(),
        rack: "/default-rack".into(),
        slots: policy::lending::OfferedSlot::alike(2),
        pool: Resources::new(1024, 1),
        elements: BTreeMap::new(),
    }
}

/// Other cores than YARN counts are said, of all containers of the node together, and where YARN grants none of a class, the
/// node does not have both.
#[test]
fn cores_that_yarn_does_not_count_are_told() {
    let of = |trust, grants: &[(u64, u64)]| {
        let mut nodes = Nodes::new(trust, 1);
        let ids = (2..).take(grants.len());
        let offers: Vec<Offer> = ids.map(|number| plain_offer(number, "n1")).collect();
        for (offer, (fast, slow)) in offers.iter().zip(grants) {
            nodes.joined(&offer.container, "n1".into(), counted_cores(*fast, *slow));
            nodes.shares_cores(&offer.container, offer.node.clone());
        }
        let table = nodes.table(offers.iter());
        let without = nodes.without_both(offers.iter(), Some(&id(2)));
        (table.nodes[0].differences.clone(), without.joined)
    };
    let fewer = "n1: 3 fast cores found, YARN has granted 2 slot/fast: 2 used".to_owned();
    assert_eq!(of(Trust::Both, &[(2, 2)]), (vec![fewer], None));
    assert_eq!(of(Trust::Both, &[(3, 2), (0, 0)]), (vec![], None));
    assert_eq!(of(Trust::Scan, &[(0, 1)]), (vec![], None));
    let none = "n1: 3 fast cores found, YARN has granted 0 slot/fast: 0 used".to_owned();
    assert_eq!(of(Trust::Both, &[(0, 2)]), (vec![none.clone()], Some(none)));
    // Of two sentences that about the class which is missing is the reason.
    let (both, why) = of(Trust::Both, &[(2, 0)]);
    let slow = "n1: 2 slow cores found, YARN has granted 0 slot/slow: 0 used";
    assert_eq!((both.len(), why.as_deref()), (2, Some(slow)));
}

#[test]
fn a_container_has_as_many_cores_of_a_class_as_yarn_lets_it_have() {
    let of = counted_cores;
    let cores = |trust, grants: &[(u64, u64)]| -> Vec<Vec<Vec<u32>>> {
        let mut nodes = Nodes::new(trust, 1);
        let ids: Vec<ContainerId> = (2..).take(grants.len()).map(id).collect();
        for (id, (fast, slow)) in ids.iter().zip(grants) {
            let offered = nodes.joined(id, "n1".into(), of(*fast, *slow));
            assert!(offered.is_empty(), "cores are no devices");
            nodes.shares_cores(id, policy::NodeId("n1:1".into()));
        }
        let of = |id| nodes.core_classes(id).into_iter().map(|class| class.cpus);
        ids.iter().map(|id| of(id).collect()).collect()
    };
    assert_eq!(cores(Trust::Both, &[(1, 2)]), [[vec![0], vec![3, 4]]]);
    assert_eq!(cores(Trust::Yarn, &[(9, 1)]), [[vec![0, 1, 2], vec![3]]]);
    assert_eq!(cores(Trust::Scan, &[(0, 0)]), [[vec![0, 1, 2], vec![3, 4]]]);
    // The first container of a node has taken all that YARN counts there.
    assert_eq!(
        cores(Trust::Both, &[(3, 2), (0, 0)]),
        [[vec![0, 1, 2], vec![3, 4]], [vec![], vec![]]]
    );
    assert_eq!(
        cores(Trust::Both, &[(2, 1), (1, 1)]),
        [[vec![0, 2], vec![3]], [vec![1], vec![4]]]
    );
}

/// What a session is told of nodes whose launchers have joined, and of the one that must have both classes.
#[test]
fn a_node_that_loses_its_fast_cores_is_no_reason_against_one_that_joins() {
    let mut nodes = Nodes::new(Trust::Both, 1);
    let both = || vec![class("fast", &[0]), class("slow", &[1])];
    let offer = |number: u32| plain_offer(number, &format!("n{number}"));
    let offers = [offer(2), offer(3), offer(4)];
    nodes.joined(&id(2), "n2".into(), node(both(), 0, false));
    let of_first = nodes.without_both(offers[..1].iter(), Some(&id(2)));
    assert_eq!((of_first.joined, of_first.all), (None, None));
    let lost = wire::NodeElements {
        elements: vec![class("fast", &[]), class("slow", &[1])],
        scanning: false,
        loads: Vec::new(),
    };
    assert!(nodes.found(&id(2), "n2".into(), lost).is_some());
    nodes.joined(&id(3), "n3".into(), node(both(), 0, false));
    let of_second = nodes.without_both(offers[..2].iter(), Some(&id(3)));
    assert_eq!((of_second.joined, of_second.all), (None, None));
    nodes.joined(
        &id(4),
        "n4".into(),
        node(vec![class("plain", &[0, 1])], 0, false),
    );
    let of_third = nodes.without_both(offers.iter(), Some(&id(4)));
    let why = "n4 has one class of cores (--cores): give --cores, or use --policy fifo";
    assert_eq!(of_third.joined.as_deref(), Some(why));
    assert_eq!(nodes.without_both(offers.iter(), None).joined, None);
}

#[test]
fn launchers_of_a_node_share_its_cores_out_until_one_is_gone() {
    let mut nodes = Nodes::new(Trust::Both, 1);
    let class = |model: &str, cpus: &[u32]| {
        let class = Element {
            model: model.to_owned(),
            cpus: cpus.to_vec(),
            ..Element::none_of(ElementKind::CoreClass)
        };
        class.into()
    };
    let known = || {
        node(
            vec![class("fast", &[0, 1]), class("slow", &[2, 3])],
            0,
            false,
        )
    };
    let cores = |nodes: &Nodes, number| -> Vec<Vec<u32>> {
        let classes = nodes.core_classes(&id(number)).into_iter();
        classes.map(|class| class.cpus).collect()
    };
    for (number, of) in [(2, "n1:1"), (3, "n2:1"), (4, "n1:1")] {
        nodes.joined(&id(number), "n1".into(), known());
        assert_eq!(cores(&nodes, number), [[0, 1], [2, 3]]);
        nodes.shares_cores(&id(number), policy::NodeId(of.into()));
    }
    assert_eq!(nodes.beside(&id(4)), [id(2)]);
    assert_eq!(cores(&nodes, 2), [[0], [2]]);
    assert_eq!(cores(&nodes, 3), [[0, 1], [2, 3]]);
    assert_eq!(cores(&nodes, 4), [[1], [3]]);
    assert_eq!(nodes.lost(&id(2)), [id(4)]);
    assert_eq!(nodes.lost(&id(2)), []);
    assert_eq!(cores(&nodes, 4), [[0, 1], [2, 3]]);
    // Another takes the place of the one that is gone.
    nodes.joined(&id(5), "n1".into(), known());
    nodes.shares_cores(&id(5), policy::NodeId("n1:1".into()));
    assert_eq!(cores(&nodes, 5), [[1], [3]]);
}
