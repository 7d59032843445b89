//! The books, without a cluster: what is heard is made up, what would be sent stands in the draft.

use std::sync::Arc;
use std::time::Duration;

use policy::{Counted, MiB, Queue, ResourceTypes};
use proto_hadoop::yarn::{Container, Resource};
use proto_hadoop::{AppAttemptId, ApplicationClient, ApplicationId, NodeId};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::StreamExt as _;

use super::*;
use crate::containers::Reached;
use crate::nodes::{Candidates, ClusterLimits};
use crate::requests::RequestTable;
use crate::test_keys::JobKeys;

/// Whatever is waited for comes within this time, or the test fails.
const SOON: Duration = Duration::from_secs(8);
const ATTEMPT: AppAttemptId = AppAttemptId {
    application: ApplicationId {
        cluster_timestamp: 1,
        id: 1,
    },
    attempt: 1,
};

/// An application without a ResourceManager, and where it hears of tasks of its own.
fn holding() -> (Holding, mpsc::Receiver<ContainerEvent>) {
    let (heard, inbox) = mpsc::channel(8);
    let limits = ClusterLimits {
        types: ResourceTypes::default(),
        maximum: Resources::new(4096, 4),
        counted: Counted::Memory,
        step: MiB(1024),
    };
    let client = Arc::new(ApplicationClient::new(Vec::new(), "nobody"));
    let keys = JobKeys::new().appmaster;
    let reached = Reached {
        appmaster: "here:1".into(),
        interface: None,
        ports: None,
    };
    let holding = Holding {
        draft: Draft::new(RequestTable::default()),
        launch: LaunchTemplate::new(&[], &keys, BTreeMap::new(), reached).unwrap(),
        tickets: Tickets::default(),
        heard: ContainerEventSender::new(heard),
        tasks: TaskTracker::new(),
        cluster: ApplicationCluster::new(client, limits, Candidates::default()),
        registered: SystemTime::now(),
        grants: BTreeMap::new(),
        links: BTreeMap::new(),
        headroom: None,
    };
    (holding, inbox)
}

fn id(number: i64) -> proto_hadoop::ContainerId {
    proto_hadoop::ContainerId {
        attempt: ATTEMPT,
        id: number,
    }
}

fn named(number: i64) -> ContainerId {
    ContainerId(id(number).to_string())
}

fn granted(number: i64) -> ContainerEvent {
    let container = Container {
        id: id(number),
        http_address: String::new(),
        node: NodeId {
            host: "n1".into(),
            port: 1,
        },
        resource: Resource::new(1024, 1),
        priority: 1,
        allocation_request_id: 1,
        token: None,
    };
    ContainerEvent::Granted(vec![Granted {
        container,
        nm_token: None,
        request: 0,
        round: 1,
    }])
}

fn joined(number: i64, orders: &Orders) -> ContainerEvent {
    ContainerEvent::Joined {
        container: named(number),
        orders: orders.clone(),
        node: wire::NodeFacts::default(),
    }
}

/// What the launcher at the other end is told.
async fn told(orders: &Orders) -> Vec<Order> {
    let all = orders.link(0).unwrap();
    let all = all.filter_map(|order| order.unwrap().order);
    timeout(SOON, all.collect()).await.unwrap()
}

#[tokio::test]
async fn who_joins_from_a_container_that_was_given_back_meanwhile_is_told_to_leave() {
    let (mut holding, _inbox) = holding();
    assert!(holding.hear(granted(1)).is_some());
    holding.start(&named(1));
    holding.release(&[named(1)]);
    assert!(!holding.is_granted(&named(1)));
    assert_eq!(holding.draft.lock().releases.len(), 1);
    let orders = Orders::new();
    assert!(holding.hear(joined(1, &orders)).is_none());
    assert!(holding.link(&named(1)).is_none());
    let orders = told(&orders).await;
    assert!(matches!(orders[..], [Order::Leave(_)]), "{orders:?}");
}

