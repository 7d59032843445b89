//! ResourceManagers that refuse, fall silent, restart, or have ended the attempt.

use super::*;

/// One container of 1 GiB on one node.
fn asking() -> Asking {
    Asking {
        round: 1,
        placement: Placement {
            shares: vec![NodeShare {
                node: NodeId("n1:1".into()),
                host: "n1".into(),
                rack: "/r".into(),
                processes: 1,
                ask: policy::Resources::new(1024, 1),
            }],
        },
        held: BTreeSet::new(),
        kept: BTreeSet::new(),
    }
}

#[tokio::test]
async fn requests_that_are_refused_again_and_again_are_told_with_the_words_of_the_refusal() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    stage
        .script
        .answers
        .lock()
        .unwrap()
        .extend((0..9).map(|_| Err(refusal())));
    stage.draft.ask(0, &asking());
    let began = Instant::now();
    let words = loop {
        match stage.hear().await {
            ContainerEvent::Refused { requests, words } => {
                assert_eq!(requests, BTreeSet::from([0]));
                break words;
            }
            ContainerEvent::Asked { .. } => panic!("nothing was taken"),
            _ => {}
        }
    };
    assert!(words.ends_with("no access to label gpu"), "{words}");
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn a_request_in_doubt_that_is_refused_when_repeated_is_made_again() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    // The answer to the first call: the next one is made for the order.
    assert!(matches!(stage.hear().await, ContainerEvent::Headroom(_)));
    // A call that is cut has run; the channel repeats it once.
    stage.faults.next("allocate", Fault::Cut(5));
    stage.faults.next("allocate", Fault::Cut(5));
    stage.faults.next("allocate", Fault::Refused(refusal()));
    stage.draft.ask(0, &asking());
    loop {
        if let ContainerEvent::Asked { containers, rows } = stage.hear().await {
            assert_eq!((containers, rows), (1, 3));
            break;
        }
    }
    let rows: Vec<usize> = stage.heard().iter().map(|call| call.asks.len()).collect();
    assert_eq!(rows, [3, 3, 3]);
}

#[tokio::test]
async fn a_resource_manager_that_keeps_its_connection_and_answers_nothing_is_missed_in_time() {
    let expiry = Duration::from_secs(2);
    let mut stage = SchedulerBed::expiring(Answers::new(), 64, expiry).await;
    stage.faults.next("allocate", Fault::Lost);
    let began = Instant::now();
    loop {
        if let ContainerEvent::ResourceManagerLost { silent } = stage.hear().await {
            assert!(silent.0 >= 1_000 && silent.0 < 1_900, "{silent:?}");
            break;
        }
    }
    assert!(began.elapsed() < expiry);
    let told = AllocateResponse {
        preempted: vec![proto_hadoop::yarn::PreemptedContainer {
            id: proto_hadoop::ContainerId {
                attempt: ATTEMPT,
                id: 2,
            },
            strict: true,
        }],
        ..AllocateResponse::default()
    };
    stage.script.answers.lock().unwrap().push_back(Ok(told));
    // It goes on asking: whoever unregisters later needs the connection.
    loop {
        if let ContainerEvent::WantedBack(containers) = stage.hear().await {
            assert_eq!(containers.len(), 1);
            break;
        }
    }
}

fn too_busy() -> Refusal {
    Refusal::new(
        "org.apache.hadoop.ipc.RetriableException",
        "Server is too busy",
    )
}

