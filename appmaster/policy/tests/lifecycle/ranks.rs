//! What becomes of a job whose ranks end, one way or another.

use super::*;

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
    assert!(matches!(actions[0], LifecycleAction::Stop { .. }));
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
        assert!(
            !actions
                .iter()
                .any(|a| matches!(a, LifecycleAction::Stop { .. }))
        );
        assert_eq!(verdict(&actions), None);
    }
    let last = job.step(Millis(20), ended(3, End::Code(0), PmiStage::Silent));
    assert_eq!(verdict(&last).unwrap(), "rank 1 on n1 exited with code 7");
    // An abort is meant for all of them; but what failed first stands.
    let mut job = running_with(sparing());
    let _noted = job.step(Millis(10), ended(1, End::Signal(11), PmiStage::Initialized));
    let rank = Rank(2);
    let actions = job.step(Millis(20), LifecycleEvent::Aborted { rank, code: 1 });
    assert!(
        actions
            .iter()
            .any(|a| matches!(a, LifecycleAction::Stop { .. }))
    );
    let said = reap(&mut job, &[1]).unwrap();
    assert!(
        said.contains("rank 1 on n1 was killed by signal 11"),
        "{said}"
    );
    let mut job = running_with(sparing());
    let _noted = job.step(Millis(10), ended(1, End::Code(7), PmiStage::Silent));
    let _stop = job.step(
        Millis(20),
        LifecycleEvent::KillRequested(KillReason::Interrupted),
    );
    assert_eq!(reap(&mut job, &[1]).unwrap(), "interrupted by the user");
}

#[test]
fn a_program_may_run_for_so_long_and_outlive_its_first_rank_for_so_long() {
    let limits = LifecycleLimits {
        run: RunLimits {
            run: Some(Millis(60_000)),
            linger: Some(Millis(1500)),
            ..RunLimits::default()
        },
        ..LifecycleLimits::default()
    };
    let mut job = running_with(limits);
    assert_eq!(job.wakes_at(), Some(Millis(60_000)));
    assert_eq!(job.step(Millis(59_999), LifecycleEvent::Tick), []);
    let actions = job.step(Millis(60_000), LifecycleEvent::Tick);
    assert!(
        actions
            .iter()
            .any(|a| matches!(a, LifecycleAction::Stop { .. }))
    );
    assert!(reap(&mut job, &[]).unwrap().contains("longer than 60 s"));

    let mut job = running_with(limits);
    let _ended = job.step(Millis(100), ended(0, End::Code(0), PmiStage::Finalized));
    let _ended = job.step(Millis(900), ended(1, End::Code(0), PmiStage::Finalized));
    assert_eq!(job.wakes_at(), Some(Millis(1600)));
    let actions = job.step(Millis(1600), LifecycleEvent::Tick);
    assert!(
        actions
            .iter()
            .any(|a| matches!(a, LifecycleAction::Stop { .. }))
    );
    let said = reap(&mut job, &[0, 1]).unwrap();
    assert!(
        said.starts_with("2 ranks still ran 1500 ms after"),
        "{said}"
    );
}

