//! The one task that owns the allocate stream.
//!
//! It sends what stands in the [`Draft`], and tells what came: containers with their tokens, ends of
//! containers, silence.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use policy::{ContainerId, Millis, NodeId};
use proto_hadoop::yarn::{
    AllocateRequest, AllocateResponse, AmCommand, Container, NmTokens, NodeState, Resource,
};
use proto_hadoop::{ApplicationMasterClient, CallError};
use tokio::time::{sleep, timeout_at};

use crate::container_event::{ContainerEvent, ContainerEventSender, Granted};
use crate::next_allocate::Draft;
use crate::nodes;
use crate::requests::Origin;
use crate::suspects::{Part, REFUSALS, SuspectRequests, parts};

mod meaning;
mod pace;
mod unregister;

use meaning::{Meaning, meaning};

/// For an answer, when patience is almost over.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// A ResourceManager has heard of the end of every container that was given back so long ago, or has forgotten it: a
/// node that does not answer is missed within half of this, by Hadoop's default.
const FORGOTTEN: Duration = Duration::from_secs(1_200);

/// What became of the application's registration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Finished {
    /// The ResourceManager has taken the verdict.
    pub unregistered: bool,
    /// Allocate calls made.
    pub allocates: u32,
    /// Those that carried requests for containers.
    pub asking: u32,
}

/// The task.
pub(crate) struct ResourceManagerTask {
    client: ApplicationMasterClient,
    /// Where we listen, as registered.
    host: String,
    port: u16,
    /// Where the log is to be read, for YARN's pages; empty: nowhere.
    page: String,
    draft: Draft,
    nm_tokens: NmTokens,
    /// News of a call that may not have been taken yet.
    asked: Option<ContainerEvent>,
    headroom: Option<Resource>,
    /// Containers that were given to this task, and have neither ended nor been given back.
    held: BTreeSet<proto_hadoop::ContainerId>,
    /// Those that were, by when they were given back: their end has not been told. A ResourceManager that has restarted
    /// hears of them again.
    given_back: BTreeMap<proto_hadoop::ContainerId, Instant>,
    /// Containers that the scheduler has said it wants back.
    wanted_back: BTreeSet<proto_hadoop::ContainerId>,
    counts: Finished,
    /// The client keeps a call whose answer was lost, and repeats it before the next one.
    in_doubt: bool,
    /// What the last call said, without those that only repeat it.
    said: AllocateRequest,
    /// What was refused, until it is known what of it is not allowed.
    suspects: SuspectRequests,
    /// Calls in a row that were refused and said nothing.
    refusals: u32,
    /// Calls in a row that brought no answer.
    failures: u32,
    /// The last answer brought containers.
    came: bool,
    /// YARN takes us for dead after twice this.
    patience: Duration,
    heard: ContainerEventSender,
}

impl ResourceManagerTask {
    /// Over a client that has registered `host` and `port`. `expiry` is the silence after which
    /// YARN takes us for dead; `draft` says what it is to call for.
    pub(crate) fn new(
        client: ApplicationMasterClient,
        host: String,
        port: u16,
        expiry: Duration,
        draft: Draft,
        heard: ContainerEventSender,
    ) -> Self {
        Self {
            client,
            host,
            port,
            page: String::new(),
            draft,
            nm_tokens: NmTokens::default(),
            asked: None,
            headroom: None,
            held: BTreeSet::new(),
            given_back: BTreeMap::new(),
            wanted_back: BTreeSet::new(),
            counts: Finished::default(),
            in_doubt: false,
            said: AllocateRequest::default(),
            suspects: SuspectRequests::default(),
            refusals: 0,
            failures: 0,
            came: false,
            patience: expiry / 2,
            heard,
        }
    }

    /// With the place where the log is to be read, for YARN's pages.
    pub(crate) fn with_page(self, page: String) -> Self {
        Self { page, ..self }
    }

