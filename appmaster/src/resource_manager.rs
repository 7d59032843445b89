//! The one task that owns the allocate stream.
//!
//! It asks, gives back and finishes as the loop orders, and tells it what came: containers with
//! their tokens, ends of containers, silence.

use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use policy::lifecycle::{Event, KillReason};
use policy::{ContainerId, Millis};
use proto_hadoop::yarn::{
    AllocateRequest, AllocateResponse, AmCommand, FinalApplicationStatus, NmTokens, Resource,
};
use proto_hadoop::{ApplicationMasterClient, CallError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout, timeout_at};

use crate::news::{Granted, News, NewsSender};
use crate::nodes;
use crate::requests::{Asking, RequestTable};

mod meaning;

use meaning::{Meaning, meaning};

/// Between two calls while containers are waited for, or something has just broken: every
/// NodeManager's heartbeat, one a second, may bring what is waited for.
const BUSY: Duration = Duration::from_millis(50);
/// The same when it lasts, and how long that is: two rounds of heartbeats.
const BUSY_LONG: Duration = Duration::from_millis(250);
const BUSY_ENDS: Duration = Duration::from_secs(2);
/// From then on a job that waits calls the more seldom the longer nothing has come, after a sixteenth of
/// that time within these bounds: what comes late is late by no more than that part of the waiting.
const WAITING: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(15)];
const WAITING_BEGINS: Duration = Duration::from_secs(10);
const PART: u32 = 16;
/// Between two calls otherwise. YARN expects one within ten minutes; each costs the ResourceManager as
/// much as a NodeManager's heartbeat, and a job may run for days.
const IDLE: Duration = Duration::from_secs(3);
/// For an answer, when patience is almost over.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// Refusals in a row after which the ResourceManager is believed.
const REFUSALS: u32 = 4;
/// After a call that brought no answer; it doubles with each, up to the second: a ResourceManager that
/// is too busy has a whole cluster's calls to make up for.
const FAILED_PAUSE: Duration = Duration::from_millis(200);
const FAILED_PAUSE_MAX: Duration = Duration::from_secs(2);
/// Between two tries to unregister, when one failed.
const FINISH_PAUSE: Duration = Duration::from_millis(200);

/// What the loop orders.
pub(crate) enum Order {
    /// Replace everything that is asked for.
    Ask(Asking),
    /// Give these back.
    Release(Vec<proto_hadoop::ContainerId>),
    /// Look more often from now on.
    Hurry,
    /// Tell what a read of the nodes has brought, after what the next call brings: containers that have
    /// been granted and not told count as used there, and would be taken for somebody else's.
    Seen(Event),
    /// Unregister, and say so.
    Finish {
        status: FinalApplicationStatus,
        diagnostics: String,
        done: oneshot::Sender<Finished>,
    },
}

/// How much of the job is done. A change is told with the next call, and is no reason for one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress(Arc<AtomicU32>);

impl Progress {
    /// In thousandths.
    const WHOLE: u16 = 1000;

    pub(crate) fn set(&self, thousandths: u16) {
        let thousandths = thousandths.min(Self::WHOLE);
        self.0.store(u32::from(thousandths), Ordering::Relaxed);
    }

    /// From 0 to 1.
    fn get(&self) -> f32 {
        let thousandths = u16::try_from(self.0.load(Ordering::Relaxed)).unwrap_or(Self::WHOLE);
        f32::from(thousandths) / f32::from(Self::WHOLE)
    }
}

/// What became of the application's registration.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Finished {
    /// The ResourceManager has taken the verdict.
    pub unregistered: bool,
    /// Allocate calls made.
    pub allocates: u32,
    /// Those that carried requests for containers.
    pub asking: u32,
}

