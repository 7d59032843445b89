//! What the queue gives bounds all containers together.

use super::*;
use policy::{Queue, Rejection};

/// Four nodes of 8 GiB, and a queue that may have a quarter of them, of which the ApplicationMaster has 1.
fn small(headroom_mib: Option<u64>) -> ClusterView {
    ClusterView {
        nodes: (1..=4)
            .map(|number| NodeView {
                id: NodeId(format!("n{number}:1")),
                host: format!("n{number}"),
                capability: Resources::new(8192, 8),
                ..NodeView::default()
            })
            .collect(),
        maximum: Resources::new(8192, 8),
        step: MiB(1024),
        queue: Box::new(Queue {
            name: "small".into(),
            maximum: Some(Resources::new(8192, 8)),
            appmaster: Resources::new(1024, 1),
            headroom: headroom_mib.map(|mib| Resources::new(mib, 8)),
            ..Queue::default()
        }),
        ..ClusterView::default()
    }
}

fn demand(processes: u32) -> Demand {
    Demand::anywhere(processes.try_into().unwrap(), Resources::new(1024, 1))
}

fn sizes(placement: &Placement) -> Vec<(u32, u64)> {
    let shares = placement.shares.iter();
    shares
        .map(|share| (share.processes, share.ask.memory.0))
        .collect()
}

#[test]
fn processes_share_what_the_queue_gives() {
    let placed = place(&demand(12), &small(None), &[]).unwrap();
    assert_eq!(sizes(&placed), [(3, 2048), (3, 2048), (3, 2048), (3, 1024)]);
    // Of what is left now two nodes can have a process each.
    let placed = place(&demand(12), &small(Some(2048)), &[]).unwrap();
    assert_eq!(sizes(&placed), [(6, 1024), (6, 1024)]);
    let fits = place(&demand(7), &small(None), &[]).unwrap();
    let total: u64 = sizes(&fits).iter().map(|(_, mib)| mib).sum();
    assert_eq!(total, 7168);
}

#[test]
fn what_is_held_counts() {
    let whole = place(&demand(12), &small(None), &[]).unwrap();
    let held = &whole.shares[..2];
    let rest = place(&demand(12), &small(Some(1024)), held).unwrap();
    assert_eq!(&rest.shares[..2], held);
    assert_eq!(sizes(&rest)[2..], [(6, 1024)]);
}

#[test]
fn what_cannot_be_shared_waits_or_is_refused() {
    let explicit = |processes| Demand {
        memory_is_explicit: true,
        ..demand(processes)
    };
    // It waits for the queue, and stays asked for.
    let waits = place(&explicit(7), &small(Some(2048)), &[]).unwrap();
    assert_eq!(sizes(&waits).iter().map(|(_, mib)| mib).sum::<u64>(), 7168);
    let never = place(&explicit(8), &small(None), &[]).unwrap_err();
    assert!(!never.may_pass());
    assert_eq!(
        sentence(&never),
        "8 processes of 1024 MiB and 1 vcore want 8192 MiB and 8 vcores together, but the queue small \
         gives its applications at most 8192 MiB and 8 vcores, of which the job's ApplicationMaster \
         holds 1024 MiB and 1 vcore; ask for fewer processes (-n), for less for each with \
         --mem-per-proc or --vcores-per-proc, choose another queue with --queue, or have its maximum \
         raised, or let processes share the room there is (-o true, without --mem-per-proc)"
    );
    let full = place(&demand(4), &small(Some(512)), &[]).unwrap_err();
    assert!(
        matches!(full, Rejection::QueueFull { .. }) && full.may_pass(),
        "{full:?}"
    );
    let mut none = small(None);
    none.queue.maximum = Some(Resources::new(1024, 8));
    let never = place(&demand(4), &none, &[]).unwrap_err();
    assert!(
        matches!(never, Rejection::QueueTooSmall { .. }),
        "{never:?}"
    );
}
