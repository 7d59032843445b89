//! What is counted beside memory and cores, which is never shared.

use super::*;
use policy::{Counts, LimitedBy};

const MAP: &str = "acc/kmeans-map";

/// So many GPUs and so many map functions.
fn has(gpus: u64, maps: u64) -> Counts {
    types().counts(|name| match name {
        GPU => Some(gpus),
        MAP => Some(maps),
        _ => None,
    })
}

/// Nodes of 16 GiB and 16 cores with so much, of which so much is used.
fn cluster(nodes: &[(Counts, Counts)]) -> ClusterView {
    let nodes = nodes
        .iter()
        .enumerate()
        .map(|(number, (all, used))| NodeView {
            id: NodeId(format!("n{number}:1")),
            host: format!("n{number}"),
            rack: "/default-rack".into(),
            capability: Resources::new(16384, 16).with_counts(*all),
            used: Resources::default().with_counts(*used),
            ..NodeView::default()
        });
    ClusterView {
        types: types(),
        nodes: nodes.collect(),
        maximum: Resources::new(16384, 16).with_counts(has(u64::MAX, u64::MAX)),
        step: MiB(1024),
        counted: Counted::MemoryAndVcores,
        ..ClusterView::default()
    }
}

fn gpus(nodes: &[(u64, u64)]) -> ClusterView {
    let nodes = nodes
        .iter()
        .map(|(all, used)| (has(*all, 0), has(*used, 0)));
    cluster(&nodes.collect::<Vec<_>>())
}

fn demand(processes: u32, each: Counts) -> Demand {
    let unit = Resources::new(1024, 1).with_counts(each);
    Demand::anywhere(processes.try_into().unwrap(), unit)
}

fn placed(demand: &Demand, cluster: &ClusterView) -> Vec<(String, u32, Counts)> {
    let shares = place(demand, cluster, &[]).unwrap().shares;
    let mut shares: Vec<_> = shares
        .into_iter()
        .map(|share| (share.host, share.processes, share.ask.counts))
        .collect();
    shares.sort();
    shares
}

fn on(host: &str, processes: u32, counts: Counts) -> (String, u32, Counts) {
    (host.to_owned(), processes, counts)
}

fn rejected(demand: &Demand, cluster: &ClusterView) -> (bool, String) {
    let rejection = place(demand, cluster, &[]).unwrap_err();
    (rejection.may_pass(), sentence(&rejection))
}

#[test]
fn processes_go_where_gpus_are_free() {
    let each = |gpus| has(gpus, 0);
    let nodes = gpus(&[(0, 0), (4, 3), (4, 0)]);
    assert_eq!(
        placed(&demand(5, each(1)), &nodes),
        [on("n1", 1, each(1)), on("n2", 4, each(4))]
    );
    assert_eq!(placed(&demand(2, each(2)), &nodes), [on("n2", 2, each(4))]);
    // All of them, the rest of which is waited for.
    assert_eq!(
        placed(&demand(8, each(1)), &nodes),
        [on("n1", 4, each(4)), on("n2", 4, each(4))]
    );
    // Who wants none does not care.
    assert_eq!(placed(&demand(3, each(0)), &nodes).len(), 3);
}

#[test]
fn two_types_bound_a_node_together() {
    let nodes = cluster(&[
        (has(4, 1), has(0, 0)),
        (has(1, 4), has(0, 0)),
        (has(4, 4), has(0, 2)),
    ]);
    // One of each: n0 has one map, n1 one GPU, n2 two maps left.
    assert_eq!(
        placed(&demand(4, has(1, 1)), &nodes),
        [
            on("n0", 1, has(1, 1)),
            on("n1", 1, has(1, 1)),
            on("n2", 2, has(2, 2))
        ]
    );
    assert_eq!(
        placed(&demand(4, has(0, 2)), &nodes),
        [on("n1", 2, has(0, 4)), on("n2", 2, has(0, 4))]
    );
}

#[test]
fn what_no_node_can_give_is_refused_and_what_is_in_use_is_waited_for() {
    let (waits, words) = rejected(&demand(1, has(4, 0)), &gpus(&[(2, 0), (0, 0)]));
    assert!(!waits);
    assert!(
        words.starts_with(
            "one process wants 1024 MiB, 1 vcore and 4 GPUs, but the largest container any node can \
             give is 16384 MiB, 16 vcores and 2 GPUs; ask for less with -gpus-per-proc,"
        ),
        "{words}"
    );
    let (waits, words) = rejected(&demand(3, has(1, 0)), &gpus(&[(2, 0), (0, 0)]));
    assert!(!waits);
    assert!(words.ends_with("GPUs are not shared"), "{words}");
    let (waits, words) = rejected(&demand(1, has(1, 0)), &gpus(&[(2, 2), (0, 0)]));
    assert!(waits);
    assert!(words.ends_with("left, none more than 0 GPUs)"), "{words}");
}

#[test]
fn other_types_are_named_as_the_cluster_names_them() {
    let nodes = cluster(&[(has(0, 2), has(0, 2)), (has(1, 0), has(0, 0))]);
    let (_, words) = rejected(&demand(1, has(0, 3)), &nodes);
    assert!(
        words.starts_with(
            "one process wants 1024 MiB, 1 vcore and 3 acc/kmeans-map, but the largest container \
             any node can give is 16384 MiB, 16 vcores and 2 acc/kmeans-map; ask for less with \
             --resource,"
        ),
        "{words}"
    );
    let (_, words) = rejected(&demand(3, has(0, 1)), &nodes);
    assert!(words.ends_with("; acc/kmeans-map is not shared"), "{words}");
    let (waits, words) = rejected(&demand(1, has(0, 1)), &nodes);
    assert!(waits);
    assert!(
        words.ends_with("left, none more than 0 acc/kmeans-map)"),
        "{words}"
    );
    let listed = Demand {
        mode: Mode::None,
        listed: vec![ListedHost {
            host: Some("n0".into()),
            processes: 3,
        }],
        ..demand(3, has(0, 1))
    };
    let Err(Rejection::NodeTooSmall { by, .. }) = place(&listed, &nodes, &[]) else {
        panic!("n0 has two");
    };
    assert_eq!(by, LimitedBy::NodeCount(types().find(MAP).unwrap()));
    let (_, words) = rejected(&listed, &nodes);
    assert!(
        words.contains("have its NodeManager's acc/kmeans-map raised"),
        "{words}"
    );
}
