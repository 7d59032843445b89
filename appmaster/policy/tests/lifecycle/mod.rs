//! Lives of jobs, as lists of events.

mod containers;
mod gathering;
mod links;
mod ranks;
mod rate;
mod repeating;
mod silent;

use std::num::NonZeroU32;

use policy::gang::{self, Allocator, GangLimits};
use policy::lifecycle::{
    Cause, Grant, KillReason, LifecycleAction, LifecycleEvent, LifecycleLimits, LifecyclePhase,
    Missing, MpiMachine, PmiStage, SeenMemory, Unused,
};
use policy::run::RunLimits;
use policy::{
    ClusterView, ContainerId, Counted, Demand, End, MiB, Millis, Mode, NodeId, NodeView, Placement,
    Rank, Rejection, ResourceTypes, Resources,
};

fn cluster(nodes: usize, used_mib: u64) -> ClusterView {
    let node = |i: usize| NodeView {
        id: NodeId(format!("n{i}:1")),
        host: format!("n{i}"),
        rack: "/default-rack".into(),
        capability: Resources::new(4096, 8),
        used: Resources::new(used_mib, 0),
        ..NodeView::default()
    };
    ClusterView {
        nodes: (1..=nodes).map(node).collect(),
        maximum: Resources::new(8192, 4),
        step: MiB(1024),
        counted: Counted::Memory,
        ..ClusterView::default()
    }
}

fn demand(processes: u32) -> Demand {
    let processes = NonZeroU32::new(processes).unwrap();
    Demand::anywhere(processes, Resources::new(1024, 1))
}

fn job(processes: u32) -> MpiMachine {
    MpiMachine::new(demand(processes), LifecycleLimits::default(), 1)
}

fn granted(node: usize, round: u32) -> LifecycleEvent {
    LifecycleEvent::Granted(Grant {
        container: ContainerId(format!("c{node}")),
        node: NodeId(format!("n{node}:1")),
        resources: Resources::new(2048, 1),
        round,
    })
}

fn released(container: &str, why: Unused) -> LifecycleAction {
    LifecycleAction::Release {
        containers: vec![ContainerId(container.into())],
        why,
    }
}

fn ended(rank: u32, end: End, stage: PmiStage) -> LifecycleEvent {
    LifecycleEvent::RankEnded {
        rank: Rank(rank),
        end,
        stage,
    }
}

/// Four ranks over two nodes, all running, at time 0.
fn running() -> MpiMachine {
    running_with(LifecycleLimits::default())
}

/// A rank that fails does not end the others.
fn sparing() -> LifecycleLimits {
    LifecycleLimits {
        run: RunLimits {
            spare_others: true,
            ..RunLimits::default()
        },
        ..LifecycleLimits::default()
    }
}

/// Both containers of a job are ordered to start, at time 0.
fn starting_with(limits: LifecycleLimits) -> MpiMachine {
    starting(demand(4), limits)
}

fn starting(demand: Demand, limits: LifecycleLimits) -> MpiMachine {
    let mut job = MpiMachine::new(demand, limits, 1);
    assert_eq!(
        job.step(Millis(0), LifecycleEvent::Registered),
        [LifecycleAction::TakeSnapshot]
    );
    let asked = job.step(Millis(0), LifecycleEvent::Snapshot(cluster(2, 0)));
    assert!(
        matches!(&asked[0], LifecycleAction::Ask { round: 1, placement, .. } if placement.shares.len() == 2)
    );
    assert!(!starts(&job.step(Millis(0), granted(1, 1))));
    assert!(starts(&job.step(Millis(0), granted(2, 1))));
    job
}

fn running_with(limits: LifecycleLimits) -> MpiMachine {
    joined(starting_with(limits))
}

/// One whose containers are ordered to start: both join.
fn joined(mut job: MpiMachine) -> MpiMachine {
    let first = job.step(Millis(0), LifecycleEvent::Joined(ContainerId("c1".into())));
    assert!(!first.iter().any(|a| matches!(a, LifecycleAction::Begin(_))));
    let second = job.step(Millis(0), LifecycleEvent::Joined(ContainerId("c2".into())));
    let seats = second.iter().find_map(|action| match action {
        LifecycleAction::Begin(seats) => Some(seats),
        _ => None,
    });
    let ranks: Vec<Vec<u32>> = seats
        .unwrap()
        .iter()
        .map(|seat| seat.ranks.iter().map(|r| r.0).collect())
        .collect();
    assert_eq!(ranks, [[0, 1], [2, 3]]);
    job
}

fn sentence(cause: &Cause) -> String {
    sentences::cause(cause, SeenMemory::default(), &ResourceTypes::default())
}

fn starts(actions: &[LifecycleAction]) -> bool {
    actions
        .iter()
        .any(|a| matches!(a, LifecycleAction::Start(_)))
}

fn verdict(actions: &[LifecycleAction]) -> Option<String> {
    actions.iter().find_map(|action| match action {
        LifecycleAction::Finish(verdict) => Some(match &verdict.cause {
            None => "success".into(),
            Some(cause) => sentence(cause),
        }),
        _ => None,
    })
}

/// Ends every rank that `already` does not name, and returns the verdict.
fn reap(job: &mut MpiMachine, already: &[u32]) -> Option<String> {
    let mut said = None;
    for rank in (0..4).filter(|rank| !already.contains(rank)) {
        said = verdict(&job.step(Millis(500), ended(rank, End::Signal(15), PmiStage::Silent)));
    }
    said
}
