//! What stalls, what comes late, what never comes.

use std::collections::BTreeSet;

use super::*;
use policy::{ListedHost, Mode};
use sim::duel::allocators::{as_listed, full_or_not, where_there_is_room};

/// `processes` on as many nodes, one process of a whole node each.
fn asking(place: Allocator, processes: u32, limits: GangLimits, seed: u64) -> MpiMachine {
    let processes = NonZeroU32::new(processes).unwrap();
    let mut demand = Demand::anywhere(processes, Resources::new(4096, 1));
    demand.listed = (1..=processes.get())
        .map(|i| ListedHost {
            host: Some(format!("n{i}")),
            processes: 1,
        })
        .collect();
    placed(demand, place, limits, seed)
}

fn placed(demand: Demand, place: Allocator, gang: GangLimits, seed: u64) -> MpiMachine {
    let limits = LifecycleLimits {
        gang,
        ..LifecycleLimits::default()
    };
    MpiMachine::new(demand, limits, seed).placed_by(place)
}

/// Nodes here answer when they like.
fn patient() -> GangLimits {
    GangLimits {
        unanswered: Millis(u64::MAX),
        ..GangLimits::default()
    }
}

/// The same, having asked for `n1`, `n2` … at time 0.
fn asked(place: Allocator, processes: u32, nodes: usize) -> MpiMachine {
    let mut job = asking(place, processes, patient(), 1);
    begin(&mut job, nodes);
    job
}

fn begin(job: &mut MpiMachine, nodes: usize) {
    assert_eq!(
        job.step(Millis(0), LifecycleEvent::Registered),
        [LifecycleAction::TakeSnapshot]
    );
    let actions = job.step(Millis(0), LifecycleEvent::Snapshot(cluster(nodes, 0)));
    assert!(matches!(actions[0], LifecycleAction::Ask { round: 1, .. }));
}

/// The cluster with the named nodes full.
fn full(nodes: usize, taken: &[&str]) -> ClusterView {
    let mut view = cluster(nodes, 0);
    for node in &mut view.nodes {
        if taken.contains(&node.host.as_str()) {
            node.used = node.capability;
        }
    }
    view
}

/// Steps the machine to its next wake, where it looks at the cluster, and answers with `view`.
fn look(job: &mut MpiMachine, view: ClusterView) -> (Millis, Vec<LifecycleAction>) {
    let at = job.wakes_at().unwrap();
    assert_eq!(
        job.step(at, LifecycleEvent::Tick),
        [LifecycleAction::TakeSnapshot]
    );
    (at, job.step(at, LifecycleEvent::Snapshot(view)))
}

fn ids(nodes: &[&str]) -> BTreeSet<NodeId> {
    nodes.iter().map(|n| NodeId(format!("{n}:1"))).collect()
}

fn hosts(placement: &Placement) -> Vec<&str> {
    let shares = placement.shares.iter();
    shares.map(|share| share.host.as_str()).collect()
}

#[test]
fn a_stalled_rest_moves_while_what_came_and_what_is_still_wanted_stays() {
    let mut job = asked(where_there_is_room, 3, 4);
    assert!(!starts(&job.step(Millis(100), granted(1, 1))));
    // `n1` is full with our own container, `n2` with somebody's.
    let (at, actions) = look(&mut job, full(4, &["n1", "n2"]));
    assert_eq!(at, Millis(3_100));
    let LifecycleAction::Ask {
        round: 2,
        placement,
        held,
        kept,
    } = &actions[0]
    else {
        panic!("{actions:?}");
    };
    assert_eq!(hosts(placement), ["n1", "n3", "n4"]);
    assert_eq!((held, kept), (&ids(&["n1"]), &ids(&["n3"])));

    // What was cleared comes all the same and goes back; what was kept answers its old round.
    assert_eq!(
        job.step(at, granted(2, 1)),
        [released("c2", Unused::NotWanted)]
    );
    assert!(!starts(&job.step(at, granted(3, 1))));
    assert_eq!(
        job.step(at, granted(4, 1)),
        [released("c4", Unused::NotWanted)]
    );
    assert!(starts(&job.step(at, granted(4, 2))));
}

