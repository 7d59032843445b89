//! The conversation with one launcher: orders to it and what it says, over one link after another.
//!
//! The loop says its orders to the [`Orders`] and never waits. One task a launcher ([`attend`]) hears
//! what comes on the present link, and takes a fresh one in its place when the launcher dials again.
//! Neither direction loses or repeats anything ([`job::resumable`]). The launcher is lost when nothing has
//! been heard of it for [`transport::LOST`], when it takes no orders for as long, or when more of them wait
//! than may.

use std::future::pending;
use std::pin::Pin;
use std::task::{Context, Poll};

use job::resumable::{Messages, Resumable};
use job::sequence::{Bounds, SequenceError};
use job::wire::launcher_event::Event;
use job::wire::launcher_order::Order;
use job::{transport, wire};
use policy::ContainerId;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_stream::{Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::container_event::{ContainerEvent, ContainerEventSender};

/// What may wait for one launcher. The pieces of a barrier's values, most of the bytes, are shared by all
/// launchers.
const BOUNDS: Bounds = Bounds {
    count: 8192,
    bytes: 2 * transport::MESSAGE_MAX,
};
/// Links that a launcher has opened and that are not looked at yet.
pub(crate) const FRESH_QUEUE: usize = 1;

/// The loop's end of a conversation.
#[derive(Clone, Debug)]
pub struct Orders {
    said: Resumable<Order>,
    /// Ends the conversation.
    over: CancellationToken,
    /// Whoever has no link now does not come by another.
    container_ended: CancellationToken,
}

impl Orders {
    pub(crate) fn new() -> Self {
        Self {
            said: Resumable::new(BOUNDS),
            over: CancellationToken::new(),
            container_ended: CancellationToken::new(),
        }
    }

    /// Orders it, as soon as the launcher takes orders.
    pub fn say(&self, order: Order) {
        let bytes = order.encoded_len();
        self.said.push(order, bytes);
    }

    /// Orders it, and nothing more.
    pub fn say_last(&self, order: Order) {
        self.say(order);
        self.said.finish();
    }

    /// YARN says that its container has ended.
    pub(crate) fn container_ended(&self) {
        self.container_ended.cancel();
    }

    /// What a link that takes orders behind the one of number `taken` is to send.
    #[cfg(test)]
    pub(crate) fn link(&self, taken: u64) -> Result<OrderStream, SequenceError> {
        let orders = OrderStream(self.said.open(true));
        self.said.resume(taken)?;
        Ok(orders)
    }

    /// The launcher is lost: it is not heard any more, nor may it come again.
    pub fn end(&self) {
        self.said.close();
        self.over.cancel();
    }
}

/// What comes by one link.
pub(crate) type Events = Pin<Box<dyn Stream<Item = Result<wire::LauncherEvent, Status>> + Send>>;

/// A link that a launcher has opened.
pub(crate) struct Fresh {
    pub events: Events,
    /// The last order that it has taken.
    pub taken: u64,
    pub answer: oneshot::Sender<Result<OrderStream, Status>>,
}

/// What one link is to send.
#[derive(Debug)]
pub(crate) struct OrderStream(Messages<Order>);

impl Stream for OrderStream {
    type Item = Result<wire::LauncherOrder, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = Pin::new(&mut self.0).poll_next(context);
        next.map(|next| {
            next.map(|message| {
                Ok(wire::LauncherOrder {
                    number: message.number,
                    taken: message.taken,
                    clock: message.clock,
                    order: message.what,
                })
            })
        })
    }
}

/// How a conversation ends.
enum ConversationEnd {
    /// Somebody else has ended it.
    Over,
    /// The launcher has left, or is not heard of.
    Lost(String),
    /// It does not do its part. A sentence's predicate.
    Misbehaved(String),
}

/// Hears one launcher, by whichever link, until the conversation is over or the launcher is lost.
pub(crate) async fn attend(
    container: ContainerId,
    orders: Orders,
    links: mpsc::Receiver<Fresh>,
    heard: ContainerEventSender,
) {
    let mut attending = Attending {
        container,
        orders,
        links,
        heard,
        events: None,
        since: Instant::now(),
        spoke: Instant::now(),
    };
    let end = attending.run().await;
    attending.orders.end();
    let container = attending.container;
    let last = match end {
        ConversationEnd::Over => return,
        ConversationEnd::Lost(why) => {
            tracing::info!("{container} {why}");
            ContainerEvent::Lost(container)
        }
        ConversationEnd::Misbehaved(what) => ContainerEvent::Misbehaved { container, what },
    };
    let _told = attending.heard.send(last).await.is_ok();
}

