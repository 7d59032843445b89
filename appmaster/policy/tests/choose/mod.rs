use std::num::NonZeroU32;

use policy::{
    Circumstances, ClusterView, Counted, Demand, ListedHost, MiB, Mode, NodeId, NodeView,
    Resources, choose,
};

/// Nodes of 8 units of 1024 MiB, so many of them free.
fn cluster(rooms: &[(&str, u64)]) -> ClusterView {
    let node = |(host, free): &(&str, u64)| NodeView {
        id: NodeId(format!("{host}:1")),
        host: (*host).into(),
        rack: "/default-rack".into(),
        capability: Resources::new(8192, 8),
        used: Resources::new(8192 - free * 1024, 0),
        ..NodeView::default()
    };
    ClusterView {
        nodes: rooms.iter().map(node).collect(),
        maximum: Resources::new(8192, 8),
        step: MiB(1024),
        counted: Counted::Memory,
        ..ClusterView::default()
    }
}

fn demand(entries: &[(&str, u32)], processes: u32) -> Demand {
    let processes = NonZeroU32::new(processes).unwrap();
    Demand {
        listed: entries
            .iter()
            .map(|(host, processes)| ListedHost {
                host: Some((*host).into()),
                processes: *processes,
            })
            .collect(),
        ..Demand::anywhere(processes, Resources::new(1024, 1))
    }
}

fn chosen(demand: &Demand, cluster: &ClusterView, share: Option<f64>) -> (Mode, String) {
    let choice = choose(&Circumstances {
        demand,
        cluster,
        communication_share: share,
    });
    assert_eq!(choice.demand.mode, choice.mode);
    (
        choice.mode,
        sentences::choice(&choice, demand, &cluster.types),
    )
}

#[test]
fn without_a_list_the_processes_go_anywhere() {
    let (mode, reason) = chosen(&demand(&[], 4), &cluster(&[("a", 8)]), None);
    assert_eq!(mode, Mode::All);
    assert_eq!(
        reason,
        "no host file is given: mode all has room for every process now; expected wait: one heartbeat"
    );
    let (mode, reason) = chosen(&demand(&[], 4), &cluster(&[("a", 0)]), None);
    assert_eq!(mode, Mode::All);
    assert_eq!(
        reason,
        "no host file is given: mode all finds no room now; expected wait: until any node has room \
         for a process"
    );
}

#[test]
fn a_list_with_room_is_kept_to() {
    let view = cluster(&[("a", 4), ("b", 4), ("c", 8)]);
    for share in [None, Some(0.0), Some(0.9)] {
        let (mode, reason) = chosen(&demand(&[("a", 4), ("b", 2)], 6), &view, share);
        assert_eq!(mode, Mode::None, "{reason}");
    }
}

#[test]
fn communication_decides_what_is_relaxed_first() {
    // a holds 1 of 3; b 8; c 8: moving the processes to b, or a's to c, both start at once.
    let view = cluster(&[("a", 1), ("b", 8), ("c", 8)]);
    let demand = demand(&[("a", 3), ("b", 3)], 6);
    let mode = |share| chosen(&demand, &view, share).0;
    assert_eq!(mode(None), Mode::Loc);
    assert_eq!(mode(Some(0.1)), Mode::Loc);
    assert_eq!(mode(Some(0.6)), Mode::Dist);
    // Not a share at all.
    assert_eq!(mode(Some(7.0)), Mode::Loc);
    assert_eq!(mode(Some(f64::NAN)), Mode::Loc);
    assert_eq!(
        chosen(&demand, &view, Some(0.6)).1,
        "a host file is given: mode none starts now with processes sharing the room there is, mode \
         dist has room for every process now; expected wait: one heartbeat; communication took 60 % \
         of an earlier run, so listed nodes go before listed numbers"
    );
}

#[test]
fn sharing_comes_before_waiting_and_the_strictest_before_the_freer() {
    // Nowhere 6 units whole.
    let view = cluster(&[("a", 1), ("b", 2), ("c", 0)]);
    let (mode, _) = chosen(&demand(&[("a", 3), ("b", 3)], 6), &view, None);
    assert_eq!(mode, Mode::None);
    // c is full, so none and dist wait; loc starts on a and b.
    let (mode, reason) = chosen(&demand(&[("a", 3), ("c", 3)], 6), &view, None);
    assert_eq!(mode, Mode::Loc);
    assert!(
        reason.contains("mode none waits until somebody leaves c"),
        "{reason}"
    );
}

#[test]
fn all_drops_the_list_when_fewer_nodes_have_room_than_are_listed() {
    let view = cluster(&[("a", 0), ("b", 8), ("c", 0)]);
    let demand = demand(&[("a", 2), ("c", 2)], 4);
    let choice = choose(&Circumstances {
        demand: &demand,
        cluster: &view,
        communication_share: None,
    });
    assert_eq!(choice.mode, Mode::All);
    assert!(choice.demand.listed.is_empty());
    assert_eq!(
        sentences::choice(&choice, &demand, &view.types),
        "a host file is given: mode none waits until somebody leaves a and c, mode all has room for \
         every process now; expected wait: one heartbeat"
    );
}

#[test]
fn when_all_wait_the_shortest_wait_wins() {
    let view = cluster(&[("a", 0), ("b", 0), ("c", 0), ("d", 0)]);
    let entries = [("a", 2), ("b", 2), ("c", 2)];
    let mut demand = demand(&entries, 6);
    // Sharing whatever comes first.
    let (mode, reason) = chosen(&demand, &view, None);
    assert_eq!(mode, Mode::All);
    assert!(
        reason.contains("mode all has the shortest wait"),
        "{reason}"
    );
    assert!(reason.contains("leaves a, b and 1 more, "), "{reason}");
    // Whole: all three nodes are waited for in every mode that keeps their number.
    demand.oversubscribe = false;
    assert_eq!(chosen(&demand, &view, None).0, Mode::None);
    let view = cluster(&[("a", 0), ("b", 0), ("c", 0), ("d", 2)]);
    let (mode, reason) = chosen(&demand, &view, None);
    assert_eq!(mode, Mode::Loc);
    assert!(
        reason.contains("expected wait: until somebody leaves a and b"),
        "{reason}"
    );
}

#[test]
fn a_number_of_nodes_is_kept_if_they_have_room() {
    let mut demand = demand(&[], 4);
    demand.nodes = NonZeroU32::new(2);
    assert_eq!(
        chosen(&demand, &cluster(&[("a", 2), ("b", 2)]), None).0,
        Mode::LocDist
    );
    let choice = choose(&Circumstances {
        demand: &demand,
        cluster: &cluster(&[("a", 4), ("b", 0)]),
        communication_share: None,
    });
    assert_eq!((choice.mode, choice.demand.nodes), (Mode::All, None));
}

#[test]
fn a_cluster_without_nodes_is_waited_for_in_the_strictest_mode() {
    let (mode, reason) = chosen(&demand(&[("a", 2)], 2), &cluster(&[]), None);
    assert_eq!(mode, Mode::None);
    assert!(
        reason.ends_with("expected wait: until any node has room for a process"),
        "{reason}"
    );
}

#[test]
fn what_can_never_be_placed_is_left_to_its_rejection() {
    let mut demand = demand(&[("a", 9)], 9);
    demand.oversubscribe = false;
    let view = cluster(&[("a", 8)]);
    let (mode, reason) = chosen(&demand, &view, None);
    assert_eq!(mode, Mode::None);
    assert!(reason.contains("a can never hold 9 processes"), "{reason}");
}