#[tokio::test]
async fn a_resource_manager_that_is_too_busy_or_in_standby_has_refused_nothing() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    assert!(matches!(stage.hear().await, ContainerEvent::Headroom(_)));
    for _ in 0..2 {
        stage.faults.next("allocate", Fault::Refused(too_busy()));
        stage.faults.next("allocate", Fault::Fatal(too_busy()));
        let standby = Refusal::new("org.apache.hadoop.ipc.StandbyException", "in standby");
        stage.faults.next("allocate", Fault::Refused(standby));
    }
    stage.draft.ask(0, &asking());
    loop {
        match stage.hear().await {
            ContainerEvent::Asked { containers, .. } => break assert_eq!(containers, 1),
            ContainerEvent::Headroom(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn words_of_the_layers_before_the_scheduler_are_no_heartbeat() {
    let expiry = Duration::from_secs(4);
    let mut stage = SchedulerBed::expiring(Answers::new(), 64, expiry).await;
    for _ in 0..40 {
        stage.faults.next("allocate", Fault::Refused(too_busy()));
    }
    let began = Instant::now();
    loop {
        match stage.hear().await {
            ContainerEvent::ResourceManagerLost { .. } => break,
            ContainerEvent::Headroom(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(began.elapsed() < expiry, "{:?}", began.elapsed());
}

/// A scheduler that has given these containers.
async fn holding(containers: &[i64]) -> SchedulerBed {
    let given = AllocateResponse {
        allocated: containers.iter().copied().map(container).collect(),
        ..AllocateResponse::default()
    };
    let mut stage = SchedulerBed::new(Answers::from([Ok(given)]), 64).await;
    assert!(matches!(stage.hear().await, ContainerEvent::Granted(_)));
    assert!(matches!(stage.hear().await, ContainerEvent::Headroom(_)));
    stage
}

fn ended(number: i64) -> ContainerStatus {
    ContainerStatus {
        id: id(number),
        state: ContainerState::Complete,
        is_localizing: false,
        exit_status: -100,
        diagnostics: String::new(),
    }
}

/// What the ResourceManager hears first after it has restarted.
async fn heard_after_a_restart(stage: &mut SchedulerBed) -> AllocateRequest {
    stage.script.heard.lock().unwrap().clear();
    *stage.script.registered.lock().unwrap() = false;
    stage.draft.ask(0, &asking());
    while !matches!(
        stage.hear().await,
        ContainerEvent::ResourceManagerRestarted { .. }
    ) {}
    stage.said_something().await;
    stage.heard().swap_remove(0)
}

/// Or it would be given back at every restart, as long as the session lives.
#[tokio::test]
async fn what_has_ended_before_it_is_given_back_is_given_back_once() {
    let mut stage = holding(&[7]).await;
    let told = AllocateResponse {
        completed: vec![ended(7)],
        ..AllocateResponse::default()
    };
    stage.script.answers.lock().unwrap().push_back(Ok(told));
    stage.draft.hurry();
    assert!(matches!(stage.hear().await, ContainerEvent::Ended { .. }));
    stage.draft.release(&[id(7)]);
    stage.said_something().await;
    let heard = heard_after_a_restart(&mut stage).await;
    assert_eq!(heard.releases, []);
}

#[tokio::test]
async fn what_a_second_registration_tells_is_heard() {
    let mut stage = holding(&[7]).await;
    // One that it has kept is ours, and of the other nobody here knows.
    *stage.script.kept.lock().unwrap() = vec![container(7), container(3)];
    let heard = heard_after_a_restart(&mut stage).await;
    assert_eq!(heard.releases, [id(3)]);
}

#[tokio::test]
async fn a_resource_manager_that_wants_to_be_told_all_again_is() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    stage.draft.ask(0, &asking());
    while !matches!(stage.hear().await, ContainerEvent::Asked { .. }) {}
    stage.script.heard.lock().unwrap().clear();
    let again = AllocateResponse {
        command: Some(AmCommand::Resync),
        ..AllocateResponse::default()
    };
    stage.script.answers.lock().unwrap().push_back(Ok(again));
    // It takes the registration from then on.
    *stage.script.takes_another.lock().unwrap() = true;
    stage.draft.hurry();
    while !matches!(
        stage.hear().await,
        ContainerEvent::ResourceManagerRestarted { .. }
    ) {}
    stage.said_something().await;
    assert_eq!(stage.heard()[0].asks.len(), 3);
}

#[tokio::test]
async fn after_a_restart_of_the_resource_manager_a_registration_may_lose_its_answer() {
    let mut stage = holding(&[7]).await;
    stage.draft.release(&[id(7)]);
    stage.said_something().await;
    *stage.script.registered.lock().unwrap() = false;
    // It has run; the channel repeats it, and is told so.
    let register = "registerApplicationMaster";
    stage.faults.next(register, Fault::Cut(5));
    stage.draft.ask(0, &asking());
    let mut restarted = false;
    loop {
        match stage.hear().await {
            ContainerEvent::ResourceManagerRestarted { maximum } => {
                assert_eq!(maximum, None, "the answer was lost");
                restarted = true;
            }
            ContainerEvent::Asked { .. } if restarted => break,
            ContainerEvent::Headroom(_) => {}
            other => panic!("{other:?}"),
        }
    }
    // What was given back is given back again: its end was never told.
    let last = stage.heard().pop().unwrap();
    assert_eq!((last.releases, last.asks.len()), (vec![id(7)], 3));
}

#[tokio::test]
async fn what_was_being_given_back_when_the_resource_manager_fell_over_is_given_back_again() {
    let mut stage = holding(&[6, 7, 8]).await;
    // One that was taken, and whose end was not told yet.
    stage.draft.release(&[id(6)]);
    stage.said_something().await;
    // The call has reached a ResourceManager that is gone before its answer, twice with the repetition.
    stage.faults.next("allocate", Fault::Cut(5));
    stage.faults.next("allocate", Fault::Cut(5));
    stage.draft.release(&[id(7), id(8)]);
    stage.said_something().await;
    *stage.script.registered.lock().unwrap() = false;
    stage.script.heard.lock().unwrap().clear();
    loop {
        match stage.hear().await {
            ContainerEvent::ResourceManagerRestarted { maximum } => {
                assert_eq!(maximum, Some(policy::Resources::new(4096, 4)));
                break;
            }
            ContainerEvent::Headroom(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let began = Instant::now();
    stage.said_something().await;
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(stage.heard()[0].releases, [id(6), id(7), id(8)]);
    // Their ends are told: no further ResourceManager hears of them.
    let told = AllocateResponse {
        completed: vec![ended(6), ended(7), ended(8)],
        ..AllocateResponse::default()
    };
    stage.script.answers.lock().unwrap().push_back(Ok(told));
    stage.draft.hurry();
    for _ in 0..3 {
        assert!(matches!(stage.hear().await, ContainerEvent::Ended { .. }));
    }
    *stage.script.registered.lock().unwrap() = false;
    stage.script.heard.lock().unwrap().clear();
    stage.draft.ask(0, &asking());
    stage.said_something().await;
    let heard = stage.heard();
    assert!(
        heard.iter().all(|call| call.releases.is_empty()),
        "{heard:?}"
    );
}

#[tokio::test]
async fn an_attempt_that_is_over_is_told_so_and_has_nothing_to_unregister() {
    let gone = Refusal::yarn("ApplicationAttemptNotFoundException", "who is that");
    let mut stage = SchedulerBed::new(Answers::from([Err(gone)]), 64).await;
    loop {
        match stage.hear().await {
            ContainerEvent::Killed => break,
            ContainerEvent::Headroom(_) => {}
            other => panic!("{other:?}"),
        }
    }
    stage.draft.release(&[id(7)]);
    stage.draft.finish(succeeded());
    let finished = stage.finished().await;
    assert!(!finished.unregistered);
    assert_eq!(finished.allocates, 1);
}

#[tokio::test]
async fn who_is_not_among_the_attempts_of_a_restarted_resource_manager_does_not_unregister_for_ever()
 {
    let expiry = Duration::from_secs(40);
    let mut stage = SchedulerBed::expiring(Answers::new(), 64, expiry).await;
    *stage.script.has_forgotten.lock().unwrap() = true;
    let began = Instant::now();
    stage.draft.finish(succeeded());
    let finished = stage.finished().await;
    assert!(!finished.unregistered);
    assert!(began.elapsed() > expiry / 2 / 20, "it may be recovering");
    assert!(began.elapsed() < expiry / 2, "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_attempt_that_is_recovered_late_unregisters() {
    let mut stage = SchedulerBed::new(Answers::new(), 64).await;
    *stage.script.has_forgotten.lock().unwrap() = true;
    stage.draft.finish(succeeded());
    sleep(Duration::from_millis(500)).await;
    *stage.script.has_forgotten.lock().unwrap() = false;
    assert!(stage.finished().await.unregistered);
}
