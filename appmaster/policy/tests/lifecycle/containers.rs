//! Containers that do not come, are too many, cannot start, or are very many.

use super::*;

#[test]
fn a_gang_that_stays_incomplete_is_let_go_and_asked_for_again() {
    let mut job = job(4);
    assert_eq!(job.step(Millis(0), LifecycleEvent::Registered).len(), 1);
    assert!(
        !job.step(Millis(0), LifecycleEvent::Snapshot(cluster(2, 0)))
            .is_empty()
    );
    assert!(!job.step(Millis(5), granted(1, 1)).is_empty());
    let due = Millis(GangLimits::default().gather.0 * 6 / 5);
    let actions = job.step(due, LifecycleEvent::Tick);
    assert_eq!(actions[0], released("c1", Unused::Incomplete));
    assert!(
        matches!(&actions[1], LifecycleAction::Ask { placement, .. } if placement.shares.is_empty())
    );
    // A grant of the old round that comes late goes back too.
    assert_eq!(
        job.step(due, granted(2, 1)),
        [released("c2", Unused::NotWanted)]
    );
    let again = job.wakes_at().unwrap();
    assert_eq!(
        job.step(again, LifecycleEvent::Tick),
        [LifecycleAction::TakeSnapshot]
    );
    let asked = job.step(again, LifecycleEvent::Snapshot(cluster(2, 0)));
    assert!(matches!(asked[0], LifecycleAction::Ask { round: 2, .. }));
}

#[test]
fn surplus_containers_go_back() {
    let mut job = job(1);
    assert_eq!(job.step(Millis(0), LifecycleEvent::Registered).len(), 1);
    assert!(
        !job.step(Millis(0), LifecycleEvent::Snapshot(cluster(2, 0)))
            .is_empty()
    );
    assert_eq!(
        job.step(Millis(0), granted(2, 1)),
        [released("c2", Unused::NotWanted)]
    );
}

#[test]
fn without_room_it_looks_again_and_an_impossible_job_ends_at_once() {
    let mut waiting = job(2);
    assert_eq!(waiting.step(Millis(0), LifecycleEvent::Registered).len(), 1);
    let full = waiting.step(Millis(0), LifecycleEvent::Snapshot(cluster(2, 4096)));
    assert!(matches!(
        &full[0],
        LifecycleAction::Show(LifecyclePhase::WaitingForRoom(_))
    ));
    let due = waiting.wakes_at().unwrap();
    assert_eq!(
        waiting.step(due, LifecycleEvent::Tick),
        [LifecycleAction::TakeSnapshot]
    );

    let one = Demand {
        unit: Resources::new(100_000, 1),
        ..demand(1)
    };
    let mut large = MpiMachine::new(one, LifecycleLimits::default(), 1);
    assert_eq!(large.step(Millis(0), LifecycleEvent::Registered).len(), 1);
    let said = verdict(&large.step(Millis(0), LifecycleEvent::Snapshot(cluster(2, 0)))).unwrap();
    assert!(
        said.contains("100000 MiB") && said.contains("4096 MiB"),
        "{said}"
    );
}

#[test]
fn containers_that_cannot_start_end_the_job_and_free_the_rest() {
    let mut job = starting_with(LifecycleLimits::default());
    // One is a node's bad moment, and so is the next.
    for (node, round) in [(3, 2), (4, 3)] {
        let at = 10_000 * u64::from(round);
        let actions = job.step(Millis(at), repeating::not_started(round));
        assert_eq!(verdict(&actions), None);
        assert!(starts(&repeating::replaced(
            &mut job,
            at + 1_000,
            round,
            node
        )));
    }
    let actions = job.step(Millis(90_000), repeating::not_started(4));
    assert!(
        matches!(&actions[0], LifecycleAction::Release { containers, .. } if containers.len() == 2)
    );
    assert_eq!(
        verdict(&actions).as_deref(),
        Some("the NodeManager of n4 did not start the job's container: allocated by a previous RM")
    );
}

#[test]
fn the_number_of_ended_ranks_is_shown_a_hundredth_at_a_time() {
    let demand = Demand {
        unit: Resources::new(1, 1),
        ..demand(1000)
    };
    let mut job = MpiMachine::new(demand, LifecycleLimits::default(), 1);
    assert_eq!(job.step(Millis(0), LifecycleEvent::Registered).len(), 1);
    assert!(
        !job.step(Millis(0), LifecycleEvent::Snapshot(cluster(1, 0)))
            .is_empty()
    );
    assert!(starts(&job.step(Millis(0), granted(1, 1))));
    let joined = job.step(Millis(0), LifecycleEvent::Joined(ContainerId("c1".into())));
    assert!(
        joined
            .iter()
            .any(|a| matches!(a, LifecycleAction::Begin(_)))
    );
    let mut shown = Vec::new();
    for rank in 0..999 {
        for action in job.step(Millis(1), ended(rank, End::Code(0), PmiStage::Finalized)) {
            let LifecycleAction::Show(LifecyclePhase::Running { ended, ranks: 1000 }) = action
            else {
                panic!("{action:?}");
            };
            shown.push(ended);
        }
    }
    assert_eq!(shown, (1..100).map(|n| n * 10).collect::<Vec<_>>());
}

/// Fast enough to be part of the tests only while no step of it looks at all containers.
#[test]
fn a_gang_of_ten_thousand_comes_together_runs_and_ends() {
    const NODES: usize = 10_000;
    let mut job = job(u32::try_from(NODES).unwrap());
    let view = cluster(NODES, 3072);
    assert_eq!(job.step(Millis(0), LifecycleEvent::Registered).len(), 1);
    assert!(
        !job.step(Millis(0), LifecycleEvent::Snapshot(view))
            .is_empty()
    );
    let mut started = false;
    for node in 1..=NODES {
        started = starts(&job.step(Millis(1), granted(node, 1)));
    }
    assert!(started);
    for node in 1..=NODES {
        let joined = LifecycleEvent::Joined(ContainerId(format!("c{node}")));
        assert!(!job.step(Millis(2), joined).is_empty());
    }
    assert!(!job.is_over());
    for node in 1..=NODES {
        let lost = LifecycleEvent::ContainerEnded {
            container: ContainerId(format!("c{node}")),
            status: -100,
            diagnostics: String::new(),
        };
        let _consequences = job.step(Millis(3), lost);
        let broke = LifecycleEvent::LinkLost(ContainerId(format!("c{node}")));
        let _consequences = job.step(Millis(3), broke);
    }
    assert!(job.is_over());
}
