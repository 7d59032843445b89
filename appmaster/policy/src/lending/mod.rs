//! The slots of a session's containers, lent to its MPI jobs.
//!
//! A session holds containers; each offers so many slots of one size. A job wants as many slots as it has
//! processes, all at once. Which job is next is for a [`Scheduler`] to say; here its words are turned into
//! what the ApplicationMaster acts on: [`Lent`], the containers that a job may use and how many of
//! its processes each takes.
//!
//! ```text
//!  joined, lost ──▶ ┌─────────┐ ──▶ Lent { job, shares }      the job starts there
//!  wanted       ──▶ │ Lending │
//!  returned     ──▶ └─────────┘ ──▶ Waits { wanted, free, .. } why it does not yet
//! ```
//!
//! Invariants: a slot is lent to one job at a time; a job has all its slots or none; slots of a container
//! that is lost are gone, whoever has them, and come back to nobody.

mod sizes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::schedule::{
    AttemptIx, ContainerIx, Decision, Driver, End, Event, Job, JobIx, Nanos, Need, Node, NodeIx,
    Scheduler, Slot, Stage, StageState, Taken, Task, can_run,
};
use crate::{
    ClusterView, ContainerId, Counted, Millis, NodeId, NodeView, ResourceTypes, Resources,
};

/// A container that offers slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// YARN's id.
    pub container: ContainerId,
    /// The node that it is on.
    pub node: NodeId,
    /// The host's name as the node registered it.
    pub host: String,
    /// The node's rack.
    pub rack: String,
    /// How many slots it has: rights to a core, whatever memory is taken with them.
    pub slots: u32,
    /// What all of them share.
    pub pool: Resources,
}

/// What a job wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Processes, one a slot.
    pub processes: u32,
    /// What each takes of its container.
    pub unit: Resources,
    /// Whose it is.
    pub user: String,
    /// Where it waits, for policies that share out between queues.
    pub queue: String,
    /// Higher goes first, where the policy looks at it.
    pub priority: i32,
}

/// A job has its slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lent {
    /// The number it was told by.
    pub job: u32,
    /// Containers and how many processes go into each, in the order of joining.
    pub shares: Vec<(ContainerId, u32)>,
}

/// Why a job has no slots yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    /// Slots that it wants.
    pub wanted: u32,
    /// What is taken with each.
    pub unit: Resources,
    /// Slots that one of its processes could have now.
    pub free: u32,
    /// The same if nobody else had any.
    pub all: u32,
    /// Jobs that have slots, and how many; those with the most first.
    pub holders: Vec<(u32, u32)>,
    /// Jobs that wait as well and came earlier.
    pub ahead: u32,
}

#[derive(Debug)]
struct Borrower {
    ix: JobIx,
    wish: Wish,
    attempts: Vec<AttemptIx>,
}

/// The slots, and who has them.
#[derive(Debug)]
pub struct Lending {
    /// The table of the counts in all amounts.
    types: ResourceTypes,
    driver: Driver,
    offers: BTreeMap<ContainerIx, Offer>,
    jobs: BTreeMap<u32, Borrower>,
    numbers: BTreeMap<JobIx, u32>,
    next_container: u32,
    next_job: u32,
}

impl Lending {
    /// No containers and no jobs yet; amounts count by `types`. `policy` is to start gangs (`+gang`).
    #[must_use]
    pub fn new(policy: Box<dyn Scheduler>, types: ResourceTypes) -> Self {
        Self {
            types,
            driver: Driver::new(policy),
            offers: BTreeMap::new(),
            jobs: BTreeMap::new(),
            numbers: BTreeMap::new(),
            next_container: 0,
            next_job: 0,
        }
    }

    /// A launcher has joined.
    pub fn joined(&mut self, now: Millis, offer: Offer) -> Vec<Lent> {
        let pool = sizes::bundle(offer.pool, &self.types);
        let container = crate::schedule::Container {
            node: NodeIx(0),
            pool: pool.clone(),
            free: pool,
        };
        let node = Node {
            host: offer.host.clone(),
            rack: offer.rack.clone(),
            pool: crate::schedule::Bundle::new(),
            free: crate::schedule::Bundle::new(),
        };
        let slots = (0..offer.slots).map(|_| Slot::free(&[Stage::Gang]));
        let ix = ContainerIx(self.next_container);
        self.next_container = self.next_container.saturating_add(1);
        self.offers.insert(ix, offer);
        self.happened(now, &Event::Joined(node, container, slots.collect()))
    }

