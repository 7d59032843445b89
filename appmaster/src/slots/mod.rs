//! The slots of a session: jobs wish for them, have them, and return them when no container has anything of the job.
//!
//! ```text
//!  containers join, leave, are lost ─▶ ┌───────┐
//!  a job waits for its turn ─▶ wished ▶│ Slots │──▶ Word: a gang or a task has slots, an attempt is to stop
//!  tasks may start, end ─────────────▶ └───────┘       │ (kept in order until the loop carries it out)
//!            ▲                                         ▼
//!            └── returned ◀── nothing of it is left in a container ◀── the job is there
//! ```
//!
//! Which job gets which slot is for [`Lending`] and its policy to say. Here is which jobs are in line ([`window`]), what
//! each has been given and in which containers it is ([`loan`]), what was decided and the jobs have not heard, and why a
//! job waits ([`why_waiting`]).
//!
//! A job that has lost a part of its slots, and may begin again, leaves what it still has, returns all, and wishes for
//! as many anew: no job holds slots while it waits for others.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod deciding;
mod foreseen;
mod in_containers;
mod loan;
mod misses;
mod mixed_speeds;
mod moves;
mod recorded;
mod spare;
mod status;
mod tasks;
#[cfg(test)]
mod tests;
mod why_waiting;
mod window;
mod wishes;

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::time::Instant;

use job::JobId;
use policy::elements::ElementNeed;
use policy::lending::{FunctionLoad, Lack, Lending, Offer, OfferedSlot, Word};
use policy::{ContainerId, Millis};

use deciding::Deciding;
use foreseen::LastRuns;
use loan::Loan;
use moves::Moves;
use window::RunningWindow;

use crate::nodes::Nodes;
use crate::recording::Recording;

pub(crate) use in_containers::Seen;
pub(crate) use loan::LoanTerms;
pub(crate) use why_waiting::{Around, WhyWaiting};
pub(crate) use wishes::Allotted;

/// Between two words to the clients of jobs that wait.
const SHOW: Millis = Millis(1_000);

/// The slots of a session's containers, and the jobs that want or have them.
#[derive(Debug)]
pub(crate) struct Slots {
    lending: Lending,
    /// Jobs that want slots and are not in the lending yet: as many have some as may at the same time.
    window: RunningWindow,
    /// Boxed: nodes of the tree are half empty.
    loans: BTreeMap<JobId, Box<Loan>>,
    /// Jobs by the numbers of their wishes.
    wishes: BTreeMap<u32, JobId>,
    next_wish: u32,
    deciding: Deciding,
    /// What was decided, and the jobs have not heard.
    unheard: VecDeque<Word>,
    /// Jobs that wait have something new to say since then.
    show_at: Option<Millis>,
    /// What jobs lack and use has changed since that was asked.
    has_changed: bool,
    moves: Moves,
    last_runs: LastRuns,
    /// Where what is decided is recorded.
    recording: Option<Recording>,
}

impl Slots {
    /// No containers and no jobs; `most` jobs of one owner have slots at the same time, `None`: any number.
    pub(crate) fn new(lending: Lending, most: Option<NonZeroU32>) -> Self {
        Self {
            lending,
            window: RunningWindow::new(most),
            loans: BTreeMap::new(),
            wishes: BTreeMap::new(),
            next_wish: 0,
            deciding: Deciding::default(),
            unheard: VecDeque::new(),
            show_at: None,
            has_changed: false,
            moves: Moves::default(),
            last_runs: LastRuns::default(),
            recording: None,
        }
    }

    /// Does something with the slots; what is decided by it the jobs hear when all is carried out.
    fn change(&mut self, now: Millis, with: impl FnOnce(&mut Lending) -> Vec<Word>) {
        let began = Instant::now();
        let words = with(&mut self.lending);
        self.deciding.took(began);
        self.deciding.refused(self.lending.refused());
        self.unheard.extend(words);
        self.write_down();
        self.has_changed = true;
        self.show_soon(now);
    }

