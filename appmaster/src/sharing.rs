//! A session of many jobs: they are submitted, wait for slots, have them and return them.
//!
//! ```text
//! submitted ─▶ wished ─▶ lent ─▶ (the job runs: work, lent) ─▶ left ─▶ returned ─▶ over
//! ```
//!
//! The containers are those of a [`Pool`]; whose the slots are is for [`Lending`] to say.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use job::JobId;
use job::{SessionPlan, wire};
use policy::gang::GangEvent;
use policy::lending::{Lending, SlotRequest, Word};
use policy::{ClusterView, ContainerId, Millis};
use proto_hadoop::yarn::FinalApplicationStatus;
use tonic::Status;

use crate::ledger::Ledger;
use crate::lent_events::LentEvent;
use crate::lifetime::{Lifetime, NOT_OWNED, Reason};
use crate::loan::{Loan, Use};
use crate::loop_event::JobEvents;
use crate::nodes::Nodes;
use crate::pool::{Pool, Want};
use crate::running_window::RunningWindow;
use crate::session::Session;
use crate::work::WorkEvent;

/// A launcher that is lost has this long until YARN says what became of its container.
const SETTLE: Millis = Millis(3_000);
/// Between a change of what jobs lack and use, and of what is asked of YARN.
const RESIZE: Millis = Millis(200);
/// Between two words to the clients of jobs that wait.
const SHOW: Millis = Millis(1_000);

/// What a session of many jobs has beside its jobs.
#[derive(Debug)]
pub(crate) struct Sharing {
    pub(crate) plan: SessionPlan,
    pub(crate) pool: Pool,
    pub(crate) lending: Lending,
    /// Jobs that want slots and were not told of yet: as many have some as may at the same time.
    pub(crate) window: RunningWindow,
    pub(crate) nodes: Nodes,
    pub(crate) ledger: Ledger,
    pub(crate) life: Lifetime,
    /// Jobs by the numbers of their wishes.
    pub(crate) wishes: BTreeMap<u32, JobId>,
    pub(crate) next_wish: u32,
    pub(crate) next_job: u32,
    /// Jobs that are over.
    pub(crate) ended: u32,
    pub(crate) deciding: Deciding,
    /// What was decided about slots, and the jobs have not heard.
    pub(crate) unheard: VecDeque<Word>,
    /// Jobs with which something has happened.
    touched: BTreeSet<JobId>,
    /// Containers whose launchers are lost, until YARN says more.
    settling: BTreeMap<ContainerId, Millis>,
    /// Jobs that wait have something new to say since then.
    show_at: Option<Millis>,
    /// What jobs lack and use has changed: the pool is looked at then.
    resize_at: Option<Millis>,
}

/// What the policy has cost so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deciding {
    /// What it was told.
    pub(crate) told: u64,
    /// How long it took to decide after that, all together.
    pub(crate) took: Duration,
    /// What it decided that could not be carried out.
    refused: u64,
}

impl Deciding {
    /// Once more, since `began`.
    pub(crate) fn took(&mut self, began: Instant) {
        self.told = self.told.saturating_add(1);
        self.took = self.took.saturating_add(began.elapsed());
    }

    /// What it decided could not be carried out: its faults, of which the 1st, 2nd, 4th, 8th and so on are said.
    fn refused(&mut self, faults: Vec<String>) {
        for fault in faults {
            self.refused = self.refused.saturating_add(1);
            if self.refused.is_power_of_two() {
                let count = self.refused;
                tracing::error!(
                    "the policy decides what cannot be carried out, {count} times so far: {fault}"
                );
            }
        }
    }
}

impl Sharing {
    /// Before anything was asked for.
    pub(crate) fn new(plan: SessionPlan, pool: Pool, lending: Lending) -> Self {
        Self {
            window: RunningWindow::new(plan.running),
            pool,
            lending,
            nodes: Nodes::new(plan.elements, plan.scan.ways.get()),
            ledger: Ledger::default(),
            life: Lifetime::new(plan.is_owned, plan.idle),
            wishes: BTreeMap::new(),
            next_wish: 0,
            next_job: 1,
            ended: 0,
            deciding: Deciding::default(),
            unheard: VecDeque::new(),
            touched: BTreeSet::new(),
            settling: BTreeMap::new(),
            show_at: None,
            resize_at: None,
            plan,
        }
    }