    /// A container is gone. Jobs in it keep what they have elsewhere until they [return](Self::returned) it;
    /// one that starts again wants slots anew, under another number.
    pub fn lost(&mut self, now: Millis, container: &ContainerId) -> Vec<Lent> {
        let found = self.offers.iter();
        let found = found.filter(|(_, offer)| offer.container == *container);
        let Some(ix) = found.map(|(ix, _)| *ix).next() else {
            return Vec::new();
        };
        self.offers.remove(&ix);
        let session = self.driver.session();
        let broken: Vec<JobIx> = session
            .attempts()
            .filter(|(_, attempt)| {
                let slot = session.slot(attempt.slot);
                slot.is_some_and(|slot| slot.container == ix)
            })
            .map(|(_, attempt)| attempt.job)
            .collect();
        for job in broken {
            self.leave(now, job);
        }
        self.happened(now, &Event::Lost(ix))
    }

    /// `job` wants slots; a number is used once.
    pub fn wanted(&mut self, now: Millis, job: u32, wish: Wish) -> Vec<Lent> {
        let ix = JobIx(self.next_job);
        self.next_job = self.next_job.saturating_add(1);
        let need = Need {
            bundle: sizes::bundle(wish.unit, &self.types),
            locks: Vec::new(),
        };
        let arrived = Job {
            seq: u64::from(ix.0),
            submitted: nanos(now),
            priority: wish.priority,
            tenant: wish.user.clone(),
            queue: wish.queue.clone(),
            tag: String::new(),
            deadline: None,
            stages: BTreeMap::from([(Stage::Gang, StageState::wanting(need))]),
        };
        let tasks = (0..wish.processes).map(|_| Task::default()).collect();
        let borrower = Borrower {
            ix,
            wish,
            attempts: Vec::new(),
        };
        self.jobs.insert(job, borrower);
        self.numbers.insert(ix, job);
        self.driver.tell(nanos(now), &Event::Arrived(arrived));
        let runnable = Event::Runnable {
            job: ix,
            stage: Stage::Gang,
            tasks,
        };
        self.happened(now, &runnable)
    }

    /// `job` needs no slots any more, whether it had them or waited.
    pub fn returned(&mut self, now: Millis, job: u32) -> Vec<Lent> {
        let Some(borrower) = self.jobs.remove(&job) else {
            return Vec::new();
        };
        self.numbers.remove(&borrower.ix);
        self.leave(now, borrower.ix);
        for attempt in borrower.attempts {
            if self.driver.session().attempt(attempt).is_some() {
                let ended = Event::Ended {
                    attempt,
                    how: End::Killed,
                    phases: Vec::new(),
                };
                self.driver.tell(nanos(now), &ended);
            }
        }
        self.decided(now)
    }

    /// Time has passed: see [`Lending::wakes_at`].
    pub fn tick(&mut self, now: Millis) -> Vec<Lent> {
        self.happened(now, &Event::Wake)
    }

