//! A ResourceManager that does not allow (any more) some of what a call asks for, and refuses the call as a whole.

use super::*;

/// One container of each of these sizes, on nodes of their own.
fn asking(round: u32, memory: &[u64]) -> Asking {
    let shares = memory.iter().enumerate();
    let shares = shares.map(|(number, memory)| NodeShare {
        node: NodeId(format!("n{number}:1")),
        host: format!("n{number}"),
        rack: "/r".into(),
        processes: 1,
        ask: policy::Resources::new(*memory, 1),
    });
    Asking {
        round,
        placement: Placement {
            shares: shares.collect(),
        },
        held: BTreeSet::new(),
        kept: BTreeSet::new(),
    }
}

impl SchedulerBed {
    /// The sizes of rows that were taken, each with its count of containers, as far as the last call that named it.
    fn rows(&self) -> Vec<(u64, u32)> {
        let taken = self.script.taken.lock().unwrap();
        let rows = taken.iter().flat_map(|call| &call.asks);
        let rows = rows.filter(|row| row.resource_name == proto_hadoop::yarn::ANY);
        rows.map(|row| (row.capability.memory_mib, row.containers))
            .collect()
    }

    fn gave_back(&self) -> BTreeSet<proto_hadoop::ContainerId> {
        let taken = self.script.taken.lock().unwrap();
        taken
            .iter()
            .flat_map(|call| call.releases.clone())
            .collect()
    }

    async fn refused(&mut self) -> (BTreeSet<u32>, String) {
        loop {
            if let ContainerEvent::Refused { requests, words } = self.hear().await {
                return (requests, words);
            }
        }
    }
}

#[tokio::test]
async fn a_request_that_is_not_allowed_is_told_and_everything_else_is_heard() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    stage.draft.ask(1, &asking(1, &[1024]));
    stage.comes(|| !stage.rows().is_empty()).await;
    // In the same call something is given back; and something has ended.
    let ended = ContainerStatus {
        id: id(8),
        state: ContainerState::Complete,
        is_localizing: false,
        exit_status: 3,
        diagnostics: String::new(),
    };
    let news = AllocateResponse {
        completed: vec![ended],
        ..AllocateResponse::default()
    };
    stage.script.answers.lock().unwrap().push_back(Ok(news));
    stage.draft.ask(2, &asking(1, &[8192]));
    stage.draft.release(&[id(7)]);
    let mut is_ended = false;
    let (requests, words) = loop {
        match stage.hear().await {
            ContainerEvent::Ended { status, .. } => is_ended = status == 3,
            ContainerEvent::Refused { requests, words } => break (requests, words),
            ContainerEvent::Asked { containers, .. } => assert_eq!(containers, 1),
            _ => {}
        }
    };
    assert!(is_ended, "the release goes alone, and brings what is told");
    assert_eq!(stage.gave_back(), BTreeSet::from([id(7)]));
    assert_eq!(requests, BTreeSet::from([2]));
    assert!(words.contains("Requested resource=<memory:8192"), "{words}");
    // Its owner gives it up, another asks, and nothing stands in the way.
    stage.draft.ask(2, &asking(2, &[]));
    stage.draft.ask(3, &asking(1, &[2048]));
    stage.comes(|| stage.rows().len() == 2).await;
    assert_eq!(stage.rows(), [(1024, 1), (2048, 1)]);
}

#[tokio::test]
async fn what_is_taken_and_not_allowed_any_more_is_cancelled_without_a_word() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    stage.draft.ask(1, &asking(1, &[4096]));
    stage.comes(|| !stage.rows().is_empty()).await;
    // The largest node is gone, and with it the maximum.
    *stage.script.maximum.lock().unwrap() = Resource::new(2048, 4);
    stage.draft.ask(1, &asking(2, &[2048]));
    stage.comes(|| stage.rows().len() == 2).await;
    assert_eq!(stage.rows(), [(4096, 1), (2048, 1)]);
    // The row that cancels is not taken, and not said for ever.
    let calls = || stage.script.taken.lock().unwrap().len();
    let before = calls();
    stage.comes(|| calls() > before + 2 + 4).await;
    let last = stage.script.heard.lock().unwrap().pop().unwrap();
    assert!(last.asks.is_empty(), "{last:?}");
    stage.draft.finish(succeeded());
    loop {
        match stage.hear().await {
            ContainerEvent::Refused { .. } => panic!("nobody wants it any more"),
            ContainerEvent::Finished(_) => break,
            _ => {}
        }
    }
}

#[tokio::test]
async fn of_many_requests_those_that_are_not_allowed_are_found() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    assert!(matches!(stage.hear().await, ContainerEvent::Headroom(_)));
    let good: Vec<u64> = (1..=16).map(|number| number * 128).collect();
    for (request, memory) in (0..).zip(&good) {
        stage.draft.ask(request, &asking(1, &[*memory]));
    }
    stage.draft.ask(16, &asking(1, &[9000]));
    stage.draft.ask(17, &asking(1, &[9000, 256]));
    stage.draft.ask(18, &asking(1, &[5000]));
    let mut refused = BTreeSet::new();
    while refused.len() < 3 {
        refused.extend(stage.refused().await.0);
    }
    assert_eq!(refused, BTreeSet::from([16, 17, 18]));
    stage.comes(|| stage.rows().len() == 17).await;
    let mut rows = stage.rows();
    rows.sort_unstable();
    let mut all: Vec<(u64, u32)> = good
        .into_iter()
        .chain([256])
        .map(|memory| (memory, 1))
        .collect();
    all.sort_unstable();
    assert_eq!(rows, all);
    let calls = stage.heard().len();
    assert!(calls < 40, "{calls}");
}

#[tokio::test]
async fn a_release_that_is_not_allowed_holds_no_other_up() {
    let stage = SchedulerBed::new(VecDeque::new(), 64).await;
    let mut other = id(3);
    other.attempt.attempt = 2;
    stage.draft.release(&[id(1), id(2), other, id(4)]);
    stage.draft.ask(0, &asking(1, &[1024]));
    stage
        .comes(|| stage.gave_back().len() == 3 && !stage.rows().is_empty())
        .await;
    stage.draft.release(&[id(5)]);
    stage.comes(|| stage.gave_back().len() == 4).await;
    assert!(!stage.gave_back().contains(&other));
}

/// While a ResourceManager restarts, what it allows follows the nodes that come back.
#[tokio::test]
async fn what_is_allowed_again_soon_is_not_dropped() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    assert!(matches!(stage.hear().await, ContainerEvent::Headroom(_)));
    let refusals = (0..3).map(|_| Err(refusal()));
    stage.script.answers.lock().unwrap().extend(refusals);
    stage.draft.ask(0, &asking(1, &[2048]));
    loop {
        match stage.hear().await {
            ContainerEvent::Asked { containers, .. } => break assert_eq!(containers, 1),
            ContainerEvent::Headroom(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(stage.rows().last(), Some(&(2048, 1)));
}

#[tokio::test]
async fn who_waits_hears_that_calls_are_refused_that_say_nothing() {
    let mut stage = SchedulerBed::new(VecDeque::new(), 64).await;
    stage.draft.ask(1, &asking(1, &[1024]));
    stage.comes(|| !stage.rows().is_empty()).await;
    let refusals = (0..9).map(|_| Err(refusal()));
    stage.script.answers.lock().unwrap().extend(refusals);
    let (requests, words) = stage.refused().await;
    assert_eq!(requests, BTreeSet::from([1]));
    assert!(words.ends_with("no access to label gpu"), "{words}");
}