    /// Heartbeats until it has unregistered, or nobody writes the draft any more.
    pub(crate) async fn run(mut self) {
        let mut heard = Instant::now();
        let mut came = Instant::now();
        // Containers are missing since then, though they may be asked for anew.
        let mut waits: Option<Instant> = None;
        loop {
            // Not those that come while the call is under way.
            let reads = self.draft.lock().begin();
            let answer = self.allocate(heard + self.patience).await;
            for nodes in reads {
                let nodes = match (&answer, nodes) {
                    (Ok(()), nodes) | (_, nodes @ Err(_)) => nodes,
                    (Err(Some(error)), _) => Err(error.to_string()),
                    (Err(None), _) => Err("no answer in time".into()),
                };
                self.tell(ContainerEvent::Nodes(nodes)).await;
            }
            match answer {
                Ok(()) => {
                    heard = Instant::now();
                    self.refusals = 0;
                    self.failures = 0;
                    if std::mem::take(&mut self.came) {
                        came = Instant::now();
                        waits = None;
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
                            self.tell(ContainerEvent::Killed).await;
                            self.draft.finished().await;
                            // There is nothing to unregister.
                            self.tell(ContainerEvent::Finished(self.counts)).await;
                            return;
                        }
                        Meaning::NotRegistered => {
                            tracing::warn!("the ResourceManager has restarted: registering again");
                            self.register_again().await;
                        }
                        Meaning::Refused => {
                            heard = Instant::now();
                            let words = error.map(|error| error.to_string());
                            self.refused(words.unwrap_or_default()).await;
                        }
                        Meaning::Heard => heard = Instant::now(),
                        Meaning::Unheard => {}
                    }
                }
            }
            if heard.elapsed() >= self.patience {
                let silent = millis(heard.elapsed());
                self.tell(ContainerEvent::ResourceManagerLost { silent })
                    .await;
                heard = Instant::now();
            }
            let pause = {
                let state = self.draft.lock();
                let standing = pace::Standing {
                    failures: self.failures,
                    hurry: state.hurry || !self.suspects.is_empty(),
                    asks: !state.table.is_empty(),
                    holds: !self.held.is_empty(),
                };
                if standing.asks {
                    waits.get_or_insert_with(Instant::now);
                } else if standing.holds {
                    waits = None;
                }
                let waited = waits.map_or(Duration::ZERO, |since| since.elapsed());
                standing.pause(came.max(state.written).elapsed(), waited, self.patience)
            };
            tokio::select! {
                () = self.draft.changed() => {}
                () = sleep(pause) => continue,
            }
            let finish = {
                let state = self.draft.lock();
                if state.is_abandoned() {
                    return;
                }
                // What stands there is sent first.
                state.finish.clone().filter(|_| !state.is_new())
            };
            if let Some(finish) = finish {
                self.unregister(&finish).await;
                return;
            }
        }
    }

    async fn tell(&self, heard: ContainerEvent) {
        // Without a loop there is nobody to tell.
        let _told = self.heard.send(heard).await.is_ok();
    }

    /// One call. Without an error there was no answer by `until`: whoever is frozen keeps its
    /// connections, and then nobody else would end this wait in time.
    async fn allocate(&mut self, until: Instant) -> Result<(), Option<CallError>> {
        self.counts.allocates += 1;
        let request = self.request();
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
                    let mut state = self.draft.lock();
                    state.table.refused(refused.asks.clone());
                    state.releases.extend(&refused.releases);
                    drop(state);
                    self.said = refused;
                }
                return Err(Some(error));
            }
        };
        self.in_doubt = false;
        self.suspects.clear(&parts(&self.said));
        let ids = self.said.asks.iter().map(|row| row.allocation_request_id);
        self.draft.lock().table.taken(ids);
        self.tell_asked().await;
        self.take_in(answer).await;
        Ok(())
    }

    /// What was asked for is taken, as far as it is allowed.
    async fn tell_asked(&mut self) {
        if self.suspects.is_empty()
            && let Some(asked) = self.asked.take()
        {
            self.tell(asked).await;
        }
    }

    /// The last call was refused, in these words: what of it is not allowed is told apart by the next ones, and
    /// dropped.
    async fn refused(&mut self, words: String) {
        let parts = parts(&self.said);
        if parts.is_empty() {
            // Nothing of it can be left out: whoever waits for something waits in vain.
            self.refusals = self.refusals.saturating_add(1);
            if self.refusals == REFUSALS {
                let requests = self.draft.lock().table.requests();
                self.tell(ContainerEvent::Refused { requests, words }).await;
            }
            return;
        }
        if parts.len() > 1 {
            // The next one is another.
            self.failures = 0;
        }
        let Some(part) = self.suspects.refused(parts) else {
            return;
        };
        match part {
            Part::Size(size) => {
                let (requests, dropped) = self.draft.lock().table.drop_size(&size);
                tracing::warn!("nothing is asked for any more in containers of {size:?}: {words}");
                if let Some(ContainerEvent::Asked { containers, .. }) = &mut self.asked {
                    *containers = containers.saturating_sub(dropped);
                    if *containers == 0 {
                        self.asked = None;
                    }
                }
                self.tell_asked().await;
                if !requests.is_empty() {
                    self.tell(ContainerEvent::Refused { requests, words }).await;
                }
            }
            Part::Release(container) => {
                tracing::error!("{container} cannot be given back: {words}");
                self.draft.lock().releases.remove(&container);
                self.given_back.remove(&container);
            }
        }
    }

    /// What the next call says: what stands in the draft, unless the client has an earlier call to repeat.
    fn request(&mut self) -> AllocateRequest {
        let mut state = self.draft.lock();
        let progress = state.progress();
        if self.in_doubt {
            return AllocateRequest {
                progress,
                ..AllocateRequest::default()
            };
        }
        let meant = loop {
            let Some(meant) = self.suspects.next(&state.releases).cloned() else {
                break None;
            };
            let are_meant = |size: &Resource| meant.contains(&Part::Size(size.clone()));
            let mut releases = state.releases.clone();
            releases.retain(|container| meant.contains(&Part::Release(*container)));
            let asks = state.table.unsent_of(are_meant);
            if !asks.is_empty() || !releases.is_empty() {
                state
                    .releases
                    .retain(|container| !releases.contains(container));
                break Some((asks, releases));
            }
            // Nobody wants to say it any more.
            self.suspects.clear(&meant);
        };
        let (asks, releases) =
            meant.unwrap_or_else(|| (state.table.unsent(), std::mem::take(&mut state.releases)));
        let containers = match self.suspects.is_empty() {
            true => std::mem::take(&mut state.asks),
            false => 0,
        };
        if containers > 0 {
            self.counts.asking += 1;
            let rows = u32::try_from(asks.len()).unwrap_or(u32::MAX);
            self.asked = Some(ContainerEvent::Asked { containers, rows });
        }
        for container in &releases {
            // Of others the end is known, or was told before they were given back.
            if self.held.remove(container) {
                self.given_back.insert(*container, Instant::now());
            }
        }
        let request = AllocateRequest {
            asks,
            releases: releases.into_iter().collect(),
            progress,
            ..AllocateRequest::default()
        };
        self.said = request.clone();
        request
    }

    /// A ResourceManager that has restarted knows the attempt but none of its requests.
    async fn register_again(&mut self) {
        let registered = self
            .client
            .register(&self.host, Some(self.port), &self.page)
            .await;
        let mut unknown = Vec::new();
        let maximum = match registered {
            Ok(registration) => {
                let _changed = self.nm_tokens.keep(registration.nm_tokens);
                let known = registration.previous_containers.iter();
                let known = known.map(|container| container.id);
                unknown.extend(known.filter(|container| !self.held.contains(container)));
                Some(registration.maximum)
            }
            Err(error) if error.is_already_registered() => {
                tracing::info!("{error}: the answer to an earlier try was lost");
                None
            }
            Err(error) => {
                tracing::warn!("registerApplicationMaster: {error}");
                return;
            }
        };
        let maximum = {
            let mut state = self.draft.lock();
            state.table.forgotten();
            self.given_back
                .retain(|_, since| since.elapsed() < FORGOTTEN);
            state.releases.extend(self.given_back.keys());
            state.releases.extend(unknown);
            let types = state.table.types();
            maximum.map(|maximum| nodes::amount(&maximum, types))
        };
        self.tell(ContainerEvent::ResourceManagerRestarted { maximum })
            .await;
    }

    async fn take_in(&mut self, answer: AllocateResponse) {
        let _changed = self.nm_tokens.keep(answer.nm_tokens);
        let granted = self.granted(answer.allocated);
        self.came = !granted.is_empty();
        self.held
            .extend(granted.iter().map(|granted| granted.container.id));
        if !answer.updated_nodes.is_empty() {
            self.tell(ContainerEvent::Freed).await;
        }
        if !granted.is_empty() {
            self.tell(ContainerEvent::Granted(granted)).await;
        }
        let wanted = answer.preempted.iter().map(|wanted| wanted.id);
        let new = wanted.filter(|id| self.wanted_back.insert(*id));
        let new: Vec<ContainerId> = new.map(|id| ContainerId(id.to_string())).collect();
        if !new.is_empty() {
            self.tell(ContainerEvent::WantedBack(new)).await;
        }
        let leaving = answer.updated_nodes.iter();
        for report in leaving.filter(|report| report.state == NodeState::Decommissioning) {
            let within = report.decommissioning_timeout;
            let leaves = ContainerEvent::NodeLeaves {
                node: NodeId(report.id.to_string()),
                within: within.map(|seconds| Millis(u64::from(seconds).saturating_mul(1_000))),
            };
            self.tell(leaves).await;
        }
        for status in answer.completed {
            self.wanted_back.remove(&status.id);
            self.held.remove(&status.id);
            self.given_back.remove(&status.id);
            let ended = ContainerEvent::Ended {
                container: ContainerId(status.id.to_string()),
                status: status.exit_status,
                diagnostics: status.diagnostics,
            };
            self.tell(ended).await;
        }
        if self.headroom.as_ref() != Some(&answer.headroom) {
            let headroom = nodes::amount(&answer.headroom, self.draft.lock().table.types());
            self.tell(ContainerEvent::Headroom(headroom)).await;
            self.headroom = Some(answer.headroom);
        }
        match answer.command {
            Some(AmCommand::Shutdown) => self.tell(ContainerEvent::Killed).await,
            Some(AmCommand::Resync) => {
                tracing::warn!("the ResourceManager wants the registration again");
                self.register_again().await;
            }
            None => {}
        }
    }

    /// The containers of one answer, each with the request that it is for.
    fn granted(&self, allocated: Vec<Container>) -> Vec<Granted> {
        let mut state = self.draft.lock();
        let granted = allocated.into_iter().map(|container| {
            let id = container.allocation_request_id;
            let origin = state.table.served(id, &container.node);
            let Origin { request, round } = origin.unwrap_or_default();
            Granted {
                nm_token: self.nm_tokens.of(&container.node).cloned(),
                request,
                round,
                container,
            }
        });
        granted.collect()
    }
}

fn millis(span: Duration) -> Millis {
    Millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