#[test]
fn nothing_is_sent_when_the_answer_is_what_is_asked_for() {
    let mut job = asked(where_there_is_room, 2, 3);
    for n in 1..16 {
        let (at, actions) = look(&mut job, cluster(3, 0));
        assert_eq!((at, actions), (Millis(3_000 * n), vec![]));
    }
}

#[test]
fn without_a_better_place_the_requests_stand() {
    let mut job = asked(where_there_is_room, 2, 3);
    let (_, actions) = look(&mut job, full(3, &["n1", "n2", "n3"]));
    assert_eq!(actions, []);
    let (at, actions) = look(&mut job, full(3, &["n1"]));
    assert!(matches!(&actions[0], LifecycleAction::Ask { kept, .. } if *kept == ids(&["n2"])));
    assert!(job.step(at, granted(2, 1)).len() == 1);
}

#[test]
fn grants_that_drip_in_are_no_stall() {
    let mut job = asked(where_there_is_room, 3, 3);
    for (node, at) in [(1, 2_900), (2, 5_800)] {
        assert_eq!(job.step(Millis(at), granted(node, 1)).len(), 1);
        assert_eq!(job.wakes_at(), Some(Millis(at + 3_000)));
    }
    assert!(starts(&job.step(Millis(8_700), granted(3, 1))));
}

#[test]
fn listed_hosts_stay_their_sizes_follow_the_room_and_ranks_follow_the_list() {
    let demand = Demand {
        mode: Mode::None,
        ..asking(as_listed, 3, patient(), 1).gang().demand().clone()
    };
    let mut job = placed(demand, as_listed, patient(), 1);
    begin(&mut job, 3);
    assert!(!starts(&job.step(Millis(0), granted(3, 1))));
    let mut view = cluster(3, 0);
    view.nodes[0].used = Resources::new(2048, 0);
    view.nodes[1].used = Resources::new(4096, 0);
    let (at, actions) = look(&mut job, view);
    let LifecycleAction::Ask {
        round: 2,
        placement,
        held,
        kept,
    } = &actions[0]
    else {
        panic!("{actions:?}");
    };
    // The list's order, although `n3` came first.
    assert_eq!(hosts(placement), ["n1", "n2", "n3"]);
    assert_eq!(placement.shares[0].ask.memory, MiB(2048));
    assert_eq!((held, kept), (&ids(&["n3"]), &ids(&["n2"])));
    assert!(!starts(&job.step(at, granted(2, 1))));
    let actions = job.step(at, granted(1, 2));
    let Some(LifecycleAction::Start(seats)) = actions
        .iter()
        .find(|a| matches!(a, LifecycleAction::Start(_)))
    else {
        panic!("{actions:?}");
    };
    let ranks: Vec<(&str, u32)> = seats
        .iter()
        .map(|seat| (seat.host.as_str(), seat.ranks[0].0))
        .collect();
    assert_eq!(ranks, [("n1", 0), ("n2", 1), ("n3", 2)]);
}

#[test]
fn a_listed_host_that_stays_away_for_two_looks_ends_the_job() {
    let mut job = asked(as_listed, 3, 3);
    assert!(!starts(&job.step(Millis(0), granted(1, 1))));
    // Once may be a restart of the ResourceManager.
    let (_, actions) = look(&mut job, cluster(2, 0));
    assert_eq!(actions, []);
    let (_, actions) = look(&mut job, cluster(3, 0));
    assert_eq!(actions, []);
    let (_, actions) = look(&mut job, cluster(2, 0));
    assert_eq!(actions, []);
    let (_, actions) = look(&mut job, cluster(2, 0));
    assert_eq!(actions[0], released("c1", Unused::JobEnds));
    let said = verdict(&actions).unwrap();
    assert!(said.contains("do not fit"), "{said}");
}