/// The task.
pub(crate) struct ResourceManager {
    client: ApplicationMasterClient,
    /// Where we listen, as registered.
    host: String,
    port: u16,
    /// Where the log is to be read, for YARN's pages; empty: nowhere.
    page: String,
    table: RequestTable,
    nm_tokens: NmTokens,
    /// What the next call gives back.
    releases: Vec<proto_hadoop::ContainerId>,
    /// Everything given back whose end has not been told. A ResourceManager that has restarted hears of
    /// it again.
    released: BTreeSet<proto_hadoop::ContainerId>,
    /// Containers that the next call asks for and none has asked for.
    asks: u32,
    /// News of a call that may not have been taken yet.
    asked: Option<News>,
    headroom: Option<Resource>,
    /// How much of the job is done, for the next call.
    progress: Progress,
    /// Containers that the scheduler has said it wants back.
    wanted_back: BTreeSet<proto_hadoop::ContainerId>,
    /// Reads of the nodes that wait for the next call's answer.
    seen: Vec<Event>,
    counts: Finished,
    /// The client keeps a call whose answer was lost, and repeats it before the next one.
    in_doubt: bool,
    /// Calls that were refused since the last that was answered.
    refusals: u32,
    /// Calls in a row that brought no answer.
    failures: u32,
    /// The last answer brought containers.
    came: bool,
    hurry: bool,
    /// YARN takes us for dead after twice this.
    patience: Duration,
    orders: mpsc::Receiver<Order>,
    /// Orders that came while news waited to be heard, the oldest first. Bounded by what the loop
    /// makes of the news that it hears meanwhile.
    backlog: VecDeque<Order>,
    news: NewsSender,
}

impl ResourceManager {
    /// Over a client that has registered `host` and `port`. `expiry` is the silence after which
    /// YARN takes us for dead; `table` has no row yet.
    pub(crate) fn new(
        client: ApplicationMasterClient,
        host: String,
        port: u16,
        expiry: Duration,
        table: RequestTable,
        orders: mpsc::Receiver<Order>,
        news: NewsSender,
    ) -> Self {
        Self {
            client,
            host,
            port,
            page: String::new(),
            table,
            nm_tokens: NmTokens::default(),
            releases: Vec::new(),
            released: BTreeSet::new(),
            asks: 0,
            asked: None,
            headroom: None,
            progress: Progress::default(),
            wanted_back: BTreeSet::new(),
            seen: Vec::new(),
            counts: Finished::default(),
            in_doubt: false,
            refusals: 0,
            failures: 0,
            came: false,
            hurry: false,
            patience: expiry / 2,
            orders,
            backlog: VecDeque::new(),
            news,
        }
    }

    /// What the calls tell of the job's progress, for whoever knows it.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// With the place where the log is to be read, for YARN's pages.
    pub(crate) fn with_page(self, page: String) -> Self {
        Self { page, ..self }
    }

    /// Heartbeats until it has finished, or nobody gives orders any more.
    pub(crate) async fn run(mut self) {
        let mut heard = Instant::now();
        let mut ordered = Instant::now();
        loop {
            // Not those that are ordered while the call is under way.
            let seen = std::mem::take(&mut self.seen);
            let answer = self.allocate(heard + self.patience).await;
            for event in seen {
                let event = match (&answer, event) {
                    (Ok(()), event) | (_, event @ Event::SnapshotFailed(_)) => event,
                    (Err(Some(error)), _) => Event::SnapshotFailed(error.to_string()),
                    (Err(None), _) => Event::SnapshotFailed("no answer in time".into()),
                };
                self.tell(News::Machine(event)).await;
            }
            match answer {
                Ok(()) => {
                    heard = Instant::now();
                    self.refusals = 0;
                    self.failures = 0;
                    if std::mem::take(&mut self.came) {
                        ordered = Instant::now();
                    }
                }
                Err(error) => {
                    self.failures = self.failures.saturating_add(1);
                    match &error {
                        Some(error) => tracing::warn!("allocate: {error}"),
                        None => tracing::warn!("allocate: no answer in time"),
                    }
                    match error.as_ref().map_or(Meaning::Unheard, meaning) {
                        Meaning::Over => {
                            tracing::error!("this attempt is over");
                            let over = Event::KillRequested(KillReason::Terminated);
                            self.tell(News::Machine(over)).await;
                            return;
                        }
                        Meaning::NotRegistered => {
                            tracing::warn!("the ResourceManager has restarted: registering again");
                            self.register_again().await;
                        }
                        Meaning::Refused => {
                            heard = Instant::now();
                            self.refusals = self.refusals.saturating_add(1);
                            if self.refusals == REFUSALS {
                                let words = error.map(|error| error.to_string());
                                let words = words.unwrap_or_default();
                                let refused = Event::RequestsRefused { words };
                                self.tell(News::Machine(refused)).await;
                            }
                        }
                        Meaning::Heard => heard = Instant::now(),
                        Meaning::Unheard => {}
                    }
                }
            }
            if heard.elapsed() >= self.patience {
                let silent = millis(heard.elapsed());
                let lost = Event::ResourceManagerLost { silent };
                self.tell(News::Machine(lost)).await;
                heard = Instant::now();
            }
            let pause = match self.hurry || !self.table.is_empty() {
                _ if self.failures > 0 => failed_pause(self.failures),
                true if ordered.elapsed() < BUSY_ENDS => BUSY,
                true if self.hurry || ordered.elapsed() < WAITING_BEGINS => BUSY_LONG,
                true => waiting(ordered.elapsed(), self.patience, rand::random()),
                false => IDLE,
            };
            let order = match self.backlog.pop_front() {
                Some(order) => Some(order),
                None => tokio::select! {
                    order = self.orders.recv() => order,
                    () = sleep(pause) => continue,
                },
            };
            let Some(order) = order else {
                return;
            };
            // Who only looks while it waits asks for nothing more.
            if !matches!(order, Order::Seen(_)) {
                ordered = Instant::now();
            }
            if self.obey(order).await.is_break() {
                return;
            }
        }
    }

