//! Event lists, and what is told of them.

use std::num::NonZeroU32;

use policy::lifecycle::{KillReason, LifecycleLimits, MpiMachine, Verdict};
use policy::{Counted, MiB, NodeView, Rejection};

use super::*;

fn node(host: &str, used_mib: u64) -> NodeView {
    NodeView {
        id: NodeId(format!("{host}:1")),
        host: host.into(),
        rack: "/r".into(),
        capability: Resources::new(4096, 4),
        used: Resources::new(used_mib, 0),
        ..NodeView::default()
    }
}

fn view(nodes: &[(&str, u64)]) -> ClusterView {
    ClusterView {
        nodes: nodes.iter().map(|(host, used)| node(host, *used)).collect(),
        maximum: Resources::new(4096, 4),
        step: MiB(1024),
        counted: Counted::Memory,
        ..ClusterView::default()
    }
}

fn demand(processes: u32) -> Demand {
    let processes = NonZeroU32::new(processes).unwrap();
    Demand::anywhere(processes, Resources::new(1024, 1))
}

/// A job and its story, side by side as the loop has them.
struct ExplainedJob {
    job: MpiMachine,
    story: Story,
}

impl ExplainedJob {
    fn new(processes: u32, explain: bool) -> Self {
        Self {
            job: MpiMachine::new(demand(processes), LifecycleLimits::default(), 7),
            story: Story::new(demand(processes), explain),
        }
    }

    fn step(&mut self, at: u64, event: LifecycleEvent) {
        self.story.hear(&event);
        let actions = self.job.step(Millis(at), event);
        let headroom = Some(Resources::new(2048, 2));
        self.story.tell(Millis(at), headroom, &actions);
    }

    fn grant(&mut self, at: u64, host: &str, number: u32, round: u32) {
        let grant = Grant {
            container: ContainerId(format!("container_{number}")),
            node: NodeId(format!("{host}:1")),
            resources: Resources::new(2048, 1),
            round,
        };
        self.step(at, LifecycleEvent::Granted(grant));
    }

    /// The names of the events that wait, and the notices among them.
    fn drain(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        while let Some(event) = self.story.outbox.pop() {
            told.push(match event {
                ToClient::Explained(line) => {
                    let explained: serde_json::Value = serde_json::from_str(&line).unwrap();
                    explained["event"].as_str().unwrap().to_owned()
                }
                ToClient::Notice(notice) => format!("notice: {}", notice.sentence),
                other => panic!("{other:?}"),
            });
        }
        told
    }
}

#[test]
fn a_job_that_starts_at_once_is_told_from_the_snapshot_to_the_last_grant() {
    let mut told = ExplainedJob::new(4, true);
    told.step(0, LifecycleEvent::Registered);
    told.step(5, LifecycleEvent::Snapshot(view(&[("a", 0), ("b", 0)])));
    assert_eq!(told.drain(), ["snapshot", "placed"]);
    assert_eq!(told.story.wanted().len(), 2);
    told.story.asked(Millis(9), 2, 4);
    told.grant(900, "a", 1, 1);
    assert_eq!(told.story.wanted().len(), 1);
    assert_eq!(told.story.look_due(), Some(Millis(2_005)));
    // The second container on one node has nobody who waits for it.
    told.grant(950, "a", 2, 1);
    told.grant(990, "b", 3, 1);
    assert_eq!(
        told.drain(),
        ["asked", "granted", "granted", "released", "granted"]
    );
    assert_eq!(told.story.look_due(), None);

    let processes: Vec<u32> = told.story.grants.iter().map(|g| g.processes).collect();
    assert_eq!(processes, [2, 0, 2]);
    assert_eq!(told.story.grants[0].asked.memory_mib, 2048);
    let placed = told.story.placed.as_ref().unwrap();
    assert_eq!((placed.round, placed.nodes.len()), (1, 2));
}

#[test]
fn without_explaining_nothing_is_told_but_the_report_has_all() {
    let mut told = ExplainedJob::new(4, false);
    told.step(0, LifecycleEvent::Registered);
    told.step(5, LifecycleEvent::Snapshot(view(&[("a", 0), ("b", 0)])));
    told.grant(900, "a", 1, 1);
    assert!(told.story.outbox.is_empty());
    // Who holds the room is looked for all the same.
    assert_eq!(told.story.look_due(), Some(Millis(3_005)));
    assert!(told.story.placed.is_some());
    assert_eq!(told.story.grants.len(), 1);
}

