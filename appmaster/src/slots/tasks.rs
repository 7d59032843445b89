//! What jobs of tasks tell of them: which may start, how far they are, and that they have ended.

use std::collections::BTreeSet;

use job::JobId;
use policy::elements::ElementNeed;
use policy::lending::{Home, Lending, TaskInput, Word};
use policy::schedule::{AttemptIx, AttemptOutcome, AttemptPhase, Nanos, Stage, TaskIx};
use policy::{ContainerId, Millis};

use super::Slots;

impl Slots {
    /// These tasks of a job may start, numbered on from those before.
    pub(crate) fn runnable(&mut self, now: Millis, job: JobId, stage: Stage, inputs: &[TaskInput]) {
        self.of_wish(now, job, |lending, number| {
            lending.runnable(now, number, stage, inputs)
        });
    }

    /// Tasks of a stage need these devices from now on.
    pub(crate) fn needed(&mut self, now: Millis, job: JobId, stage: Stage, needs: &[ElementNeed]) {
        self.of_wish(now, job, |lending, number| {
            lending.needed(now, number, stage, needs)
        });
    }

    /// Tasks of a job go to other nodes than those of these containers, where there are others.
    pub(crate) fn avoid(&mut self, now: Millis, job: JobId, containers: &[ContainerId]) {
        self.of_wish(now, job, |lending, number| {
            lending.avoid(now, number, containers)
        });
    }

    /// No task of a job is to be started any more.
    pub(crate) fn close(&mut self, now: Millis, job: JobId) {
        self.keep_run(job);
        self.of_wish(now, job, |lending, number| lending.close(now, number));
    }

    /// The results of these maps are lost, and they run again.
    pub(crate) fn output_lost(&mut self, now: Millis, job: JobId, maps: Vec<TaskIx>) {
        self.of_wish(now, job, |lending, number| {
            lending.output_lost(now, number, maps)
        });
    }

    /// Where partitions of a job, each with about so many bytes, are at home, among these containers.
    pub(crate) fn homes(
        &mut self,
        now: Millis,
        job: JobId,
        partitions: &[(u32, u64)],
        among: &BTreeSet<ContainerId>,
    ) -> Vec<Home> {
        let mut homes = Vec::new();
        self.of_wish(now, job, |lending, number| {
            homes = lending.homes(now, number, partitions, among);
            Vec::new()
        });
        homes
    }

    /// An attempt runs, as far as is known.
    pub(crate) fn began(&mut self, now: Millis, attempt: AttemptIx) {
        self.change(now, |lending| {
            lending.began(now, attempt);
            Vec::new()
        });
    }

    /// An attempt has done so much of so much.
    pub(crate) fn progress(&mut self, now: Millis, attempt: AttemptIx, done: u64, of: u64) {
        self.change(now, |lending| {
            lending.progress(now, attempt, done, of);
            Vec::new()
        });
    }

    /// An attempt is over, and was so long in each phase: its slot is free.
    pub(crate) fn ended(
        &mut self,
        now: Millis,
        attempt: AttemptIx,
        how: AttemptOutcome,
        phases: Vec<(AttemptPhase, Nanos)>,
    ) {
        self.change(now, |lending| {
            lending.ended_after(now, attempt, how, phases)
        });
    }

    /// Does something about the wish of a job; nothing, where it has none.
    fn of_wish(
        &mut self,
        now: Millis,
        job: JobId,
        with: impl FnOnce(&mut Lending, u32) -> Vec<Word>,
    ) {
        if let Some(number) = self.loans.get(&job).and_then(|loan| loan.number) {
            self.change(now, |lending| with(lending, number));
        }
    }
}
