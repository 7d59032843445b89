//! Losses while ranks run, and what follows.

use std::collections::VecDeque;

use super::*;

/// As [`running`], with so many restarts; at most one node more than the job needs.
fn repeatable(restarts: u32) -> MpiMachine {
    running_with(limits(restarts))
}

fn limits(restarts: u32) -> LifecycleLimits {
    LifecycleLimits {
        run: RunLimits {
            restarts,
            ..RunLimits::default()
        },
        ..LifecycleLimits::default()
    }
}

fn link_lost(node: u32) -> LifecycleEvent {
    LifecycleEvent::LinkLost(ContainerId(format!("c{node}")))
}

fn over(node: u32, status: i32) -> LifecycleEvent {
    LifecycleEvent::ContainerEnded {
        container: ContainerId(format!("c{node}")),
        status,
        diagnostics: String::new(),
    }
}

/// The ranks of the first node are ended, as they were told to; the last answer.
fn stopped(job: &mut MpiMachine, at: u64) -> Vec<LifecycleAction> {
    let _first = job.step(Millis(at), ended(0, End::Signal(15), PmiStage::Initialized));
    job.step(Millis(at), ended(1, End::Signal(15), PmiStage::Initialized))
}

fn repeats(actions: &[LifecycleAction]) -> Option<(u32, String, Vec<ContainerId>)> {
    actions.iter().find_map(|action| match action {
        LifecycleAction::Repeat { run, cause, kept } => Some((*run, sentence(cause), kept.clone())),
        _ => None,
    })
}

/// The second container is lost at 5 s, and everything up to the look at the cluster is done.
fn lost_one(job: &mut MpiMachine) -> Vec<LifecycleAction> {
    let actions = job.step(Millis(5_000), link_lost(2));
    assert!(
        matches!(actions[0], LifecycleAction::Stop { .. }),
        "{actions:?}"
    );
    assert_eq!(job.step(Millis(5_010), over(2, 137)), []);
    stopped(job, 5_100)
}

#[test]
fn a_lost_container_is_replaced_and_the_others_stay() {
    let mut job = repeatable(1);
    let actions = lost_one(&mut job);
    let (run, cause, kept) = repeats(&actions).unwrap();
    assert_eq!((run, kept), (2, vec![ContainerId("c1".into())]));
    assert!(cause.contains("c2 on n2 was killed by signal 9"), "{cause}");
    assert!(actions.contains(&released("c2", Unused::Lost)));
    assert_eq!(actions.last(), Some(&LifecycleAction::TakeSnapshot));
    // The launcher was killed, not its node: that may be used again. Only the rest is asked for.
    let mut view = cluster(2, 0);
    view.nodes[0].used = view.nodes[0].capability;
    let asked = job.step(Millis(5_200), LifecycleEvent::Snapshot(view));
    let LifecycleAction::Ask {
        round: 2,
        placement,
        held,
        ..
    } = &asked[0]
    else {
        panic!("{asked:?}");
    };
    assert_eq!(held.len(), 1);
    let hosts: Vec<&str> = placement.shares.iter().map(|s| s.host.as_str()).collect();
    assert_eq!(hosts, ["n1", "n2"]);
    let grant = LifecycleEvent::Granted(Grant {
        container: ContainerId("c9".into()),
        node: NodeId("n2:1".into()),
        resources: Resources::new(2048, 1),
        round: 2,
    });
    let started = job.step(Millis(5_300), grant);
    let new = started.iter().find_map(|action| match action {
        LifecycleAction::Start(seats) => Some(seats.clone()),
        _ => None,
    });
    let new: Vec<String> = new
        .unwrap()
        .into_iter()
        .map(|seat| seat.container.0)
        .collect();
    assert_eq!(new, ["c9"]);
    let begun = job.step(
        Millis(5_400),
        LifecycleEvent::Joined(ContainerId("c9".into())),
    );
    assert!(
        begun
            .iter()
            .any(|a| matches!(a, LifecycleAction::Begin(s) if s.len() == 2))
    );
    for rank in 0..4 {
        let _end = job.step(
            Millis(6_000),
            ended(rank, End::Code(0), PmiStage::Finalized),
        );
    }
    assert!(job.is_over() && job.run_number() == 2);
}

