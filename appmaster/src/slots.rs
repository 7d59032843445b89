//! Slots of a session: wished for by a job, lent to it, returned when no container has anything of it.

use std::sync::Arc;
use std::time::Instant;

use job::JobId;
use policy::lending::{Lending, Lent, TaskStart, Wants, Word};
use policy::lifecycle::LifecycleEvent;

use crate::mapreduce::MapReduceEvent;
use crate::session::Session;
use crate::work::WorkEvent;

impl Session {
    /// Does something with the slots; what is lent by it is heard of when all is carried out.
    pub(crate) fn lending(&mut self, with: impl FnOnce(&mut Lending) -> Vec<Word>) {
        let now = self.now();
        if let Some(sharing) = &mut self.sharing {
            let began = Instant::now();
            let words = with(&mut sharing.lending);
            sharing.said(now, began, words);
        }
    }

    /// Tells the wishes of jobs, as many as may have slots at the same time.
    pub(crate) fn wish(&mut self) {
        let now = self.now();
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        let mut come = Vec::new();
        while let Some((job, owner)) = sharing.window.next() {
            let Some(loan) = self
                .jobs
                .get_mut(&job)
                .and_then(|entry| entry.loan.as_mut())
            else {
                sharing.window.leave(&owner);
                continue;
            };
            let number = sharing.next_wish;
            sharing.next_wish = number.wrapping_add(1);
            loan.number = Some(number);
            sharing.wishes.insert(number, job);
            let began = Instant::now();
            let (lending, request) = (&mut sharing.lending, Arc::clone(&loan.request));
            let words = match loan.turn {
                Some(turn) => lending.wanted_in_turn(now, number, turn, request),
                None => lending.wanted(now, number, request),
            };
            sharing.said(now, began, words);
            if matches!(loan.request.wants, Wants::Tasks { .. }) {
                come.push(job);
                sharing.nodes.change();
            }
        }
        for job in come {
            self.tell(job, WorkEvent::OfTasks(MapReduceEvent::SlotsCome));
        }
    }

    /// Slots are given to a job, or wanted back.
    pub(crate) fn decided(&mut self, word: Word) {
        match word {
            Word::Lent(lent) => self.lent(lent),
            Word::Start(start) => self.placed(start),
            Word::Stop { job, attempt, why } => {
                let job = self.sharing.as_ref().and_then(|of| of.job_of(job));
                if let Some(job) = job {
                    self.tell(
                        job,
                        WorkEvent::OfTasks(MapReduceEvent::Stop { attempt, why }),
                    );
                }
            }
        }
    }

    /// A task of a job has a slot.
    fn placed(&mut self, start: TaskStart) {
        let Some(sharing) = &self.sharing else {
            return;
        };
        // The container may have been lost since that was decided.
        if !sharing.lending.is_under_way(start.attempt) {
            return;
        }
        if let Some(job) = sharing.job_of(start.job) {
            self.task_begins(job, &start);
            self.tell(job, WorkEvent::OfTasks(MapReduceEvent::Placed(start)));
        }
    }

    /// A job has its slots: it sees them as a cluster of its own.
    fn lent(&mut self, lent: Lent) {
        let Some(sharing) = &self.sharing else {
            return;
        };
        let job = sharing.wishes.get(&lent.job).copied();
        let loan = job.and_then(|job| Some((job, self.jobs.get_mut(&job)?.loan.as_mut()?)));
        let Some((job, loan)) = loan else {
            return;
        };
        if !sharing.lending.is_whole(&lent) {
            // A container of it is gone since that was decided, and the job has not begun.
            loan.number = None;
            let request = Arc::clone(&loan.request);
            return self.wish_anew(job, lent.job, &request);
        }
        let view = sharing.lending.view(&lent, loan.request.unit);
        loan.lent = Some(lent.clone());
        self.gang_begins(job, &lent);
        self.tell(job, WorkEvent::Machine(LifecycleEvent::Snapshot(view)));
    }

    /// Slots of a job that uses no container any more are returned.
    pub(crate) fn may_return(&mut self, job: JobId) {
        let now = self.now();
        let Some(loan) = self.loan(job) else {
            return;
        };
        if !(loan.is_done && loan.has_left()) {
            return;
        }
        loan.lent = None;
        let (number, request) = (loan.number.take(), Arc::clone(&loan.request));
        self.spans_end(job);
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        let owner = sharing.lending.owner_of(&request);
        sharing.window.wait_no_more(&owner, request.priority, job);
        let Some(number) = number else { return };
        sharing.wish_ends(number, &request);
        self.lending(|lending| lending.returned(now, number));
    }
}
