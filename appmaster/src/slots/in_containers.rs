//! In which containers jobs are: their files are brought there, they run there, they leave.

use std::collections::BTreeSet;

use job::JobId;
use job::wire;
use policy::lending::Word;
use policy::{ClusterView, ContainerId};

use super::Slots;
use super::loan::{Loan, Use};

/// What a gang that looks for a cluster sees.
#[derive(Debug, PartialEq)]
pub(crate) enum Seen {
    /// Its slots.
    Slots(ClusterView),
    /// Nothing yet: it waits for its turn, or for slots.
    Nothing,
    /// A part of its slots is lost: it leaves these containers, and waits for as many slots anew.
    Leaves(Vec<ContainerId>),
}

impl Slots {
    /// A gang looks for a cluster. Without slots it waits for its turn.
    pub(crate) fn see(&mut self, job: JobId) -> Option<Seen> {
        let loan = self.loans.get_mut(&job)?;
        if loan.has_begun {
            loan.begins_again = true;
            let used = loan.used();
            return Some(Seen::Leaves(self.leave_all(job, used)));
        }
        if let Some(lent) = &loan.lent {
            return Some(Seen::Slots(self.lending.view(lent, loan.request.unit)));
        }
        if loan.number.is_none() {
            self.waits_for_turn(job);
        }
        Some(Seen::Nothing)
    }

    /// A job begins in a container: what its launcher brings there.
    pub(crate) fn begins_in(
        &mut self,
        job: JobId,
        container: &ContainerId,
    ) -> Option<wire::FetchFiles> {
        let loan = self.loans.get_mut(&job)?;
        loan.containers.insert(container.clone(), Use::Fetching);
        loan.has_begun = true;
        Some(loan.files.clone())
    }

    /// The launcher has brought them, or not. `false`: they are not awaited.
    pub(crate) fn fetched(&mut self, job: JobId, container: &ContainerId, are_there: bool) -> bool {
        let loan = self.loans.get_mut(&job);
        let of = loan.and_then(|loan| loan.containers.get_mut(container));
        match of {
            Some(of @ Use::Fetching) => {
                if are_there {
                    *of = Use::Joined;
                }
                true
            }
            Some(Use::Joined | Use::Leaving | Use::Gone) | None => false,
        }
    }

    /// A job uses a container no more. `false`: it did not use it.
    pub(crate) fn leave(&mut self, job: JobId, container: &ContainerId) -> bool {
        let loan = self.loans.get_mut(&job);
        loan.is_some_and(|loan| loan.leave(container))
    }

    /// The verdict about a job is out: it uses no container any more. Those that it has not left yet.
    pub(crate) fn is_done(&mut self, job: JobId) -> Vec<ContainerId> {
        let Some(loan) = self.loans.get_mut(&job) else {
            return Vec::new();
        };
        loan.is_done = true;
        let used = loan.used();
        self.leave_all(job, used)
    }

    fn leave_all(&mut self, job: JobId, containers: Vec<ContainerId>) -> Vec<ContainerId> {
        let left = containers.into_iter();
        left.filter(|container| self.leave(job, container))
            .collect()
    }

    /// Nothing of a job is left in a container. `false`: nothing was there.
    pub(crate) fn left(&mut self, job: JobId, container: &ContainerId) -> bool {
        let loan = self.loans.get_mut(&job);
        loan.is_some_and(|loan| loan.containers.remove(container).is_some())
    }

    /// A container, or its launcher, is gone: the jobs that are there, or were when it was lost.
    pub(crate) fn gone(&mut self, container: &ContainerId) -> Vec<JobId> {
        let mut jobs = Vec::new();
        for (job, loan) in &mut self.loans {
            if let Some(of) = loan.containers.get_mut(container) {
                *of = Use::Gone;
                jobs.push(*job);
            }
        }
        jobs
    }

    /// Whether a job is in a container.
    pub(crate) fn is_in(&self, job: JobId, container: &ContainerId) -> bool {
        let loan = self.loans.get(&job);
        loan.is_some_and(|loan| loan.is_in(container))
    }

    /// The jobs in a container.
    pub(crate) fn jobs_in(&self, container: &ContainerId) -> Vec<JobId> {
        let there = self.loans.iter();
        let there = there.filter(|(_, loan)| loan.is_in(container));
        there.map(|(job, _)| *job).collect()
    }

    /// The containers that have something of a job, or will.
    pub(crate) fn containers_of(&self, job: JobId) -> Vec<ContainerId> {
        let loan = self.loans.get(&job);
        let used = loan.into_iter().flat_map(|loan| loan.in_use());
        used.cloned().collect()
    }

    /// The containers that have something of any job, or will.
    pub(crate) fn in_use(&self) -> BTreeSet<ContainerId> {
        let loans = self.loans.values();
        let mut used: BTreeSet<ContainerId> =
            loans.flat_map(|loan| Loan::in_use(loan)).cloned().collect();
        // Also what was decided, and the jobs have not heard.
        for word in &self.unheard {
            match word {
                Word::Lent(lent) => {
                    used.extend(lent.shares.iter().map(|(container, _)| container.clone()));
                }
                Word::Start(start) => drop(used.insert(start.container.clone())),
                Word::Move(_) | Word::Stop { .. } => {}
            }
        }
        used
    }

    /// A gang has slots.
    pub(crate) fn has_slots(&self, job: JobId) -> bool {
        let loan = self.loans.get(&job);
        loan.is_some_and(|loan| loan.lent.is_some())
    }
}
