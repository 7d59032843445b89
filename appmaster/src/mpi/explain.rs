//! What was decided and why, as it happens: told to a client that wants it, kept for the report.
//!
//! The loop shows every event to [`Story::hear`] before the machine hears it, and every answer of
//! the machine to [`Story::tell`]. Nothing here decides, waits or fails.

use std::collections::{BTreeMap, BTreeSet};

use job::explain::{Amount, Asked, Explained, Granted, Placed, Released};
use job::wire::job_event::Event as ToClient;
use policy::lifecycle::{Cause, Grant, LifecycleAction, LifecycleEvent, LifecyclePhase};
use policy::{
    ClusterView, ContainerId, Demand, Millis, NodeId, NodeShare, Placement, ResourceTypes,
    Resources,
};

use crate::client_events::Outbox;
use crate::mpi::missing::{self, AwaitedContainer};
use crate::mpi::waiting::Watch;

/// Nodes that one line lists; the rest is counted.
const MOST_NODES: usize = 2_000;
/// Grants that are kept for the report: a job that is let go and asked again for days has no bound
/// of its own.
const MOST_GRANTS: usize = 10_000;
/// Hosts that a notice names.
const NAMED: usize = 5;

/// What is known of the job so far.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) explain: bool,
    demand: Demand,
    /// What the client is to be told.
    pub(crate) outbox: Outbox,
    /// The waiting, and when to look for its reasons.
    pub(crate) watch: Watch,
    /// The newest look at the cluster, and the one that was told last.
    view: Option<ClusterView>,
    told_view: Option<ClusterView>,
    /// The refusal that was told last.
    told_refusal: Option<String>,
    round: u32,
    /// What is asked for now; no shares while nothing is.
    placement: Placement,
    /// Places in it, by node.
    shares: BTreeMap<NodeId, usize>,
    pub(crate) placed: Option<Placed>,
    /// Containers that came and are kept.
    there: BTreeMap<ContainerId, NodeId>,
    /// One that has just come.
    arrived: Option<Grant>,
    pub(crate) grants: Vec<Granted>,
    /// Places in it, by container.
    grant_places: BTreeMap<ContainerId, usize>,
    /// What was waited for when the job ended.
    last_wanted: Vec<AwaitedContainer>,
    /// Why the job runs degraded, a sentence a node.
    pub(crate) degraded: Vec<String>,
}

impl Story {
    /// Of a job that has not begun; `explain`: every decision is told.
    pub(crate) fn new(demand: Demand, explain: bool) -> Self {
        Self {
            explain,
            demand,
            outbox: Outbox::default(),
            watch: Watch::default(),
            view: None,
            told_view: None,
            told_refusal: None,
            round: 0,
            placement: Placement::default(),
            shares: BTreeMap::new(),
            placed: None,
            there: BTreeMap::new(),
            arrived: None,
            grants: Vec::new(),
            grant_places: BTreeMap::new(),
            last_wanted: Vec::new(),
            degraded: Vec::new(),
        }
    }

    pub(crate) const fn demand(&self) -> &Demand {
        &self.demand
    }

    /// What the machine is about to hear.
    pub(crate) fn hear(&mut self, event: &LifecycleEvent) {
        if let LifecycleEvent::Snapshot(view) = event {
            self.view = Some(view.clone());
        } else if let LifecycleEvent::Granted(grant) = event {
            self.arrived = Some(grant.clone());
        } else if let LifecycleEvent::ContainerEnded { container, .. } = event {
            self.there.remove(container);
        }
    }

