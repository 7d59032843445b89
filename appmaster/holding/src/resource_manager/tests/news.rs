//! What its owner is told, in which order, and what a slow owner costs.

use super::*;

#[tokio::test]
async fn who_writes_more_than_is_sent_and_hears_less_than_is_told_waits_for_nobody() {
    let ended = |number: i64| ContainerStatus {
        id: id(number),
        state: ContainerState::Complete,
        is_localizing: false,
        exit_status: -100,
        diagnostics: String::new(),
    };
    let answer = AllocateResponse {
        completed: (1..=200).map(ended).collect(),
        ..AllocateResponse::default()
    };
    let mut stage = SchedulerBed::new(VecDeque::from([Ok(answer)]), 2).await;
    let mut left = 200;
    while left > 0 {
        if let ContainerEvent::Ended { .. } = stage.hear().await {
            left -= 1;
            for again in 0..3 {
                stage.draft.release(&[id(1000 + again)]);
            }
        }
    }
    stage.draft.finish(succeeded());
    assert!(stage.finished().await.unregistered);
    let heard = stage.heard();
    assert!(heard.iter().all(|call| call.releases.len() <= 3));
    assert!(heard.iter().any(|call| call.releases.len() == 3));
}

#[tokio::test]
async fn the_containers_of_one_answer_are_one_piece_of_news_and_go_back_in_one_call() {
    let answer = AllocateResponse {
        allocated: (1..=2000).map(container).collect(),
        ..AllocateResponse::default()
    };
    let mut stage = SchedulerBed::new(VecDeque::from([Ok(answer)]), 64).await;
    let granted = loop {
        if let ContainerEvent::Granted(granted) = stage.hear().await {
            break granted;
        }
    };
    assert_eq!(granted.len(), 2000);
    for half in granted.chunks(1000) {
        let ids: Vec<_> = half.iter().map(|granted| granted.container.id).collect();
        stage.draft.release(&ids);
    }
    stage.draft.finish(succeeded());
    let finished = stage.finished().await;
    assert!(finished.unregistered);
    let heard = stage.heard();
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].releases.len(), 2000);
}

fn read_of_the_nodes() -> Nodes {
    Ok(policy::ClusterView {
        nodes: Vec::new(),
        maximum: policy::Resources::new(4096, 4),
        step: policy::MiB(1024),
        counted: policy::Counted::Memory,
        ..policy::ClusterView::default()
    })
}

#[tokio::test]
async fn a_read_of_the_nodes_is_told_after_the_grants_that_it_may_have_counted() {
    let granted = AllocateResponse {
        allocated: vec![container(1)],
        ..AllocateResponse::default()
    };
    let answers = Answers::from([Ok(AllocateResponse::default()), Ok(granted)]);
    let mut stage = SchedulerBed::new(answers, 64).await;
    stage.begun().await;
    stage.draft.read(read_of_the_nodes());
    let mut granted = false;
    loop {
        match stage.hear().await {
            ContainerEvent::Granted(_) => granted = true,
            ContainerEvent::Nodes(nodes) => {
                assert!(granted && nodes.is_ok(), "{nodes:?}");
                break;
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_read_of_the_nodes_is_of_no_use_where_the_next_call_fails() {
    let answers = Answers::from([Ok(AllocateResponse::default()), Err(refusal())]);
    let mut stage = SchedulerBed::new(answers, 64).await;
    stage.begun().await;
    stage.draft.read(read_of_the_nodes());
    loop {
        if let ContainerEvent::Nodes(nodes) = stage.hear().await {
            let words = nodes.unwrap_err();
            assert!(words.contains("no access to label gpu"), "{words}");
            break;
        }
    }
}

#[tokio::test]
async fn when_nobody_writes_any_more_nobody_calls() {
    let mut stage = SchedulerBed::new(Answers::new(), 64).await;
    stage.begun().await;
    stage.draft.abandon();
    let ended = timeout(SOON, stage.task.join_next()).await;
    assert!(ended.unwrap().unwrap().is_ok());
}
