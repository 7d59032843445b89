//! The conversation with the ApplicationMaster (AM): orders from it and what it is told, over one link
//! after another.
//!
//! A task of its own keeps it (`keep`): it says every [`transport::ALIVE`] that the launcher is there, and
//! dials anew when the link breaks or the AM has not answered that for [`transport::MISSED`]. Neither direction
//! loses or repeats anything ([`job::resumable`]). When the AM has answered nothing that was said within
//! the last [`transport::LOST`] it is lost; it counts from when it heard the launcher, and so later.

use std::sync::Arc;
use std::time::Duration;

use job::JobId;
use job::resumable::Resumable;
use job::sequence::Bounds;
use job::transport;
use job::wire::launcher_event::Event;
use job::wire::launcher_order::Order;
use job::wire::launchers_client::LaunchersClient;
use job::wire::{LauncherOrder, MpiEvent, TaskEvent, mpi_event, task_event};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use tonic::Streaming;
use tonic::transport::Channel;

use super::LifeError;
use super::folder::Folder;
use super::join::{Joined, Refused, join, words};
use crate::launcher_context::LauncherKeys;
use crate::say;
use crate::surroundings::Surroundings;

/// What may wait for the AM. The ranks bound it: a fence, an abort and an end of each.
const BOUNDS: Bounds = Bounds {
    count: 1 << 20,
    bytes: 2 * transport::MESSAGE_MAX,
};
/// Orders that have come and are not carried out yet.
const ORDERS: usize = 64;
/// Between two tries to dial.
const DIAL_PAUSE: Duration = Duration::from_millis(500);
/// An address at which nobody listens for so long belongs to an AM that is gone.
const REFUSED_MAX: Duration = Duration::from_secs(2);

/// Whom calls go to: by the newest connection.
pub(crate) type MasterCalls = watch::Receiver<LaunchersClient<Channel>>;

/// What the AM is told.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    said: Resumable<Event>,
    folder: Arc<Folder>,
}

impl Outbox {
    pub(crate) fn push_back(&self, event: Event) {
        if !self.folder.withholds(&event) {
            let bytes = event.encoded_len();
            self.said.push(event, bytes);
        }
    }

    /// Until something was not told since the container's folder is gone. May be dropped and called again.
    pub(super) async fn has_no_folder(&self) {
        self.folder.has_gone().await;
    }

    /// What it is told of the ranks of a job.
    pub(crate) fn of_ranks(&self, job: JobId) -> RankOutbox {
        RankOutbox {
            job,
            all: self.clone(),
        }
    }

    /// Whether how far the tasks of a job were has not left yet.
    pub(crate) fn has_tasks_seen(&self, job: JobId) -> bool {
        let is_seen = |event: &Event| match event {
            Event::Task(told) => {
                told.job == job.0 && matches!(told.event, Some(task_event::Event::Seen(_)))
            }
            _ => false,
        };
        self.said.has_unsent(is_seen)
    }

    /// It is told something of the tasks of a job.
    pub(crate) fn push_of_task(&self, job: JobId, event: task_event::Event) {
        let event = TaskEvent {
            job: job.0,
            event: Some(event),
        };
        self.push_back(Event::Task(event));
    }
}

/// What the AM is told of the ranks of one job.
#[derive(Clone, Debug)]
pub(crate) struct RankOutbox {
    job: JobId,
    all: Outbox,
}

impl RankOutbox {
    pub(crate) fn push_back(&self, event: mpi_event::Event) {
        let event = MpiEvent {
            job: self.job.0,
            event: Some(event),
        };
        self.all.push_back(Event::Mpi(event));
    }

    pub(crate) fn extend(&self, events: impl IntoIterator<Item = mpi_event::Event>) {
        events.into_iter().for_each(|event| self.push_back(event));
    }

    /// Whether what the ranks used some time ago has not left yet.
    pub(crate) fn is_behind(&self) -> bool {
        let is_usages = |event: &Event| match event {
            Event::Mpi(MpiEvent { job, event }) => {
                *job == self.job.0 && matches!(event, Some(mpi_event::Event::Usages(_)))
            }
            _ => false,
        };
        self.all.said.has_unsent(is_usages)
    }
}

/// The loop's end of the conversation.
pub(super) struct Link {
    pub(super) outbox: Outbox,
    /// Orders, each once; behind an error none comes.
    pub(super) orders: mpsc::Receiver<Result<Order, LifeError>>,
    pub(super) calls: MasterCalls,
}

/// Dials the AM and begins the conversation; its task is to be run beside everything else.
pub(super) async fn begin(
    place: Arc<LauncherKeys>,
    around: Surroundings,
) -> Result<(Link, impl Future<Output = ()> + Send + 'static), LifeError> {
    let said = Resumable::new(BOUNDS);
    let dialled = Instant::now();
    let joined = join(&place, &around, &said, None)
        .await
        .map_err(|refused| match refused {
            Refused::Dial(error) => error.into(),
            Refused::Final(cause) | Refused::ForNow(cause) => LifeError::Refused {
                address: place.context.appmaster.clone(),
                cause,
            },
        })?;
    let (calls_to, calls) = watch::channel(joined.client.clone());
    let (orders_to, orders) = mpsc::channel(ORDERS);
    let link = Link {
        outbox: Outbox {
            said: said.clone(),
            folder: Arc::new(Folder::new(&around.folder)),
        },
        orders,
        calls,
    };
    let keeper = Keeper {
        place,
        around,
        said,
        orders: orders_to,
        calls: calls_to,
        born: dialled,
        answered: dialled,
    };
    Ok((link, keeper.keep(joined)))
}

