//! Rows as one allocate call after another would carry them.

use policy::{NodeId, NodeShare};

use super::*;

fn share(host: &str, rack: &str, memory_mib: u64) -> NodeShare {
    NodeShare {
        node: NodeId(format!("{host}:1")),
        host: host.into(),
        rack: rack.into(),
        processes: 1,
        ask: Resources::new(memory_mib, 1),
    }
}

fn brief(rows: &[ResourceRequest]) -> Vec<(i64, &str, u64, u32, bool)> {
    let row = |r: &ResourceRequest| -> (i64, u64, u32, bool) {
        (
            r.allocation_request_id,
            r.capability.memory_mib,
            r.containers,
            r.relax_locality,
        )
    };
    rows.iter()
        .map(|r| {
            let (id, memory, containers, relax) = row(r);
            (id, r.resource_name.as_str(), memory, containers, relax)
        })
        .collect()
}

fn id(host: &str) -> proto_hadoop::NodeId {
    format!("{host}:1").parse().unwrap()
}

#[test]
fn where_names_have_ports_the_nodes_of_one_host_are_asked_apart() {
    let on = |port: u16| NodeShare {
        node: NodeId(format!("a:{port}")),
        ..share("a", "/r", 1024)
    };
    let mut table = RequestTable::new(None, NodeNames::HostAndPort, ResourceTypes::default());
    table.replace(0, &asking(1, &[on(1), on(2)], &[]));
    let rows = table.unsent();
    let names: Vec<&str> = rows.iter().map(|row| row.resource_name.as_str()).collect();
    assert_eq!(names, ["*", "/r", "a:1", "a:2"]);
    assert_eq!(rows[0].containers, 2);
    assert_eq!(table.served(1, &"a:2".parse().unwrap()), of(0, 1));
    table.replace(0, &asking(2, &[], &[]));
    let cleared = table.unsent();
    assert!(
        cleared
            .iter()
            .any(|row| row.resource_name == "a:1" && row.containers == 0)
    );
    assert!(!cleared.iter().any(|row| row.resource_name == "a:2"));
}

fn of(request: u32, round: u32) -> Option<Origin> {
    Some(Origin { request, round })
}

fn asking(round: u32, shares: &[NodeShare], kept: &[&str]) -> Asking {
    let kept = kept.iter().map(|host| NodeId(format!("{host}:1")));
    Asking {
        round,
        placement: Placement {
            shares: shares.to_vec(),
        },
        held: BTreeSet::new(),
        kept: kept.collect(),
    }
}

#[test]
fn every_host_gets_its_three_rows_and_every_size_its_own_id() {
    let shares = [
        share("a", "/r1", 2048),
        share("b", "/r1", 2048),
        share("c", "/r2", 1024),
    ];
    let mut table = RequestTable::default();
    table.replace(0, &asking(1, &shares, &[]));
    assert_eq!(
        brief(&table.unsent()),
        [
            (1, "*", 1024, 1, false),
            (1, "/r2", 1024, 1, false),
            (1, "c", 1024, 1, true),
            (2, "*", 2048, 2, false),
            (2, "/r1", 2048, 2, false),
            (2, "a", 2048, 1, true),
            (2, "b", 2048, 1, true),
        ]
    );
    assert!(table.unsent().is_empty());
}

#[test]
fn the_label_stands_on_the_any_row_alone() {
    for (label, expected) in [(Some("gpu"), "gpu"), (None, "")] {
        let mut table = RequestTable::new(
            label.map(str::to_owned),
            NodeNames::Host,
            ResourceTypes::default(),
        );
        table.replace(0, &asking(1, &[share("a", "/r", 1024)], &[]));
        let rows = table.unsent();
        let labels: Vec<_> = rows.iter().map(|row| row.node_label.as_deref()).collect();
        assert_eq!(labels, [Some(expected), None, None]);
    }
}