#[tokio::test]
async fn who_is_given_back_hears_its_orders_and_then_that_it_is_to_leave() {
    let (mut holding, _inbox) = holding();
    let orders = Orders::new();
    assert!(holding.hear(granted(1)).is_some());
    assert!(holding.hear(joined(1, &orders)).is_some());
    holding.tell(&named(1), Order::EndJob(wire::EndJob { job: 1 }));
    // Nobody is there.
    holding.tell(&named(2), Order::EndJob(wire::EndJob { job: 1 }));
    holding.release(&[named(1), named(2)]);
    let orders = told(&orders).await;
    assert!(
        matches!(orders[..], [Order::EndJob(_), Order::Leave(_)]),
        "{orders:?}"
    );
    // What is not held is not given back.
    let state = holding.draft.lock();
    assert_eq!(state.releases.iter().collect::<Vec<_>>(), [&id(1)]);
}

#[tokio::test]
async fn a_container_without_a_token_is_not_started_and_that_is_heard() {
    let (mut holding, mut inbox) = holding();
    assert!(holding.hear(granted(1)).is_some());
    holding.start(&named(1));
    match timeout(SOON, inbox.recv()).await.unwrap().unwrap() {
        ContainerEvent::StartFailed { container, why } => {
            assert_eq!(container, named(1));
            assert_eq!(why, "the ResourceManager gave no token for this node");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn more_headroom_is_room_and_less_is_nothing() {
    let (mut holding, _inbox) = holding();
    let mut room = |mib| {
        let heard = holding.hear(ContainerEvent::Headroom(Resources::new(mib, 1)));
        matches!(heard, Some(ContainerEvent::Freed))
    };
    assert!(room(2048));
    assert!(!room(1024));
    assert!(!room(1024));
    assert!(room(1025));
    // It is believed where the queue has a limit.
    let queue = |holding: &mut Holding, maximum| {
        let view = ClusterView {
            queue: Box::new(Queue {
                maximum,
                ..Queue::default()
            }),
            ..ClusterView::default()
        };
        match holding.hear(ContainerEvent::Nodes(Ok(view))) {
            Some(ContainerEvent::Nodes(Ok(view))) => view.queue,
            other => panic!("{other:?}"),
        }
    };
    let limit = Some(Resources::new(4096, 4));
    let fair = queue(&mut holding, None);
    assert_eq!(fair.headroom, None);
    assert_eq!(fair.named, Some(Resources::new(1025, 1)));
    let left = queue(&mut holding, limit);
    assert_eq!(left.headroom, Some(Resources::new(1025, 1)));
    assert!(!left.names_no_room && left.named.is_none());
    // None at all is nothing to go by: it may not have counted yet.
    let _less = holding.hear(ContainerEvent::Headroom(Resources::default()));
    let full = queue(&mut holding, limit);
    assert!(full.headroom.is_none() && full.names_no_room);
    let other = queue(&mut holding, None);
    assert!(!other.names_no_room);
    assert_eq!(other.named, Some(Resources::default()));
}

#[test]
fn the_largest_container_is_what_the_last_registration_said() {
    let (mut holding, _news) = holding();
    let before = holding.cluster.limits().maximum;
    let smaller = Resources::new(before.memory.0 / 2, 1);
    let maximum = |maximum| ContainerEvent::ResourceManagerRestarted { maximum };
    assert!(holding.hear(maximum(None)).is_some());
    assert_eq!(holding.cluster.limits().maximum, before);
    assert!(holding.hear(maximum(Some(smaller))).is_some());
    assert_eq!(holding.cluster.limits().maximum, smaller);
}

#[test]
fn a_broken_link_is_a_reason_to_ask_more_often_and_a_lost_launcher_is_gone() {
    let (mut holding, _inbox) = holding();
    let orders = Orders::new();
    assert!(holding.hear(granted(1)).is_some());
    assert!(holding.hear(joined(1, &orders)).is_some());
    assert!(!holding.draft.lock().hurry);
    assert!(matches!(
        holding.hear(ContainerEvent::Cut),
        Some(ContainerEvent::Cut)
    ));
    assert!(holding.draft.lock().hurry);
    assert!(holding.hear(ContainerEvent::Lost(named(1))).is_some());
    assert_eq!(holding.links().count(), 0);
    // Its container is still held: only YARN and the owner end that.
    assert!(holding.is_granted(&named(1)));
    let draft = holding.draft.clone();
    drop(holding);
    assert!(draft.lock().is_abandoned());
}