    /// Words of the policy, which began to decide at `began`: what is lent by them is heard of when all is carried out.
    pub(crate) fn said(&mut self, now: Millis, began: Instant, words: Vec<Word>) {
        self.deciding.took(began);
        self.deciding.refused(self.lending.refused());
        self.unheard.extend(words);
        self.show_soon(now);
        self.resize_soon(now);
    }

    /// A job wants slots.
    pub(crate) fn hold_back(&mut self, job: JobId, request: &SlotRequest) {
        let owner = self.lending.owner_of(request);
        self.window.wait(&owner, request.priority, job);
    }

    /// A job wants slots no more, or others.
    pub(crate) fn wish_ends(&mut self, number: u32, request: &SlotRequest) {
        if self.wishes.remove(&number).is_some() {
            let owner = self.lending.owner_of(request);
            self.window.leave(&owner);
        }
    }

    /// The job whose wish has this number.
    pub(crate) fn job_of(&self, number: u32) -> Option<JobId> {
        self.wishes.get(&number).copied()
    }

    pub(crate) fn touch(&mut self, job: JobId) {
        self.touched.insert(job);
    }

    /// Jobs that wait say again why, soon.
    pub(crate) fn show_soon(&mut self, now: Millis) {
        self.show_at.get_or_insert(now.plus(SHOW));
    }

