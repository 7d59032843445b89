//! The stream of a client's orders, which is also how the ApplicationMaster knows that its client is there.

use job::wire::client_order::Order;
use job::{JobId, transport, wire};
use policy::lifecycle::KillReason;
use tokio::time::timeout;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Status, Streaming};

use crate::loop_event::{LoopEvent, LoopEventSender};
use crate::mpi::MpiJobEvent;
use crate::work::{JobEvent, WorkEvent};

/// What a client says next on its control link; `None`: the link has ended, or nothing was heard of the client for
/// [`transport::LEASE`]. A client that has paused has no such limit: its connection ends with its process, and by the
/// kernel's keepalive with its machine.
pub(super) async fn heard(
    orders: &mut (impl Stream<Item = Result<wire::ClientOrder, Status>> + Unpin),
    is_paused: &mut bool,
) -> Option<wire::ClientOrder> {
    loop {
        let order = match is_paused {
            true => orders.next().await,
            false => match timeout(transport::LEASE, orders.next()).await {
                Ok(order) => order,
                Err(_silent) => {
                    tracing::warn!(
                        "the client has said nothing for {} s",
                        transport::LEASE.as_secs()
                    );
                    None
                }
            },
        };
        let Some(Ok(order)) = order else { return None };
        match order.order {
            Some(Order::Pause(_)) => *is_paused = true,
            Some(Order::Resume(_)) => *is_paused = false,
            Some(Order::Alive(_)) => {}
            _ => return Some(order),
        }
    }
}

/// Reads the control link of a client that follows a job, until it ends.
pub(super) async fn listen(
    job: JobId,
    mut orders: Streaming<wire::ClientOrder>,
    news: LoopEventSender,
) {
    let mut is_paused = false;
    while let Some(order) = heard(&mut orders, &mut is_paused).await {
        let said = match order.order {
            Some(Order::Signal(signal)) => WorkEvent::Mpi(MpiJobEvent::ClientSignal(signal.signal)),
            Some(Order::Kill(kill)) => {
                WorkEvent::Every(JobEvent::ClientKill(match kill.reason() {
                    wire::kill::Reason::Interrupted => KillReason::Interrupted,
                    wire::kill::Reason::NoReader => KillReason::NoReader,
                }))
            }
            Some(Order::WindowSize(size)) => WorkEvent::Mpi(MpiJobEvent::ClientResized(size)),
            Some(Order::Door(door)) => WorkEvent::Mpi(MpiJobEvent::ClientDoor(door)),
            Some(Order::Hello(_) | Order::Alive(_) | Order::Pause(_) | Order::Resume(_)) | None => {
                continue;
            }
        };
        if news.send(LoopEvent::Of(job, said)).await.is_err() {
            return;
        }
    }
    let _heard = news
        .send(LoopEvent::Of(job, WorkEvent::Every(JobEvent::ClientLeft)))
        .await
        .is_ok();
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::mpsc;
    use tokio::time::{Instant, sleep};
    use tokio_stream::wrappers::ReceiverStream;

    use super::*;

    type Said = Result<wire::ClientOrder, Status>;

    fn order(order: Order) -> Said {
        Ok(wire::ClientOrder { order: Some(order) })
    }

    fn signal() -> Said {
        order(Order::Signal(wire::Signal { signal: 2 }))
    }

    /// For how long a client that says `first`, and nothing more, is listened to.
    async fn listened_to(first: Vec<Said>, most: Duration) -> Duration {
        let (said, saying) = mpsc::channel(8);
        for each in first {
            said.send(each).await.unwrap();
        }
        let (began, mut saying) = (Instant::now(), ReceiverStream::new(saying));
        let mut is_paused = false;
        let heard = timeout(most, heard(&mut saying, &mut is_paused)).await;
        assert!(!matches!(heard, Ok(Some(_))));
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_starved_for_a_while_is_not_lost() {
        let (said, saying) = mpsc::channel(8);
        let speaking = async move {
            for silence in [1, 20, 45, 5] {
                sleep(Duration::from_secs(silence)).await;
                said.send(order(Order::Alive(wire::Alive {})))
                    .await
                    .unwrap();
            }
            sleep(Duration::from_secs(45)).await;
            said.send(signal()).await.unwrap();
        };
        let (mut saying, mut is_paused) = (ReceiverStream::new(saying), false);
        let (heard, ()) = tokio::join!(heard(&mut saying, &mut is_paused), speaking);
        assert!(matches!(heard.unwrap().order, Some(Order::Signal(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_says_nothing_is_lost_and_one_that_has_paused_is_not() {
        let alive = || order(Order::Alive(wire::Alive {}));
        let pause = || order(Order::Pause(wire::Pause {}));
        let resume = || order(Order::Resume(wire::Resume {}));
        let day = Duration::from_hours(24);
        let lost = listened_to(vec![alive(), alive()], day).await;
        assert!(
            lost >= transport::LEASE && lost < transport::LEASE * 2,
            "{lost:?}"
        );
        assert!(listened_to(vec![alive(), pause()], day).await >= day);
        let lost = listened_to(vec![pause(), resume()], day).await;
        assert!(lost < transport::LEASE * 2, "{lost:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_that_breaks_is_the_end_at_once() {
        let broken = Err(Status::unavailable("broken"));
        let lost = listened_to(vec![broken], Duration::from_hours(24)).await;
        assert_eq!(lost, Duration::ZERO);
    }
}