struct Attending {
    container: ContainerId,
    orders: Orders,
    links: mpsc::Receiver<Fresh>,
    heard: ContainerEventSender,
    /// Of the present link.
    events: Option<Events>,
    /// When that began.
    since: Instant,
    /// When the launcher last said something.
    spoke: Instant,
}

impl Attending {
    async fn run(&mut self) -> ConversationEnd {
        let Orders {
            said,
            over,
            container_ended,
        } = self.orders.clone();
        loop {
            tokio::select! {
                () = over.cancelled() => return ConversationEnd::Over,
                Some(fresh) = self.links.recv() => self.begin(fresh),
                event = next(&mut self.events) => match event {
                    Ok(Some(event)) => {
                        self.spoke = Instant::now();
                        if let Err(end) = self.hear(event).await {
                            return end;
                        }
                    }
                    Ok(None) => self.cut("it was closed").await,
                    Err(status) => self.cut(status.message()).await,
                },
                full = said.overflowed() => {
                    return ConversationEnd::Misbehaved(format!("does not take its orders: {full}"));
                }
                () = container_ended.cancelled(), if self.events.is_none() => {
                    return ConversationEnd::Lost("is gone with its container".into());
                }
                () = sleep_until(self.spoke + transport::LOST) => {
                    let seconds = transport::LOST.as_secs();
                    return ConversationEnd::Lost(format!("has not been heard of for {seconds} s"));
                }
            }
            if self.events.is_none() && said.is_finished() {
                // It was told to leave, and has.
                return ConversationEnd::Lost("has left".into());
            }
        }
    }

    /// Takes a fresh link in place of the present one.
    fn begin(&mut self, fresh: Fresh) {
        let orders = OrderStream(self.orders.said.open(true));
        let answer = match self.orders.said.resume(fresh.taken) {
            Ok(()) => {
                (self.spoke, self.since) = (Instant::now(), Instant::now());
                self.events = Some(fresh.events);
                Ok(orders)
            }
            Err(error) => Err(Status::failed_precondition(format!(
                "{} {error}",
                self.container
            ))),
        };
        // Whoever dialled may be gone again.
        let _answered = fresh.answer.send(answer).is_ok();
    }

    /// The present link is gone; the launcher may come by another.
    async fn cut(&mut self, why: &str) {
        tracing::info!("link to {}: {why}", self.container);
        self.events = None;
        self.orders.said.close();
        let _told = self.heard.send(ContainerEvent::Cut).await.is_ok();
    }

    async fn hear(&mut self, said: wire::LauncherEvent) -> Result<(), ConversationEnd> {
        let orders = &self.orders.said;
        let impossible = |error: SequenceError| ConversationEnd::Misbehaved(error.to_string());
        orders.acknowledge(said.taken).map_err(impossible)?;
        if said.event.is_none() || orders.is_new(said.number).map_err(impossible)? {
            let (number, bytes) = (
                said.number,
                said.event.as_ref().map_or(0, Event::encoded_len),
            );
            if let Some(event) = said.event {
                let container = self.container.clone();
                let event = Box::new(event);
                let said = ContainerEvent::Said { container, event };
                if self.heard.send(said).await.is_err() {
                    return Err(ConversationEnd::Over);
                }
            }
            orders.took(number, bytes);
        }
        if said.clock > 0 {
            orders.remind(said.clock);
        }
        let stuck = orders.stuck_for();
        if stuck >= transport::LOST {
            let seconds = stuck.as_secs();
            return Err(ConversationEnd::Lost(format!(
                "has taken no order for {seconds} s"
            )));
        }
        if stuck >= transport::MISSED && self.since.elapsed() >= transport::MISSED {
            // It may take them on a fresh link.
            self.cut("its orders are not taken").await;
        }
        Ok(())
    }
}

/// The next event of the present link, if there is one.
async fn next(events: &mut Option<Events>) -> Result<Option<wire::LauncherEvent>, Status> {
    match events {
        Some(events) => events.next().await.transpose(),
        None => pending().await,
    }
}

#[cfg(test)]
mod tests;