    /// What the machine answered.
    pub(crate) fn tell(
        &mut self,
        now: Millis,
        headroom: Option<Resources>,
        actions: &[LifecycleAction],
    ) {
        if actions
            .iter()
            .any(|action| matches!(action, LifecycleAction::Finish(_)))
        {
            // Before what is held is given back with the end.
            self.last_wanted = self.wanted();
        }
        if let Some(grant) = self.arrived.take() {
            self.granted(now, grant, actions);
        }
        for action in actions {
            match action {
                LifecycleAction::Ask {
                    round, placement, ..
                } => self.ask(now, headroom, *round, placement),
                LifecycleAction::Release { containers, why } => {
                    self.release(now, containers, sentences::unused(*why));
                }
                LifecycleAction::Show(LifecyclePhase::WaitingForRoom(why)) => {
                    self.watch.begin(now);
                    let why = sentences::no_room(why, &self.types());
                    self.refused(now, headroom, &why, true);
                }
                LifecycleAction::Show(LifecyclePhase::LetGo(let_go)) => {
                    self.watch.begin(now);
                    self.outbox.notice(sentences::let_go(let_go));
                }
                LifecycleAction::Show(
                    LifecyclePhase::WaitingForContainers { .. }
                    | LifecyclePhase::WaitingForNodes { .. },
                ) => self.watch.begin(now),
                LifecycleAction::Show(
                    LifecyclePhase::StartingContainers { .. }
                    | LifecyclePhase::Running { .. }
                    | LifecyclePhase::Ending,
                ) => self.watch.end(),
                LifecycleAction::Finish(verdict) => {
                    if let Some(Cause::Impossible(rejection)) = &verdict.cause {
                        let why = sentences::rejection(rejection, &self.types());
                        self.refused(now, headroom, &why, false);
                    }
                }
                // Not of where the job runs, or told by another.
                LifecycleAction::TakeSnapshot
                | LifecycleAction::Repeat { .. }
                | LifecycleAction::Start(_)
                | LifecycleAction::Begin(_)
                | LifecycleAction::Stop { .. }
                | LifecycleAction::Silent { .. }
                | LifecycleAction::LeftEarly { .. }
                | LifecycleAction::EndedForOne { .. }
                | LifecycleAction::Probe(_) => {}
            }
        }
    }

    fn granted(&mut self, now: Millis, grant: Grant, actions: &[LifecycleAction]) {
        let surplus = actions.iter().any(|action| {
            matches!(action, LifecycleAction::Release { containers, .. } if containers.contains(&grant.container))
        });
        let share = self.share(&grant.node);
        let host = match (share, grant.node.0.rsplit_once(':')) {
            (Some(share), _) => share.host.clone(),
            (None, Some((host, _port))) => host.to_owned(),
            (None, None) => grant.node.0.clone(),
        };
        let types = self.types();
        let granted = Granted {
            at_ms: now.0,
            container: grant.container.0.clone(),
            host,
            asked: Amount::of(share.map(|share| share.ask).unwrap_or_default(), &types),
            granted: Amount::of(grant.resources, &types),
            processes: match share {
                Some(share) if !surplus => share.processes,
                _ => 0,
            },
        };
        if self.grants.len() < MOST_GRANTS {
            let place = self.grants.len();
            self.grant_places.insert(grant.container.clone(), place);
            self.grants.push(granted.clone());
        }
        if !surplus {
            self.there.insert(grant.container, grant.node);
        }
        self.line(Explained::Granted(granted));
    }