    /// When [`Lending::tick`] is due.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Millis> {
        let at = self.driver.wakes_at()?;
        Some(Millis(at.0.div_ceil(1_000_000)))
    }

    /// Why `job` waits; `None`: it does not.
    #[must_use]
    pub fn waits(&self, job: u32) -> Option<Waits> {
        let borrower = self.jobs.get(&job)?;
        if !borrower.attempts.is_empty() {
            return None;
        }
        let unit = borrower.wish.unit;
        let session = self.driver.session();
        let (mut free, mut all) = (0_u32, 0_u32);
        for (ix, slot) in session.slots() {
            let offer = self.offers.get(&slot.container);
            if offer.is_some_and(|offer| sizes::fits(unit, offer.pool)) {
                all = all.saturating_add(1);
                let fits = can_run(session, borrower.ix, Stage::Gang, ix).is_ok();
                free = free.saturating_add(u32::from(fits && slot.taken == Taken::Free));
            }
        }
        let mut holders: Vec<(u32, u32)> = (self.jobs.iter())
            .map(|(job, other)| {
                (
                    *job,
                    u32::try_from(other.attempts.len()).unwrap_or(u32::MAX),
                )
            })
            .filter(|(_, slots)| *slots > 0)
            .collect();
        holders.sort_by_key(|(job, slots)| (std::cmp::Reverse(*slots), *job));
        let ahead = self.jobs.values();
        let ahead = ahead.filter(|other| other.attempts.is_empty() && other.ix < borrower.ix);
        Some(Waits {
            wanted: borrower.wish.processes,
            unit,
            free,
            all,
            holders,
            ahead: u32::try_from(ahead.count()).unwrap_or(u32::MAX),
        })
    }

    /// The containers that offer slots, in the order of joining, with the slots of each that are lent.
    pub fn offers(&self) -> impl Iterator<Item = (&Offer, u32)> {
        self.offers.iter().map(|(ix, offer)| {
            let slots = self.driver.session().slots();
            let lent = slots.filter(|(_, slot)| slot.container == *ix && slot.taken != Taken::Free);
            (offer, u32::try_from(lent.count()).unwrap_or(u32::MAX))
        })
    }

    /// What was lent as the whole cluster of a job: one node a container, with just the room for its
    /// processes, and nothing that anybody else uses.
    #[must_use]
    pub fn view(&self, lent: &Lent, unit: Resources) -> ClusterView {
        let offer = |id: &ContainerId| self.offers.values().find(|offer| offer.container == *id);
        let shares = lent.shares.iter();
        let nodes = shares.filter_map(|(id, processes)| {
            let offer = offer(id)?;
            Some(NodeView {
                id: offer.node.clone(),
                host: offer.host.clone(),
                rack: offer.rack.clone(),
                capability: unit.times(*processes),
                ..NodeView::default()
            })
        });
        let nodes: Vec<NodeView> = nodes.collect();
        let capabilities = nodes.iter().map(|node| node.capability);
        ClusterView {
            types: self.types.clone(),
            maximum: capabilities.fold(Resources::default(), most),
            nodes,
            step: unit.memory,
            counted: Counted::Memory,
            queue: Box::default(),
        }
    }

    /// Nothing of the job is to be started again; what it has, it has until it ends.
    fn leave(&mut self, now: Millis, job: JobIx) {
        if !self.driver.session().has_left(job) {
            self.driver.tell(nanos(now), &Event::Left(job));
        }
    }

    fn happened(&mut self, now: Millis, event: &Event) -> Vec<Lent> {
        self.driver.tell(nanos(now), event);
        self.decided(now)
    }

    fn decided(&mut self, now: Millis) -> Vec<Lent> {
        let mut all = Vec::new();
        for decision in self.driver.decide(nanos(now)) {
            let Decision::Gang { job, .. } = decision else {
                continue;
            };
            let Some(number) = self.numbers.get(&job).copied() else {
                continue;
            };
            let session = self.driver.session();
            let attempts = session.attempts();
            let own: Vec<(AttemptIx, ContainerIx)> = attempts
                .filter(|(_, attempt)| attempt.job == job)
                .filter_map(|(ix, attempt)| Some((ix, session.slot(attempt.slot)?.container)))
                .collect();
            let mut shares: BTreeMap<ContainerIx, u32> = BTreeMap::new();
            for (_, container) in &own {
                let share = shares.entry(*container).or_default();
                *share = share.saturating_add(1);
            }
            let shares = shares.into_iter().filter_map(|(ix, processes)| {
                Some((self.offers.get(&ix)?.container.clone(), processes))
            });
            all.push(Lent {
                job: number,
                shares: shares.collect(),
            });
            let attempts: Vec<AttemptIx> = own.into_iter().map(|(ix, _)| ix).collect();
            for attempt in &attempts {
                // From now on they are the job's, until it returns them.
                self.driver.tell(nanos(now), &Event::Began(*attempt));
            }
            if let Some(borrower) = self.jobs.get_mut(&number) {
                borrower.attempts = attempts;
            }
        }
        all
    }
}

fn most(one: Resources, other: Resources) -> Resources {
    Resources {
        memory: one.memory.max(other.memory),
        vcores: one.vcores.max(other.vcores),
        counts: one.counts.with(other.counts, u64::max),
    }
}

const fn nanos(at: Millis) -> Nanos {
    Nanos::from_millis(at.0)
}