    /// Takes `first` in and whatever else has been ordered by now, so that one call carries all of
    /// it. The order to finish waits for that call.
    async fn obey(&mut self, first: Order) -> ControlFlow<()> {
        let mut next = Some(first);
        let mut something = false;
        while let Some(order) = next {
            match order {
                Order::Ask(asking) => {
                    let fresh = u32::try_from(asking.fresh().count()).unwrap_or(u32::MAX);
                    self.asks = self.asks.saturating_add(fresh);
                    // Whatever was to be seen soon has been.
                    self.hurry = false;
                    self.table.replace(&asking);
                }
                Order::Release(containers) => {
                    self.released.extend(containers.iter().copied());
                    self.releases.extend(containers);
                }
                Order::Hurry => self.hurry = true,
                Order::Seen(event) => self.seen.push(event),
                last @ Order::Finish { .. } if something => {
                    self.backlog.push_front(last);
                    break;
                }
                Order::Finish {
                    status,
                    diagnostics,
                    done,
                } => {
                    // As long as the ResourceManager would wait for us, and it may be restarting. No
                    // rank runs any more: what has ended well need not fear the next attempt, but
                    // would be recorded as a failure.
                    let span = match status {
                        FinalApplicationStatus::Succeeded => self.patience.saturating_mul(2),
                        _ => self.patience,
                    };
                    let finish = timeout(span, self.finish(status, &diagnostics));
                    self.counts.unregistered = finish.await.unwrap_or(false);
                    if !self.counts.unregistered {
                        tracing::error!("could not unregister: YARN will judge by our exit");
                    }
                    let _awaited = done.send(self.counts).is_ok();
                    return ControlFlow::Break(());
                }
            }
            something = true;
            let waiting = self.backlog.pop_front();
            next = waiting.or_else(|| self.orders.try_recv().ok());
        }
        ControlFlow::Continue(())
    }

    /// Tells the loop, which may itself be waiting for a place among the orders: these are taken
    /// meanwhile, so that the two never wait for each other.
    async fn tell(&mut self, news: News) {
        let place = loop {
            tokio::select! {
                place = self.news.reserve() => break place,
                Some(order) = self.orders.recv() => self.backlog.push_back(order),
            }
        };
        // Without a loop there is nobody to tell.
        if let Ok(place) = place {
            place.send(news);
        }
    }

    /// One call. Without an error there was no answer by `until`: whoever is frozen keeps its
    /// connections, and then nobody else would end this wait in time.
    async fn allocate(&mut self, until: Instant) -> Result<(), Option<CallError>> {
        self.counts.allocates += 1;
        let request = if self.in_doubt {
            AllocateRequest {
                progress: self.progress.get(),
                ..AllocateRequest::default()
            }
        } else {
            let asks = self.table.unsent();
            let containers = std::mem::take(&mut self.asks);
            if containers > 0 {
                self.counts.asking += 1;
                let rows = u32::try_from(asks.len()).unwrap_or(u32::MAX);
                self.asked = Some(News::Asked { containers, rows });
            }
            AllocateRequest {
                asks,
                releases: std::mem::take(&mut self.releases),
                progress: self.progress.get(),
                ..AllocateRequest::default()
            }
        };
        let until = until.max(Instant::now() + SHORTEST_WAIT);
        let answer = match timeout_at(until.into(), self.client.allocate(request)).await {
            Ok(Ok(answer)) => answer,
            Err(_late) => {
                // The client keeps it and says it again.
                self.in_doubt = true;
                return Err(None);
            }
            Ok(Err(error)) => {
                let refused = self.client.take_refused().await;
                self.in_doubt = refused.is_none();
                // As a whole: nothing of it was taken.
                if let Some(refused) = refused {
                    self.table.refused(refused.asks);
                    self.releases.extend(refused.releases);
                }
                return Err(Some(error));
            }
        };
        self.in_doubt = false;
        if let Some(asked) = self.asked.take() {
            self.tell(asked).await;
        }
        self.take_in(answer).await;
        Ok(())
    }