#[test]
fn a_gang_whose_containers_are_lent_gives_all_back_and_begins_anew() {
    let mut limits = limits(1);
    limits.run.anew = true;
    let mut job = running_with(limits);
    let actions = lost_one(&mut job);
    let (run, _, kept) = repeats(&actions).unwrap();
    assert_eq!((run, kept), (2, vec![]));
    let both = ["c1", "c2"].map(|name| ContainerId(name.into()));
    let (containers, why) = (both.to_vec(), Unused::Lost);
    assert!(
        actions.contains(&LifecycleAction::Release { containers, why }),
        "{actions:?}"
    );
    assert_eq!(actions.last(), Some(&LifecycleAction::TakeSnapshot));
    // Nothing is waited for but the answer, however long it takes.
    assert_eq!(job.wakes_at(), None);
    let asked = job.step(Millis(900_000), LifecycleEvent::Snapshot(cluster(2, 0)));
    let LifecycleAction::Ask {
        held, placement, ..
    } = &asked[0]
    else {
        panic!("{asked:?}");
    };
    // Also on the node where one was lost.
    assert_eq!((held.len(), placement.shares.len()), (0, 2));
}

#[test]
fn a_node_that_was_lost_is_left_alone_where_another_will_do() {
    let mut job = repeatable(1);
    let _stop = job.step(Millis(5_000), link_lost(2));
    assert_eq!(job.step(Millis(5_010), over(2, -101)), []);
    assert!(repeats(&stopped(&mut job, 5_100)).is_some());
    let asked = job.step(Millis(5_200), LifecycleEvent::Snapshot(cluster(3, 0)));
    assert!(matches!(&asked[0], LifecycleAction::Ask { placement, .. }
        if placement.shares.iter().all(|share| share.host != "n2") && placement.shares.len() == 2));
}

/// A job whose program no node can bring, say: its last container on each of the nodes, and so on until it may not go
/// on. How long that took, how many containers, and what was said.
fn tries_everywhere(nodes: usize, processes: u32, used_mib: u64) -> (Millis, u32, String) {
    let limits = LifecycleLimits::default();
    let mut job = MpiMachine::new(demand(processes), limits, 1);
    assert_eq!(job.step(Millis(0), LifecycleEvent::Registered).len(), 1);
    // On the first of them something else runs, which stays.
    let mut view = cluster(nodes, 0);
    view.nodes[0].used = Resources::new(used_mib, 1);
    let (mut at, mut containers) = (Millis(0), 0);
    let mut todo = VecDeque::from([LifecycleEvent::Snapshot(view.clone())]);
    for _step in 0..10_000 {
        let Some(event) = todo.pop_front() else {
            at = job.wakes_at().unwrap().max(at);
            todo.push_back(LifecycleEvent::Tick);
            continue;
        };
        for action in job.step(at, event) {
            match action {
                LifecycleAction::TakeSnapshot => {
                    todo.push_back(LifecycleEvent::Snapshot(view.clone()));
                }
                LifecycleAction::Ask {
                    round, placement, ..
                } => todo.extend(placement.shares.into_iter().map(|share| {
                    LifecycleEvent::Granted(Grant {
                        container: ContainerId(format!("c{round} on {}", share.host)),
                        node: share.node,
                        resources: share.ask,
                        round,
                    })
                })),
                LifecycleAction::Start(seats) => {
                    containers += 1;
                    let failed = &seats.last().unwrap().container;
                    todo.push_back(LifecycleEvent::ContainerEnded {
                        container: failed.clone(),
                        status: -1000,
                        diagnostics: "Resource changed on src filesystem".into(),
                    });
                }
                LifecycleAction::Finish(verdict) => {
                    return (at, containers, sentence(&verdict.cause.unwrap()));
                }
                _ => {}
            }
        }
    }
    panic!("it never ends: {at:?}, {containers} containers");
}

#[test]
fn who_has_failed_on_every_node_is_not_kept_waiting_for_another() {
    for nodes in [1, 2, 4] {
        let (at, containers, said) = tries_everywhere(nodes, 1, 0);
        assert!(
            at < Millis(30_000) && containers == 3,
            "{at:?} {containers}"
        );
        assert!(said.contains("changed on src filesystem"), "{said}");
    }
    // Beside the one that fails there is a node that would do, if it did not have something else.
    let (at, containers, said) = tries_everywhere(2, 4, 1024);
    assert!(
        at < Millis(120_000) && containers == 3,
        "{at:?} {containers}"
    );
    assert!(said.contains("changed on src filesystem"), "{said}");
}

