//! GPUs, which are never shared.

use super::*;
use crate::Gpus;

/// Nodes of 16 GiB and 16 cores with so many GPUs, of which so many are used.
fn cluster(gpus: &[(u32, u32)]) -> ClusterView {
    let nodes = gpus
        .iter()
        .enumerate()
        .map(|(number, (all, used))| NodeView {
            id: NodeId(format!("n{number}:1")),
            host: format!("n{number}"),
            rack: "/default-rack".into(),
            capability: Resources::new(16384, 16).with_gpus(*all),
            used: Resources::default().with_gpus(*used),
            ..NodeView::default()
        });
    ClusterView {
        nodes: nodes.collect(),
        maximum: Resources::new(16384, 16).with_gpus(u32::MAX),
        step: MiB(1024),
        counted: Counted::MemoryAndVcores,
        ..ClusterView::default()
    }
}

fn demand(processes: u32, each: u32) -> Demand {
    let unit = Resources::new(1024, 1).with_gpus(each);
    Demand::anywhere(processes.try_into().unwrap(), unit)
}

fn placed(demand: &Demand, gpus: &[(u32, u32)]) -> Vec<(String, u32, Gpus)> {
    let shares = place(demand, &cluster(gpus), &[]).unwrap().shares;
    let mut shares: Vec<_> = shares
        .into_iter()
        .map(|share| (share.host, share.processes, share.ask.gpus))
        .collect();
    shares.sort();
    shares
}

#[test]
fn processes_go_where_gpus_are_free() {
    let on = |host: &str, processes, gpus| (host.to_owned(), processes, Gpus(gpus));
    let nodes = [(0, 0), (4, 3), (4, 0)];
    assert_eq!(
        placed(&demand(5, 1), &nodes),
        [on("n1", 1, 1), on("n2", 4, 4)]
    );
    assert_eq!(placed(&demand(2, 2), &nodes), [on("n2", 2, 4)]);
    // All of them, the rest of which is waited for.
    assert_eq!(
        placed(&demand(8, 1), &nodes),
        [on("n1", 4, 4), on("n2", 4, 4)]
    );
    // Who wants none does not care.
    assert_eq!(placed(&demand(3, 0), &nodes).len(), 3);
}

#[test]
fn what_no_node_can_give_is_refused_and_what_is_in_use_is_waited_for() {
    let rejected = |demand: Demand, gpus: &[(u32, u32)]| {
        let rejection = place(&demand, &cluster(gpus), &[]).unwrap_err();
        (rejection.may_pass(), rejection.to_string())
    };
    let (waits, words) = rejected(demand(1, 4), &[(2, 0), (0, 0)]);
    assert!(!waits);
    assert!(
        words.starts_with(
            "one process wants 1024 MiB, 1 vcore and 4 GPUs, but the largest container any node can \
             give is 16384 MiB, 16 vcores and 2 GPUs; ask for less with -gpus-per-proc,"
        ),
        "{words}"
    );
    let (waits, words) = rejected(demand(3, 1), &[(2, 0), (0, 0)]);
    assert!(!waits);
    assert!(words.ends_with("GPUs are not shared"), "{words}");
    let (waits, words) = rejected(demand(1, 1), &[(2, 2), (0, 0)]);
    assert!(waits);
    assert!(words.ends_with("left, none more than 0 GPUs)"), "{words}");
}
