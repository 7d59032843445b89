//! Nodes that do not answer, looks that become rare, containers that take long.

use super::*;
use policy::{ListedHost, Mode};

fn begun(mut job: MpiMachine, view: &ClusterView) -> (MpiMachine, Vec<LifecycleAction>) {
    assert_eq!(
        job.step(Millis(0), LifecycleEvent::Registered),
        [LifecycleAction::TakeSnapshot]
    );
    let actions = job.step(Millis(0), LifecycleEvent::Snapshot(view.clone()));
    (job, actions)
}

/// Steps the machine to its next wake, where it looks at the cluster, and answers with `view`.
fn look(job: &mut MpiMachine, view: &ClusterView) -> (Millis, Vec<LifecycleAction>) {
    let at = job.wakes_at().unwrap();
    assert_eq!(
        job.step(at, LifecycleEvent::Tick),
        [LifecycleAction::TakeSnapshot]
    );
    (at, job.step(at, LifecycleEvent::Snapshot(view.clone())))
}

fn asked_hosts(actions: &[LifecycleAction]) -> Vec<String> {
    let asks = actions.iter().filter_map(|action| match action {
        LifecycleAction::Ask { placement, .. } => Some(placement),
        _ => None,
    });
    asks.flat_map(|placement| placement.shares.iter().map(|share| share.host.clone()))
        .collect()
}

fn said(actions: &[LifecycleAction]) -> Option<String> {
    actions.iter().find_map(|action| match action {
        LifecycleAction::Silent {
            hosts,
            within,
            is_bound,
        } => Some(sentences::unanswered(hosts, *within, *is_bound)),
        _ => None,
    })
}

#[test]
fn who_does_not_answer_is_named_and_left_alone_until_it_shows_a_sign_of_life() {
    let mut view = cluster(3, 0);
    let (mut job, actions) = begun(job(1), &view);
    assert_eq!(asked_hosts(&actions), ["n1"]);
    let (at, actions) = look(&mut job, &view);
    assert_eq!(at, Millis(3_000));
    let sentence = said(&actions).unwrap();
    assert!(
        sentence.starts_with("n1 did not answer a request within 3 s"),
        "{sentence}"
    );
    assert_eq!(asked_hosts(&actions), ["n2"]);
    // It has spoken since, and answered nothing; `n2` is the silent one now.
    view.nodes[0].heard = Millis(7);
    let (_, actions) = look(&mut job, &view);
    assert!(said(&actions).unwrap().starts_with("n2 "));
    assert_eq!(asked_hosts(&actions), ["n3"]);
    // It is the only one that lives.
    let (_, actions) = look(&mut job, &view);
    assert_eq!(asked_hosts(&actions), ["n1"]);
}

/// A hundred equal nodes, the first eight of which are reserved for a job that waits: it was given its nodes in
/// the same order. They look free and answer nothing.
#[test]
fn few_meet_a_reserved_node_and_they_do_not_try_its_neighbours_one_by_one() {
    let view = cluster(100, 0);
    let mut ids: Vec<&NodeId> = view.nodes.iter().map(|node| &node.id).collect();
    ids.sort();
    let reserved = &ids[..8];
    let looks_of = |seed: u64| {
        let fresh = MpiMachine::new(demand(1), LifecycleLimits::default(), seed);
        let (mut job, mut actions) = begun(fresh, &view);
        for looks in 0.. {
            let [host] = &asked_hosts(&actions)[..] else {
                panic!("{actions:?}");
            };
            if !reserved.contains(&&NodeId(format!("{host}:1"))) {
                return looks;
            }
            (_, actions) = look(&mut job, &view);
        }
        unreachable!()
    };
    let looks: Vec<u32> = (0..400).map(looks_of).collect();
    // Most do not even meet one.
    let met: Vec<u32> = looks.into_iter().filter(|looks| *looks > 0).collect();
    assert!((8..60).contains(&met.len()), "{met:?}");
    assert!(met.iter().all(|looks| *looks <= 4), "{met:?}");
    let most = u32::try_from(met.len()).unwrap() * 3 / 2;
    assert!(met.iter().sum::<u32>() < most, "{met:?}");
}

