//! Processes near their data.

use super::*;
use policy::Near;

fn near(held: &[(&str, u64)]) -> Near {
    Near {
        of: "hdfs://h:8020/d".into(),
        held: held
            .iter()
            .map(|(host, mib)| ((*host).to_owned(), mib << 20))
            .collect(),
    }
}

fn four() -> ClusterView {
    cluster(
        vec![free("a", 8), free("b", 4), free("c", 4), free("d", 0)],
        8192,
    )
}

fn placed(demand: Demand, held: &[(&str, u64)]) -> Vec<(String, u32)> {
    let demand = Demand {
        near: near(held),
        ..demand
    };
    let placement = place_fresh(&demand, &four()).unwrap();
    let shares = placement.shares.into_iter();
    shares.map(|share| (share.host, share.processes)).collect()
}

fn pairs(expected: &[(&str, u32)]) -> Vec<(String, u32)> {
    let pairs = expected.iter();
    pairs.map(|(host, k)| ((*host).to_owned(), *k)).collect()
}

#[test]
fn processes_are_dealt_in_proportion_to_the_data_while_there_is_room() {
    let all = |processes| demand(processes, true);
    assert_eq!(placed(all(3), &[("b", 100)]), pairs(&[("b", 3)]));
    // What b has no room for goes by room.
    assert_eq!(placed(all(6), &[("b", 100)]), pairs(&[("b", 4), ("a", 2)]));
    assert_eq!(
        placed(all(4), &[("b", 300), ("c", 100)]),
        pairs(&[("b", 3), ("c", 1)])
    );
    // Equal shares of data: by room.
    assert_eq!(
        placed(all(4), &[("b", 100), ("a", 100)]),
        pairs(&[("a", 2), ("b", 2)])
    );
}

#[test]
fn data_is_no_reason_to_wait_and_without_data_nothing_changes() {
    let all = || demand(4, true);
    let usual = placed(all(), &[]);
    assert_eq!(placed(all(), &[("d", 100)]), usual);
    assert_eq!(placed(all(), &[("elsewhere", 100)]), usual);
    assert_eq!(placed(nodes(1, 4), &[("d", 100)]), pairs(&[("a", 4)]));
}

#[test]
fn nodes_with_data_come_first_where_nodes_are_chosen() {
    assert_eq!(placed(nodes(1, 2), &[("c", 1)]), pairs(&[("c", 2)]));
    let mut listed = list(Mode::Loc, &[("x", 2), ("y", 4)]);
    assert_eq!(
        placed(listed.clone(), &[("b", 9), ("c", 5)]),
        pairs(&[("c", 2), ("b", 4)])
    );
    // One that cannot hold a number whole is passed over, and the order of the ids stays behind it.
    listed.listed[1].processes = 6;
    listed.processes = NonZeroU32::new(8).unwrap();
    listed.sort_nodes = false;
    listed.oversubscribe = false;
    assert_eq!(placed(listed, &[("c", 5)]), pairs(&[("a", 2), ("c", 6)]));
}

#[test]
fn the_reasons_say_what_a_node_holds() {
    let demand = Demand {
        near: near(&[("b", 123)]),
        ..demand(2, true)
    };
    let placement = place_fresh(&demand, &four()).unwrap();
    let reasons = reasons(&demand, &four(), &placement);
    let why = &reasons.used[0];
    assert!(why.contains("holds 123 MiB of hdfs://h:8020/d"), "{why}");
    let (id, why) = &reasons.passed_over[0];
    assert_eq!(
        (id.0.as_str(), why.as_str()),
        (
            "a",
            "not needed: holds nothing of hdfs://h:8020/d (8192 MiB left)"
        )
    );
}
