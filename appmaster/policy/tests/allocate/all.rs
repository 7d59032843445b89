//! Mode `all`: worked examples and every branch.

use super::*;

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
    let placement = place_fresh(&demand(16, true), &cluster(nodes, 8192)).unwrap();
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
    let placement = place_fresh(&demand(10, false), &cluster(nodes, 16384)).unwrap();
    assert_eq!(counts(&placement), [("a", 4, 4096), ("b", 6, 6144)]);
}

#[test]
fn beyond_every_ceiling_the_overload_spreads_evenly() {
    let nodes = vec![node("a", 2048, 0), node("b", 2048, 0)];
    let placement = place_fresh(&demand(8, true), &cluster(nodes, 8192)).unwrap();
    assert_eq!(counts(&placement), [("a", 4, 2048), ("b", 4, 2048)]);
}

#[test]
fn says_by_how_much_it_does_not_fit() {
    let full = cluster(vec![node("a", 4096, 4096)], 8192);
    assert_eq!(
        place_fresh(&demand(1, true), &full),
        Err(Rejection::NoRoomNow {
            unit: Resources::new(1024, 1),
            freest: MiB(0),
            most: policy::Counts::default(),
        })
    );
    assert_eq!(
        place_fresh(&demand(5, false), &full),
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
        place_fresh(&large, &full),
        Err(Rejection::UnitTooLarge {
            unit: Resources::new(5000, 1),
            largest: Resources::new(4096, 64)
        })
    );
    assert_eq!(
        place_fresh(&demand(1, true), &cluster(vec![], 8192)),
        Err(Rejection::NoNodes)
    );
}

#[test]
fn explicit_memory_is_never_shrunk() {
    let mut explicit = demand(4, true);
    explicit.memory_is_explicit = true;
    let view = cluster(vec![node("a", 4096, 2048)], 8192);
    let placement = place_fresh(&explicit, &view).unwrap();
    assert_eq!(counts(&placement), [("a", 4, 4096)]);
}

#[test]
fn vcores_are_capped_where_the_scheduler_only_carries_them() {
    let mut view = cluster(vec![node("a", 8192, 0)], 8192);
    view.maximum = Resources::new(8192, 4);
    let placement = place_fresh(&demand(8, true), &view).unwrap();
    assert_eq!(placement.shares[0].ask, Resources::new(8192, 4));
}