#[test]
fn an_abort_is_named_before_the_code_it_ends_with() {
    let mut job = running();
    let abort = LifecycleEvent::Aborted {
        rank: Rank(1),
        code: 77,
    };
    assert!(matches!(
        job.step(Millis(10), abort)[0],
        LifecycleAction::Stop { .. }
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
    let _spawned = job.step(Millis(1), LifecycleEvent::Spawned { first, seats });
    let ended = |rank| ended(rank, End::Code(0), PmiStage::Finalized);
    let shown = |actions: Vec<LifecycleAction>| match actions.as_slice() {
        [LifecycleAction::Show(LifecyclePhase::Running { ended, ranks })] => (*ended, *ranks),
        other => panic!("{other:?}"),
    };
    assert_eq!(shown(job.step(Millis(2), ended(4))), (1, 6));
    let _failed = job.step(Millis(3), LifecycleEvent::NotSpawned(1));
    assert_eq!(shown(job.step(Millis(4), ended(0))), (1, 4));
}

#[test]
fn spawned_processes_belong_to_the_job_and_have_names_of_their_own() {
    let spawned = |first, ranks: &[u32]| LifecycleEvent::Spawned {
        first: Rank(first),
        seats: vec![(
            ContainerId("c2".into()),
            ranks.iter().copied().map(Rank).collect(),
        )],
    };
    let mut job = running();
    let _progress = job.step(Millis(1), spawned(4, &[4, 5]));
    let _progress = job.step(Millis(1), LifecycleEvent::NotSpawned(1));
    // The end of one that is not there any more means nothing.
    let _progress = job.step(Millis(2), ended(4, End::Code(9), PmiStage::Silent));
    let _progress = job.step(Millis(2), spawned(6, &[6, 7, 8]));
    for rank in 0..4 {
        let _progress = job.step(Millis(3), ended(rank, End::Code(0), PmiStage::Finalized));
    }
    assert!(!job.is_over());
    let actions = job.step(Millis(4), ended(8, End::Code(3), PmiStage::Finalized));
    assert!(
        matches!(actions[0], LifecycleAction::Stop { .. }),
        "{actions:?}"
    );
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
    let [LifecycleAction::Finish(verdict)] = actions.as_slice() else {
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
        let mut news = [
            LifecycleEvent::PmiSeen(0),
            ended(3, End::Code(0), PmiStage::Silent),
        ];
        if !pmi_first {
            news.reverse();
        }
        let [first, second] = news;
        let before = job.step(Millis(1), first);
        assert!(
            !before
                .iter()
                .any(|a| matches!(a, LifecycleAction::Stop { .. }))
        );
        assert!(matches!(
            job.step(Millis(1), second)[0],
            LifecycleAction::Stop { .. }
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

/// Rank `rank` has ended with code 0 between `MPI_Init` and `MPI_Finalize` at that time.
fn leaves(job: &mut MpiMachine, at: u64, rank: u32) -> Vec<LifecycleAction> {
    job.step(Millis(at), ended(rank, End::Code(0), PmiStage::Initialized))
}

fn waits(job: &mut MpiMachine, at: u64, container: &str) -> Vec<LifecycleAction> {
    job.step(
        Millis(at),
        LifecycleEvent::Waits(ContainerId(container.into())),
    )
}

fn said_of_one_that_left(actions: &[LifecycleAction]) -> Vec<Option<Millis>> {
    let said = actions.iter().filter_map(|action| match action {
        LifecycleAction::LeftEarly { within, .. } => Some(*within),
        _ => None,
    });
    said.collect()
}

fn stops(actions: &[LifecycleAction]) -> bool {
    (actions.iter()).any(|action| matches!(action, LifecycleAction::Stop { .. }))
}

#[test]
fn ranks_that_wait_for_those_that_left_with_code_0_are_ended_and_nothing_is_wrong() {
    // The workers of a pool leave, and the first rank comes to MPI_Finalize later, or has come before.
    for comes_first in [false, true] {
        let mut job = running();
        if comes_first {
            assert!(!stops(&waits(&mut job, 9, "c1")));
        }
        let first = leaves(&mut job, 10, 1);
        assert_eq!(said_of_one_that_left(&first), [Some(Millis(60_000))]);
        let others = [leaves(&mut job, 11, 2), leaves(&mut job, 12, 3)].concat();
        assert_eq!(said_of_one_that_left(&others), []);
        assert!(!stops(&first));
        assert_eq!(stops(&others), comes_first);
        if !comes_first {
            let stuck = waits(&mut job, 5_000, "c1");
            assert!(stops(&stuck) && said_of_one_that_left(&stuck).is_empty());
        }
        let last = job.step(
            Millis(5_001),
            ended(0, End::Signal(15), PmiStage::Initialized),
        );
        assert_eq!(verdict(&last).as_deref(), Some("success"));
    }
}

#[test]
fn a_rank_s_own_code_counts_beside_ranks_that_have_left() {
    let mut job = running();
    leaves(&mut job, 10, 1);
    assert!(stops(&job.step(
        Millis(20),
        ended(2, End::Code(3), PmiStage::Initialized)
    )));
    assert_eq!(
        reap(&mut job, &[1, 2]).unwrap(),
        "rank 2 on n2 exited with code 3"
    );
    // And where the others are spared: the one that failed before.
    let mut job = running_with(sparing());
    job.step(Millis(5), ended(2, End::Code(3), PmiStage::Initialized))
        .clear();
    leaves(&mut job, 10, 1);
    leaves(&mut job, 11, 3);
    assert!(stops(&waits(&mut job, 20, "c1")));
    assert_eq!(
        reap(&mut job, &[1, 2, 3]).unwrap(),
        "rank 2 on n2 exited with code 3"
    );
}

#[test]
fn ranks_that_go_on_after_one_has_left_may_come_to_their_end() {
    let mut job = running();
    for rank in [1, 2, 3] {
        assert!(!stops(&leaves(&mut job, 10, rank)));
    }
    let last = job.step(Millis(20_000), ended(0, End::Code(0), PmiStage::Finalized));
    assert_eq!(verdict(&last).as_deref(), Some("success"));
    // A barrier that is over is none in which anybody waits.
    let mut job = running();
    waits(&mut job, 1, "c1");
    waits(&mut job, 1, "c2");
    job.step(Millis(1), LifecycleEvent::BarrierOver).clear();
    for rank in [1, 2, 3] {
        assert!(!stops(&leaves(&mut job, 10, rank)));
    }
}

#[test]
fn ranks_that_wait_elsewhere_for_one_that_left_are_not_waited_for_for_ever() {
    for (left_at, within) in [(10, 60_000), (3_600_000, 360_000), (360_000_000, 600_000)] {
        let mut job = running();
        leaves(&mut job, left_at, 1);
        assert_eq!(job.wakes_at(), Some(Millis(left_at + within)));
        let actions = job.step(Millis(left_at + within), LifecycleEvent::Tick);
        assert!(stops(&actions));
        let said: Vec<String> = (actions.iter())
            .filter_map(|action| match action {
                LifecycleAction::EndedForOne {
                    rank,
                    host,
                    after,
                    others,
                } => Some(sentences::ended_for_one(*rank, host, *after, others)),
                _ => None,
            })
            .collect();
        let [said] = said.as_slice() else {
            panic!("{actions:?}");
        };
        let span = within / 1000;
        assert!(
            said.starts_with(&format!(
                "rank 0 on n1, rank 2 on n2, rank 3 on n2 still ran {span} s after rank 1 on n1 had ended with code 0"
            )),
            "{said}"
        );
        for rank in [0, 2, 3] {
            let at = Millis(left_at + within + 500);
            let over = job.step(at, ended(rank, End::Signal(15), PmiStage::Silent));
            if let Some(verdict) = verdict(&over) {
                assert_eq!(verdict, "success");
            }
        }
        assert!(job.is_over() || job.wakes_at().is_some());
    }
    // The user says how long.
    let limits = LifecycleLimits {
        run: RunLimits {
            linger: Some(Millis(1500)),
            ..RunLimits::default()
        },
        ..LifecycleLimits::default()
    };
    let mut job = running_with(limits);
    assert_eq!(said_of_one_that_left(&leaves(&mut job, 10, 1)), [None]);
    assert_eq!(job.wakes_at(), Some(Millis(1510)));
}
