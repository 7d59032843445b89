//! Attempts: from the decision over the launcher's word to their end.

use super::record_stage;
use crate::schedule::session::{Attempt, ScheduleState, Stay};
use crate::schedule::{
    AttemptIx, AttemptOutcome, AttemptPhase, Class, Container, Decision, JobIx, Node, Reservation,
    SlotIx, SlotUse, Speed, Stage, TaskIx,
};

impl ScheduleState {
    pub(super) fn ordered(&mut self, decision: &Decision) {
        match decision {
            Decision::Start {
                job,
                stage,
                task,
                slot,
            } => {
                self.start(*job, *stage, *task, *slot);
                self.index(*job, *stage);
            }
            Decision::Copy { of, slot } => {
                let Some(attempt) = self.attempts.get(of) else {
                    return;
                };
                let (job, stage, task) = (attempt.job, attempt.stage, attempt.task);
                self.start(job, stage, task, *slot);
                self.index(job, stage);
            }
            Decision::Move { attempt, to } => {
                let Some(moved) = self.attempts.get_mut(attempt) else {
                    return;
                };
                moved.to = Some(*to);
                let from = moved.slot;
                self.take(from, SlotUse::Moving(*attempt));
                self.take(*to, SlotUse::Reserved(Reservation::Arrival(*attempt)));
            }
            Decision::Swap { one, other } => {
                for (whose, with) in [(*one, *other), (*other, *one)] {
                    let to = self.attempts.get(&with).map(|attempt| attempt.slot);
                    let Some(attempt) = self.attempts.get_mut(&whose) else {
                        continue;
                    };
                    attempt.swaps = Some(with);
                    attempt.to = to;
                    let from = attempt.slot;
                    self.take(from, SlotUse::Moving(whose));
                }
            }
            Decision::Stop { attempt, .. } => {
                if let Some(attempt) = self.attempts.get_mut(attempt) {
                    attempt.stopping = true;
                }
            }
            Decision::Gang { job, slots } => {
                self.held_by(*job)
                    .into_iter()
                    .for_each(|slot| self.free(slot));
                let pending = self
                    .jobs
                    .get(job)
                    .and_then(|record| record.tasks.get(&Stage::Gang));
                let tasks: Vec<TaskIx> = pending
                    .into_iter()
                    .flat_map(|tasks| tasks.pending.clone())
                    .collect();
                for (task, slot) in tasks.into_iter().zip(slots) {
                    self.start(*job, Stage::Gang, task, *slot);
                }
                self.index(*job, Stage::Gang);
            }
            Decision::Hold { job, slots, until } => {
                for slot in slots {
                    self.take(*slot, SlotUse::Reserved(Reservation::Hold(*job)));
                    self.hold(*slot, *job, *until);
                }
            }
        }
    }

    /// A task starts; the orders that its job stands in are brought in line when all of a decision have.
    fn start(&mut self, job: JobIx, stage: Stage, task: TaskIx, slot: SlotIx) {
        let ix = AttemptIx(self.next_attempt);
        self.next_attempt = self.next_attempt.saturating_add(1);
        let ordered = self.now;
        let class = self.jobs.get(&job);
        let class = class.and_then(|record| record.class.get(&stage).copied());
        class.into_iter().for_each(|class| self.needs.hold(class));
        let attempt = Attempt {
            job,
            stage,
            class,
            task,
            slot,
            to: None,
            swaps: None,
            ordered,
            began: None,
            stay: None,
            progress: None,
            stopping: false,
            stuck: None,
        };
        self.attempts.insert(ix, attempt);
        self.take(slot, SlotUse::Reserved(Reservation::Start(ix)));
        self.take_pending(job, stage, task);
        self.spend(class, slot, u64::saturating_add);
        self.count((job, stage, class), 1, 0);
        let record = self
            .jobs
            .get_mut(&job)
            .and_then(|record| record.tasks.get_mut(&stage));
        if let Some(record) = record.and_then(|tasks| tasks.all.get_mut(task.0 as usize)) {
            record.attempts.push(ix);
            if record.done {
                self.late.insert(ix);
            }
        }
    }

    /// Counts attempts under way, of the job and of whom it belongs to.
    fn count(&mut self, (job, stage, class): (JobIx, Stage, Option<Class>), more: u32, fewer: u32) {
        let Some(record) = self.jobs.get_mut(&job) else {
            return;
        };
        let moved = |count: u32| count.saturating_add(more).saturating_sub(fewer);
        record.under_way = moved(record.under_way);
        if let Some(state) = record.job.stages.get_mut(&stage) {
            state.running = moved(state.running);
        }
        self.used.change(&record.job, stage, moved);
        if let Some(class) = class {
            self.used.change_class(&record.job.tenant, class, moved);
        }
    }

