//! The slots of a session's containers, lent to its jobs.
//!
//! A session holds containers; each offers so many slots of one size. An MPI job wants as many slots as it
//! has processes, all at once; a MapReduce job wants one for each of its tasks, as they come free. Which job
//! is next is for a [`Scheduler`] to say; here its words are turned into what the ApplicationMaster acts on.
//!
//! ```text
//!  joined, lost ──▶ ┌─────────┐ ──▶ Lent { job, shares }        the job starts there
//!  wanted       ──▶ │ Lending │ ──▶ Start { attempt, slot, .. }  one task of the job does
//!  runnable     ──▶ │         │ ──▶ Stop { attempt, why }
//!  ended        ──▶ │         │ ──▶ Move { attempt, cpus, .. }  a task that runs changes slots
//!  moved        ──▶ │         │
//!  returned     ──▶ └─────────┘ ──▶ Waits { wanted, free, .. }   why it does not yet
//! ```
//!
//! Invariants: a slot is lent to one job at a time; a gang has all its slots or none; slots of a container
//! that is lost are gone, whoever has them, and come back to nobody.

mod bindings;
mod by_boards;
mod core_shares;
mod core_slots;
mod foretold;
mod gangs;
mod homes;
mod messages;
mod moves;
mod needs;
mod sizes;
mod tasks;
#[cfg(test)]
mod tests;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::elements::ElementNeed;
use crate::schedule::record::RecordLine;
use crate::schedule::{
    AttemptIx, AttemptOutcome, ContainerIx, Decision, Event, Illegal, Job, JobIx, Nanos, Node,
    NodeIx, NodeLimit, Owner, Scheduler, SessionDriver, Slot, SlotIx, SlotUse, Stage, StageState,
    Task, level,
};
use bindings::Bindings;
use moves::PendingSwap;

use crate::{ContainerId, Millis, ResourceTypes, Resources};

pub use by_boards::FunctionLoad;
pub use core_shares::share_cores;
pub use core_slots::{CoreClass, CoreSlots, OfferedSlot, SlotBinding, SlotCut, StageSlots};
pub use homes::Home;
pub use messages::{
    Lack, Lent, Offer, PerNode, ShortElement, SlotRequest, StageTerms, TaskInput, TaskMove,
    TaskStart, Turn, Waits, Wants, Word,
};
pub use waits::WaitingLine;

#[derive(Debug)]
struct Borrower {
    ix: JobIx,
    turn: Turn,
    request: Arc<SlotRequest>,
    /// What runs of it, or is about to.
    attempts: BTreeSet<AttemptIx>,
}

impl Borrower {
    fn is_of_tasks(&self) -> bool {
        matches!(self.request.wants, Wants::Tasks { .. })
    }
}

/// The slots, and who has them.
#[derive(Debug)]
pub struct Lending {
    /// The table of the counts in all amounts.
    types: ResourceTypes,
    driver: SessionDriver,
    offers: BTreeMap<ContainerIx, Offer>,
    /// Under which number each container is offered.
    containers: BTreeMap<ContainerId, ContainerIx>,
    jobs: BTreeMap<u32, Borrower>,
    numbers: BTreeMap<JobIx, u32>,
    next_container: u32,
    next_job: u32,
    /// Attempts that change places.
    swaps: Vec<PendingSwap>,
    /// The cores that attempts are on.
    bindings: Bindings,
    /// Numbers of slots in their containers.
    places: BTreeMap<ContainerIx, BTreeMap<SlotIx, u32>>,
    /// Decisions that became no word.
    undone: Vec<Illegal>,
}

impl Lending {
    /// No containers and no jobs yet; amounts count by `types`. `policy` is to start gangs (`+gang`).
    #[must_use]
    pub fn new(policy: Box<dyn Scheduler>, types: ResourceTypes) -> Self {
        Self {
            types,
            driver: SessionDriver::new(policy),
            offers: BTreeMap::new(),
            containers: BTreeMap::new(),
            jobs: BTreeMap::new(),
            numbers: BTreeMap::new(),
            next_container: 0,
            next_job: 0,
            swaps: Vec::new(),
            bindings: Bindings::default(),
            places: BTreeMap::new(),
            undone: Vec::new(),
        }
    }

    /// From now on what the policy is told and decides is recorded, to be [taken](Self::take_record).
    pub fn record(&mut self) {
        self.driver.record();
    }

    /// What the policy was told and has decided since this was last called, where it is [recorded](Self::record).
    pub fn take_record(&mut self) -> Vec<RecordLine> {
        self.driver.take_record()
    }

    /// Nothing is recorded any more.
    pub fn record_no_more(&mut self) {
        self.driver.record_no_more();
    }