    /// What jobs lack or use has changed.
    pub(crate) fn resize_soon(&mut self, now: Millis) {
        if self.pool.is_elastic() || self.pool.is_leaving() {
            self.resize_at.get_or_insert(now.plus(RESIZE));
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.life.is_over()
    }

    pub(crate) fn wakes_at(&self) -> Option<Millis> {
        self.dues().into_iter().filter_map(|(_, at)| at).min()
    }

    /// What is due when.
    pub(crate) fn dues(&self) -> [(&'static str, Option<Millis>); 8] {
        let [idle, owner] = self.life.dues();
        [
            ("the containers", self.pool.wakes_at()),
            ("the policy", self.lending.wakes_at()),
            ("what jobs wait for", self.show_at),
            ("how many containers there are", self.resize_at),
            ("idle containers", self.idle_containers_until()),
            ("lost launchers", self.settling.values().min().copied()),
            idle,
            owner,
        ]
    }

    /// Whether more containers are asked for, or idle ones given back. What is asked for at the beginning is for a job
    /// that has not come.
    fn may_resize(&self) -> bool {
        self.life.is_open() && self.next_job > 1
    }

    /// When idle containers are given back.
    fn idle_containers_until(&self) -> Option<Millis> {
        self.pool.idle_until().filter(|_| self.may_resize())
    }
}

impl Session {
    /// The application of a session is registered.
    pub(crate) fn begin_sharing(&mut self) {
        let now = self.now();
        if let Some(sharing) = &mut self.sharing
            && sharing.life.is_open()
        {
            let wants = sharing.pool.begin(now);
            self.want(wants);
        }
    }

    pub(crate) fn loan(&mut self, job: JobId) -> Option<&mut Loan> {
        self.agenda.changed(job);
        self.jobs.get_mut(&job)?.loan.as_mut()
    }

    /// Carries out what the pool wants.
    pub(crate) fn want(&mut self, wants: Vec<Want>) {
        let now = self.now();
        for want in wants {
            match want {
                Want::Snapshot => self.holding.read_nodes(),
                Want::Ask(request, asking) => self.holding.ask(request, &asking),
                Want::Release(containers) => self.holding.release(&containers),
                Want::Start(container) => self.holding.start(&container),
                Want::Offer(offer) => {
                    self.lending(|lending| lending.joined(now, offer));
                    self.look_for_elements();
                }
                Want::Withdraw(container) => {
                    if let Some(sharing) = &mut self.sharing {
                        sharing.nodes.lost(&container);
                    }
                    self.lending(|lending| lending.lost(now, &container));
                    self.look_for_elements();
                }
                Want::GiveUp(why) => {
                    let types = &self.holding.cluster().limits().types;
                    let why = sentences::rejection(&why, types);
                    self.stop(true, FinalApplicationStatus::Failed, why);
                }
            }
        }
    }

    /// A container or its launcher is lost: its slots are, and the jobs there hear it.
    pub(crate) fn lent_container_lost(&mut self, heard: &LentEvent) {
        match heard {
            LentEvent::LauncherLost(container) => self.launcher_lost(container, heard),
            // YARN names a node that it has lost by this status.
            LentEvent::Ended { status: -100, .. } => self.container_lost(heard, true),
            LentEvent::Ended { .. } | LentEvent::NotStarted(_) | LentEvent::Misbehaved { .. } => {
                self.container_lost(heard, false);
            }
            // The container stays.
            LentEvent::Joined { .. } | LentEvent::NotFetched { .. } | LentEvent::Left(_) => {}
        }
    }

    fn launcher_lost(&mut self, container: &ContainerId, heard: &LentEvent) {
        let now = self.now();
        self.lending(|lending| lending.lost(now, container));
        if let Some(sharing) = &mut self.sharing {
            sharing.ledger.container_lost(now, container);
            sharing.nodes.lost(container);
            sharing.settling.insert(container.clone(), now.plus(SETTLE));
        }
        // Also those that have heard of YARN that it is over: they wait for the end of what runs there.
        for job in self.jobs_knowing(container) {
            if let Some(of) = self
                .loan(job)
                .and_then(|loan| loan.containers.get_mut(container))
            {
                *of = Use::Gone;
            }
            self.tell(job, WorkEvent::Lent(heard.clone()));
        }
    }

    /// YARN says that a container is over, or it is of no use; `in_doubt`: so is its node.
    fn container_lost(&mut self, heard: &LentEvent, in_doubt: bool) {
        let (now, container) = (self.now(), heard.container());
        self.lending(|lending| lending.lost(now, container));
        for job in self.jobs_knowing(container) {
            if let Some(of) = self
                .loan(job)
                .and_then(|loan| loan.containers.get_mut(container))
            {
                *of = Use::Gone;
            }
            self.tell(job, WorkEvent::Lent(heard.clone()));
        }
        if let Some(sharing) = &mut self.sharing {
            sharing.ledger.container_lost(now, container);
            sharing.nodes.lost(container);
        }
        self.replace(container, in_doubt);
    }

    /// The jobs that are in a container, or were when it was lost.
    fn jobs_knowing(&self, container: &ContainerId) -> Vec<JobId> {
        let known = self.jobs.iter().filter(|(_, entry)| {
            let loan = entry.loan.as_ref();
            loan.is_some_and(|loan| loan.containers.contains_key(container))
        });
        known.map(|(job, _)| *job).collect()
    }

    /// Another container takes its place; `in_doubt`: on another node.
    fn replace(&mut self, container: &ContainerId, in_doubt: bool) {
        let now = self.now();
        if let Some(sharing) = &mut self.sharing {
            sharing.settling.remove(container);
            if sharing.life.holds_containers() {
                let wants = sharing.pool.lost(now, container, in_doubt);
                self.want(wants);
            }
        }
    }

    /// Holds more containers, or fewer.
    pub(crate) fn resize(&mut self) {
        let now = self.now();
        let loans = self.jobs.values().filter_map(|entry| entry.loan.as_ref());
        let mut used: BTreeSet<ContainerId> = loans.flat_map(Loan::in_use).cloned().collect();
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        // Or about to be.
        for word in &sharing.unheard {
            match word {
                Word::Lent(lent) => {
                    used.extend(lent.shares.iter().map(|(container, _)| container.clone()));
                }
                Word::Start(start) => drop(used.insert(start.container.clone())),
                Word::Stop { .. } => {}
            }
        }
        sharing.resize_at = None;
        let mut wants = sharing.pool.leave(now, &used);
        if sharing.may_resize() {
            let lacking = sharing.lending.lacking();
            wants.extend(sharing.pool.resize(now, lacking, &used));
        }
        self.want(wants);
    }

    pub(crate) fn jobs_in(&self, container: &ContainerId) -> Vec<JobId> {
        let there = self.jobs.iter().filter(|(_, entry)| {
            let loan = entry.loan.as_ref();
            loan.is_some_and(|loan| loan.is_in(container))
        });
        there.map(|(job, _)| *job).collect()
    }

    /// Time has passed.
    pub(crate) fn wake_sharing(&mut self) {
        let now = self.now();
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        let settled = sharing.settling.iter().filter(|(_, at)| now >= **at);
        let settled: Vec<ContainerId> = settled.map(|(container, _)| container.clone()).collect();
        let shows = sharing.show_at.is_some_and(|at| now >= at);
        if shows {
            sharing.show_at = None;
        }
        let wants = match sharing.pool.wakes_at() {
            Some(at) if now >= at => sharing.pool.tick(now),
            _ => Vec::new(),
        };
        let resizes = [sharing.resize_at, sharing.idle_containers_until()];
        let resizes = resizes.into_iter().flatten().any(|at| now >= at);
        let lends = sharing.lending.wakes_at().is_some_and(|at| now >= at);
        let ends = sharing.life.due(now);
        self.want(wants);
        if lends {
            self.lending(|lending| lending.tick(now));
        }
        settled
            .iter()
            .for_each(|container| self.replace(container, true));
        if resizes {
            self.resize();
        }
        if shows {
            self.show_waiting();
        }
        for reason in ends {
            match reason {
                Reason::Idle => {
                    let words = sentences::NOBODY_CAME.to_owned();
                    self.stop(false, FinalApplicationStatus::Succeeded, words);
                }
                Reason::OwnerMissed => self.owner_left("its client has not come"),
            }
        }
    }

    /// A client comes with which the session is to end.
    pub(crate) fn owner_comes(&mut self, events: JobEvents) -> Result<(), Status> {
        let life = self.sharing.as_mut().map(|sharing| &mut sharing.life);
        let taken = life.map_or(Err(NOT_OWNED), |life| life.owner_comes(events));
        taken.map_err(Status::failed_precondition)
    }

    /// Whatever has become possible for the jobs with which something has happened.
    pub(crate) fn settle(&mut self) {
        loop {
            self.wish();
            let Some(sharing) = &mut self.sharing else {
                return;
            };
            if let Some(word) = sharing.unheard.pop_front() {
                self.decided(word);
            } else if let Some(job) = sharing.touched.pop_first() {
                self.may_be_followed(job);
                self.may_begin_again(job);
                self.may_return(job);
                self.may_end(job);
            } else if !self.without_element() {
                break;
            }
        }
        self.may_unregister();
    }

    /// A job that is over is forgotten.
    fn may_end(&mut self, job: JobId) {
        let is_over = |entry: &crate::session::JobEntry| {
            let returned = |loan: &Loan| loan.is_done && loan.number.is_none();
            entry.work.is_over() && entry.loan.as_ref().is_some_and(returned)
        };
        if !self.jobs.get(&job).is_some_and(|entry| is_over(entry)) {
            return;
        }
        self.jobs.remove(&job);
        self.agenda.changed(job);
        self.consoles.remove(job);
        self.record_ended(job);
        let now = self.now();
        let is_idle = self.jobs.is_empty();
        if let Some(sharing) = &mut self.sharing {
            sharing.resize_soon(now);
            sharing.ended = sharing.ended.saturating_add(1);
            sharing.life.job_over(now, is_idle);
        }
    }

    /// A job has come.
    pub(crate) fn is_busy(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            sharing.life.job_came();
        }
    }

    /// Containers were granted.
    pub(crate) fn shared_grants(&mut self, granted: Vec<holding::Granted>) {
        let now = self.now();
        let grants = self.grants(&granted);
        for (granted, grant) in granted.iter().zip(grants) {
            if let Some(sharing) = &mut self.sharing {
                let wants = sharing.pool.granted(now, granted.request, grant);
                self.want(wants);
            }
        }
    }

    /// A launcher has joined.
    pub(crate) fn shared_joined(&mut self, container: &ContainerId, node: &wire::NodeFacts) {
        let elements = self.node_joined(container, node);
        if let Some(sharing) = &mut self.sharing {
            let wants = sharing.pool.joined(container, elements);
            self.want(wants);
        }
        self.peer_joined(container);
    }

    /// The nodes were read, or could not be.
    pub(crate) fn shared_nodes(&mut self, view: &Result<ClusterView, String>) {
        let now = self.now();
        if let Some(sharing) = &mut self.sharing {
            let wants = sharing.pool.snapshot(now, view);
            self.want(wants);
        }
    }

    /// The ResourceManager refuses what these requests ask for, again and again.
    pub(crate) fn refused(&mut self, requests: &BTreeSet<u32>, words: String) {
        tracing::warn!("the ResourceManager refuses: {words}");
        let now = self.now();
        if let Some(sharing) = &mut self.sharing {
            let wants = sharing.pool.refused(now, requests, words);
            self.want(wants);
        }
    }

    /// The ResourceManager has taken what is asked of it.
    pub(crate) fn shared_asked(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            sharing.pool.taken();
        }
    }

    /// Every container may hear of it: what the ResourceManager has newly to give, or has forgotten.
    pub(crate) fn pool_hears(&mut self, event: &GangEvent) {
        let now = self.now();
        if let Some(sharing) = &mut self.sharing {
            let wants = sharing.pool.all_hear(now, event);
            self.want(wants);
        }
    }
}
