//! The paper's Table III: 18 nodes of 4 units of 1536 MiB; background jobs fill the groups A (8 nodes)
//! and B (6 nodes), the ApplicationMaster takes 2 units of a node of C. Pi-MC wants 3, 3, 3, 3, 2, 2 on
//! two nodes of each.

use super::*;

const UNIT: u64 = 1536;

fn paper() -> ClusterView {
    let full = |group: &'static str, number: u32| {
        (1..=number).map(move |i| node(&format!("{group}{i}"), 4 * UNIT, 4 * UNIT))
    };
    let mut nodes: Vec<NodeView> = full("a", 8).chain(full("b", 6)).collect();
    nodes.extend([
        node("c1", 4 * UNIT, 0),
        node("c2", 4 * UNIT, 0),
        node("c3", 4 * UNIT, 0),
        node("c4", 4 * UNIT, 2 * UNIT),
    ]);
    ClusterView {
        step: MiB(UNIT),
        ..cluster(nodes, 4 * UNIT)
    }
}

fn pi_mc(mode: Mode) -> Demand {
    let hosts = [
        ("a1", 3),
        ("a2", 3),
        ("b1", 3),
        ("b2", 3),
        ("c1", 2),
        ("c2", 2),
    ];
    let mut demand = list(mode, &hosts);
    demand.unit = Resources::new(UNIT, 1);
    if mode == Mode::All {
        demand.listed.clear();
    }
    demand
}

/// Host, processes and units asked for.
fn placed(mode: Mode) -> Vec<(String, u32, u64)> {
    let placement = place_fresh(&pi_mc(mode), &paper()).unwrap();
    let shares = placement.shares.into_iter();
    shares
        .map(|s| (s.host, s.processes, s.ask.memory.0 / UNIT))
        .collect()
}

fn expect(mode: Mode, expected: &[(&str, u32, u64)]) {
    let expected: Vec<(String, u32, u64)> = expected
        .iter()
        .map(|(host, processes, units)| ((*host).to_owned(), *processes, *units))
        .collect();
    assert_eq!(placed(mode), expected, "mode {mode}");
}

#[test]
fn none_waits_for_both_background_jobs() {
    // The last row of the table, each at its whole size.
    expect(
        Mode::None,
        &[
            ("a1", 3, 3),
            ("a2", 3, 3),
            ("b1", 3, 3),
            ("b2", 3, 3),
            ("c1", 2, 2),
            ("c2", 2, 2),
        ],
    );
}

#[test]
fn loc_finds_four_nodes_and_waits_for_two() {
    // c4 has 2 of 3 units left and shares them; the two small entries wait on the first full nodes.
    expect(
        Mode::Loc,
        &[
            ("c1", 3, 3),
            ("c2", 3, 3),
            ("c3", 3, 3),
            ("c4", 3, 2),
            ("a1", 2, 2),
            ("a2", 2, 2),
        ],
    );
}

#[test]
fn dist_fills_what_is_free_and_waits_for_the_full_nodes() {
    // One each; then c1 and c2 have most room, up to their ceiling; the last four go one to each of
    // the full nodes, which are below theirs.
    expect(
        Mode::Dist,
        &[
            ("a1", 2, 2),
            ("a2", 2, 2),
            ("b1", 2, 2),
            ("b2", 2, 2),
            ("c1", 4, 4),
            ("c2", 4, 4),
        ],
    );
}

#[test]
fn loc_dist_takes_all_of_c_and_waits_for_two_nodes() {
    expect(
        Mode::LocDist,
        &[
            ("c1", 4, 4),
            ("c2", 4, 4),
            ("c3", 4, 4),
            ("c4", 2, 2),
            ("a1", 1, 1),
            ("a2", 1, 1),
        ],
    );
}

#[test]
fn all_starts_at_once_on_what_the_background_left() {
    // Four processes share the two units that the ApplicationMaster left.
    expect(
        Mode::All,
        &[("c1", 4, 4), ("c2", 4, 4), ("c3", 4, 4), ("c4", 4, 2)],
    );
    let view = paper();
    for share in place_fresh(&pi_mc(Mode::All), &view).unwrap().shares {
        let node = view.nodes.iter().find(|n| n.id == share.node).unwrap();
        assert!(view.fits(share.ask, view.room(node)), "{share:?}");
    }
}
