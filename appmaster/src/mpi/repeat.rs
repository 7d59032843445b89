//! Between two runs of the program in one ApplicationMaster.

use job::wire;
use job::wire::job_event::Event;
use policy::ContainerId;
use policy::lifecycle::{Cause, Verdict};

use crate::mpi::names::PublishedNames;
use crate::mpi::seats::RunningSeats;
use crate::mpi::spawn::Groups;
use crate::mpi::usage::Usages;
use crate::mpi::verdict;
use crate::mpi::{Client, Mpi};
use crate::work::Do;

impl Mpi {
    /// Forgets the run before, which `cause` has ended, and tells the user. The launchers in `kept`
    /// containers wait for their next share; the others are to leave. Where no rank had been started,
    /// nothing is begun again: input that waits for the first rank stays where it is.
    pub(crate) fn repeat(&mut self, run: u32, cause: &Cause, kept: &[ContainerId]) {
        let ended = Verdict {
            cause: Some(cause.clone()),
        };
        let sentence = verdict::sentence(&ended, self.seen(&ended), &self.limits.types);
        tracing::warn!("run {run}: {sentence}");
        let begun = !self.seats.all().is_empty();
        let restarts = self.description.limits.run.restarts;
        self.story.outbox.notice(match begun {
            true => format!(
                "run {run} of {}: {sentence}; the program is started again, and so is its output",
                restarts.saturating_add(1)
            ),
            false => format!(
                "{sentence}; nothing had been started yet, so what was lost is asked for again"
            ),
        });
        let links: Vec<ContainerId> = self.links.keys().cloned().collect();
        for container in links {
            if !kept.contains(&container) {
                self.dismiss(&container);
            }
        }
        if !begun {
            return;
        }
        for link in self.links.values_mut() {
            link.streams = 0;
        }
        self.groups = Groups::default();
        self.firsts.clear();
        self.names = PublishedNames::default();
        self.seats = RunningSeats::default();
        self.reports.clear();
        self.seen.clear();
        self.usages = Usages::new(self.description.processes());
        self.timing.started_us = 0;
        self.todo.push(Do::RenewInput);
        match self.client {
            Client::Awaited | Client::Attached => {
                let again = Event::Again(wire::Again { run });
                self.story.outbox.push(again);
            }
            // Nobody will give any.
            Client::Absent | Client::Gone => self.todo.push(Do::EndInput),
        }
    }
}