    /// Whether what jobs lack and use may have changed since this was asked last.
    pub(crate) const fn have_changed(&mut self) -> bool {
        std::mem::replace(&mut self.has_changed, false)
    }

    /// A launcher has joined: its slots may be lent from now on.
    pub(crate) fn offered(&mut self, now: Millis, offer: Offer) {
        self.change(now, |lending| lending.joined(now, offer));
    }

    /// The node of a container has other devices, and the container these slots.
    pub(crate) fn devices_changed(
        &mut self,
        now: Millis,
        container: &ContainerId,
        devices: BTreeMap<String, u64>,
        slots: Vec<OfferedSlot>,
    ) {
        self.change(now, |lending| {
            lending.elements(now, container, devices, slots)
        });
    }

    /// The boards of a container's node were looked at.
    pub(crate) fn boards_seen(
        &mut self,
        now: Millis,
        container: &ContainerId,
        loads: &[FunctionLoad],
    ) {
        self.change(now, |lending| lending.loaded(now, container, loads));
    }

    /// A container is gone, with its slots.
    pub(crate) fn lost(&mut self, now: Millis, container: &ContainerId) {
        self.change(now, |lending| lending.lost(now, container));
    }

    /// A container is wanted back, and YARN takes it at about `by`: no job gets more of its slots.
    pub(crate) fn leaving(&mut self, now: Millis, container: &ContainerId, by: Millis) {
        self.change(now, |lending| lending.leaving(now, container, by));
    }

    /// Time has passed, or slots were given back and nothing was decided since.
    pub(crate) fn tick(&mut self, now: Millis) {
        self.change(now, |lending| lending.tick(now));
    }

    /// Whether [`Slots::tick`] is due.
    pub(crate) fn is_due(&self, now: Millis) -> bool {
        self.lending.wakes_at().is_some_and(|at| now >= at)
    }

    /// Jobs that wait say again why, soon.
    pub(crate) fn show_soon(&mut self, now: Millis) {
        self.show_at.get_or_insert(now.plus(SHOW));
    }

    /// Whether they are to say it now, which is taken note of.
    pub(crate) fn is_to_show(&mut self, now: Millis) -> bool {
        let is_due = self.show_at.is_some_and(|at| now >= at);
        if is_due {
            self.show_at = None;
        }
        is_due
    }

    /// What is due when.
    pub(crate) fn dues(&self) -> [(&'static str, Option<Millis>); 2] {
        [
            ("the policy", self.lending.wakes_at()),
            ("what jobs wait for", self.show_at),
        ]
    }

    /// Slots that jobs lack.
    pub(crate) fn lacking(&self) -> u32 {
        self.lending.lacking()
    }

    /// The queues that jobs may name; `None`: any.
    pub(crate) fn queues(&self) -> Option<Vec<&str>> {
        self.lending.queues()
    }

    /// Whether the policy goes by the deadlines of jobs.
    pub(crate) fn goes_by_deadline(&self) -> bool {
        self.lending.goes_by_deadline()
    }

    /// What the tasks of a wish need and no node has, each of which says why.
    fn lack(&self, number: u32, nodes: &Nodes) -> Option<Lack> {
        let why_not =
            |container: &ContainerId, needs: &[ElementNeed]| nodes.why_not(container, needs);
        self.lending.lack(number, &why_not)
    }

    /// The first of the jobs of which `waits_not` says that they wait for no further node, and whose tasks need what no
    /// node has; and what that is.
    pub(crate) fn without_node(
        &self,
        nodes: &Nodes,
        waits_not: impl Fn(JobId) -> bool,
    ) -> Option<(JobId, Lack)> {
        let wishes = self.wishes.iter().filter(|(_, job)| waits_not(**job));
        let mut lacking =
            wishes.filter_map(|(number, job)| Some((*job, self.lack(*number, nodes)?)));
        lacking.next()
    }
}