    /// A launcher has joined.
    pub fn joined(&mut self, now: Millis, offer: Offer) -> Vec<Word> {
        let pool = sizes::bundle(offer.pool, &self.types);
        let container = crate::schedule::Container {
            node: NodeIx(0),
            pool: pool.clone(),
            free: pool,
        };
        let node = Node {
            host: offer.host.clone(),
            rack: offer.rack.clone(),
            pool: sizes::of_node(&offer.elements),
            free: sizes::of_node(&offer.elements),
        };
        let slots = cut(&offer.slots);
        let ix = ContainerIx(self.next_container);
        self.next_container = self.next_container.saturating_add(1);
        self.containers.insert(offer.container.clone(), ix);
        self.offers.insert(ix, offer);
        self.happened(now, &Event::Joined(node, container, slots))
    }

    /// The node of a container has other elements than were offered, and the container these slots.
    pub fn elements(
        &mut self,
        now: Millis,
        container: &ContainerId,
        elements: BTreeMap<String, u64>,
        slots: Vec<OfferedSlot>,
    ) -> Vec<Word> {
        let Some(ix) = self.containers.get(container).copied() else {
            return Vec::new();
        };
        let Some(offer) = self.offers.get_mut(&ix) else {
            return Vec::new();
        };
        let changed = Event::Pool {
            container: ix,
            pool: sizes::of_node(&elements),
        };
        offer.elements = elements;
        let mut words = Vec::new();
        if offer.slots != slots {
            let recut = Event::Slots {
                container: ix,
                now: cut(&slots),
            };
            offer.slots = slots;
            self.driver.tell(nanos(now), &recut);
            words = self.rebind(now, ix);
        }
        words.extend(self.happened(now, &changed));
        words
    }

    /// The queues that jobs may name; `None`: any.
    #[must_use]
    pub fn queues(&self) -> Option<Vec<&str>> {
        self.driver.queues()
    }

    /// Whether the policy goes by deadlines.
    #[must_use]
    pub fn goes_by_deadline(&self) -> bool {
        self.driver.goes_by_deadline()
    }

    /// The queue or user whose a job is, where the policy shares out among them.
    #[must_use]
    pub fn owner_of(&self, request: &SlotRequest) -> Option<Owner> {
        self.driver.owner_of(&request.user, &request.queue)
    }

    /// Decisions that could not be carried out since this was last called, a sentence each: faults of the policy.
    pub fn refused(&mut self) -> Vec<String> {
        let undone = std::mem::take(&mut self.undone).into_iter();
        let refused = self.driver.refused().into_iter().chain(undone);
        refused
            .map(|illegal| format!("{:?}: {}", illegal.decision, illegal.why))
            .collect()
    }

    /// A container is gone. Gangs in it keep what they have elsewhere until they [return](Self::returned)
    /// it; one that starts again wants slots anew, under another number. Tasks in it may start again.
    pub fn lost(&mut self, now: Millis, container: &ContainerId) -> Vec<Word> {
        let Some(ix) = self.containers.remove(container) else {
            return Vec::new();
        };
        self.offers.remove(&ix);
        self.places.remove(&ix);
        let session = self.driver.session();
        let (mut gangs, mut tasks) = (BTreeSet::new(), Vec::new());
        let slots = session.slots_of(ix).iter();
        let there = slots.filter_map(|slot| session.slot(*slot)?.taken.attempt());
        for number in there {
            match session.attempt(number) {
                Some(attempt) if attempt.stage == Stage::Gang => drop(gangs.insert(attempt.job)),
                Some(attempt) => tasks.push((attempt.job, number)),
                None => {}
            }
        }
        for job in gangs {
            self.leave(now, job);
        }
        for (job, attempt) in tasks {
            self.bindings.forget(attempt);
            if let Some(borrower) = self.borrower(job) {
                borrower.attempts.remove(&attempt);
            }
        }
        self.happened(now, &Event::Lost(ix))
    }

    /// A container is wanted back, and will be taken at about `by`: nothing more is lent of it. What runs there goes on.
    pub fn leaving(&mut self, now: Millis, container: &ContainerId, by: Millis) -> Vec<Word> {
        let Some(ix) = self.containers.get(container).copied() else {
            return Vec::new();
        };
        let wanted = Event::Preempt {
            containers: vec![ix],
            by: nanos(by),
        };
        self.happened(now, &wanted)
    }

    /// `job` wants slots; a number is used once. One of tasks says [later](Self::runnable) which may start.
    pub fn wanted(
        &mut self,
        now: Millis,
        job: u32,
        request: impl Into<Arc<SlotRequest>>,
    ) -> Vec<Word> {
        let turn = Turn {
            seq: u64::from(self.next_job),
            submitted: nanos(now),
        };
        self.wanted_in_turn(now, job, turn, request)
    }