#[test]
fn the_programs_own_failure_and_too_much_memory_are_never_repeated() {
    let mut job = repeatable(9);
    let _stop = job.step(Millis(5_000), ended(2, End::Code(7), PmiStage::Finalized));
    let said = reap(&mut job, &[2]);
    let said = said.or_else(|| verdict(&job.step(job.wakes_at().unwrap(), LifecycleEvent::Tick)));
    assert_eq!(said.as_deref(), Some("rank 2 on n2 exited with code 7"));
    for status in [-103, -104, -107, 1] {
        let mut job = repeatable(9);
        let _stop = job.step(Millis(5_000), link_lost(2));
        assert_eq!(job.step(Millis(5_010), over(2, status)), []);
        assert!(verdict(&stopped(&mut job, 5_100)).is_some(), "{status}");
    }
    let mut job = repeatable(0);
    assert!(verdict(&lost_one(&mut job)).is_some());
}

#[test]
fn ranks_that_fail_because_a_neighbour_is_gone_are_not_blamed() {
    for status in [-102, -104] {
        let mut job = repeatable(1);
        let failed = ended(0, End::Code(1), PmiStage::Initialized);
        assert!(matches!(
            job.step(Millis(5_000), failed)[0],
            LifecycleAction::Stop { .. }
        ));
        let failed = ended(1, End::Signal(15), PmiStage::Initialized);
        assert_eq!(job.step(Millis(5_050), failed), []);
        assert_eq!(job.step(Millis(5_060), link_lost(2)), []);
        let last = job.step(Millis(6_000), over(2, status));
        let cause = match status {
            -102 => repeats(&last).unwrap().1,
            _ => verdict(&last).unwrap(),
        };
        assert!(cause.contains("container c2 on n2 was"), "{cause}");
    }
    // The loss comes too late to be the reason.
    let mut job = repeatable(1);
    let _stop = job.step(Millis(5_000), ended(0, End::Code(1), PmiStage::Initialized));
    assert_eq!(job.step(Millis(5_400), LifecycleEvent::Tick), []);
    let _late = job.step(Millis(5_500), link_lost(2));
    let last = job.step(
        Millis(5_600),
        ended(1, End::Signal(15), PmiStage::Initialized),
    );
    assert_eq!(verdict(&last).unwrap(), "rank 0 on n1 exited with code 1");
}

#[test]
fn a_rank_that_yarn_ends_with_its_container_is_not_blamed() {
    let mut job = repeatable(1);
    let told = ended(2, End::Signal(15), PmiStage::Initialized);
    let _stop = job.step(Millis(5_000), told);
    assert_eq!(stopped(&mut job, 5_010), []);
    assert_eq!(job.step(Millis(5_020), link_lost(2)), []);
    let last = job.step(Millis(5_800), over(2, -102));
    assert!(repeats(&last).unwrap().1.contains("preempted"), "{last:?}");
    // One that ended by itself is.
    let mut job = repeatable(1);
    let _stop = job.step(
        Millis(5_000),
        ended(2, End::Signal(11), PmiStage::Initialized),
    );
    let _end = job.step(
        Millis(5_010),
        ended(3, End::Signal(15), PmiStage::Initialized),
    );
    assert_eq!(stopped(&mut job, 5_010), []);
    assert_eq!(job.step(Millis(5_020), link_lost(2)), []);
    let said = verdict(&job.step(Millis(5_400), LifecycleEvent::Tick)).unwrap();
    assert!(said.contains("rank 2 on n2"), "{said}");
}

#[test]
fn a_container_that_yarn_has_ended_is_waited_for_no_longer_than_its_launcher_is_there() {
    let mut job = repeatable(1);
    let _stop = job.step(Millis(5_000), over(2, -102));
    assert_eq!(stopped(&mut job, 5_100), []);
    assert!(job.wakes_at() > Some(Millis(10_000)));
    let last = job.step(Millis(5_200), link_lost(2));
    assert!(repeats(&last).unwrap().1.contains("preempted"), "{last:?}");
}