    /// A ResourceManager that has restarted knows the attempt but none of its requests.
    async fn register_again(&mut self) {
        let registered = self
            .client
            .register(&self.host, Some(self.port), &self.page)
            .await;
        match registered {
            Ok(_registration) => {}
            Err(error) if error.is_already_registered() => {
                tracing::info!("{error}: the answer to an earlier try was lost");
            }
            Err(error) => {
                tracing::warn!("registerApplicationMaster: {error}");
                return;
            }
        }
        self.table.forgotten();
        self.releases = self.released.iter().copied().collect();
        let restarted = Event::ResourceManagerRestarted;
        self.tell(News::Machine(restarted)).await;
    }

    async fn take_in(&mut self, answer: AllocateResponse) {
        let _changed = self.nm_tokens.keep(answer.nm_tokens);
        let allocated = answer.allocated.into_iter();
        let granted: Vec<Granted> = allocated
            .map(|container| {
                let id = container.allocation_request_id;
                let round = self.table.served(id, &container.node);
                Granted {
                    nm_token: self.nm_tokens.of(&container.node).cloned(),
                    round: round.unwrap_or_default(),
                    container,
                }
            })
            .collect();
        self.came = !granted.is_empty();
        if !answer.updated_nodes.is_empty() {
            self.tell(News::Machine(Event::Freed)).await;
        }
        if !granted.is_empty() {
            self.tell(News::Granted(granted)).await;
        }
        let wanted: Vec<_> = answer.preempted.iter().map(|wanted| wanted.id).collect();
        let before = self.wanted_back.len();
        self.wanted_back.extend(wanted.iter().copied());
        if self.wanted_back.len() > before {
            self.tell(News::WantedBack(wanted.len())).await;
        }
        for status in answer.completed {
            self.wanted_back.remove(&status.id);
            self.released.remove(&status.id);
            let ended = Event::ContainerEnded {
                container: ContainerId(status.id.to_string()),
                status: status.exit_status,
                diagnostics: status.diagnostics,
            };
            self.tell(News::Machine(ended)).await;
        }
        if self.headroom.as_ref() != Some(&answer.headroom) {
            let headroom = News::Headroom(nodes::amount(&answer.headroom, self.table.types()));
            self.tell(headroom).await;
            self.headroom = Some(answer.headroom);
        }
        if answer.command == Some(AmCommand::Shutdown) {
            let over = Event::KillRequested(KillReason::Terminated);
            self.tell(News::Machine(over)).await;
        }
    }

    /// True when the ResourceManager has taken it; false when it will not.
    async fn finish(&mut self, status: FinalApplicationStatus, diagnostics: &str) -> bool {
        loop {
            match self.client.finish(status, diagnostics, &self.page).await {
                Ok(()) => return true,
                Err(error) if error.is_attempt_gone() => return false,
                Err(error) if error.is_not_registered() => self.register_again().await,
                Err(error) => tracing::warn!("finishApplicationMaster: {error}"),
            }
            sleep(FINISH_PAUSE).await;
        }
    }
}

/// After so many calls in a row without an answer.
fn failed_pause(failures: u32) -> Duration {
    let doubled = FAILED_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(8));
    doubled.min(FAILED_PAUSE_MAX)
}

/// The pause before the next call of a job that has waited for so long in vain. Up to a quarter of it is
/// left to `chance`, so that jobs that wait for the same do not call in step.
fn waiting(waited: Duration, patience: Duration, chance: u8) -> Duration {
    let [shortest, longest] = WAITING;
    let longest = longest.min(patience / 4).max(shortest);
    let whole = (waited / PART).clamp(shortest, longest);
    let part = whole / 4;
    whole.saturating_sub(part) + part.mul_f32(f32::from(chance) / f32::from(u8::MAX))
}

fn millis(span: Duration) -> Millis {
    Millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
