//! A job in containers that are lent to it: what it was submitted with, which slots it wants or has, and
//! in which containers it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use job::JobId;
use job::wire;
use policy::lending::{Lent, SlotRequest, Turn};
use policy::{ContainerId, Millis};

/// How far a job is in a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The launcher brings its files.
    Fetching,
    /// It runs there, or may.
    Joined,
    /// The launcher has been told that it is over.
    Leaving,
    /// The container is lost.
    Gone,
}

/// What a job in a session has beside what every job has.
#[derive(Debug)]
pub(super) struct Loan {
    pub(super) name: String,
    /// Of the session's clock.
    pub(super) submitted: Millis,
    /// Its client wants to be told every reason.
    pub(super) explain: bool,
    /// What its client was told last of the slots that it waits for; empty: nothing.
    pub(super) told: String,
    /// Its client knows that it misses its deadline.
    pub(super) knows_miss: bool,
    /// What launchers bring for it.
    pub(super) files: wire::FetchFiles,
    pub(super) request: Arc<SlotRequest>,
    /// By which number its request was told; `None`: it has no slots and wants none.
    pub(super) number: Option<u32>,
    /// Where it stood among jobs that want slots when it lost some; `None`: it has had none.
    pub(super) turn: Option<Turn>,
    /// Its slots.
    pub(super) lent: Option<Lent>,
    /// Something was started in them: they are no fresh ones any more.
    pub(super) has_begun: bool,
    /// A part of them is lost, and it waits for others; before, all that it has is returned.
    pub(super) begins_again: bool,
    pub(super) containers: BTreeMap<ContainerId, Use>,
    /// Its verdict is out, and it uses no container any more.
    pub(super) is_done: bool,
}

impl Loan {
    /// A job that has just been submitted.
    pub(super) fn new(job: JobId, now: Millis, given: LoanTerms) -> Self {
        Self {
            name: given.name,
            submitted: now,
            explain: given.explain,
            told: String::new(),
            knows_miss: false,
            files: wire::FetchFiles {
                job: job.0,
                addresses: given.addresses,
                files: given.files,
            },
            request: Arc::new(given.request),
            number: None,
            turn: None,
            lent: None,
            has_begun: false,
            begins_again: false,
            containers: BTreeMap::new(),
            is_done: false,
        }
    }

    /// Whether it is in this container.
    pub(super) fn is_in(&self, container: &ContainerId) -> bool {
        self.containers
            .get(container)
            .is_some_and(|of| *of != Use::Gone)
    }

    /// The containers that have something of it, or will.
    pub(super) fn in_use(&self) -> impl Iterator<Item = &ContainerId> {
        let there = self.containers.iter().filter(|(_, of)| **of != Use::Gone);
        let lent = self.lent.iter().flat_map(|lent| &lent.shares);
        let lent = lent.map(|(container, _)| container);
        there.map(|(container, _)| container).chain(lent)
    }

    /// No container has anything of it.
    pub(super) fn has_left(&self) -> bool {
        self.containers.values().all(|of| *of == Use::Gone)
    }

    /// All that it had is lost or left, and it waits for other slots: it has none, and its number is free.
    pub(super) fn begin_again(&mut self) -> Option<u32> {
        if !self.begins_again || self.is_done || !self.has_left() {
            return None;
        }
        self.begins_again = false;
        self.has_begun = false;
        self.lent = None;
        self.containers.clear();
        self.number.take()
    }

    /// The containers that it has not been told to leave.
    pub(super) fn used(&self) -> Vec<ContainerId> {
        let all = self.containers.iter();
        let used = all.filter(|(_, of)| matches!(of, Use::Fetching | Use::Joined));
        used.map(|(container, _)| container.clone()).collect()
    }

    /// It does not use this container any more; `false`: it never did.
    pub(super) fn leave(&mut self, container: &ContainerId) -> bool {
        match self.containers.get_mut(container) {
            Some(of @ (Use::Fetching | Use::Joined)) => {
                *of = Use::Leaving;
                true
            }
            Some(Use::Leaving | Use::Gone) | None => false,
        }
    }
}

/// What a client gives with a job.
#[derive(Debug)]
pub(crate) struct LoanTerms {
    pub(crate) name: String,
    pub(crate) addresses: Vec<String>,
    pub(crate) files: Vec<wire::StagedFile>,
    pub(crate) request: SlotRequest,
    /// It wants to be told every reason.
    pub(crate) explain: bool,
}

#[cfg(test)]
mod tests {
    use policy::Resources;
    use policy::lending::Wants;
    use policy::schedule::JobProfile;

    use super::*;

    #[test]
    fn slots_are_free_when_every_container_has_been_left() {
        let request = SlotRequest {
            wants: Wants::Gang(3),
            unit: Resources::new(256, 1),
            user: "ann".into(),
            queue: "default".into(),
            priority: 0,
            deadline: None,
            profile: JobProfile::default(),
            any_speed: false,
        };
        let given = LoanTerms {
            name: "p".into(),
            addresses: Vec::new(),
            files: Vec::new(),
            request,
            explain: false,
        };
        let mut loan = Loan::new(JobId(1), Millis(0), given);
        let id = |number: u32| ContainerId(format!("c{number}"));
        for (number, of) in [(1, Use::Fetching), (2, Use::Joined), (3, Use::Gone)] {
            loan.containers.insert(id(number), of);
        }
        assert_eq!(loan.used(), [id(1), id(2)]);
        assert!(loan.leave(&id(1)) && loan.leave(&id(2)));
        // Neither twice nor where nothing is.
        assert!(!loan.leave(&id(1)) && !loan.leave(&id(3)) && !loan.leave(&id(4)));
        assert!(loan.used().is_empty() && !loan.has_left());
        loan.containers.remove(&id(1));
        loan.containers.remove(&id(2));
        assert!(loan.has_left());
    }
}
