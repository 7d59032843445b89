//! Lives of jobs, as lists of events.

mod gathering;
mod rate;
mod repeating;
mod silent;

use std::num::NonZeroU32;

use policy::gang::{self, Allocator};
use policy::lifecycle::{
    Action, Cause, Event, Grant, KillReason, Limits, Missing, MpiMachine, Phase, PmiStage, Seen,
    Unused,
};
use policy::{
    ClusterView, ContainerId, Counted, Demand, End, MiB, Millis, NodeId, NodeView, Placement, Rank,
    Rejection, ResourceTypes, Resources, run,
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
    MpiMachine::new(demand(processes), Limits::default(), 1)
}

fn granted(node: usize, round: u32) -> Event {
    Event::Granted(Grant {
        container: ContainerId(format!("c{node}")),
        node: NodeId(format!("n{node}:1")),
        resources: Resources::new(2048, 1),
        round,
    })
}

fn released(container: &str, why: Unused) -> Action {
    Action::Release {
        containers: vec![ContainerId(container.into())],
        why,
    }
}

fn ended(rank: u32, end: End, stage: PmiStage) -> Event {
    Event::RankEnded {
        rank: Rank(rank),
        end,
        stage,
    }
}

/// Four ranks over two nodes, all running, at time 0.
fn running() -> MpiMachine {
    running_with(Limits::default())
}

/// A rank that fails does not end the others.
fn sparing() -> Limits {
    Limits {
        run: run::Limits {
            spare_others: true,
            ..run::Limits::default()
        },
        ..Limits::default()
    }
}

/// Both containers of a job are ordered to start, at time 0.
fn starting_with(limits: Limits) -> MpiMachine {
    let mut job = MpiMachine::new(demand(4), limits, 1);
    assert_eq!(
        job.step(Millis(0), Event::Registered),
        [Action::TakeSnapshot]
    );
    let asked = job.step(Millis(0), Event::Snapshot(cluster(2, 0)));
    assert!(
        matches!(&asked[0], Action::Ask { round: 1, placement, .. } if placement.shares.len() == 2)
    );
    assert!(!starts(&job.step(Millis(0), granted(1, 1))));
    assert!(starts(&job.step(Millis(0), granted(2, 1))));
    job
}

