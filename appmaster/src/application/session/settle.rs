//! What has become possible after a piece of news: jobs compete for slots, have them, return them, and are over.

use job::JobId;
use job::wire::session_span::How;
use policy::lending::Lent;
use policy::lifecycle::{Cause, LifecycleEvent};
use proto_hadoop::yarn::FinalApplicationStatus;

use super::Session;
use crate::loop_event::LoopEvent;
use crate::mapreduce::MapReduceEvent;
use crate::mpi::MpiJobEvent;
use crate::slots::Allotted;
use crate::work::{JobWork, WorkEvent};

impl Session {
    /// All that has become possible.
    pub(super) fn settle(&mut self) {
        loop {
            self.wish();
            let now = self.now();
            if let Some(allotted) = self.slots.next_allotted(now) {
                if let Ok(allotted) = allotted {
                    self.allotted(allotted);
                }
            } else if let Some(job) = self.jobs.next_touched() {
                self.may_be_followed(job);
                self.may_begin_again(job);
                self.may_return(job);
                self.may_end(job);
            } else if !self.without_node() {
                break;
            }
        }
        self.may_unregister();
    }

    /// Those whose turn it is compete for slots, as many as may at the same time.
    fn wish(&mut self) {
        let of_tasks = self.with_slots(|slots, now| slots.wish(now));
        if !of_tasks.is_empty() {
            self.nodes.change();
        }
        for job in of_tasks {
            self.tell(job, WorkEvent::MapReduce(MapReduceEvent::SlotsCome));
        }
    }

    /// Slots are given to a job, or wanted back.
    fn allotted(&mut self, allotted: Allotted) {
        match allotted {
            Allotted::Gang { job, lent, view } => {
                self.gang_begins(job, &lent);
                let mixed = self.slots.mixed_speeds(job, &lent);
                // A job that has only waited begins with the first that it hears, and can say something from then on.
                self.tell(job, WorkEvent::Mpi(MpiJobEvent::Cores(lent.cores)));
                if let Some(sentence) = mixed {
                    self.notice(job, sentence);
                }
                self.tell(
                    job,
                    WorkEvent::Mpi(MpiJobEvent::Machine(LifecycleEvent::Snapshot(view))),
                );
            }
            Allotted::GangAnew => self.wish_anew(),
            Allotted::Task { job, start } => {
                let name = self.slots.name(job).unwrap_or_default();
                let now = self.edge.now();
                self.ledger.task_begins(now, job, name, &start);
                self.tell(job, WorkEvent::MapReduce(MapReduceEvent::Placed(start)));
            }
            Allotted::Move { job, moved } => {
                self.tell(job, WorkEvent::MapReduce(MapReduceEvent::Move(moved)));
            }
            Allotted::Stop { job, attempt, why } => {
                let stop = MapReduceEvent::Stop { attempt, why };
                self.tell(job, WorkEvent::MapReduce(stop));
            }
        }
    }

    fn gang_begins(&mut self, job: JobId, lent: &Lent) {
        let shares = lent.shares.iter().map(|(container, slots)| {
            let host = self.edge.holding.host_of(container).unwrap_or_default();
            (container.clone(), host, *slots)
        });
        let shares = shares.collect();
        let name = self.slots.name(job).unwrap_or_default();
        let now = self.edge.now();
        self.ledger.gang_begins(now, job, name, shares);
    }

    /// A job has given its slots back and waits for as many: who gets them is decided when it stands where it stood.
    fn wish_anew(&mut self) {
        self.wish();
        self.with_slots(|slots, now| slots.tick(now));
    }

    /// Slots of a job that waits for others are returned, when no container has anything of it.
    fn may_begin_again(&mut self, job: JobId) {
        let now = self.now();
        if self.slots.begins_again(now, job) {
            self.ledger.job_ends(now, job, How::Lost);
            self.wish_anew();
        }
    }

    /// Slots of a job that uses no container any more are returned.
    fn may_return(&mut self, job: JobId) {
        if self.slots.is_left(job) {
            let how = self.how_it_ended(job);
            self.ledger.job_ends(self.edge.now(), job, how);
            self.with_slots(|slots, now| slots.take_back(now, job));
        }
    }

    /// How a job ended, as far as its timeline does not tell it yet.
    fn how_it_ended(&self, job: JobId) -> How {
        match self.jobs.get(job).map(|entry| entry.work()) {
            Some(JobWork::Mpi(mpi)) => match mpi.cause() {
                None => How::Done,
                Some(Cause::Killed(_)) => How::Killed,
                Some(_) => How::Failed,
            },
            // Its tasks have told of themselves before.
            Some(JobWork::MapReduce(_) | JobWork::Queued(_)) | None => How::Killed,
        }
    }

    /// A job that is over is forgotten.
    fn may_end(&mut self, job: JobId) {
        let entry = self.jobs.get(job);
        let is_over = entry.is_some_and(|entry| entry.work().is_over());
        if !is_over || !self.slots.has_returned(job) {
            return;
        }
        self.jobs.remove(job);
        self.slots.forget(job);
        self.edge.consoles.remove(job);
        if let Some(removing) = self.ledger.job_over(job) {
            self.edge.tasks.spawn(removing);
        }
        let now = self.now();
        self.containers.resize_soon(now);
        self.life.job_over(now, self.jobs.is_empty());
    }

    /// A session that stops, and whose last job is over, gives back what it holds and unregisters.
    fn may_unregister(&mut self) {
        if !self.jobs.is_empty() {
            return;
        }
        self.may_end_with_job();
        if self.life.is_stopping() && self.closes_record() {
            return;
        }
        let Some((status, words)) = self.life.unregister() else {
            return;
        };
        if self.jobs.have_come()
            && let Some(clearing) = self.ledger.clear()
        {
            self.edge.tasks.spawn(clearing);
        }
        let wants = self.containers.end();
        self.want(wants);
        match status == FinalApplicationStatus::Undefined {
            true => self.life.unregistered(),
            false => self.edge.holding.finish(status, words),
        }
    }

    /// Whether the session waits for the end of its record: whoever sees that the session is over finds all of it.
    fn closes_record(&mut self) -> bool {
        if let Some(closing) = self.slots.close_record() {
            self.life.record_closes();
            let news = self.edge.news.clone();
            self.edge.tasks.spawn(async move {
                closing.await;
                let _heard = news.send(LoopEvent::RecordClosed).await.is_ok();
            });
        }
        self.life.awaits_record()
    }
}
