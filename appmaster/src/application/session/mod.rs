//! A session of many jobs: they are submitted, wait for slots, have them and return them.
//!
//! ```text
//! submitted ─▶ wished ─▶ lent ─▶ (the job runs: work, lent) ─▶ left ─▶ returned ─▶ over
//! ```
//!
//! Each room keeps a part of it: [`Jobs`], [`Slots`], [`Containers`], [`Nodes`], [`Ledger`], [`Lifetime`]. The loop hears
//! one piece of news ([`hear`], [`hear_containers`]), gives it to the rooms and jobs that it concerns, and carries out
//! what these want ([`carry_out`], [`tasks`], [`containers`]). Then it settles whatever that has made possible
//! ([`settle`]).

mod carry_out;
mod containers;
mod follow;
mod hear;
mod hear_containers;
mod nodes;
mod settle;
mod status;
mod stop;
mod submit;
mod task_logs;
mod tasks;

use std::collections::VecDeque;

use job::{JobId, RecordFile, SessionPlan};
use policy::Millis;
use policy::lending::Lending;

use super::turns::{Dues, Turn};
use super::{Edge, Turns};
use crate::containers::Containers;
use crate::jobs::Jobs;
use crate::ledger::{Ledger, inherited};
use crate::lifetime::Lifetime;
use crate::loop_event::LoopEvent;
use crate::mpi::MpiJobEvent;
use crate::nodes::Nodes;
use crate::recording::Recording;
use crate::slots::Slots;
use crate::work::{Do, WorkEvent};

/// The session.
pub(crate) struct Session {
    plan: SessionPlan,
    jobs: Jobs,
    slots: Slots,
    containers: Containers,
    nodes: Nodes,
    ledger: Ledger,
    life: Lifetime,
    edge: Edge,
}

impl Session {
    /// The application is registered, and nothing is asked for. An ApplicationMaster that comes after another takes no
    /// jobs, and ends those of that one.
    pub(crate) fn new(plan: SessionPlan, lending: Lending, mut edge: Edge) -> Self {
        edge.holding.scan(plan.scan.clone(), plan.elements);
        edge.holding.leave_disks_at(plan.disk_percent);
        let record = plan.record.clone();
        let mut session = Self {
            jobs: Jobs::default(),
            slots: Slots::new(lending, plan.running),
            containers: Containers::new(plan.clone(), rand::random()),
            nodes: Nodes::new(plan.elements, plan.scan.ways.get()),
            ledger: Ledger::default(),
            life: Lifetime::new(plan.is_owned, plan.idle),
            plan,
            edge,
        };
        session.open();
        if let Some(file) = record {
            session.record_into(file);
        }
        session
    }

    /// What the policy is told and decides goes into a file. An ApplicationMaster that comes after another leaves that of
    /// the first as it is.
    fn record_into(&mut self, file: RecordFile) {
        if self.life.is_open() {
            let policy = policy::schedule::session_text(&self.plan.policy);
            let (recording, writing) = Recording::new(file, policy);
            self.slots.record(recording);
            self.edge.tasks.spawn(writing);
        }
    }

    fn open(&mut self) {
        let (own, staging) = (self.edge.attempt, self.plan.staging.clone());
        if own.attempt > 1 {
            self.life.recover();
            let news = self.edge.news.clone();
            self.edge.tasks.spawn(async move {
                let recovered = inherited(staging, own).await;
                let _heard = news.send(LoopEvent::Recovered(recovered)).await.is_ok();
            });
        } else {
            self.ledger.open(&staging, own.application);
        }
    }

    /// Until it is over, and YARN and all clients know it.
    pub(crate) async fn run(&mut self, mut turns: Turns) {
        if self.life.is_open() {
            let wants = self.containers.begin(self.now());
            self.want(wants);
        }
        self.settle();
        while !self.life.is_over() {
            let dues = self.dues();
            match turns.next(&mut self.jobs, &self.edge, dues).await {
                None => return,
                Some(Turn::News(news)) => self.hear(news),
                Some(Turn::Due) => self.wake(),
                Some(Turn::Place(job, place)) => {
                    if let Some(heard) = self.jobs.post(job, place) {
                        self.tell(job, heard);
                    }
                }
                Some(Turn::OutputMoved(job)) => {
                    self.tell(job, WorkEvent::Mpi(MpiJobEvent::OutputMoved))
                }
            }
            self.settle();
        }
    }

    /// Milliseconds since the session began.
    fn now(&self) -> Millis {
        self.edge.now()
    }

    /// Does something with the slots. What jobs lack and use may have changed by it.
    fn with_slots<T>(&mut self, with: impl FnOnce(&mut Slots, Millis) -> T) -> T {
        let now = self.now();
        let done = with(&mut self.slots, now);
        if self.slots.have_changed() {
            self.containers.resize_soon(now);
        }
        done
    }

    /// A job's life begins.
    fn begin(&mut self, job: JobId) {
        let todo = self.jobs.begin(self.now(), job);
        let answers = self.carry_out_all(job, todo);
        for heard in answers {
            self.tell(job, heard);
        }
    }

    /// Tells a job what has happened, and carries out what it wants.
    fn tell(&mut self, job: JobId, heard: WorkEvent) {
        let mut told = VecDeque::from([heard]);
        while let Some(heard) = told.pop_front() {
            let todo = self.jobs.hear(self.now(), job, heard);
            told.extend(self.carry_out_all(job, todo));
        }
    }

    fn carry_out_all(&mut self, job: JobId, todo: Vec<Do>) -> Vec<WorkEvent> {
        let done = todo.into_iter();
        done.filter_map(|what| self.carry_out(job, what)).collect()
    }

    /// Tells the client of a job something in a sentence.
    fn notice(&mut self, job: JobId, sentence: String) {
        let entry = self.jobs.get_mut(job);
        if let Some(outbox) = entry.and_then(|entry| entry.outbox()) {
            outbox.notice(sentence);
        }
    }

    /// Whether more containers are asked for, or idle ones given back. What is asked for at the beginning is for a job
    /// that has not come.
    fn may_resize(&self) -> bool {
        self.life.is_open() && self.jobs.have_come()
    }

    /// What is due of the rooms when.
    fn dues(&self) -> Dues {
        let containers = self.containers.dues(self.may_resize()).into_iter();
        let slots = self.slots.dues().into_iter();
        containers.chain(slots).chain(self.life.dues()).collect()
    }
}