#[test]
fn served_rows_are_counted_down_and_only_the_rest_is_cleared() {
    let mut table = RequestTable::default();
    let shares = [share("a", "/r", 1024), share("b", "/r", 1024)];
    table.replace(0, &asking(7, &shares, &[]));
    assert_eq!(table.unsent().len(), 4);
    assert_eq!(table.served(1, &id("a")), of(0, 7));
    assert_eq!(table.served(99, &id("a")), None);
    assert!(!table.is_empty());
    table.replace(0, &asking(7, &[], &[]));
    assert_eq!(
        brief(&table.unsent()),
        [
            (1, "*", 1024, 0, false),
            (1, "/r", 1024, 0, false),
            (1, "b", 1024, 0, true),
        ]
    );
    assert!(table.is_empty());
}

#[test]
fn several_containers_of_one_host_are_counted_one_by_one() {
    let mut table = RequestTable::default();
    let shares = [share("a", "/r", 1024), share("a", "/r", 1024)];
    table.replace(0, &asking(1, &shares, &[]));
    let rows = [
        (1, "*", 1024, 2, false),
        (1, "/r", 1024, 2, false),
        (1, "a", 1024, 2, true),
    ];
    assert_eq!(brief(&table.unsent()), rows);
    assert_eq!(table.served(1, &id("a")), of(0, 1));
    assert!(!table.is_empty());
    table.forgotten();
    assert_eq!(
        brief(&table.unsent()),
        rows.map(|row| (row.0, row.1, row.2, 1, row.4))
    );
    assert_eq!(table.served(1, &id("a")), of(0, 1));
    assert!(table.is_empty());
}

#[test]
fn each_request_is_replaced_on_its_own() {
    let mut table = RequestTable::default();
    table.replace(7, &asking(1, &[share("a", "/r", 1024)], &[]));
    table.replace(
        8,
        &asking(1, &[share("a", "/r", 1024), share("a", "/r", 512)], &[]),
    );
    assert_eq!(table.unsent().len(), 9);
    // One is served, one does not want any more.
    assert_eq!(table.served(3, &id("a")), of(8, 1));
    table.replace(7, &asking(2, &[], &[]));
    assert_eq!(
        brief(&table.unsent()),
        [
            (1, "*", 1024, 0, false),
            (1, "/r", 1024, 0, false),
            (1, "a", 1024, 0, true),
        ]
    );
    // What the other still waits for stands; what comes late is known for whose it was.
    assert!(!table.is_empty());
    assert_eq!(table.served(1, &id("a")), of(7, 1));
    assert_eq!(table.served(2, &id("a")), of(8, 1));
    assert!(table.is_empty());
}

#[test]
fn what_is_still_wanted_stays_under_its_id_and_the_rest_moves() {
    let mut table = RequestTable::default();
    let (a, b, c) = (
        share("a", "/r", 1024),
        share("b", "/r", 1024),
        share("c", "/r", 1024),
    );
    table.replace(0, &asking(1, &[a.clone(), b], &[]));
    assert_eq!(table.unsent().len(), 4);
    table.replace(0, &asking(2, &[a, c], &["a"]));
    assert_eq!(
        brief(&table.unsent()),
        [
            (1, "*", 1024, 1, false),
            (1, "/r", 1024, 1, false),
            (1, "b", 1024, 0, true),
            (2, "*", 1024, 1, false),
            (2, "/r", 1024, 1, false),
            (2, "c", 1024, 1, true),
        ]
    );
    // The ResourceManager may have given `a` away before it heard of this: it is told again.
    assert_eq!(table.served(1, &id("a")), of(0, 1));
    assert_eq!(
        brief(&table.unsent()),
        [(1, "*", 1024, 0, false), (1, "/r", 1024, 0, false)]
    );
    // A late grant of what was cleared changes nothing.
    assert_eq!(table.served(1, &id("b")), of(0, 1));
    assert!(table.unsent().is_empty() && !table.is_empty());
}