#[test]
fn a_container_that_is_lost_is_placed_again_alone_as_soon_as_the_rate_allows() {
    let mut job = asked(where_there_is_room, 3, 4);
    for node in [1, 2] {
        assert!(!starts(&job.step(Millis(10), granted(node, 1))));
    }
    let lost = |n: usize| LifecycleEvent::ContainerEnded {
        container: ContainerId(format!("c{n}")),
        status: -100,
        diagnostics: String::new(),
    };
    assert_eq!(
        job.step(Millis(500), lost(1)),
        [LifecycleAction::Show(
            LifecyclePhase::WaitingForContainers {
                granted: 1,
                wanted: 3
            }
        )]
    );
    let (at, actions) = look(&mut job, full(4, &["n1", "n2"]));
    assert_eq!(at, Millis(3_000));
    assert!(
        matches!(&actions[0], LifecycleAction::Ask { held, kept, .. } if *held == ids(&["n2"]) && *kept == ids(&["n3"]))
    );
    // The next loss finds no other place: the gang is let go.
    assert_eq!(job.step(Millis(7_000), lost(2)).len(), 1);
    assert_eq!(job.wakes_at(), Some(Millis(7_000)));
    assert!(!starts(&job.step(Millis(7_000), granted(3, 1))));
    let (_, actions) = look(&mut job, full(4, &["n1", "n2", "n3", "n4"]));
    assert_eq!(actions[0], released("c3", Unused::Incomplete));
    assert!(
        matches!(&actions[1], LifecycleAction::Ask { placement, .. } if placement.shares.is_empty())
    );
}

#[test]
fn a_look_that_fails_is_tried_again() {
    let mut job = asked(where_there_is_room, 2, 2);
    let at = job.wakes_at().unwrap();
    assert_eq!(
        job.step(at, LifecycleEvent::Tick),
        [LifecycleAction::TakeSnapshot]
    );
    // Until it is answered there is nothing to wake for but the gang's end.
    assert!(job.wakes_at().unwrap() >= patient().gather);
    assert_eq!(
        job.step(Millis(9_000), LifecycleEvent::SnapshotFailed("gone".into())),
        []
    );
    assert_eq!(job.wakes_at(), Some(Millis(12_000)));
    // An answer that nobody waits for changes nothing.
    assert_eq!(
        job.step(
            Millis(9_001),
            LifecycleEvent::Snapshot(full(2, &["n1", "n2"]))
        ),
        []
    );
}

#[test]
fn a_gang_that_an_older_one_blocks_lets_go_at_once_and_asks_again_later() {
    let mut job = asked(full_or_not, 2, 2);
    let blocked = || LifecycleEvent::Blocked {
        by: "application_1_0001 (other)".into(),
    };
    let grant = Grant {
        container: ContainerId("c1".into()),
        ..match granted(1, 1) {
            LifecycleEvent::Granted(grant) => grant,
            other => panic!("{other:?}"),
        }
    };
    let _shown = job.step(Millis(4_500), LifecycleEvent::Granted(grant));
    let actions = job.step(Millis(12_000), blocked());
    assert_eq!(actions[0], released("c1", Unused::Incomplete));
    assert!(
        matches!(&actions[1], LifecycleAction::Ask { placement, .. } if placement.shares.is_empty())
    );
    let LifecycleAction::Show(LifecyclePhase::LetGo(let_go)) = &actions[2] else {
        panic!("{actions:?}");
    };
    let why = sentences::let_go(let_go);
    assert!(
        why.starts_with("application_1_0001 (other) waits as well, is older"),
        "{why}"
    );
    assert!(why.contains("1 of 2 containers were given back"), "{why}");
    let (again, actions) = look(&mut job, cluster(2, 0));
    assert!(again <= Millis(12_000).plus(GangLimits::default().pause));
    assert!(matches!(actions[0], LifecycleAction::Ask { .. }));
}

