//! Every branch of Algorithms 1 and 2 that has a list.

use super::*;

/// Room in units of a node of 8, processes, then the ask in MiB: shared; not shared.
const SIZES: [(u64, u32, u64, u64); 6] = [
    // node_size ≥ size
    (8, 8, 8192, 8192),
    (4, 4, 4096, 4096),
    // size > node_size > {m, v}
    (3, 4, 3072, 4096),
    // node_size = {m, v}
    (1, 4, 1024, 4096),
    // node_size < {m, v}: the wait is unavoidable, so the whole is asked for
    (0, 4, 4096, 4096),
    (0, 8, 8192, 8192),
];

#[test]
fn none_asks_each_listed_node_for_what_it_can_have() {
    for (room, processes, shared, whole) in SIZES {
        let view = cluster(vec![free("a", room), free("b", 8)], 8192);
        let mut demand = list(Mode::None, &[("a", processes)]);
        let asked = |demand: &Demand| counts(&place_fresh(demand, &view).unwrap())[0].2;
        assert_eq!(asked(&demand), shared, "room {room} for {processes}");
        demand.oversubscribe = false;
        assert_eq!(asked(&demand), whole, "room {room} for {processes}");
        demand.oversubscribe = true;
        demand.memory_is_explicit = true;
        assert_eq!(asked(&demand), whole, "room {room} for {processes}");
    }
}

#[test]
fn loc_asks_the_freest_node_for_what_it_can_have() {
    for (room, processes, shared, whole) in SIZES {
        let view = cluster(
            vec![free("a", 0), free("b", room), node("small", 512, 0)],
            8192,
        );
        let mut demand = list(Mode::Loc, &[("gone", processes)]);
        let placed = |demand: &Demand| counts(&place_fresh(demand, &view).unwrap())[0].2;
        assert_eq!(placed(&demand), shared, "room {room} for {processes}");
        demand.oversubscribe = false;
        assert_eq!(placed(&demand), whole, "room {room} for {processes}");
    }
}

#[test]
fn the_ask_of_a_full_node_ends_at_its_ceiling() {
    let view = cluster(vec![free("a", 0)], 8192);
    let demand = list(Mode::None, &[("a", 20)]);
    assert_eq!(
        counts(&place_fresh(&demand, &view).unwrap()),
        [("a", 20, 8192)]
    );
}

#[test]
fn none_keeps_the_order_and_the_numbers_of_the_list() {
    let view = cluster(vec![free("a", 1), free("b", 8), free("c", 4)], 8192);
    let demand = list(Mode::None, &[("c", 1), ("a", 3), ("b", 2)]);
    assert_eq!(
        counts(&place_fresh(&demand, &view).unwrap()),
        [("c", 1, 1024), ("a", 3, 1024), ("b", 2, 2048)]
    );
}

#[test]
fn loc_gives_the_freest_node_to_the_largest_number_and_keeps_the_order_of_the_list() {
    let view = cluster(
        vec![free("a", 2), free("b", 8), free("c", 4), free("d", 3)],
        8192,
    );
    let demand = list(Mode::Loc, &[("w", 2), ("x", 4), ("y", 2), ("z", 3)]);
    assert_eq!(
        counts(&place_fresh(&demand, &view).unwrap()),
        // 4 to b, 3 to c; of the two equal entries the first gets the freer node.
        [
            ("d", 2, 2048),
            ("b", 4, 4096),
            ("a", 2, 2048),
            ("c", 3, 3072)
        ]
    );
}

#[test]
fn loc_of_equal_rooms_takes_the_smallest_id() {
    let view = cluster(vec![free("b", 4), free("a", 4)], 8192);
    let demand = list(Mode::Loc, &[("x", 2)]);
    assert_eq!(
        counts(&place_fresh(&demand, &view).unwrap()),
        [("a", 2, 2048)]
    );
}

#[test]
fn loc_passes_over_a_freer_node_that_could_never_hold_the_number_whole() {
    let view = cluster(vec![node("a", 4096, 0), node("b", 16384, 16384)], 16384);
    let mut demand = list(Mode::Loc, &[("x", 10)]);
    demand.oversubscribe = false;
    assert_eq!(
        counts(&place_fresh(&demand, &view).unwrap()),
        [("b", 10, 10240)]
    );
    demand.oversubscribe = true;
    assert_eq!(
        counts(&place_fresh(&demand, &view).unwrap()),
        [("a", 10, 4096)]
    );
}

#[test]
fn loc_goes_by_cores_too_where_they_are_counted() {
    let mut view = cluster(vec![free("a", 8), free("b", 4)], 8192);
    view.counted = Counted::MemoryAndVcores;
    view.nodes[0].capability.vcores.0 = 2;
    let demand = list(Mode::Loc, &[("x", 4)]);
    assert_eq!(
        counts(&place_fresh(&demand, &view).unwrap()),
        [("b", 4, 4096)]
    );
}

#[test]
fn dist_deals_by_room_after_one_each() {
    let view = cluster(
        vec![free("a", 1), free("b", 6), free("c", 0), free("d", 8)],
        8192,
    );
    let demand = list(Mode::Dist, &[("c", 4), ("b", 3), ("a", 1)]);
    assert_eq!(
        counts(&place_fresh(&demand, &view).unwrap()),
        // c waits for its one; b has most room for all that is left.
        [("c", 1, 1024), ("b", 6, 6144), ("a", 1, 1024)]
    );
}

