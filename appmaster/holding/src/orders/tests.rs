//! A conversation whose links break, stand still and come back, on paused time.

use std::time::Duration;

use job::wire::launcher_event::Event as Said;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_stream::wrappers::ReceiverStream;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A launcher that does what a test says, at the end of one link after another.
struct ScriptedLauncher {
    orders: Orders,
    links: mpsc::Sender<Fresh>,
    inbox: mpsc::Receiver<ContainerEvent>,
    _attending: JoinSet<()>,
}

/// One of them.
struct LossyLink {
    says: mpsc::Sender<Result<wire::LauncherEvent, Status>>,
    hears: OrderStream,
}

impl ScriptedLauncher {
    fn new() -> Self {
        let (heard, inbox) = mpsc::channel(16);
        let heard = ContainerEventSender::new(heard);
        let (links, fresh) = mpsc::channel(FRESH_QUEUE);
        let orders = Orders::new();
        let container = ContainerId("c1".into());
        let mut attending = JoinSet::new();
        attending.spawn(attend(container, orders.clone(), fresh, heard));
        Self {
            orders,
            links,
            inbox,
            _attending: attending,
        }
    }

    async fn dial(&self, taken: u64) -> Result<LossyLink, Status> {
        let (says, events) = mpsc::channel(16);
        let (answer, answered) = oneshot::channel();
        let events: Events = Box::pin(ReceiverStream::new(events));
        let fresh = Fresh {
            events,
            taken,
            answer,
        };
        let gone = || Status::unavailable("nobody attends");
        self.links.send(fresh).await.map_err(|_gone| gone())?;
        let hears = answered.await.map_err(|_gone| gone())??;
        Ok(LossyLink { says, hears })
    }

    /// What the loop hears next: the trouble with files, or another kind of news.
    async fn heard(&mut self) -> String {
        match self.inbox.recv().await.unwrap() {
            ContainerEvent::Said { event, .. } => match *event {
                Said::FilesFetched(fetched) => fetched.trouble,
                _ => panic!("other news"),
            },
            ContainerEvent::Cut => "cut".into(),
            ContainerEvent::Lost(container) => format!("{container} lost"),
            ContainerEvent::Misbehaved { what, .. } => what,
            _ => panic!("other news"),
        }
    }
}

impl LossyLink {
    async fn say(&self, number: u64, taken: u64, text: &str) {
        let event = Said::FilesFetched(wire::FilesFetched {
            trouble: text.into(),
            ..wire::FilesFetched::default()
        });
        let event = wire::LauncherEvent {
            number,
            taken,
            event: Some(event),
            clock: 0,
        };
        self.says.send(Ok(event)).await.unwrap();
    }

    async fn alive(&self, taken: u64, clock: u64) {
        let event = wire::LauncherEvent {
            taken,
            clock,
            ..wire::LauncherEvent::default()
        };
        self.says.send(Ok(event)).await.unwrap();
    }

    /// The job of the next order, with its number and what the AM has taken.
    async fn order(&mut self) -> (u64, u64, Option<u32>) {
        let order = self.hears.next().await.unwrap().unwrap();
        let job = order.order.map(|order| match order {
            Order::EndJob(end) => end.job,
            _ => panic!("another order"),
        });
        (order.number, order.taken, job)
    }
}

fn end(job: u32) -> Order {
    Order::EndJob(wire::EndJob { job })
}