#[test]
fn a_gang_that_holds_every_other_node_is_let_go_at_once() {
    let view = cluster(3, 0);
    let (mut job, actions) = begun(job(12), &view);
    assert_eq!(asked_hosts(&actions), ["n1", "n2", "n3"]);
    assert!(!starts(&job.step(Millis(100), granted(1, 1))));
    assert!(!starts(&job.step(Millis(100), granted(2, 1))));
    let mut held = view.clone();
    for node in &mut held.nodes[..2] {
        node.used = node.capability;
    }
    let (at, actions) = look(&mut job, &held);
    assert!(at < Millis(4_000), "{at:?}");
    assert!(said(&actions).unwrap().contains("n3"));
    let back = actions.iter().any(
        |action| matches!(action, LifecycleAction::Release { containers, .. } if containers.len() == 2),
    );
    assert!(back, "{actions:?}");
    let (_, actions) = look(&mut job, &view);
    assert_eq!(asked_hosts(&actions), ["n1", "n2"]);
}

/// A FairScheduler's queue with a maximum: the nodes are free, and nothing comes that is more than it names.
#[test]
fn a_queue_that_keeps_back_what_it_does_not_name_is_believed_and_no_node_is_accused() {
    let mut view = cluster(2, 0);
    view.queue.named = Some(Resources::new(1024, 1));
    let (mut machine, actions) = begun(job(8), &view);
    assert!(asked_hosts(&actions).len() > 1, "{actions:?}");
    let mut asked = Vec::new();
    for _ in 0..8 {
        let (_, actions) = look(&mut machine, &view);
        assert_eq!(said(&actions), None);
        let asks = actions.iter().filter_map(|action| match action {
            LifecycleAction::Ask { placement, .. } => Some(placement.shares.clone()),
            _ => None,
        });
        asked.extend(asks);
        if !asked.is_empty() {
            break;
        }
    }
    // All eight share the one container that it gives.
    let shares = asked.last().unwrap();
    assert_eq!((shares.len(), shares[0].processes), (1, 8));
    assert_eq!(shares[0].ask.memory, MiB(1024));
}

/// The nodes look free while others hold what the queue gives: nobody is to be left alone for that.
#[test]
fn who_does_not_answer_while_the_queue_names_no_room_is_not_accused() {
    let mut view = cluster(3, 0);
    let (mut job, actions) = begun(job(1), &view);
    assert_eq!(asked_hosts(&actions), ["n1"]);
    view.queue.names_no_room = true;
    for _ in 0..3 {
        let (_, actions) = look(&mut job, &view);
        assert_eq!(said(&actions), None);
        assert!(asked_hosts(&actions).is_empty(), "{actions:?}");
    }
    view.queue.names_no_room = false;
    let (_, actions) = look(&mut job, &view);
    assert!(said(&actions).unwrap().starts_with("n1 "));
    assert_eq!(asked_hosts(&actions), ["n2"]);
}

#[test]
fn a_mode_that_is_bound_to_its_nodes_says_who_is_silent_and_for_how_long() {
    let listed = |number: u32| ListedHost {
        host: Some(format!("n{number}")),
        processes: 1,
    };
    let demand = Demand {
        mode: Mode::None,
        listed: (1..=2).map(listed).collect(),
        ..Demand::anywhere(NonZeroU32::new(2).unwrap(), Resources::new(1024, 1))
    };
    let view = cluster(3, 0);
    let (mut job, _) = begun(
        MpiMachine::new(demand, LifecycleLimits::default(), 1),
        &view,
    );
    assert!(!starts(&job.step(Millis(100), granted(1, 1))));
    for seconds in [3, 6, 9] {
        let (_, actions) = look(&mut job, &view);
        let note = actions.iter().find_map(|action| match action {
            LifecycleAction::Show(LifecyclePhase::WaitingForNodes {
                granted: 1,
                wanted: 2,
                silent,
            }) => Some(sentences::silent(silent)),
            _ => None,
        });
        let expected = "n2 has not answered for over 3 s";
        let note = note.unwrap();
        assert!(note.starts_with(expected), "{note}");
        assert_eq!(said(&actions).is_some(), seconds == 3);
    }
}

