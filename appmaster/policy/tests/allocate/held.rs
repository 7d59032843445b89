//! Placing the rest beside what is held.

use super::*;

/// The shares of a placement on the hosts named, and the cluster with their containers in it.
fn hold(
    placement: &Placement,
    view: &ClusterView,
    hosts: &[&str],
) -> (Vec<NodeShare>, ClusterView) {
    let shares = placement.shares.iter();
    let held: Vec<NodeShare> = shares
        .filter(|share| hosts.contains(&share.host.as_str()))
        .cloned()
        .collect();
    assert_eq!(held.len(), hosts.len());
    let mut view = view.clone();
    for node in &mut view.nodes {
        for share in held.iter().filter(|share| share.node == node.id) {
            node.used.memory.0 += share.ask.memory.0;
            node.used.vcores.0 += share.ask.vcores.0;
        }
    }
    (held, view)
}

#[test]
fn all_places_the_rest_on_other_nodes() {
    let view = cluster(vec![free("a", 4), free("b", 4), free("c", 2)], 8192);
    let demand = demand(8, true);
    let first = place_fresh(&demand, &view).unwrap();
    assert_eq!(
        counts(&first),
        [("a", 3, 3072), ("b", 3, 3072), ("c", 2, 2048)]
    );
    let (held, mut view) = hold(&first, &view, &["a"]);
    // Somebody else took b.
    view.nodes[1] = free("b", 0);
    assert_eq!(
        counts(&place(&demand, &view, &held).unwrap()),
        [("a", 3, 3072), ("c", 5, 2048)]
    );
}

#[test]
fn loc_places_the_listed_numbers_that_are_open() {
    let view = cluster(
        vec![free("a", 4), free("b", 4), free("c", 3), free("d", 0)],
        8192,
    );
    let demand = list(Mode::Loc, &[("x", 2), ("y", 3), ("z", 2)]);
    let first = place_fresh(&demand, &view).unwrap();
    assert_eq!(
        counts(&first),
        [("b", 2, 2048), ("a", 3, 3072), ("c", 2, 2048)]
    );
    let (held, mut view) = hold(&first, &view, &["b"]);
    view.nodes[0] = free("a", 0);
    view.nodes[3] = free("d", 8);
    assert_eq!(
        counts(&place(&demand, &view, &held).unwrap()),
        [("b", 2, 2048), ("d", 3, 3072), ("c", 2, 2048)]
    );
}

#[test]
fn loc_dist_uses_as_many_other_nodes_as_are_open() {
    let view = cluster(
        vec![free("a", 4), free("b", 4), free("c", 3), free("d", 1)],
        8192,
    );
    let demand = nodes(3, 9);
    let first = place_fresh(&demand, &view).unwrap();
    assert_eq!(
        counts(&first),
        [("a", 3, 3072), ("b", 3, 3072), ("c", 3, 3072)]
    );
    let (held, mut view) = hold(&first, &view, &["b"]);
    view.nodes[0] = free("a", 0);
    assert_eq!(
        counts(&place(&demand, &view, &held).unwrap()),
        [("b", 3, 3072), ("c", 4, 3072), ("d", 2, 1024)]
    );
}

#[test]
fn none_and_dist_keep_their_hosts_and_only_resize() {
    let view = cluster(vec![free("a", 4), free("b", 4), free("c", 0)], 8192);
    let hosts = [("a", 3), ("b", 3), ("c", 2)];
    for mode in [Mode::None, Mode::Dist] {
        let demand = list(mode, &hosts);
        let first = place_fresh(&demand, &view).unwrap();
        let (held, mut view) = hold(&first, &view, &["b"]);
        let on_b = counts(&first)[1];
        view.nodes[0] = free("a", 1);
        view.nodes[2] = free("c", 7);
        let second = place(&demand, &view, &held).unwrap();
        let expected = match mode {
            Mode::None => [on_b, ("a", 3, 1024), ("c", 2, 2048)],
            _ => [on_b, ("a", 1, 1024), ("c", 4, 4096)],
        };
        assert_eq!(counts(&second), expected, "mode {mode}");
        let in_order = second.in_order_of_list(&demand);
        let order: Vec<&str> = in_order.shares.iter().map(|s| s.host.as_str()).collect();
        assert_eq!(order, ["a", "b", "c"]);
    }
}

#[test]
fn what_is_held_decides_the_rack() {
    let mut view = cluster(vec![free("a", 2), free("b", 4), free("c", 8)], 8192);
    view.nodes[2].rack = "/other".into();
    let mut demand = demand(6, true);
    demand.same_rack = true;
    let held = [NodeShare {
        node: NodeId("a".into()),
        host: "a".into(),
        rack: "/default-rack".into(),
        processes: 2,
        ask: Resources::new(2048, 2),
    }];
    view.nodes[0] = free("a", 0);
    assert_eq!(
        counts(&place(&demand, &view, &held).unwrap()),
        [("a", 2, 2048), ("b", 4, 4096)]
    );
}

#[test]
fn everything_held_is_the_answer_whatever_the_cluster() {
    let view = cluster(vec![free("a", 4)], 8192);
    for mode in Mode::EVERY {
        let demand = list(mode, &[("a", 2)]);
        let first = place_fresh(&demand, &view).unwrap();
        let empty = cluster(Vec::new(), 8192);
        assert_eq!(place(&demand, &empty, &first.shares), Ok(first));
    }
}

#[test]
fn what_only_fails_beside_the_held_containers_may_pass() {
    // One process on each of two nodes; when one of them goes, the other could take both.
    let view = cluster(vec![free("a", 8), free("b", 8)], 8192);
    let mut demand = demand(2, true);
    demand.oversubscribe = false;
    let first = place_fresh(&demand, &view).unwrap();
    let (held, mut view) = hold(&first, &view, &["a"]);
    view.nodes.pop();
    let rejection = place(&demand, &view, &held).unwrap_err();
    assert!(
        matches!(rejection, Rejection::BesideHeld { held: 1, .. }),
        "{rejection:?}"
    );
    assert!(rejection.may_pass());
    // A listed host that went away does not come back by letting go of others.
    let demand = list(Mode::None, &[("a", 1), ("b", 1)]);
    let rejection = place(&demand, &view, &held).unwrap_err();
    assert_eq!(
        rejection,
        Rejection::HostAbsent {
            host: "b".into(),
            nodes: 1
        }
    );
    assert!(!rejection.may_pass());
}