#[tokio::test(start_paused = true)]
async fn a_launcher_that_dials_again_goes_on_where_it_was() {
    let mut peer = ScriptedLauncher::new();
    let mut first = peer.dial(0).await.unwrap();
    assert_eq!(first.order().await, (0, 0, None));
    peer.orders.say(end(1));
    peer.orders.say(end(2));
    assert_eq!(first.order().await, (1, 0, Some(1)));
    first.say(1, 1, "one").await;
    first.say(2, 1, "two").await;
    assert_eq!(peer.heard().await, "one");
    assert_eq!(peer.heard().await, "two");
    // The second order, and what was taken, are lost with the link.
    drop(first);
    assert_eq!(peer.heard().await, "cut");
    peer.orders.say(end(3));
    sleep(20 * SECOND).await;
    let mut second = peer.dial(1).await.unwrap();
    assert_eq!(second.order().await, (2, 2, Some(2)));
    assert_eq!(second.order().await, (3, 2, Some(3)));
    second.say(2, 3, "two").await;
    second.say(3, 3, "three").await;
    assert_eq!(peer.heard().await, "three");
    // A third takes the place of one that still stands.
    let _third = peer.dial(3).await.unwrap();
    assert!(second.hears.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_launcher_that_says_nothing_is_lost_after_its_time_with_a_link_or_without() {
    for is_there in [true, false] {
        let mut peer = ScriptedLauncher::new();
        let link = peer.dial(0).await.unwrap();
        sleep(30 * SECOND).await;
        link.alive(0, 7).await;
        let link = is_there.then_some(link);
        sleep(transport::LOST - SECOND).await;
        if link.is_none() {
            assert_eq!(peer.heard().await, "cut");
        }
        assert!(peer.inbox.try_recv().is_err());
        sleep(2 * SECOND).await;
        assert_eq!(peer.heard().await, "c1 lost");
        // Nor may it come again.
        assert!(peer.dial(0).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_launcher_whose_container_has_ended_is_not_waited_for() {
    let mut peer = ScriptedLauncher::new();
    let link = peer.dial(0).await.unwrap();
    peer.orders.container_ended();
    link.say(1, 0, "its last word").await;
    drop(link);
    assert_eq!(peer.heard().await, "its last word");
    assert_eq!(peer.heard().await, "cut");
    assert_eq!(peer.heard().await, "c1 lost");
}

#[tokio::test(start_paused = true)]
async fn a_launcher_that_is_there_and_takes_no_orders_is_asked_anew_and_then_lost() {
    let mut peer = ScriptedLauncher::new();
    let mut link = peer.dial(0).await.unwrap();
    peer.orders.say(end(1));
    let mut dialled = 0;
    let mut since = Duration::ZERO;
    'there: while since < 2 * transport::LOST {
        sleep(5 * SECOND).await;
        since += 5 * SECOND;
        while let Ok(news) = peer.inbox.try_recv() {
            match news {
                ContainerEvent::Cut => {
                    dialled += 1;
                    link = peer.dial(0).await.unwrap();
                }
                ContainerEvent::Lost(_) => break 'there,
                _ => panic!("other news"),
            }
        }
        link.alive(0, 1).await;
    }
    assert!(since >= transport::LOST, "{since:?}");
    assert!(since < 2 * transport::LOST);
    assert_eq!(dialled, 2);
}

#[tokio::test(start_paused = true)]
async fn more_orders_than_may_wait_are_not_dropped_but_said() {
    let mut peer = ScriptedLauncher::new();
    let _link = peer.dial(0).await.unwrap();
    for _ in 0..=BOUNDS.count {
        peer.orders.say(end(1));
    }
    let words = "does not take its orders: 8192 messages of ";
    assert!(peer.heard().await.starts_with(words));
}

#[tokio::test(start_paused = true)]
async fn numbers_that_cannot_be_are_said() {
    let mut peer = ScriptedLauncher::new();
    let link = peer.dial(0).await.unwrap();
    link.say(2, 0, "the first is missing").await;
    assert_eq!(peer.heard().await, "sent message 2 after 0");
    let peer = ScriptedLauncher::new();
    assert!(peer.dial(3).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn who_is_told_to_leave_hears_it_and_is_gone_with_its_link() {
    let mut peer = ScriptedLauncher::new();
    let mut link = peer.dial(0).await.unwrap();
    peer.orders.say_last(Order::Leave(wire::Leave {}));
    let order = link.hears.next().await.unwrap().unwrap().order;
    assert!(matches!(order, Some(Order::Leave(_))));
    drop(link);
    assert_eq!(peer.heard().await, "cut");
    assert_eq!(peer.heard().await, "c1 lost");
}
