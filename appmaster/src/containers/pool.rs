//! The containers that a session holds: which are wanted, which are there, which launcher is waited for.
//!
//! ```text
//! place ─▶ its gang asks ─▶ granted ─▶ start ─▶ joined: offered ─▶ lost: withdrawn, asked for elsewhere
//! ```
//!
//! Each container has a [`Gang`](policy::gang::Gang) of its own, so that none waits for another, and its own
//! request, whose number is that of its place. A node has a second one only where no other node has room
//! ([`nodes`]). Nothing here knows what runs in them; how many there are follows from what jobs lack and use
//! ([`size`]), and what else is asked for with them from what their nodes have ([`devices`]). What YARN wants
//! back goes ([`wanted_back`]), and others are asked for after a pause ([`pause`]).

mod devices;
mod lost;
mod missing;
mod nodes;
mod pause;
mod place;
mod size;
mod step;
mod wanted_back;

use std::collections::{BTreeMap, BTreeSet};

use holding::Asking;
use job::SessionPlan;
use policy::gang::{GangEvent, Grant, SuspectNodes};
use policy::lending::{CoreClass, Offer};
use policy::{ClusterView, ContainerId, Millis, NodeId};

use nodes::NodesRead;
use pause::Pause;
use place::{PlaceState, PooledContainer};
use step::nothing;

/// For a launcher to join: YARN localizes one file, which may be large and the disk slow.
const JOIN: Millis = Millis(180_000);
/// A node that is in doubt, or that has lost a second container within this time, is left alone for as long:
/// within it YARN misses a node, by Hadoop's default.
const AVOID: Millis = Millis(600_000);
/// The same where the session holds nothing and no other node is left.
const AVOID_ALONE: Millis = Millis(30_000);
/// Where no node is left to ask for, it is looked again after this.
const LOOK_AGAIN: Millis = Millis(30_000);

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Want {
    /// Read the nodes.
    Snapshot,
    /// Replace what the request of this number asks of the ResourceManager.
    Ask(u32, Asking),
    /// Give these back; launchers there are to leave.
    Release(Vec<ContainerId>),
    /// Start a launcher in this one.
    Start(ContainerId),
    /// Its slots may be lent from now on.
    Offer(Offer),
    /// Its slots are gone, and what ran there.
    Withdraw(ContainerId),
    /// This cluster can never give such a container.
    GiveUp(Box<policy::Rejection>),
}

/// The containers of a session.
#[derive(Debug)]
pub(crate) struct Pool {
    plan: SessionPlan,
    seed: u64,
    /// By the number of their requests, none of which is used twice.
    places: BTreeMap<u32, PooledContainer>,
    /// The numbers of the places that have a container.
    numbers: BTreeMap<ContainerId, u32>,
    next: u32,
    avoided: BTreeMap<NodeId, Millis>,
    /// Nodes that have lost a container, and when that is forgotten.
    failed: BTreeMap<NodeId, Millis>,
    /// The numbers of the places whose containers are at a node, or asked for there.
    at: BTreeMap<NodeId, BTreeSet<u32>>,
    /// The nodes as they were read last.
    nodes: Option<NodesRead>,
    /// Nodes that may not answer.
    suspects: SuspectNodes,
    /// The nodes are being read.
    looking: bool,
    /// For some place no node is left that has none: every one has a container, or is avoided.
    is_everywhere: bool,
    /// What the ResourceManager said when it last refused what is asked of it; `None`: it has taken it since.
    refusal: Option<String>,
    /// Until when nothing is asked for.
    pause: Pause,
    /// Jobs lacked slots when that was last looked at.
    lacks: bool,
}

impl Pool {
    /// One that has asked for nothing; `seed` is to differ from that of other sessions.
    pub(crate) fn new(plan: SessionPlan, seed: u64) -> Self {
        Self {
            plan,
            seed,
            places: BTreeMap::new(),
            numbers: BTreeMap::new(),
            next: 0,
            avoided: BTreeMap::new(),
            failed: BTreeMap::new(),
            at: BTreeMap::new(),
            nodes: None,
            suspects: SuspectNodes::new(seed),
            looking: false,
            is_everywhere: false,
            refusal: None,
            pause: Pause::none(),
            lacks: false,
        }
    }

    /// The application is registered.
    pub(crate) fn begin(&mut self, now: Millis) -> Vec<Want> {
        let places = 0..self.plan.first.get();
        places.flat_map(|_| self.open(now)).collect()
    }

    /// The nodes as they were read, or why they could not be.
    pub(crate) fn snapshot(
        &mut self,
        now: Millis,
        view: &Result<ClusterView, String>,
    ) -> Vec<Want> {
        self.looking = false;
        self.avoided.retain(|_, until| *until > now);
        self.failed.retain(|_, until| *until > now);
        self.is_everywhere = false;
        match view {
            Ok(view) => {
                self.nodes = Some(NodesRead::new(view.clone()));
                let mut wants = self.ask_less();
                wants.extend(self.choose(now));
                wants
            }
            Err(why) => self.all_hear(now, &GangEvent::SnapshotFailed(why.clone())),
        }
    }

