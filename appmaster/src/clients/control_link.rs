//! The stream of a client's orders, which is also how the ApplicationMaster knows that its client is there.

use job::{JobId, transport, wire};
use policy::lifecycle::KillReason;
use tokio::time::timeout;
use tokio_stream::StreamExt as _;
use tonic::Streaming;

use crate::loop_event::{LoopEvent, LoopEventSender};
use crate::work::WorkEvent;

/// What a client says next on its control link; `None`: the link has ended, or the client is missed for too long.
/// One that has paused is not missed: its connection ends with its process, and by the kernel's keepalive with
/// its machine.
pub(super) async fn heard(
    orders: &mut Streaming<wire::ClientOrder>,
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
            Some(wire::client_order::Order::Pause(_)) => *is_paused = true,
            Some(wire::client_order::Order::Resume(_)) => *is_paused = false,
            Some(wire::client_order::Order::Alive(_)) => {}
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
            Some(wire::client_order::Order::Signal(signal)) => {
                WorkEvent::ClientSignal(signal.signal)
            }
            Some(wire::client_order::Order::Kill(kill)) => {
                WorkEvent::ClientKill(match kill.reason() {
                    wire::kill::Reason::Interrupted => KillReason::Interrupted,
                    wire::kill::Reason::NoReader => KillReason::NoReader,
                })
            }
            Some(wire::client_order::Order::WindowSize(size)) => WorkEvent::ClientResized(size),
            Some(wire::client_order::Order::Door(door)) => WorkEvent::ClientDoor(door),
            Some(
                wire::client_order::Order::Hello(_)
                | wire::client_order::Order::Alive(_)
                | wire::client_order::Order::Pause(_)
                | wire::client_order::Order::Resume(_),
            )
            | None => continue,
        };
        if news.send(LoopEvent::Of(job, said)).await.is_err() {
            return;
        }
    }
    let _heard = news
        .send(LoopEvent::Of(job, WorkEvent::ClientLeft))
        .await
        .is_ok();
}