    /// The same of a job that has had slots, or was about to, and has lost some: it stands where it stood before.
    pub fn wanted_in_turn(
        &mut self,
        now: Millis,
        job: u32,
        turn: Turn,
        request: impl Into<Arc<SlotRequest>>,
    ) -> Vec<Word> {
        let request: Arc<SlotRequest> = request.into();
        let ix = JobIx(self.next_job);
        self.next_job = self.next_job.saturating_add(1);
        let state = |unit: Resources, needs: &[ElementNeed], speculative: bool| StageState {
            speculative,
            ..StageState::wanting(sizes::need(unit, &self.types, needs))
        };
        let of = |stage, terms: &StageTerms| {
            let mut state = state(terms.unit, &terms.needs, terms.speculative);
            let limit = terms.per_node.map(|of| match of {
                PerNode::Most(most) => NodeLimit::Most {
                    job: ix,
                    stage,
                    most,
                },
                PerNode::Boards => NodeLimit::Boards,
            });
            state.need.limit = limit;
            (stage, state)
        };
        let (stages, node_failures) = match &request.wants {
            Wants::Gang(_) => ([(Stage::Gang, state(request.unit, &[], false))].into(), 0),
            Wants::Tasks {
                map,
                reduce,
                node_failures,
            } => {
                let stages = [of(Stage::Map, map), of(Stage::Reduce, reduce)];
                (stages.into(), *node_failures)
            }
        };
        let arrived = Job {
            seq: turn.seq,
            submitted: turn.submitted,
            priority: request.priority,
            tenant: request.user.clone(),
            queue: request.queue.clone(),
            tag: String::new(),
            deadline: request.deadline.map(nanos),
            profile: request.profile.clone(),
            any_speed: request.any_speed,
            node_failures,
            stages,
        };
        let processes = match request.wants {
            Wants::Gang(processes) => Some(processes),
            Wants::Tasks { .. } => None,
        };
        let borrower = Borrower {
            ix,
            turn,
            request,
            attempts: BTreeSet::new(),
        };
        self.jobs.insert(job, borrower);
        self.numbers.insert(ix, job);
        self.driver.tell(nanos(now), &Event::Arrived(arrived));
        match processes {
            Some(processes) => {
                let tasks = (0..processes).map(|_| Task::default()).collect();
                let runnable = Event::Runnable {
                    job: ix,
                    stage: Stage::Gang,
                    tasks,
                };
                self.happened(now, &runnable)
            }
            None => Vec::new(),
        }
    }

    /// Where `job` stands among the others.
    #[must_use]
    pub fn turn(&self, job: u32) -> Option<Turn> {
        self.jobs.get(&job).map(|borrower| borrower.turn)
    }

    /// `job` needs no slots any more, whether it had them or waited.
    pub fn returned(&mut self, now: Millis, job: u32) -> Vec<Word> {
        match self.given_back(now, job) {
            true => self.decided(now),
            false => Vec::new(),
        }
    }

    /// The same of a job that is about to want slots [anew](Self::wanted_in_turn): who gets those that it had is
    /// decided when something happens next, or at a [tick](Self::tick), or later jobs would have them first. `false`:
    /// it neither had any nor waited.
    pub fn given_back(&mut self, now: Millis, job: u32) -> bool {
        let Some(borrower) = self.jobs.remove(&job) else {
            return false;
        };
        self.numbers.remove(&borrower.ix);
        self.leave(now, borrower.ix);
        self.unbind(borrower.attempts.iter().copied());
        for attempt in borrower.attempts {
            if self.driver.session().attempt(attempt).is_some() {
                let ended = Event::Ended {
                    attempt,
                    how: AttemptOutcome::Killed,
                    phases: Vec::new(),
                };
                self.driver.tell(nanos(now), &ended);
            }
        }
        true
    }

    /// Time has passed: see [`Lending::wakes_at`].
    pub fn tick(&mut self, now: Millis) -> Vec<Word> {
        self.happened(now, &Event::Wake)
    }