#[test]
fn the_same_refusal_is_told_once() {
    let mut told = ExplainedJob::new(4, true);
    told.step(0, LifecycleEvent::Registered);
    for at in [5, 1_010, 2_015] {
        told.step(
            at,
            LifecycleEvent::Snapshot(view(&[("a", 4096), ("b", 4096)])),
        );
        told.step(at + 1_000, LifecycleEvent::Tick);
    }
    assert_eq!(told.drain(), ["snapshot", "not-placed"]);
    // While nothing can be placed, the freest nodes are what is waited for.
    assert_eq!(told.story.wanted().len(), 2);
    told.step(
        3_020,
        LifecycleEvent::Snapshot(view(&[("a", 0), ("b", 4096)])),
    );
    assert_eq!(told.drain(), ["snapshot", "placed"]);
}

#[test]
fn a_gang_that_is_let_go_and_placed_again_is_told_in_notices_too() {
    let mut told = ExplainedJob::new(4, true);
    told.step(0, LifecycleEvent::Registered);
    told.step(
        5,
        LifecycleEvent::Snapshot(view(&[("a", 0), ("b", 0), ("c", 4096)])),
    );
    told.grant(900, "a", 1, 1);
    told.drain();
    // b stalls, c has become free: the rest is placed there.
    let due = told.job.wakes_at().unwrap().0;
    told.step(due, LifecycleEvent::Tick);
    told.step(
        due + 5,
        LifecycleEvent::Snapshot(view(&[("a", 2048), ("b", 4096), ("c", 0)])),
    );
    assert_eq!(
        told.drain(),
        [
            "snapshot",
            "placed",
            "notice: placed again: 1 of 2 containers are asked of c now"
        ]
    );
    let placed = told.story.placed.as_ref().unwrap();
    let held: Vec<bool> = placed.nodes.iter().map(|node| node.held).collect();
    assert_eq!(held, [true, false]);

    // Nothing more comes until the gang's deadline.
    let mut at = due;
    let mut said = Vec::new();
    while !said
        .iter()
        .any(|one: &String| one.starts_with("notice: only 1 of 2"))
    {
        at = told.job.wakes_at().unwrap().0.max(at + 1);
        assert!(at < 500_000, "{said:?}");
        told.step(at, LifecycleEvent::Tick);
        said.extend(told.drain());
    }
    assert!(said.contains(&"released".to_owned()), "{said:?}");
    assert_eq!(told.story.grants[0].processes, 0);
}

#[test]
fn what_was_missing_at_the_end_is_remembered_although_all_is_given_back() {
    let mut told = ExplainedJob::new(4, false);
    told.step(0, LifecycleEvent::Registered);
    told.step(5, LifecycleEvent::Snapshot(view(&[("a", 0), ("b", 0)])));
    told.grant(900, "a", 1, 1);
    told.step(
        1_000,
        LifecycleEvent::KillRequested(KillReason::Interrupted),
    );
    assert!(told.job.is_over() && told.story.watch.is_waiting());
    let hosts = told.story.wanted_at_the_end().iter();
    let hosts: Vec<&str> = hosts.map(|one| one.host.as_str()).collect();
    assert_eq!(hosts, ["b"]);
}

#[test]
fn what_can_never_be_is_told_as_such() {
    let mut story = Story::new(demand(4), true);
    let rejection = Rejection::NoNodes;
    let verdict = Verdict {
        cause: Some(Cause::Impossible(Box::new(rejection.clone()))),
    };
    story.tell(Millis(3), None, &[LifecycleAction::Finish(verdict)]);
    let Some(ToClient::Explained(line)) = story.outbox.pop() else {
        panic!("nothing was told");
    };
    let Ok(Explained::NotPlaced(not_placed)) = serde_json::from_str(&line) else {
        panic!("{line}");
    };
    assert_eq!(
        not_placed.reason,
        sentences::rejection(&rejection, &ResourceTypes::default())
    );
    assert!(!not_placed.may_pass);
}

#[test]
fn a_line_of_a_large_cluster_has_a_bound() {
    let hosts: Vec<String> = (0..MOST_NODES + 3).map(|n| format!("n{n}")).collect();
    let nodes: Vec<(&str, u64)> = hosts.iter().map(|host| (host.as_str(), 0)).collect();
    let mut snapshot = Explained::snapshot(Millis(0), &view(&nodes), None);
    shorten(&mut snapshot);
    let Explained::Snapshot(snapshot) = snapshot else {
        panic!("{snapshot:?}");
    };
    assert_eq!((snapshot.nodes.len(), snapshot.left_out), (MOST_NODES, 3));
}