#[test]
fn a_node_whose_word_is_old_while_the_others_is_not_comes_last() {
    let mut view = cluster(4, 0);
    for node in &mut view.nodes {
        node.heard = Millis(1_000_000);
    }
    view.nodes[0].heard = Millis(1);
    let (_, actions) = begun(job(1), &view);
    assert_eq!(asked_hosts(&actions), ["n2"]);
    // It is all there is.
    for node in &mut view.nodes[1..] {
        node.used = node.capability;
    }
    let (_, actions) = begun(job(1), &view);
    assert_eq!(asked_hosts(&actions), ["n1"]);
    // Where many have an old word it tells nothing.
    let mut view = cluster(4, 0);
    view.nodes[3].heard = Millis(1_000_000);
    for node in &mut view.nodes[..3] {
        node.heard = Millis(1);
    }
    let (_, actions) = begun(job(1), &view);
    assert_eq!(asked_hosts(&actions), ["n1"]);
}

/// Of one process, which never asks full nodes.
fn looking() -> MpiMachine {
    let gang = GangLimits {
        ask_full: Millis(u64::MAX),
        ..GangLimits::default()
    };
    let limits = LifecycleLimits {
        gang,
        ..LifecycleLimits::default()
    };
    MpiMachine::new(demand(1), limits, 1)
}

#[test]
fn whoever_waits_for_long_looks_every_minute_at_last() {
    let full = cluster(2, 4096);
    let (mut job, _) = begun(looking(), &full);
    let (mut looks, mut at, mut last) = (0, Millis(0), Millis(0));
    while at < Millis(1_800_000) {
        (last, at) = (at, look(&mut job, &full).0);
        assert!(
            at.0 - last.0 >= 1_000 && at.0 - last.0 <= 60_000,
            "{last:?} {at:?}"
        );
        // Late by no more than a sixteenth of the time waited.
        assert!(at.0 - last.0 <= (last.0 / 16).max(1_000), "{last:?} {at:?}");
        looks += 1;
    }
    assert!(at.0 - last.0 > 44_000);
    assert!(looks < 120, "{looks} looks in half an hour");
}

#[test]
fn what_is_freed_is_looked_at_the_later_the_longer_all_that_was_freed_was_nothing() {
    let full = cluster(2, 4096);
    let (mut job, _) = begun(looking(), &full);
    let (mut at, mut spans) = (Millis(0), Vec::new());
    while at < Millis(900_000) {
        let last = at;
        // Half a second after the look, and all the time.
        let mut now = last;
        while job.wakes_at().is_some_and(|wake| wake > now) {
            now = now.plus(Millis(500));
            assert_eq!(job.step(now, LifecycleEvent::Freed), []);
        }
        at = look(&mut job, &full).0;
        spans.push((last.0, at.0 - last.0));
    }
    for (waited, span) in spans {
        let due = (waited / 16).clamp(1_000, 30_000);
        assert!(
            span >= due * 3 / 4 && span <= due + 2_500,
            "{waited} {span}"
        );
    }
}

#[test]
fn the_time_to_join_begins_anew_while_a_container_is_localized() {
    let (mut job, _) = begun(job(4), &cluster(2, 0));
    assert!(!starts(&job.step(Millis(0), granted(1, 1))));
    assert!(starts(&job.step(Millis(0), granted(2, 1))));
    let _joined = job.step(Millis(0), LifecycleEvent::Joined(ContainerId("c1".into())));
    let missing = || ContainerId("c2".into());
    for round in 1..4 {
        let at = job.wakes_at().unwrap();
        assert_eq!(at, Millis(300_000 * round + 1_000 * (round - 1)));
        assert_eq!(
            job.step(at, LifecycleEvent::Tick),
            [LifecycleAction::Probe(vec![missing()])]
        );
        let answered = at.plus(Millis(1_000));
        assert_eq!(
            job.step(answered, LifecycleEvent::Localizing(missing())),
            []
        );
    }
    let at = job.wakes_at().unwrap();
    assert_eq!(job.step(at, LifecycleEvent::Tick).len(), 1);
    let over = job.wakes_at().unwrap();
    assert_eq!(over, at.plus(Millis(10_000)));
    assert!(!job.step(over, LifecycleEvent::Tick).is_empty());
    assert!(
        job.step(over, LifecycleEvent::Localizing(missing()))
            .is_empty()
    );
}