#[test]
fn a_launcher_that_may_still_run_its_ranks_is_waited_for() {
    let mut job = repeatable(1);
    let _stop = job.step(Millis(5_000), link_lost(2));
    assert_eq!(stopped(&mut job, 5_100), []);
    // YARN misses the node, which says nothing of its processes.
    assert_eq!(job.step(Millis(9_000), over(2, -100)), []);
    assert_eq!(job.wakes_at(), Some(Millis(25_000)));
    assert!(repeats(&job.step(Millis(25_000), LifecycleEvent::Tick)).is_some());

    // Its link stands: it tells of its ranks itself.
    let mut job = repeatable(1);
    let _stop = job.step(Millis(5_000), over(2, -100));
    assert_eq!(stopped(&mut job, 5_100), []);
    let _end = job.step(
        Millis(5_200),
        ended(2, End::Signal(15), PmiStage::Initialized),
    );
    let last = job.step(
        Millis(5_200),
        ended(3, End::Signal(15), PmiStage::Initialized),
    );
    assert_eq!(repeats(&last).unwrap().2, [ContainerId("c1".into())]);
}

#[test]
fn ranks_that_do_not_end_take_their_container_with_them() {
    let mut job = repeatable(1);
    let _stop = job.step(Millis(5_000), link_lost(2));
    assert_eq!(job.step(Millis(5_010), over(2, 137)), []);
    let due = job.wakes_at().unwrap();
    let actions = job.step(due, LifecycleEvent::Tick);
    assert_eq!(repeats(&actions).unwrap().2, []);
    assert!(actions.iter().any(|action| matches!(action,
        LifecycleAction::Release { containers, why: Unused::Lost } if containers.len() == 2)));
}

#[test]
fn input_that_cannot_be_given_again_forbids_another_run() {
    let mut job = repeatable(1);
    assert_eq!(job.step(Millis(100), LifecycleEvent::InputUsed), []);
    let said = verdict(&lost_one(&mut job)).unwrap();
    assert!(
        said.contains("c2 on n2 was killed") && said.contains("--input"),
        "{said}"
    );
}

#[test]
fn a_kill_between_two_runs_ends_the_job_and_keeps_its_own_name() {
    let kill = || LifecycleEvent::KillRequested(KillReason::Interrupted);
    let mut job = repeatable(1);
    let _stop = job.step(Millis(5_000), link_lost(2));
    assert_eq!(stopped(&mut job, 5_100), []);
    let said = verdict(&job.step(Millis(5_200), kill())).unwrap();
    assert_eq!(said, "interrupted by the user");

    let mut job = repeatable(1);
    let _repeat = lost_one(&mut job);
    let actions = job.step(Millis(5_200), kill());
    assert_eq!(actions[0], released("c1", Unused::JobEnds));
    assert_eq!(verdict(&actions).unwrap(), "interrupted by the user");
}

#[test]
fn what_keeps_the_next_run_from_starting_stands_behind_the_loss() {
    let gang = GangLimits {
        wait: Some(Millis(60_000)),
        ..GangLimits::default()
    };
    let mut job = running_with(LifecycleLimits { gang, ..limits(1) });
    let _repeat = lost_one(&mut job);
    let mut now = job.wakes_at().unwrap_or(Millis(5_200));
    let mut view = cluster(2, 0);
    view.nodes.truncate(1);
    view.nodes[0].used = view.nodes[0].capability;
    let said = loop {
        let actions = job.step(now, LifecycleEvent::Tick);
        if let Some(said) = verdict(&actions) {
            break said;
        }
        let _asked = job.step(now, LifecycleEvent::Snapshot(view.clone()));
        now = job.wakes_at().unwrap().max(Millis(now.0 + 1));
        assert!(now < Millis(120_000));
    };
    assert!(
        said.contains("c2 on n2 was killed") && said.contains("could not be started again"),
        "{said}"
    );
}

/// Two nodes are wanted, and a NodeManager restarts: until it has registered again there is only one.
#[test]
fn a_node_that_the_next_run_needs_is_waited_for() {
    let two_nodes = Demand {
        mode: Mode::LocDist,
        nodes: NonZeroU32::new(2),
        ..demand(4)
    };
    for is_back in [true, false] {
        let mut job = joined(starting(two_nodes.clone(), limits(1)));
        let _repeat = lost_one(&mut job);
        let mut now = Millis(5_200);
        let mut view = cluster(1, 0);
        let ended = loop {
            let mut actions = job.step(now, LifecycleEvent::Tick);
            if is_back && now > Millis(120_000) {
                view = cluster(2, 0);
            }
            actions.extend(job.step(now, LifecycleEvent::Snapshot(view.clone())));
            let asks = |action: &LifecycleAction| matches!(action, LifecycleAction::Ask { .. });
            if actions.iter().any(asks) && view.nodes.len() == 2 {
                break None;
            }
            if let Some(said) = verdict(&actions) {
                break Some(said);
            }
            now = job.wakes_at().unwrap().max(Millis(now.0 + 1));
            assert!(now < Millis(400_000));
        };
        match ended {
            None => assert!(is_back),
            Some(said) => {
                assert!(!is_back && now >= Millis(180_000), "{now:?}: {said}");
                assert!(
                    said.contains("c2 on n2 was killed") && said.contains("wants 2 nodes"),
                    "{said}"
                );
            }
        }
    }
}