#[test]
fn a_request_that_was_served_meanwhile_is_not_made_again() {
    let mut table = RequestTable::default();
    let shares = [share("a", "/r", 1024), share("b", "/r", 1024)];
    table.replace(0, &asking(1, &shares, &[]));
    assert_eq!(table.unsent().len(), 4);
    assert_eq!(table.served(1, &id("a")), of(0, 1));
    // The machine has not heard of that grant yet.
    table.replace(0, &asking(2, &shares, &["a", "b"]));
    assert!(table.unsent().is_empty());
}

#[test]
fn a_job_that_waits_for_days_remembers_no_more_than_one_that_waits_for_minutes() {
    let mut table = RequestTable::default();
    let shares = [share("a", "/r", 1024), share("b", "/r", 1024)];
    table.replace(0, &asking(1, &shares, &[]));
    for round in 2..5_000 {
        table.replace(
            0,
            &asking(round, &[shares[0].clone(), share("c", "/r", 512)], &["a"]),
        );
        table.replace(0, &asking(round, &shares[..1], &["a"]));
    }
    assert!(table.origins.len() <= 257, "{}", table.origins.len());
    assert_eq!(table.restated, BTreeSet::from([1]));
    // What has stood all the time is still known, and so is what was cleared just now.
    assert_eq!(table.served(1, &id("a")), of(0, 1));
    assert_eq!(table.served(table.next_id, &id("c")), of(0, 4_999));
}

#[test]
fn refused_rows_are_said_again_as_they_stand_then() {
    let mut table = RequestTable::default();
    table.replace(0, &asking(1, &[share("a", "/r", 1024)], &[]));
    let refused = table.unsent();
    table.replace(0, &asking(1, &[], &[]));
    table.refused(refused);
    assert!(table.unsent().iter().all(|row| row.containers == 0));

    table.replace(0, &asking(2, &[share("b", "/r", 1024)], &[]));
    assert_eq!(table.unsent().len(), 3);
    table.forgotten();
    assert_eq!(table.unsent().len(), 3);
}

/// What the ResourceManager has taken it may still serve; what it has not, nobody waits for any more.
#[test]
fn a_size_that_is_not_allowed_is_dropped_where_it_was_not_taken() {
    let mut table = RequestTable::default();
    let size = Resource::new(2048, 1);
    table.replace(0, &asking(1, &[share("a", "/r", 2048)], &[]));
    assert_eq!(table.unsent().len(), 3);
    table.taken([1]);
    let shares = [share("b", "/r", 2048), share("c", "/r", 1024)];
    table.replace(1, &asking(1, &shares, &[]));
    assert_eq!(table.requests(), BTreeSet::from([0, 1]));
    assert_eq!(table.drop_size(&size), (BTreeSet::from([1]), 1));
    let rest = table.unsent();
    assert!(rest.iter().all(|row| row.capability.memory_mib == 1024));
    assert_eq!(table.requests(), BTreeSet::from([0, 1]));
    assert_eq!(table.served(1, &id("a")), of(0, 1));
    // A grant that comes all the same is its owner's.
    table.replace(2, &asking(1, &[share("a", "/r", 2048)], &[]));
    assert_eq!(table.drop_size(&size), (BTreeSet::from([2]), 1));
    assert_eq!(table.served(4, &id("a")), of(2, 1));
    // A row that cancels is nobody's.
    table.replace(1, &asking(2, &[], &[]));
    assert_eq!(
        table.drop_size(&Resource::new(1024, 1)),
        (BTreeSet::new(), 0)
    );
    assert!(table.unsent().is_empty() && table.is_empty());
    // Whoever has restarted has taken nothing.
    table.replace(0, &asking(2, &[share("a", "/r", 2048)], &[]));
    table.unsent();
    table.taken([5]);
    table.forgotten();
    assert_eq!(table.drop_size(&size), (BTreeSet::from([0]), 1));
    assert!(table.is_empty());
}