    /// Takes what an attempt needs out of its container and node, or gives it back: `how` changes what is taken.
    fn spend(&mut self, class: Option<Class>, slot: SlotIx, how: fn(u64, u64) -> u64) {
        let Some(need) = class.and_then(|class| self.needs.get(class)) else {
            return;
        };
        let Some(slot) = self.slots.get(&slot) else {
            return;
        };
        let Some(record) = self.containers.get_mut(&slot.container) else {
            return;
        };
        let node = self.nodes.get_mut(record.container.node.0 as usize);
        let Some(node) = node else { return };
        if let Some(class) = class.filter(|_| need.limit.is_some()) {
            node.limit(class, |before| how(before, 1));
        }
        for (name, amount) in need.bundle.iter() {
            let (pool, free, taken) = match record.container.pool.counts(name) {
                true => {
                    let Container { pool, free, .. } = &mut record.container;
                    (pool, free, &mut record.taken)
                }
                false => {
                    let Node { pool, free, .. } = &mut node.node;
                    (pool, free, &mut node.taken)
                }
            };
            // A policy that is blind takes what is not there; and what was there when it was taken may be less now.
            taken.change(name, |before| how(before, amount));
            let taken = taken.amount(name);
            if let Some(of) = pool.counted(name) {
                free.change(name, |_| of.saturating_sub(taken));
            }
        }
    }

    pub(super) fn began(&mut self, ix: AttemptIx) {
        let now = self.now;
        let Some(attempt) = self.attempts.get_mut(&ix) else {
            return;
        };
        attempt.began = Some(now);
        attempt.stay = Some(Stay::first(now));
        let slot = attempt.slot;
        self.take(slot, SlotUse::Busy(ix));
    }

    pub(super) fn progress(&mut self, ix: AttemptIx, (phase, done, of): (AttemptPhase, u64, u64)) {
        let now = self.now;
        if let Some(attempt) = self.attempts.get_mut(&ix) {
            attempt.progress = Some((phase, done, of, now));
        }
    }

    /// It runs on another slot from now on.
    fn comes(&mut self, ix: AttemptIx, to: SlotIx) {
        let (now, left) = (self.now, self.remaining(ix).map(|(left, _)| left));
        if let Some(attempt) = self.attempts.get_mut(&ix) {
            attempt.slot = to;
            attempt.stay = attempt.stay.map(|stay| stay.next(now, left));
        }
    }

    pub(super) fn moved(&mut self, ix: AttemptIx, ok: bool) {
        let now = self.now;
        let Some(attempt) = self.attempts.get_mut(&ix) else {
            return;
        };
        let (from, to, with) = (attempt.slot, attempt.to.take(), attempt.swaps.take());
        if !ok {
            attempt.stuck = Some(now);
        }
        let stays = to.filter(|_| ok).unwrap_or(from);
        if stays != from {
            self.comes(ix, stays);
        }
        if let Some(other) = with {
            if let Some(attempt) = self.attempts.get_mut(&other) {
                (attempt.to, attempt.swaps) = (None, None);
                let slot = if ok { from } else { attempt.slot };
                if ok {
                    self.comes(other, slot);
                }
                self.take(slot, SlotUse::Busy(other));
            }
        } else {
            let given_up = if ok { Some(from) } else { to };
            given_up.into_iter().for_each(|slot| self.free(slot));
        }
        self.take(stays, SlotUse::Busy(ix));
    }

    pub(super) fn ended(&mut self, ix: AttemptIx, how: AttemptOutcome) {
        let Some(attempt) = self.attempts.remove(&ix) else {
            return;
        };
        let Attempt {
            job,
            stage,
            class,
            task,
            slot,
            to,
            swaps,
            stay,
            ..
        } = attempt;
        if how == AttemptOutcome::Failed {
            let container = self.slots.get(&slot).map(|slot| slot.container);
            let container = container.and_then(|ix| self.containers.get(&ix));
            if let Some(node) = container.map(|record| record.container.node) {
                let failed = self.failed.entry((node, job)).or_default();
                *failed = failed.saturating_add(1);
                self.failed_at.insert((node, job, stage, task));
            }
        }
        let speed = self
            .slots
            .get(&slot)
            .map_or(Speed::Plain, |slot| slot.speed);
        self.spend(class, slot, u64::saturating_sub);
        self.count((job, stage, class), 0, 1);
        class.into_iter().for_each(|class| self.needs.leave(class));
        match swaps.filter(|other| self.attempts.contains_key(other)) {
            // The other goes on to that slot, as if it had been ordered there alone.
            Some(other) => {
                if let Some(attempt) = self.attempts.get_mut(&other) {
                    attempt.swaps = None;
                }
                self.take(slot, SlotUse::Reserved(Reservation::Arrival(other)));
            }
            None => {
                self.free(slot);
                if swaps.is_none() {
                    to.into_iter().for_each(|slot| self.free(slot));
                }
            }
        }
        let span = stay
            .and_then(|stay| stay.for_all(self.now.since(stay.since)))
            .filter(|_| how == AttemptOutcome::Done && speed != Speed::Parked);
        self.settle(job, stage, task, ix, how == AttemptOutcome::Done);
        if let (Some(span), Some(state)) = (span, record_stage(&mut self.jobs, job, stage)) {
            state.measure(speed, span);
        }
        self.index(job, stage);
        self.forget(job);
    }
}