/// Lets the gang go `times` times, answering every look in between; spans of the gangs and of the
/// pauses.
fn let_go(seed: u64, times: u32) -> Vec<(Millis, Millis)> {
    let limits = GangLimits {
        pause: Millis(8_000),
        ..patient()
    };
    let mut job = asking(full_or_not, 2, limits, seed);
    begin(&mut job, 2);
    let mut asked = Millis(0);
    let mut spans = Vec::new();
    for round in 1..=times {
        let container = format!("c{round}");
        let grant = Grant {
            container: ContainerId(container.clone()),
            node: NodeId("n1:1".into()),
            resources: Resources::new(4096, 1),
            round,
        };
        assert!(!starts(&job.step(asked, LifecycleEvent::Granted(grant))));
        let until = loop {
            let at = job.wakes_at().unwrap();
            let actions = job.step(at, LifecycleEvent::Tick);
            if actions != [LifecycleAction::TakeSnapshot] {
                assert_eq!(actions[0], released(&container, Unused::Incomplete));
                break at;
            }
            assert_eq!(job.step(at, LifecycleEvent::Snapshot(cluster(2, 0))), []);
        };
        let (again, actions) = look(&mut job, cluster(2, 0));
        assert!(matches!(actions[0], LifecycleAction::Ask { .. }));
        spans.push((Millis(until.0 - asked.0), Millis(again.0 - until.0)));
        asked = again;
    }
    spans
}

#[test]
fn letting_go_takes_spans_that_grow_to_a_bound_and_differ_by_seed() {
    let (mut gangs, mut pauses) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..50 {
        let mut whole = 8_000;
        for (gang, pause) in let_go(seed, 8) {
            assert!((300_000..=360_000).contains(&gang.0), "{gang:?}");
            assert!((whole / 2..=whole).contains(&pause.0), "{pause:?} {whole}");
            whole = (whole * 2).min(gang::LONGEST_PAUSE.0);
            gangs.insert(gang);
            pauses.insert(pause);
        }
    }
    // Of 400 each: few are alike by chance.
    assert!(gangs.len() > 350 && pauses.len() > 350);
    assert_eq!(let_go(7, 3), let_go(7, 3));
}

/// YARN preempts and reserves for what is asked of it alone.
#[test]
fn full_nodes_are_asked_where_none_has_had_room_for_long() {
    let demand = Demand {
        memory_is_explicit: true,
        oversubscribe: true,
        ..Demand::anywhere(NonZeroU32::new(3).unwrap(), Resources::new(3072, 1))
    };
    let mut job = placed(demand, policy::allocate::place, patient(), 1);
    let names = ["n1", "n2", "n3", "n4"];
    assert_eq!(
        job.step(Millis(0), LifecycleEvent::Registered),
        [LifecycleAction::TakeSnapshot]
    );
    let mut at = Millis(0);
    let asked = loop {
        let actions = job.step(at, LifecycleEvent::Snapshot(full(4, &names)));
        let placement = actions.iter().find_map(|action| match action {
            LifecycleAction::Ask { placement, .. } => Some(placement.clone()),
            _ => None,
        });
        // In words it waits for room all the time.
        assert!(
            matches!(
                actions.last(),
                Some(LifecycleAction::Show(LifecyclePhase::WaitingForRoom(_)))
            ),
            "{actions:?}"
        );
        if let Some(placement) = placement {
            break placement;
        }
        assert!(at < GangLimits::default().ask_full, "{at:?}: {actions:?}");
        at = job.wakes_at().unwrap();
        assert_eq!(
            job.step(at, LifecycleEvent::Tick),
            [LifecycleAction::TakeSnapshot]
        );
    };
    assert!(at >= GangLimits::default().ask_full, "{at:?}");
    let shares = asked.shares.iter();
    let shares: Vec<(u32, u64)> = shares
        .map(|share| (share.processes, share.ask.memory.0))
        .collect();
    assert_eq!(shares, [(1, 3072); 3]);

    // There is room somewhere else meanwhile: it is asked there, and nothing is left asked for elsewhere.
    at = job.wakes_at().unwrap();
    assert_eq!(
        job.step(at, LifecycleEvent::Tick),
        [LifecycleAction::TakeSnapshot]
    );
    let actions = job.step(at, LifecycleEvent::Snapshot(full(4, &names)));
    assert_eq!(actions, []);
    at = job.wakes_at().unwrap();
    assert_eq!(
        job.step(at, LifecycleEvent::Tick),
        [LifecycleAction::TakeSnapshot]
    );
    let actions = job.step(at, LifecycleEvent::Snapshot(full(5, &names)));
    let again = actions.iter().find_map(|action| match action {
        LifecycleAction::Ask { placement, .. } => Some(placement),
        _ => None,
    });
    let hosts = again
        .unwrap()
        .shares
        .iter()
        .map(|share| share.host.as_str());
    assert!(hosts.into_iter().any(|host| host == "n5"), "{actions:?}");
}

