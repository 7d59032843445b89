//! `pack`, `same_rack` and `sort_nodes`.

use super::*;

fn on_rack(rack: &str, mut node: NodeView) -> NodeView {
    node.rack = rack.into();
    node
}

/// Rack x has more room in all, rack y the freest node.
fn two_racks() -> ClusterView {
    cluster(
        vec![
            on_rack("/x", free("a", 5)),
            on_rack("/x", free("b", 5)),
            on_rack("/y", free("c", 6)),
            on_rack("/y", free("d", 2)),
        ],
        8192,
    )
}

#[test]
fn packing_fills_the_freest_node_before_the_next() {
    let view = cluster(vec![free("a", 2), free("b", 8), free("c", 4)], 8192);
    let mut packed = demand(10, true);
    packed.pack = true;
    assert_eq!(
        counts(&place_fresh(&packed, &view).unwrap()),
        [("b", 8, 8192), ("c", 2, 2048)]
    );
    packed.sort_nodes = false;
    assert_eq!(
        counts(&place_fresh(&packed, &view).unwrap()),
        [("a", 2, 2048), ("b", 8, 8192)]
    );
    // Beyond all rooms the rest is dealt as without.
    packed.processes = NonZeroU32::new(17).unwrap();
    assert_eq!(
        counts(&place_fresh(&packed, &view).unwrap()),
        [("a", 4, 2048), ("b", 8, 8192), ("c", 5, 4096)]
    );
}

#[test]
fn packing_keeps_one_process_on_every_node_that_has_to_be_used() {
    let view = cluster(vec![free("a", 3), free("b", 8), free("c", 4)], 8192);
    let mut packed = nodes(3, 10);
    packed.pack = true;
    assert_eq!(
        counts(&place_fresh(&packed, &view).unwrap()),
        [("b", 8, 8192), ("c", 1, 1024), ("a", 1, 1024)]
    );
    let mut listed = list(Mode::Dist, &[("a", 4), ("b", 4)]);
    listed.pack = true;
    assert_eq!(
        counts(&place_fresh(&listed, &view).unwrap()),
        [("a", 3, 3072), ("b", 5, 5120)]
    );
}

#[test]
fn unsorted_takes_nodes_by_id() {
    let view = cluster(vec![free("c", 8), free("a", 1), free("b", 4)], 8192);
    let unsorted = |mut demand: Demand| {
        demand.sort_nodes = false;
        demand
    };
    let loc = unsorted(list(Mode::Loc, &[("x", 1), ("y", 2)]));
    assert_eq!(
        counts(&place_fresh(&loc, &view).unwrap()),
        // The largest number still chooses first.
        [("b", 1, 1024), ("a", 2, 1024)]
    );
    assert_eq!(
        counts(&place_fresh(&unsorted(nodes(2, 4)), &view).unwrap()),
        [("a", 1, 1024), ("b", 3, 3072)]
    );
}

#[test]
fn one_rack_that_holds_the_job_is_kept_to() {
    let view = two_racks();
    let mut all = demand(8, true);
    all.same_rack = true;
    // Both hold 8; x has most room.
    assert_eq!(
        counts(&place_fresh(&all, &view).unwrap()),
        [("a", 4, 4096), ("b", 4, 4096)]
    );
    // Only y has a node for 6.
    let mut loc = list(Mode::Loc, &[("u", 6), ("v", 2)]);
    loc.same_rack = true;
    assert_eq!(
        counts(&place_fresh(&loc, &view).unwrap()),
        [("c", 6, 6144), ("d", 2, 2048)]
    );
    let mut two = nodes(2, 10);
    two.same_rack = true;
    assert_eq!(
        counts(&place_fresh(&two, &view).unwrap()),
        [("a", 5, 5120), ("b", 5, 5120)]
    );
}

#[test]
fn of_racks_with_equal_room_the_name_decides() {
    let view = cluster(
        vec![on_rack("/y", free("a", 4)), on_rack("/x", free("b", 4))],
        8192,
    );
    let mut all = demand(3, true);
    all.same_rack = true;
    assert_eq!(counts(&place_fresh(&all, &view).unwrap()), [("b", 3, 3072)]);
}

#[test]
fn without_a_rack_that_holds_the_job_it_is_placed_as_without() {
    let view = two_racks();
    for mut demand in [
        demand(11, true),
        nodes(3, 8),
        list(Mode::Loc, &[("u", 6), ("v", 5)]),
    ] {
        let without = place_fresh(&demand, &view).unwrap();
        demand.same_rack = true;
        assert_eq!(place_fresh(&demand, &view).unwrap(), without);
    }
}