    fn ask(&mut self, now: Millis, headroom: Option<Resources>, round: u32, placement: &Placement) {
        self.placement = placement.clone();
        let nodes = placement.shares.iter().enumerate();
        let nodes = nodes.map(|(place, share)| (share.node.clone(), place));
        self.shares = nodes.collect();
        self.round = round;
        self.told_refusal = None;
        let Some(view) = self.view.clone() else {
            return;
        };
        if placement.shares.is_empty() {
            return;
        }
        self.tell_view(now, headroom);
        let held: BTreeSet<NodeId> = sort::set(self.there.values().cloned());
        let placed = Explained::placed(now, round, &self.demand, &view, placement, &held);
        if let Explained::Placed(placed) = &placed {
            self.placed = Some(placed.clone());
        }
        self.line(placed);
        if round > 1 {
            let missing = self.wanted();
            let mut hosts: Vec<&str> = missing.iter().map(|one| one.host.as_str()).collect();
            let more = hosts.len().saturating_sub(NAMED);
            hosts.truncate(NAMED);
            let more = match more {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            self.outbox.notice(format!(
                "placed again: {} of {} containers are asked of {}{more} now",
                missing.len(),
                placement.shares.len(),
                hosts.join(", "),
            ));
        }
    }

    /// The policy found no placement.
    fn refused(&mut self, now: Millis, headroom: Option<Resources>, why: &str, may_pass: bool) {
        if self.told_refusal.as_deref() == Some(why) {
            return;
        }
        self.told_refusal = Some(why.to_owned());
        self.tell_view(now, headroom);
        self.line(Explained::NotPlaced(job::explain::NotPlaced {
            at_ms: now.0,
            reason: why.to_owned(),
            may_pass,
        }));
    }

    fn release(&mut self, now: Millis, containers: &[ContainerId], reason: &str) {
        for container in containers {
            self.there.remove(container);
            let place = self.grant_places.get(container);
            if let Some(grant) = place.and_then(|place| self.grants.get_mut(*place)) {
                grant.processes = 0;
            }
        }
        self.line(Explained::Released(Released {
            at_ms: now.0,
            containers: containers.iter().map(|id| id.0.clone()).collect(),
            reason: reason.to_owned(),
        }));
    }

    /// The ResourceManager has taken an allocate call with requests in it.
    pub(crate) fn asked(&mut self, now: Millis, containers: u32, rows: u32) {
        self.line(Explained::Asked(Asked {
            at_ms: now.0,
            round: self.round,
            containers,
            rows,
        }));
    }

    /// What is missing was looked for and is this.
    pub(crate) fn missing(&mut self, missing: job::explain::Missing) {
        self.line(Explained::Missing(missing));
    }

    /// The containers that are waited for, or the nodes that keep the job from being placed.
    pub(crate) fn wanted(&self) -> Vec<AwaitedContainer> {
        if self.placement.shares.is_empty() {
            let view = self.view.as_ref();
            return view.map_or_else(Vec::new, |view| missing::of_demand(&self.demand, view));
        }
        let there: BTreeSet<&NodeId> = sort::set(self.there.values());
        missing::of_placement(&self.placement, &|node| there.contains(node))
    }

    /// As [`Story::wanted`], at the moment when the end of the job was decided.
    pub(crate) fn wanted_at_the_end(&self) -> &[AwaitedContainer] {
        &self.last_wanted
    }

    /// The table of the counts in amounts.
    pub(crate) fn types(&self) -> ResourceTypes {
        let view = self.view.as_ref();
        view.map(|view| view.types.clone()).unwrap_or_default()
    }

    /// What is asked of `node`.
    pub(crate) fn share(&self, node: &NodeId) -> Option<&NodeShare> {
        self.placement.shares.get(*self.shares.get(node)?)
    }

    /// When to look for the reasons of the waiting.
    pub(crate) fn look_due(&self) -> Option<Millis> {
        self.watch.due(self.explain)
    }

    /// The snapshot that a decision rests on, if it is not the one told last.
    fn tell_view(&mut self, now: Millis, headroom: Option<Resources>) {
        if !self.explain || self.view == self.told_view {
            return;
        }
        if let Some(view) = &self.view {
            let snapshot = Explained::snapshot(now, view, headroom);
            self.told_view = Some(view.clone());
            self.line(snapshot);
        }
    }

    fn line(&mut self, mut explained: Explained) {
        if !self.explain {
            return;
        }
        shorten(&mut explained);
        match serde_json::to_string(&explained) {
            Ok(line) => self.outbox.push(ToClient::Explained(line)),
            Err(error) => tracing::warn!("cannot write down {explained:?}: {error}"),
        }
    }
}

/// A line about a cluster of any size fits into a message.
fn shorten(explained: &mut Explained) {
    fn cut<T>(list: &mut Vec<T>) -> u32 {
        let over = list.len().saturating_sub(MOST_NODES);
        list.truncate(MOST_NODES);
        u32::try_from(over).unwrap_or(u32::MAX)
    }
    match explained {
        Explained::Snapshot(snapshot) => snapshot.left_out = cut(&mut snapshot.nodes),
        Explained::Placed(placed) => {
            let nodes = cut(&mut placed.nodes);
            placed.left_out = nodes.saturating_add(cut(&mut placed.passed_over));
        }
        Explained::Submitted(_)
        | Explained::ProcessManager(_)
        | Explained::NotPlaced(_)
        | Explained::Asked(_)
        | Explained::Granted(_)
        | Explained::Missing(_)
        | Explained::Released(_)
        | Explained::DryRun(_)
        | Explained::WaitsForSlots(_)
        | Explained::TaskPlaced(_)
        | Explained::TaskEnded(_)
        | Explained::HomeMoved(_) => {}
    }
}

#[cfg(test)]
mod tests;