/// The gap that the loss of the second container left is granted on node `node`, of as many.
pub(super) fn replaced(
    job: &mut MpiMachine,
    at: u64,
    round: u32,
    node: usize,
) -> Vec<LifecycleAction> {
    let mut view = cluster(node, 0);
    view.nodes[0].used = view.nodes[0].capability;
    let _asked = job.step(Millis(at), LifecycleEvent::Snapshot(view));
    job.step(Millis(at + 100), granted(node, round))
}

#[test]
fn the_second_loss_ends_what_may_be_repeated_once() {
    let mut job = repeatable(1);
    let _repeat = lost_one(&mut job);
    let mut view = cluster(2, 0);
    view.nodes[0].used = view.nodes[0].capability;
    let _asked = job.step(Millis(5_200), LifecycleEvent::Snapshot(view));
    let grant = LifecycleEvent::Granted(Grant {
        container: ContainerId("c9".into()),
        node: NodeId("n2:1".into()),
        resources: Resources::new(2048, 1),
        round: 2,
    });
    assert!(starts(&job.step(Millis(5_300), grant)));
    let _begun = job.step(
        Millis(5_400),
        LifecycleEvent::Joined(ContainerId("c9".into())),
    );
    let _stop = job.step(Millis(5_500), link_lost(9));
    assert_eq!(job.step(Millis(5_510), over(9, -102)), []);
    let actions = stopped(&mut job, 5_600);
    assert!(
        verdict(&actions).unwrap().contains("preempted"),
        "{actions:?}"
    );
}

#[test]
fn what_is_lost_before_a_rank_was_started_costs_no_run_a_few_times() {
    for (restarts, runs) in [(0, vec![1, 1]), (1, vec![1, 1, 2, 2, 2])] {
        let mut job = starting_with(limits(restarts));
        let mut lost = 2;
        for run in runs {
            let at = 10_000 * u64::from(lost);
            let actions = job.step(Millis(at), not_started(lost));
            let (next, cause, kept) = repeats(&actions).unwrap();
            assert_eq!((next, kept), (run, vec![ContainerId("c1".into())]));
            assert_eq!(job.run_number(), run);
            assert!(cause.contains("previous RM"), "{cause}");
            let node = usize::try_from(lost).unwrap() + 1;
            assert!(starts(&replaced(&mut job, at + 1_000, lost, node)));
            lost += 1;
        }
        let last = job.step(Millis(100_000), not_started(lost));
        assert!(verdict(&last).unwrap().contains("previous RM"), "{last:?}");
    }
}

#[test]
fn who_cannot_be_given_what_he_needs_before_the_start_is_not_tried_again() {
    let mut job = starting_with(limits(1));
    let actions = job.step(
        Millis(10_000),
        LifecycleEvent::Refused {
            container: ContainerId("c2".into()),
            sentence: "the job's files could not be brought to n2: no such file".into(),
            code: 74,
        },
    );
    assert_eq!(repeats(&actions), None);
    let said = verdict(&actions).unwrap();
    assert!(said.contains("no such file"), "{said}");
}

pub(super) fn not_started(node: u32) -> LifecycleEvent {
    LifecycleEvent::StartFailed {
        container: ContainerId(format!("c{node}")),
        why: "allocated by a previous RM".into(),
    }
}

#[test]
fn nobody_is_waited_for_where_no_rank_was_started() {
    let mut job = starting_with(limits(1));
    // YARN misses its node: there may be a launcher, but it runs nothing.
    let actions = job.step(Millis(10_000), over(2, -100));
    assert_eq!(repeats(&actions).unwrap().0, 1);

    let mut job = starting_with(limits(1));
    let _there = job.step(
        Millis(10_000),
        LifecycleEvent::Joined(ContainerId("c2".into())),
    );
    let _stop = job.step(Millis(10_100), link_lost(2));
    assert_eq!(job.wakes_at(), Some(Millis(13_100)));
    let actions = job.step(Millis(13_100), LifecycleEvent::Tick);
    assert_eq!(repeats(&actions).unwrap().0, 1);
}