#[test]
fn a_waiting_limit_ends_the_job_with_what_is_missing() {
    let limits = GangLimits {
        wait: Some(Millis(60_000)),
        ..patient()
    };
    let mut job = asking(full_or_not, 3, limits, 1);
    begin(&mut job, 3);
    assert!(!starts(&job.step(Millis(500), granted(1, 1))));
    let mut view = full(3, &["n1"]);
    view.nodes[1].used = Resources::new(3072, 6);
    view.nodes.remove(2);
    let at = job.wakes_at().unwrap();
    assert_eq!(
        job.step(at, LifecycleEvent::Tick),
        [LifecycleAction::TakeSnapshot]
    );
    job = job.placed_by(|_, _, _| {
        Err(Rejection::NoRoomNow {
            unit: Resources::default(),
            freest: MiB(0),
            most: policy::Counts::default(),
        })
    });
    assert_eq!(job.step(at, LifecycleEvent::Snapshot(view)), []);
    assert_eq!(
        job.step(Millis(59_999), LifecycleEvent::Tick),
        [LifecycleAction::TakeSnapshot]
    );
    assert_eq!(job.wakes_at(), Some(Millis(60_000)));
    let actions = job.step(Millis(60_000), LifecycleEvent::Tick);
    assert_eq!(actions[0], released("c1", Unused::JobEnds));
    assert_eq!(
        verdict(&actions).as_deref(),
        Some(
            "only 1 of 3 containers came within 60 s; missing: n2 (4096 MiB and 1 vcore asked for, \
             1024 MiB and 2 vcores left), n3 (4096 MiB and 1 vcore asked for, the node is gone); \
             give it longer with --wait-timeout, ask for less, or relax more with -r"
        )
    );
    assert!(job.is_over() && job.wakes_at().is_none());
}

#[test]
fn a_waiting_limit_without_any_placement_ends_the_job_with_the_last_rejection() {
    let limits = GangLimits {
        wait: Some(Millis(1_500)),
        ..patient()
    };
    let mut job = asking(where_there_is_room, 2, limits, 1);
    assert_eq!(job.step(Millis(0), LifecycleEvent::Registered).len(), 1);
    assert_eq!(
        job.step(Millis(0), LifecycleEvent::Snapshot(full(2, &["n2"])))
            .len(),
        1
    );
    assert_eq!(
        job.step(Millis(1_000), LifecycleEvent::Tick),
        [LifecycleAction::TakeSnapshot]
    );
    let said = verdict(&job.step(Millis(1_500), LifecycleEvent::Tick)).unwrap();
    assert!(
        said.starts_with("the job could not start within 1 s: no node has room"),
        "{said}"
    );
}