fn running_with(limits: Limits) -> MpiMachine {
    let mut job = starting_with(limits);
    let first = job.step(Millis(0), Event::Joined(ContainerId("c1".into())));
    assert!(!first.iter().any(|a| matches!(a, Action::Begin(_))));
    let second = job.step(Millis(0), Event::Joined(ContainerId("c2".into())));
    let seats = second.iter().find_map(|action| match action {
        Action::Begin(seats) => Some(seats),
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
    sentences::cause(cause, Seen::default(), &ResourceTypes::default())
}

fn starts(actions: &[Action]) -> bool {
    actions.iter().any(|a| matches!(a, Action::Start(_)))
}

fn verdict(actions: &[Action]) -> Option<String> {
    actions.iter().find_map(|action| match action {
        Action::Finish(verdict) => Some(match &verdict.cause {
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

#[test]
fn a_job_whose_ranks_all_return_0_succeeds() {
    let mut job = running();
    for rank in 0..3 {
        assert_eq!(
            verdict(&job.step(Millis(1), ended(rank, End::Code(0), PmiStage::Finalized))),
            None
        );
    }
    let last = job.step(Millis(1), ended(3, End::Code(0), PmiStage::Finalized));
    assert_eq!(verdict(&last).as_deref(), Some("success"));
    assert!(job.is_over());
}

#[test]
fn the_first_failure_stands_and_the_others_are_stopped() {
    let mut job = running();
    let actions = job.step(Millis(10), ended(2, End::Code(7), PmiStage::Finalized));
    assert!(matches!(actions[0], Action::Stop { .. }));
    assert_eq!(
        reap(&mut job, &[2]).as_deref(),
        Some("rank 2 on n2 exited with code 7")
    );
}

#[test]
fn the_others_are_spared_where_that_is_wished() {
    let mut job = running_with(sparing());
    for (rank, code) in [(1, 7), (0, 3), (2, 0)] {
        let actions = job.step(Millis(10), ended(rank, End::Code(code), PmiStage::Silent));
        assert!(!actions.iter().any(|a| matches!(a, Action::Stop { .. })));
        assert_eq!(verdict(&actions), None);
    }
    let last = job.step(Millis(20), ended(3, End::Code(0), PmiStage::Silent));
    assert_eq!(verdict(&last).unwrap(), "rank 1 on n1 exited with code 7");
    // An abort is meant for all of them; but what failed first stands.
    let mut job = running_with(sparing());
    let _noted = job.step(Millis(10), ended(1, End::Signal(11), PmiStage::Initialized));
    let rank = Rank(2);
    let actions = job.step(Millis(20), Event::Aborted { rank, code: 1 });
    assert!(actions.iter().any(|a| matches!(a, Action::Stop { .. })));
    let said = reap(&mut job, &[1]).unwrap();
    assert!(
        said.contains("rank 1 on n1 was killed by signal 11"),
        "{said}"
    );
    let mut job = running_with(sparing());
    let _noted = job.step(Millis(10), ended(1, End::Code(7), PmiStage::Silent));
    let _stop = job.step(Millis(20), Event::KillRequested(KillReason::Interrupted));
    assert_eq!(reap(&mut job, &[1]).unwrap(), "interrupted by the user");
}

#[test]
fn a_program_may_run_for_so_long_and_outlive_its_first_rank_for_so_long() {
    let limits = Limits {
        run: run::Limits {
            run: Some(Millis(60_000)),
            linger: Some(Millis(1500)),
            ..run::Limits::default()
        },
        ..Limits::default()
    };
    let mut job = running_with(limits);
    assert_eq!(job.wakes_at(), Some(Millis(60_000)));
    assert_eq!(job.step(Millis(59_999), Event::Tick), []);
    let actions = job.step(Millis(60_000), Event::Tick);
    assert!(actions.iter().any(|a| matches!(a, Action::Stop { .. })));
    assert!(reap(&mut job, &[]).unwrap().contains("longer than 60 s"));

    let mut job = running_with(limits);
    let _ended = job.step(Millis(100), ended(0, End::Code(0), PmiStage::Finalized));
    let _ended = job.step(Millis(900), ended(1, End::Code(0), PmiStage::Finalized));
    assert_eq!(job.wakes_at(), Some(Millis(1600)));
    let actions = job.step(Millis(1600), Event::Tick);
    assert!(actions.iter().any(|a| matches!(a, Action::Stop { .. })));
    let said = reap(&mut job, &[0, 1]).unwrap();
    assert!(
        said.starts_with("2 ranks still ran 1500 ms after"),
        "{said}"
    );
}

#[test]
fn an_abort_is_named_before_the_code_it_ends_with() {
    let mut job = running();
    let abort = Event::Aborted {
        rank: Rank(1),
        code: 77,
    };
    assert!(matches!(
        job.step(Millis(10), abort)[0],
        Action::Stop { .. }
    ));
    assert_eq!(
        reap(&mut job, &[]).as_deref(),
        Some("rank 1 on n1 called MPI_Abort with code 77")
    );
}

#[test]
fn a_spawn_that_fails_after_one_of_its_ranks_has_ended_counts_nothing_twice() {
    let mut job = running();
    let ranks = |ranks: &[u32]| ranks.iter().copied().map(Rank).collect();
    let seats = vec![(ContainerId("c2".into()), ranks(&[4, 5]))];
    let first = Rank(4);
    let _spawned = job.step(Millis(1), Event::Spawned { first, seats });
    let ended = |rank| ended(rank, End::Code(0), PmiStage::Finalized);
    let shown = |actions: Vec<Action>| match actions.as_slice() {
        [Action::Show(Phase::Running { ended, ranks })] => (*ended, *ranks),
        other => panic!("{other:?}"),
    };
    assert_eq!(shown(job.step(Millis(2), ended(4))), (1, 6));
    let _failed = job.step(Millis(3), Event::NotSpawned(1));
    assert_eq!(shown(job.step(Millis(4), ended(0))), (1, 4));
}

#[test]
fn spawned_processes_belong_to_the_job_and_have_names_of_their_own() {
    let spawned = |first, ranks: &[u32]| Event::Spawned {
        first: Rank(first),
        seats: vec![(
            ContainerId("c2".into()),
            ranks.iter().copied().map(Rank).collect(),
        )],
    };
    let mut job = running();
    let _progress = job.step(Millis(1), spawned(4, &[4, 5]));
    let _progress = job.step(Millis(1), Event::NotSpawned(1));
    // The end of one that is not there any more means nothing.
    let _progress = job.step(Millis(2), ended(4, End::Code(9), PmiStage::Silent));
    let _progress = job.step(Millis(2), spawned(6, &[6, 7, 8]));
    for rank in 0..4 {
        let _progress = job.step(Millis(3), ended(rank, End::Code(0), PmiStage::Finalized));
    }
    assert!(!job.is_over());
    let actions = job.step(Millis(4), ended(8, End::Code(3), PmiStage::Finalized));
    assert!(matches!(actions[0], Action::Stop { .. }), "{actions:?}");
    assert_eq!(
        reap(&mut job, &[0, 1, 2, 3, 8]).as_deref(),
        None,
        "the spawned ones still run"
    );
    let _over = job.step(
        Millis(500),
        ended(6, End::Signal(15), PmiStage::Initialized),
    );
    let actions = job.step(
        Millis(500),
        ended(7, End::Signal(15), PmiStage::Initialized),
    );
    let [Action::Finish(verdict)] = actions.as_slice() else {
        panic!("{actions:?}");
    };
    assert_eq!(
        sentence(verdict.cause.as_ref().unwrap()),
        "rank 2 of spawned group 2 on n2 exited with code 3"
    );
}

#[test]
fn a_rank_that_leaves_before_mpi_init_does_not_leave_the_others_waiting() {
    // In either order of the news.
    for pmi_first in [true, false] {
        let mut job = running();
        let mut news = [Event::PmiSeen(0), ended(3, End::Code(0), PmiStage::Silent)];
        if !pmi_first {
            news.reverse();
        }
        let [first, second] = news;
        let before = job.step(Millis(1), first);
        assert!(!before.iter().any(|a| matches!(a, Action::Stop { .. })));
        assert!(matches!(
            job.step(Millis(1), second)[0],
            Action::Stop { .. }
        ));
        assert!(
            reap(&mut job, &[3])
                .unwrap()
                .starts_with("rank 3 on n2 exited with code 0 before MPI_Init")
        );
    }
}

#[test]
fn programs_without_mpi_are_no_failure() {
    let mut job = running();
    let last = (0..4).map(|rank| job.step(Millis(1), ended(rank, End::Code(0), PmiStage::Silent)));
    let last = last.last().unwrap();
    assert_eq!(verdict(&last).as_deref(), Some("success"));
}

#[test]
fn a_broken_link_waits_for_yarn_to_name_the_reason() {
    let mut job = running();
    let lost = job.step(Millis(10), Event::LinkLost(ContainerId("c2".into())));
    assert!(matches!(lost[0], Action::Stop { .. }));
    // The other node's ranks end first; the verdict still waits.
    for rank in 0..2 {
        assert_eq!(
            verdict(&job.step(Millis(20), ended(rank, End::Signal(15), PmiStage::Silent))),
            None
        );
    }
    let said = verdict(&job.step(
        Millis(900),
        Event::ContainerEnded {
            container: ContainerId("c2".into()),
            status: -104,
            diagnostics: "2.1 GB of 2 GB physical memory used".into(),
        },
    ))
    .unwrap();
    assert!(
        said.contains("c2 on n2 was killed by YARN because it used more physical memory"),
        "{said}"
    );
    assert!(said.contains("2.1 GB of 2 GB"), "{said}");
}

#[test]
fn a_broken_link_that_nobody_explains_still_ends_the_job() {
    let mut job = running();
    assert!(
        !job.step(Millis(0), Event::LinkLost(ContainerId("c2".into())))
            .is_empty()
    );
    assert_eq!(reap(&mut job, &[2, 3]), None);
    let due = job.wakes_at().unwrap();
    let said = verdict(&job.step(due, Event::Tick)).unwrap();
    assert!(
        said.contains("the launcher in container c2 on n2 is gone"),
        "{said}"
    );
}

#[test]
fn ranks_that_never_report_are_taken_for_dead() {
    let mut job = running();
    assert!(
        !job.step(Millis(0), Event::KillRequested(KillReason::Interrupted))
            .is_empty()
    );
    let mut now = Millis(0);
    let said = loop {
        let wake = job.wakes_at().unwrap();
        // Each look is later than the last: a machine that wakes for nothing would spin.
        assert!(now < wake && wake < Millis(60_000));
        now = wake;
        if let Some(said) = verdict(&job.step(now, Event::Tick)) {
            break said;
        }
    };
    assert_eq!(said, "interrupted by the user");
}

#[test]
fn a_gang_that_stays_incomplete_is_let_go_and_asked_for_again() {
    let mut job = job(4);
    assert_eq!(job.step(Millis(0), Event::Registered).len(), 1);
    assert!(
        !job.step(Millis(0), Event::Snapshot(cluster(2, 0)))
            .is_empty()
    );
    assert!(!job.step(Millis(5), granted(1, 1)).is_empty());
    let due = Millis(gang::Limits::default().gather.0 * 6 / 5);
    let actions = job.step(due, Event::Tick);
    assert_eq!(actions[0], released("c1", Unused::Incomplete));
    assert!(matches!(&actions[1], Action::Ask { placement, .. } if placement.shares.is_empty()));
    // A grant of the old round that comes late goes back too.
    assert_eq!(
        job.step(due, granted(2, 1)),
        [released("c2", Unused::NotWanted)]
    );
    let again = job.wakes_at().unwrap();
    assert_eq!(job.step(again, Event::Tick), [Action::TakeSnapshot]);
    let asked = job.step(again, Event::Snapshot(cluster(2, 0)));
    assert!(matches!(asked[0], Action::Ask { round: 2, .. }));
}

#[test]
fn surplus_containers_go_back() {
    let mut job = job(1);
    assert_eq!(job.step(Millis(0), Event::Registered).len(), 1);
    assert!(
        !job.step(Millis(0), Event::Snapshot(cluster(2, 0)))
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
    assert_eq!(waiting.step(Millis(0), Event::Registered).len(), 1);
    let full = waiting.step(Millis(0), Event::Snapshot(cluster(2, 4096)));
    assert!(matches!(&full[0], Action::Show(Phase::WaitingForRoom(_))));
    let due = waiting.wakes_at().unwrap();
    assert_eq!(waiting.step(due, Event::Tick), [Action::TakeSnapshot]);

    let one = Demand {
        unit: Resources::new(100_000, 1),
        ..demand(1)
    };
    let mut large = MpiMachine::new(one, Limits::default(), 1);
    assert_eq!(large.step(Millis(0), Event::Registered).len(), 1);
    let said = verdict(&large.step(Millis(0), Event::Snapshot(cluster(2, 0)))).unwrap();
    assert!(
        said.contains("100000 MiB") && said.contains("4096 MiB"),
        "{said}"
    );
}

#[test]
fn containers_that_cannot_start_end_the_job_and_free_the_rest() {
    let mut job = starting_with(Limits::default());
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
    assert!(matches!(&actions[0], Action::Release { containers, .. } if containers.len() == 2));
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
    let mut job = MpiMachine::new(demand, Limits::default(), 1);
    assert_eq!(job.step(Millis(0), Event::Registered).len(), 1);
    assert!(
        !job.step(Millis(0), Event::Snapshot(cluster(1, 0)))
            .is_empty()
    );
    assert!(starts(&job.step(Millis(0), granted(1, 1))));
    let joined = job.step(Millis(0), Event::Joined(ContainerId("c1".into())));
    assert!(joined.iter().any(|a| matches!(a, Action::Begin(_))));
    let mut shown = Vec::new();
    for rank in 0..999 {
        for action in job.step(Millis(1), ended(rank, End::Code(0), PmiStage::Finalized)) {
            let Action::Show(Phase::Running { ended, ranks: 1000 }) = action else {
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
    assert_eq!(job.step(Millis(0), Event::Registered).len(), 1);
    assert!(!job.step(Millis(0), Event::Snapshot(view)).is_empty());
    let mut started = false;
    for node in 1..=NODES {
        started = starts(&job.step(Millis(1), granted(node, 1)));
    }
    assert!(started);
    for node in 1..=NODES {
        let joined = Event::Joined(ContainerId(format!("c{node}")));
        assert!(!job.step(Millis(2), joined).is_empty());
    }
    assert!(!job.is_over());
    for node in 1..=NODES {
        let lost = Event::ContainerEnded {
            container: ContainerId(format!("c{node}")),
            status: -100,
            diagnostics: String::new(),
        };
        let _consequences = job.step(Millis(3), lost);
        let broke = Event::LinkLost(ContainerId(format!("c{node}")));
        let _consequences = job.step(Millis(3), broke);
    }
    assert!(job.is_over());
}
