//! What the slots are used for, as clients see it.

use job::JobId;
use job::wire;
use job::wire::session_job::State;
use policy::Millis;
use policy::lending::{Offer, WaitingLine, Wants};

use super::loan::Loan;
use super::{Around, Slots};

impl Slots {
    /// The name that a job was submitted with.
    pub(crate) fn name(&self, job: JobId) -> Option<&str> {
        self.loans.get(&job).map(|loan| loan.name.as_str())
    }

    /// Whose a job is, and where it has waited.
    pub(crate) fn owner(&self, job: JobId) -> Option<(&str, &str)> {
        let request = &self.loans.get(&job)?.request;
        Some((&request.user, &request.queue))
    }

    /// The containers that offer slots, in the order of joining, with the slots of each that are lent.
    pub(crate) fn offers(&self) -> impl Iterator<Item = (&Offer, u32)> {
        self.lending.offers()
    }

    /// How often something was told to the policy, and the microseconds that it took to decide after that.
    pub(crate) fn cost(&self) -> (u64, u64) {
        self.deciding.cost()
    }

    /// A job's row in the table of jobs, as far as its slots tell it.
    pub(crate) fn row(
        &self,
        now: Millis,
        job: JobId,
        line: &mut WaitingLine<'_>,
        around: Around<'_>,
    ) -> Option<wire::SessionJob> {
        let loan = self.loans.get(&job)?;
        let waits = self.waits(job, line, around);
        let state = match waits {
            Some(_) => State::Waiting,
            None => State::Running,
        };
        Some(wire::SessionJob {
            job: job.0,
            name: loan.name.clone(),
            user: loan.request.user.clone(),
            priority: loan.request.priority,
            state: state.into(),
            slots: self.slots(loan),
            age_ms: now.0.saturating_sub(loan.submitted.0),
            waits: waits.map_or_else(String::new, |waits| waits.words),
            detached: false,
            queue: loan.request.queue.clone(),
            shares: self.shares(loan),
            tasks: None,
            attempts: Vec::new(),
        })
    }

    /// Where a job has slots.
    fn shares(&self, loan: &Loan) -> Vec<wire::SessionShare> {
        let Some(number) = loan.number else {
            return Vec::new();
        };
        let shares = self.lending.shares(number).into_iter();
        let shares = shares.map(|(offer, slots)| wire::SessionShare {
            host: offer.host.clone(),
            slots,
        });
        shares.collect()
    }

    /// Slots that a job wants, or has where it takes them as they come.
    fn slots(&self, loan: &Loan) -> u32 {
        match (&loan.request.wants, loan.number) {
            (Wants::Gang(processes), _) => *processes,
            (Wants::Tasks { .. }, Some(number)) => self.lending.held(number),
            (Wants::Tasks { .. }, None) => 0,
        }
    }
}