struct Keeper {
    place: Arc<LauncherKeys>,
    around: Surroundings,
    said: Resumable<Event>,
    orders: mpsc::Sender<Result<Order, LifeError>>,
    calls: watch::Sender<LaunchersClient<Channel>>,
    /// Zero of the clock that the AM is told.
    born: Instant,
    /// When the newest word was said that the AM has answered.
    answered: Instant,
}

/// Why a link is left.
enum LeaveReason {
    /// It does not work; another may.
    Broken(String),
    /// Nothing more is to be said or heard.
    Over(Option<LifeError>),
}

impl Keeper {
    /// Until the launcher has left, or the AM is lost.
    async fn keep(mut self, mut joined: Joined) {
        let error = loop {
            let cause = match self.hear(&mut joined.orders).await {
                LeaveReason::Over(error) => break error,
                LeaveReason::Broken(cause) => cause,
            };
            say(&format!(
                "the link to the ApplicationMaster broke ({cause})"
            ));
            self.said.close();
            match self.dial(cause).await {
                Ok(again) => joined = again,
                Err(error) => break Some(error),
            }
            self.calls.send_replace(joined.client.clone());
        };
        if let Some(error) = error {
            // Without a loop nobody waits for orders.
            let _told = self.orders.send(Err(error)).await.is_ok();
        }
    }

    fn lost(&self, cause: &str) -> LifeError {
        LifeError::Lost {
            address: self.place.context.appmaster.clone(),
            cause: cause.to_owned(),
        }
    }

    /// Hears the orders of one link.
    async fn hear(&mut self, orders: &mut Streaming<LauncherOrder>) -> LeaveReason {
        let said = self.said.clone();
        let mut alive = interval(transport::ALIVE);
        alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let begun = Instant::now();
        loop {
            let missed = begun.max(self.answered) + transport::MISSED;
            tokio::select! {
                order = orders.message() => match order {
                    Ok(Some(order)) => if let Err(left) = self.take(order).await {
                        return left;
                    },
                    Ok(None) => return LeaveReason::Broken("it closed the link".into()),
                    Err(status) => return LeaveReason::Broken(words(&status)),
                },
                _ = alive.tick() => said.remind(millis(self.born.elapsed())),
                () = sleep_until(missed) => {
                    let seconds = transport::MISSED.as_secs();
                    return LeaveReason::Broken(format!("it does not answer for {seconds} s"));
                }
                full = said.overflowed() => {
                    let cause = format!("it does not take what it is told: {full}");
                    return LeaveReason::Over(Some(self.lost(&cause)));
                }
                () = self.orders.closed() => return LeaveReason::Over(None),
            }
        }
    }

    async fn take(&mut self, order: LauncherOrder) -> Result<(), LeaveReason> {
        let confused = |what| {
            LeaveReason::Over(Some(LifeError::Confused {
                address: self.place.context.appmaster.clone(),
                what,
            }))
        };
        let impossible = |_| confused("its numbers make no sense");
        self.said.acknowledge(order.taken).map_err(impossible)?;
        self.answered = self
            .answered
            .max(self.born + Duration::from_millis(order.clock));
        let Some(what) = order.order else {
            return match order.number {
                0 => Ok(()),
                // An order of no kind that this build knows cannot come from the same build.
                _ => Err(confused("it is empty")),
            };
        };
        if self.said.is_new(order.number).map_err(impossible)? {
            let bytes = what.encoded_len();
            let is_last = matches!(what, Order::Leave(_));
            let taken = self.orders.send(Ok(what)).await;
            taken.map_err(|_gone| LeaveReason::Over(None))?;
            if is_last {
                return Err(LeaveReason::Over(None));
            }
            self.said.took(order.number, bytes);
        }
        Ok(())
    }

    /// Dials until the AM answers, or is lost.
    async fn dial(&self, mut cause: String) -> Result<Joined, LifeError> {
        let lost_at = self.answered + transport::LOST;
        let mut refused_since = None;
        loop {
            if Instant::now() >= lost_at {
                let seconds = transport::LOST.as_secs();
                return Err(self.lost(&format!("no answer for {seconds} s, at last: {cause}")));
            }
            match join(&self.place, &self.around, &self.said, Some(lost_at)).await {
                Ok(joined) => return Ok(joined),
                Err(Refused::Final(cause)) => return Err(self.lost(&cause)),
                Err(Refused::Dial(error)) => {
                    if error.is_nobody_there() {
                        let since = *refused_since.get_or_insert_with(Instant::now);
                        if since.elapsed() >= REFUSED_MAX {
                            return Err(self.lost(&error.to_string()));
                        }
                    } else {
                        refused_since = None;
                    }
                    cause = error.to_string();
                }
                Err(Refused::ForNow(words)) => cause = words,
            }
            tokio::select! {
                () = sleep(DIAL_PAUSE) => {}
                () = self.orders.closed() => return Err(self.lost("nobody needs it")),
            }
        }
    }
}

fn millis(span: Duration) -> u64 {
    // Not 0, which says nothing.
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1)
}