    /// A container was granted for the request of this number.
    pub(crate) fn granted(&mut self, now: Millis, request: u32, grant: Grant) -> Vec<Want> {
        self.refusal = None;
        match self.places.contains_key(&request) {
            true => self.step(now, request, GangEvent::Granted(grant)),
            // It was asked for by a place that is no more.
            false => vec![Want::Release(vec![grant.container])],
        }
    }

    /// The ResourceManager has taken what is asked of it.
    pub(crate) fn taken(&mut self) {
        self.refusal = None;
    }

    /// The ResourceManager refuses what these requests ask for, with these words. It may allow it later, and other
    /// nodes may be asked for less: they are looked at again after a while.
    pub(crate) fn refused(
        &mut self,
        now: Millis,
        requests: &BTreeSet<u32>,
        words: String,
    ) -> Vec<Want> {
        self.refusal = Some(words);
        let mut wants = Vec::new();
        for number in requests {
            let place = self.places.get_mut(number);
            let Some(place) = place.filter(|place| matches!(place.state, PlaceState::Asked)) else {
                continue;
            };
            wants.push(Want::Release(place.gang.end()));
            wants.push(Want::Ask(*number, nothing()));
            place.asked = None;
            place.state = PlaceState::Nowhere {
                until: now.plus(LOOK_AGAIN),
            };
            self.set_share(*number, None);
        }
        wants
    }

    /// The scheduler may have more to give, or the ResourceManager has restarted.
    pub(crate) fn all_hear(&mut self, now: Millis, event: &GangEvent) -> Vec<Want> {
        let numbers: Vec<u32> = self.places.keys().copied().collect();
        let heard = numbers.into_iter();
        heard
            .flat_map(|number| self.step(now, number, event.clone()))
            .collect()
    }

    /// A launcher has joined, whose node has these elements and classes of cores.
    pub(crate) fn joined(
        &mut self,
        container: &ContainerId,
        elements: BTreeMap<String, u64>,
        cores: &[CoreClass],
    ) -> Vec<Want> {
        let slots = self.slots(container, &elements, cores);
        let room = self.room(container);
        let place = self.place_of_mut(container);
        let Some((share, place)) = place.and_then(|place| Some((place.share.clone()?, place)))
        else {
            return Vec::new();
        };
        place.state = PlaceState::Joined(container.clone());
        place.has_elements = !elements.is_empty();
        vec![Want::Offer(Offer {
            container: container.clone(),
            node: share.node,
            host: share.host,
            rack: share.rack,
            slots,
            pool: self.plan.slot.times(room),
            elements,
        })]
    }

    /// When [`Pool::tick`] is due, if nothing else happens before.
    pub(crate) fn wakes_at(&self) -> Option<Millis> {
        let dues = self.places.values().filter_map(|place| match place.state {
            PlaceState::Asked => place.gang.wakes_at(),
            PlaceState::Starting { join_by, .. } => Some(join_by),
            PlaceState::Nowhere { until } => Some(until),
            PlaceState::Pausing => Some(self.pause.until()),
            PlaceState::Joined(_) => None,
        });
        dues.min()
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, now: Millis) -> Vec<Want> {
        let mut wants = Vec::new();
        let numbers: Vec<u32> = self.places.keys().copied().collect();
        for number in numbers {
            match self.places.get(&number).map(|place| &place.state) {
                Some(PlaceState::Starting { container, join_by }) if now >= *join_by => {
                    let container = container.clone();
                    tracing::warn!("{container}: no launcher has joined from there");
                    wants.extend(self.lost(now, &container, true));
                }
                Some(PlaceState::Nowhere { until }) if now >= *until => {
                    self.remove(number);
                    wants.extend(self.open(now));
                }
                Some(PlaceState::Pausing) if now >= self.pause.until() => {
                    self.remove(number);
                    wants.extend(self.open(now));
                }
                Some(PlaceState::Asked) => wants.extend(self.step(now, number, GangEvent::Tick)),
                Some(
                    PlaceState::Starting { .. }
                    | PlaceState::Nowhere { .. }
                    | PlaceState::Pausing
                    | PlaceState::Joined(_),
                )
                | None => {}
            }
        }
        wants
    }

    /// Nothing is wanted any more: all that is held goes back.
    pub(crate) fn end(&mut self) -> Vec<Want> {
        let mut all = Vec::new();
        let mut wants = Vec::new();
        self.numbers.clear();
        self.at.clear();
        for (number, mut place) in std::mem::take(&mut self.places) {
            all.extend(place.container().cloned());
            all.extend(place.gang.end());
            if matches!(place.state, PlaceState::Asked) {
                wants.push(Want::Ask(number, nothing()));
            }
        }
        wants.push(Want::Release(all));
        wants
    }
}

#[cfg(test)]
pub(super) mod tests;