#[test]
fn dist_overloads_evenly_below_zero() {
    let view = cluster(vec![free("a", 2), free("b", 4)], 8192);
    let demand = list(Mode::Dist, &[("a", 5), ("b", 5)]);
    assert_eq!(
        counts(&place_fresh(&demand, &view).unwrap()),
        // 6 fill the rooms, 4 more go two to each.
        [("a", 4, 2048), ("b", 6, 4096)]
    );
}

#[test]
fn loc_dist_takes_the_freest_nodes_whether_listed_or_counted() {
    let view = cluster(
        vec![free("a", 2), free("b", 8), free("c", 0), free("d", 4)],
        8192,
    );
    let expected = [("b", 7, 7168), ("d", 3, 3072)];
    let by_list = list(Mode::LocDist, &[("a", 5), ("gone", 5)]);
    assert_eq!(counts(&place_fresh(&by_list, &view).unwrap()), expected);
    let by_number = nodes(2, 10);
    assert_eq!(counts(&place_fresh(&by_number, &view).unwrap()), expected);
}

#[test]
fn loc_dist_replaces_the_least_free_where_the_freest_could_never_hold_the_job() {
    let nodes_of = |ceilings: [(u64, u64); 3]| {
        let named = ["a", "b", "c"].into_iter().zip(ceilings);
        let nodes = named.map(|(id, (ceiling, used))| node(id, ceiling * 1024, used * 1024));
        cluster(nodes.collect(), 65536)
    };
    // Freest a and b hold 4 + 4; c is full, but holds 16.
    let view = nodes_of([(4, 0), (4, 1), (16, 16)]);
    let mut demand = nodes(2, 12);
    demand.oversubscribe = false;
    assert_eq!(
        counts(&place_fresh(&demand, &view).unwrap()),
        [("a", 4, 4096), ("c", 8, 8192)]
    );
    demand.oversubscribe = true;
    assert_eq!(
        counts(&place_fresh(&demand, &view).unwrap()),
        [("a", 6, 4096), ("b", 6, 3072)]
    );
}

#[test]
fn a_node_that_gave_way_may_come_back_for_a_smaller_one() {
    // Freest first a, b and c, of 1, 3 and 5 units when empty; d of 6 and e of 4 are full. c gives way
    // to d and comes back for b.
    let sized = |id: &str, large: u64, used: u64| node(id, large * 1024, used * 1024);
    let view = cluster(
        vec![
            sized("a", 1, 0),
            sized("b", 3, 2),
            sized("c", 5, 4),
            sized("d", 6, 6),
            sized("e", 4, 4),
        ],
        8192,
    );
    let mut demand = nodes(3, 14);
    demand.oversubscribe = false;
    let placement = place_fresh(&demand, &view).unwrap();
    let hosts: Vec<&str> = placement.shares.iter().map(|s| s.host.as_str()).collect();
    assert_eq!(hosts, ["c", "d", "e"]);
    demand.processes = NonZeroU32::new(16).unwrap();
    let rejection = place_fresh(&demand, &view).unwrap_err();
    assert!(
        matches!(rejection, Rejection::TooFewSlots { slots: 15, .. }),
        "{rejection:?}"
    );
}

#[test]
fn one_large_node_among_small_ones_is_bounded_by_the_largest_container() {
    let view = cluster(
        vec![
            node("a", 65536, 0),
            node("b", 8192, 0),
            node("c", 8192, 0),
            node("d", 8192, 0),
        ],
        8192,
    );
    let five = [
        ("a", 5, 5120),
        ("b", 5, 5120),
        ("c", 5, 5120),
        ("d", 5, 5120),
    ];
    assert_eq!(
        counts(&place_fresh(&demand(20, true), &view).unwrap()),
        five
    );
    assert_eq!(counts(&place_fresh(&nodes(4, 20), &view).unwrap()), five);
    let listed = list(Mode::Dist, &[("a", 17), ("b", 1), ("c", 1), ("d", 1)]);
    assert_eq!(counts(&place_fresh(&listed, &view).unwrap()), five);
}

#[test]
fn cores_are_shared_where_memory_is_explicit() {
    let mut view = cluster(vec![free("a", 8)], 8192);
    view.counted = Counted::MemoryAndVcores;
    view.nodes[0].capability.vcores.0 = 2;
    let mut demand = list(Mode::None, &[("a", 4)]);
    demand.memory_is_explicit = true;
    let placement = place_fresh(&demand, &view).unwrap();
    assert_eq!(placement.shares[0].ask, Resources::new(4096, 2));
}

#[test]
fn a_share_of_room_is_whole_allocation_steps() {
    let mut view = cluster(vec![node("a", 8192, 8192 - 3500)], 8192);
    view.step = MiB(1024);
    let placement = place_fresh(&list(Mode::None, &[("a", 4)]), &view).unwrap();
    assert_eq!(counts(&placement), [("a", 4, 3072)]);
}
