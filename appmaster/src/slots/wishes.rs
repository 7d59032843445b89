//! A job's way to slots and back: it waits for its turn, wishes, has slots, and returns them.

use std::sync::Arc;

use job::JobId;
use policy::lending::{Lent, SlotRequest, TaskMove, TaskStart, Wants, Word};
use policy::schedule::{AttemptIx, Why};
use policy::{ClusterView, Millis};

use super::loan::Loan;
use super::{LoanTerms, Slots};

/// What was decided about the slots of one job.
#[derive(Debug, PartialEq)]
pub(crate) enum Allotted {
    /// A gang has its slots, which it sees as a cluster of its own.
    Gang {
        job: JobId,
        lent: Lent,
        view: ClusterView,
    },
    /// The same, and a container of it is gone since: the job wishes anew when it stands where it stood.
    GangAnew,
    /// A task has a slot.
    Task { job: JobId, start: TaskStart },
    /// An attempt that runs is to have another slot.
    Move { job: JobId, moved: TaskMove },
    /// An attempt is to be ended.
    Stop {
        job: JobId,
        attempt: AttemptIx,
        why: Why,
    },
}

impl Slots {
    /// A job was submitted. It wants no slots yet.
    pub(crate) fn submitted(&mut self, now: Millis, job: JobId, given: LoanTerms) {
        let loan = Box::new(Loan::new(job, now, given));
        self.loans.insert(job, loan);
    }

    /// A job wants slots, and waits for its turn.
    pub(crate) fn waits_for_turn(&mut self, job: JobId) {
        if let Some(loan) = self.loans.get(&job) {
            let owner = self.lending.owner_of(&loan.request);
            self.window.wait(&owner, loan.request.priority, job);
        }
    }

    /// Jobs whose turn it is begin to compete for slots. Those of tasks say from now on which of them may start.
    pub(crate) fn wish(&mut self, now: Millis) -> Vec<JobId> {
        let mut of_tasks = Vec::new();
        while let Some((job, owner)) = self.window.next() {
            let Some(loan) = self.loans.get_mut(&job) else {
                self.window.leave(&owner);
                continue;
            };
            let number = self.next_wish;
            self.next_wish = number.wrapping_add(1);
            loan.number = Some(number);
            self.wishes.insert(number, job);
            let (turn, request) = (loan.turn, Arc::clone(&loan.request));
            if matches!(request.wants, Wants::Tasks { .. }) {
                of_tasks.push(job);
            }
            self.change(now, |lending| match turn {
                Some(turn) => lending.wanted_in_turn(now, number, turn, request),
                None => lending.wanted(now, number, request),
            });
        }
        of_tasks
    }

    /// The next of what was decided, and the job has not heard; `Err`: it concerns none any more.
    pub(crate) fn next_allotted(&mut self, now: Millis) -> Option<Result<Allotted, ()>> {
        let word = self.unheard.pop_front()?;
        Some(self.allotted(now, word).ok_or(()))
    }

    fn allotted(&mut self, now: Millis, word: Word) -> Option<Allotted> {
        match word {
            Word::Lent(lent) => self.lent(now, lent),
            Word::Start(start) => {
                // The container may have been lost since that was decided.
                if !self.lending.is_under_way(start.attempt) {
                    return None;
                }
                let job = *self.wishes.get(&start.job)?;
                Some(Allotted::Task { job, start })
            }
            Word::Move(moved) => {
                let job = *self.wishes.get(&moved.job)?;
                Some(Allotted::Move { job, moved })
            }
            Word::Stop { job, attempt, why } => {
                let job = *self.wishes.get(&job)?;
                Some(Allotted::Stop { job, attempt, why })
            }
        }
    }

    fn lent(&mut self, now: Millis, lent: Lent) -> Option<Allotted> {
        let job = *self.wishes.get(&lent.job)?;
        let loan = self.loans.get_mut(&job)?;
        if !self.lending.is_whole(&lent) {
            // The job has not begun.
            loan.number = None;
            let request = Arc::clone(&loan.request);
            self.wish_anew(now, job, lent.job, &request);
            return Some(Allotted::GangAnew);
        }
        let view = self.lending.view(&lent, loan.request.unit);
        loan.lent = Some(lent.clone());
        Some(Allotted::Gang { job, lent, view })
    }

    /// A job that has lost a part of its slots, and has left the others, waits for as many anew. `false`: it does not.
    pub(crate) fn begins_again(&mut self, now: Millis, job: JobId) -> bool {
        let Some(loan) = self.loans.get_mut(&job) else {
            return false;
        };
        let request = Arc::clone(&loan.request);
        let Some(number) = loan.begin_again() else {
            return false;
        };
        self.wish_anew(now, job, number, &request);
        true
    }

    /// The slots of a wish, as far as there are some, are returned, and the job waits for as many, in its old turn: who
    /// gets them is decided at the [tick](Slots::tick) that is due when it stands there again.
    fn wish_anew(&mut self, now: Millis, job: JobId, number: u32, request: &SlotRequest) {
        let turn = self.lending.turn(number);
        if let (Some(loan), Some(turn)) = (self.loans.get_mut(&job), turn) {
            loan.turn = Some(turn);
        }
        self.lending.given_back(now, number);
        self.wish_ends(number, request);
        self.waits_for_turn(job);
    }

    fn wish_ends(&mut self, number: u32, request: &SlotRequest) {
        if self.wishes.remove(&number).is_some() {
            let owner = self.lending.owner_of(request);
            self.window.leave(&owner);
        }
    }

    /// The verdict about a job is out, and no container has anything of it.
    pub(crate) fn is_left(&self, job: JobId) -> bool {
        let loan = self.loans.get(&job);
        loan.is_some_and(|loan| loan.is_done && loan.has_left())
    }

    /// Takes back the slots of a job that is [left](Slots::is_left), or its place in line. `false`: it had no slots, and
    /// did not wish for any.
    pub(crate) fn take_back(&mut self, now: Millis, job: JobId) -> bool {
        self.keep_run(job);
        let Some(loan) = self.loans.get_mut(&job) else {
            return false;
        };
        loan.lent = None;
        let (number, request) = (loan.number.take(), Arc::clone(&loan.request));
        let owner = self.lending.owner_of(&request);
        self.window.wait_no_more(&owner, request.priority, job);
        let Some(number) = number else {
            return false;
        };
        self.wish_ends(number, &request);
        self.change(now, |lending| lending.returned(now, number));
        true
    }

    /// Nothing of the slots is a job's any more, and it is to have none.
    pub(crate) fn has_returned(&self, job: JobId) -> bool {
        let loan = self.loans.get(&job);
        loan.is_some_and(|loan| loan.is_done && loan.number.is_none())
    }

    /// A job is over.
    pub(crate) fn forget(&mut self, job: JobId) {
        self.loans.remove(&job);
    }
}
