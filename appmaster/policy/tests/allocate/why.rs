//! The words for what was decided.

use std::collections::BTreeSet;

use super::*;

fn why(demand: &Demand, view: &ClusterView) -> Reasons {
    reasons(demand, view, &place_fresh(demand, view).unwrap())
}

fn passed<'a>(reasons: &'a Reasons, id: &str) -> &'a str {
    let mut passed = reasons.passed_over.iter();
    &passed.find(|(node, _)| node.0 == id).unwrap().1
}

#[test]
fn a_listed_node_has_room_shares_it_or_waits() {
    let view = cluster(
        vec![free("a", 8), free("b", 2), free("c", 0), free("d", 1)],
        8192,
    );
    let reasons = why(&list(Mode::None, &[("a", 3), ("b", 4), ("c", 2)]), &view);
    assert_eq!(
        reasons.used,
        [
            "listed with 3 processes; 8192 MiB left hold 3072 MiB whole",
            "listed with 4 processes; 4 processes of 1024 MiB share 2048 MiB of 2048 MiB left",
            "listed with 2 processes; waits: 0 MiB left now, the whole 2048 MiB asked for",
        ]
    );
    assert_eq!(passed(&reasons, "d"), "not listed (1024 MiB left)");
}

#[test]
fn what_exceeds_a_full_node_says_so() {
    let view = cluster(vec![free("a", 0)], 8192);
    assert_eq!(
        why(&list(Mode::None, &[("a", 9)]), &view).used,
        [
            "listed with 9 processes; waits: 0 MiB left now, 8192 MiB asked for, which is all it can \
             ever give and 9 processes share"
        ]
    );
}

#[test]
fn nodes_without_use_say_why() {
    let view = cluster(
        vec![free("a", 8), free("b", 0), node("c", 512, 0), free("d", 1)],
        8192,
    );
    let reasons = why(&demand(4, true), &view);
    assert_eq!(
        reasons.used,
        ["has room; 4 processes of 4 by most room left; 8192 MiB left hold 4096 MiB whole"]
    );
    assert_eq!(
        passed(&reasons, "b"),
        "full: 0 MiB left, one process wants 1024 MiB"
    );
    assert_eq!(
        passed(&reasons, "c"),
        "too small: at most 0 MiB, one process wants 1024 MiB"
    );
    assert_eq!(
        passed(&reasons, "d"),
        "no more room than the nodes chosen (1024 MiB left)"
    );
}

#[test]
fn the_only_node_with_room_is_said_to_be_it() {
    let view = cluster(vec![free("a", 2), free("b", 0)], 8192);
    assert_eq!(
        why(&demand(3, true), &view).used,
        [
            "the only node with room for a process; all 3 processes; 3 processes of 1024 MiB share \
             2048 MiB of 2048 MiB left"
        ]
    );
}

#[test]
fn the_order_the_rack_and_the_packing_are_said() {
    let mut view = cluster(vec![free("a", 4), free("b", 4), free("c", 3)], 8192);
    view.nodes[2].rack = "/other".into();
    let mut kept = list(Mode::Loc, &[("x", 2)]);
    kept.same_rack = true;
    let reasons = why(&kept, &view);
    assert_eq!(
        reasons.used,
        [
            "taken, freest first, for a listed 2 processes, on rack /default-rack; 4096 MiB left hold \
             2048 MiB whole"
        ]
    );
    assert_eq!(
        passed(&reasons, "c"),
        "on rack /other, the job is kept on /default-rack (3072 MiB left)"
    );
    let mut packed = demand(3, true);
    packed.pack = true;
    let reasons = why(&packed, &view);
    assert_eq!(
        reasons.used,
        ["has room; 3 processes of 3, nodes filled in turn; 4096 MiB left hold 3072 MiB whole"]
    );
    assert_eq!(
        passed(&reasons, "b"),
        "not needed: the nodes before it are filled first (4096 MiB left)"
    );
}

#[test]
fn cores_are_named_only_where_they_are_counted() {
    let mut view = cluster(vec![free("a", 8)], 8192);
    view.counted = Counted::MemoryAndVcores;
    view.nodes[0].capability.vcores.0 = 2;
    assert_eq!(
        why(&list(Mode::Dist, &[("a", 4)]), &view).used,
        [
            "listed; 4 processes of 4 by most room left; 4 processes of 1024 MiB and 1 vcore share \
             4096 MiB and 2 vcores of 8192 MiB and 2 vcores left"
        ]
    );
}

#[test]
fn held_and_lost_nodes_are_told_apart() {
    let view = cluster(vec![free("a", 2), free("b", 2)], 8192);
    let demand = demand(4, true);
    let placement = place_fresh(&demand, &view).unwrap();
    let later = cluster(vec![free("a", 0)], 8192);
    let held = BTreeSet::from([NodeId("a".into())]);
    assert_eq!(
        reasons_beside(&demand, &later, &placement, &held).used,
        [
            "its container is there already",
            "is no longer in the cluster"
        ]
    );
}