#[test]
fn once_all_is_granted_the_waiting_limit_is_no_more() {
    let limits = GangLimits {
        wait: Some(Millis(5_000)),
        ..patient()
    };
    let mut job = asking(full_or_not, 2, limits, 1);
    begin(&mut job, 2);
    assert!(!starts(&job.step(Millis(4_000), granted(1, 1))));
    assert!(starts(&job.step(Millis(4_999), granted(2, 1))));
    assert_eq!(job.step(Millis(5_000), LifecycleEvent::Tick), []);
    assert_eq!(job.wakes_at(), Some(Millis(4_999 + 300_000)));
}

#[test]
fn a_long_list_of_missing_hosts_is_cut() {
    let missing = |i: usize| Missing {
        host: format!("n{i}"),
        ask: Resources::new(1024, 1),
        room: None,
    };
    let cause = Cause::NotInTime {
        waited: Millis(1_000),
        missing: (0..1000).map(missing).collect(),
        held: 1,
    };
    let said = sentence(&cause);
    assert!(
        said.contains("n4 (") && said.contains(" and 995 more"),
        "{said}"
    );
    assert!(said.len() < 500);
}

#[test]
fn what_a_restarted_resource_manager_has_forgotten_is_asked_for_again() {
    let mut job = asked(where_there_is_room, 3, 4);
    assert!(!starts(&job.step(Millis(100), granted(1, 1))));
    assert!(!starts(&job.step(Millis(200), granted(2, 1))));
    let actions = job.step(Millis(4_000), LifecycleEvent::ResourceManagerRestarted);
    let forgotten = ["c1", "c2"].map(|id| ContainerId(id.into()));
    assert_eq!(
        actions[0],
        LifecycleAction::Release {
            containers: forgotten.to_vec(),
            why: Unused::Forgotten,
        }
    );
    let LifecycleAction::Ask {
        round: 2,
        placement,
        held,
        kept,
    } = &actions[1]
    else {
        panic!("{actions:?}");
    };
    assert_eq!(hosts(placement), ["n1", "n2", "n3"]);
    assert_eq!((held, kept), (&ids(&[]), &ids(&["n3"])));
    // The third would have completed the gang.
    assert!(!starts(&job.step(Millis(4_100), granted(3, 1))));
    assert!(!starts(&job.step(Millis(4_200), granted(1, 2))));
    assert!(starts(&job.step(Millis(4_300), granted(2, 2))));
}

#[test]
fn after_a_restart_the_rate_of_asking_stays() {
    let mut job = asked(where_there_is_room, 2, 4);
    assert!(!starts(&job.step(Millis(100), granted(1, 1))));
    let actions = job.step(Millis(500), LifecycleEvent::ResourceManagerRestarted);
    assert_eq!(actions[0], released("c1", Unused::Forgotten));
    assert!(
        !actions
            .iter()
            .any(|a| matches!(a, LifecycleAction::Ask { .. }))
    );
    let (at, actions) = look(&mut job, cluster(4, 0));
    assert_eq!(at, Millis(3_000));
    assert!(
        matches!(&actions[0], LifecycleAction::Ask { round: 2, kept, .. } if *kept == ids(&["n2"]))
    );
    // Nothing that was forgotten: nothing to do.
    let again = job.step(Millis(9_000), LifecycleEvent::ResourceManagerRestarted);
    assert_eq!(again, []);
}

#[test]
fn a_job_whose_requests_are_refused_ends_and_one_that_runs_goes_on() {
    let refused = || LifecycleEvent::RequestsRefused {
        words: "no such label".into(),
    };
    let mut job = asked(where_there_is_room, 2, 2);
    assert!(!starts(&job.step(Millis(100), granted(1, 1))));
    let actions = job.step(Millis(200), refused());
    assert_eq!(actions[0], released("c1", Unused::JobEnds));
    let said = verdict(&actions).unwrap();
    assert!(
        said.ends_with("refuses what this job asks of it: no such label"),
        "{said}"
    );

    assert_eq!(running().step(Millis(300), refused()), []);
}