    /// When [`Lending::tick`] is due.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Millis> {
        let policy = self.driver.wakes_at();
        let policy = policy.map(|at| Millis(at.0.div_ceil(1_000_000)));
        policy.into_iter().chain(self.bindings.wakes_at()).min()
    }

    /// The containers that offer slots, in the order of joining, with the slots of each that are lent. Cost: O(slots).
    pub fn offers(&self) -> impl Iterator<Item = (&Offer, u32)> {
        let session = self.driver.session();
        self.offers.iter().map(|(ix, offer)| {
            let slots = session.slots_of(*ix).iter();
            let slots = slots.filter_map(|slot| session.slot(*slot));
            let lent = slots.filter(|slot| slot.starts_tasks() && slot.taken != SlotUse::Free);
            (offer, u32::try_from(lent.count()).unwrap_or(u32::MAX))
        })
    }

    /// How often the policy was asked so far: what an event costs, counted.
    #[must_use]
    pub const fn asks(&self) -> u64 {
        self.driver.asks()
    }

    /// What a container offers.
    fn offer(&self, container: &ContainerId) -> Option<&Offer> {
        self.offers.get(self.containers.get(container)?)
    }

    fn borrower(&mut self, ix: JobIx) -> Option<&mut Borrower> {
        let number = self.numbers.get(&ix)?;
        self.jobs.get_mut(number)
    }

    /// Nothing of the job is to be started again; what it has, it has until it ends.
    fn leave(&mut self, now: Millis, job: JobIx) {
        if !self.driver.session().has_left(job) {
            self.driver.tell(nanos(now), &Event::Left(job));
        }
    }

    fn happened(&mut self, now: Millis, event: &Event) -> Vec<Word> {
        self.driver.tell(nanos(now), event);
        self.decided(now)
    }

    fn decided(&mut self, now: Millis) -> Vec<Word> {
        let mut words = self.end_swaps(now);
        words.extend(self.strays(now));
        for decided in self.driver.decide_attempts(nanos(now)) {
            let attempts = decided.attempts();
            let before = words.len();
            match &decided.decision {
                Decision::Gang { job, .. } => words.extend(self.gang(now, *job, attempts)),
                Decision::Start { .. } | Decision::Copy { .. } => {
                    words.extend(attempts.filter_map(|attempt| self.start(attempt)));
                }
                Decision::Stop { attempt, why } => {
                    let (attempt, why) = (*attempt, *why);
                    let of = self.driver.session().attempt(attempt);
                    let job = of.and_then(|of| self.numbers.get(&of.job).copied());
                    words.extend(job.map(|job| Word::Stop { job, attempt, why }));
                }
                Decision::Move { attempt, to } => words.extend(self.move_of(*attempt, *to)),
                Decision::Swap { one, other } => words.extend(self.swap_of(*one, *other)),
                // The session keeps the slots for its time.
                Decision::Hold { .. } => continue,
            }
            if words.len() == before {
                let why = "a session does not carry it out".to_owned();
                let decision = decided.decision;
                self.undone.push(Illegal { decision, why });
            }
        }
        words
    }

    /// A task has a slot.
    fn start(&mut self, ix: AttemptIx) -> Option<Word> {
        let place = self.place_of(self.driver.session().attempt(ix)?.slot)?;
        let session = self.driver.session();
        let attempt = session.attempt(ix)?;
        let slot = session.slot(attempt.slot)?;
        let container = slot.container;
        let offer = self.offers.get(&container)?;
        let start = TaskStart {
            job: *self.numbers.get(&attempt.job)?,
            attempt: ix,
            stage: attempt.stage,
            task: attempt.task,
            container: offer.container.clone(),
            host: offer.host.clone(),
            place: container,
            slot: place,
            cpus: slot.cpus.clone(),
            speed: slot.speed,
            level: level(
                session,
                attempt.job,
                attempt.stage,
                attempt.task,
                session.container(container)?.node,
            ),
        };
        self.jobs.get_mut(&start.job)?.attempts.insert(ix);
        self.bindings.started(ix, (start.slot, start.cpus.clone()));
        Some(Word::Start(start))
    }

    /// Which of its container's slots a slot is, from 0, as long as it is there: the lowest number that no other has.
    fn place_of(&mut self, slot: SlotIx) -> Option<u32> {
        let session = self.driver.session();
        let container = session.slot(slot)?.container;
        let places = self.places.entry(container).or_default();
        if let Some(place) = places.get(&slot) {
            return Some(*place);
        }
        places.retain(|known, _| session.slot(*known).is_some());
        let mut taken: BTreeSet<u32> = places.values().copied().collect();
        for other in session.slots_of(container) {
            if !places.contains_key(other) {
                let place = (0..).find(|place| !taken.contains(place))?;
                taken.insert(place);
                places.insert(*other, place);
            }
        }
        places.get(&slot).copied()
    }
}

fn cut(slots: &[OfferedSlot]) -> Vec<Slot> {
    slots.iter().map(OfferedSlot::free).collect()
}

const fn nanos(at: Millis) -> Nanos {
    Nanos::from_millis(at.0)
}
