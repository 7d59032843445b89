//! Jobs and their tasks: what is pending, and the orders in which policies walk jobs.

use std::collections::BTreeMap;

use super::{put, record_stage};
use crate::Few;
use crate::schedule::by_deadline::turn;
use crate::schedule::session::{
    Class, JobRecord, ListedStage, NodeRecord, Owner, ScheduleState, TaskRecord, Tasks,
};
use crate::schedule::{AttemptIx, Job, JobIx, Nanos, SlotIx, Stage, Task, TaskIx};

impl ScheduleState {
    pub(super) fn arrived(&mut self, job: &Job) {
        let ix = JobIx(self.next_job);
        self.next_job = self.next_job.saturating_add(1);
        let mut job = job.clone();
        if self.by_deadline {
            job.seq = turn(&job);
        }
        let class = job
            .stages
            .iter()
            .map(|(stage, state)| (*stage, self.needs.enter(&state.need)));
        let class = class.collect();
        for stage in job.stages.keys() {
            self.unfinished
                .entry(*stage)
                .or_default()
                .insert((job.seq, ix));
        }
        let unfinished = ListedStage {
            pending: false,
            unfinished: true,
        };
        let listed = job.stages.keys().map(|stage| (*stage, unfinished));
        let listed = listed.collect();
        let record = JobRecord {
            tasks: job
                .stages
                .keys()
                .map(|stage| (*stage, Tasks::default()))
                .collect(),
            job,
            class,
            gathered: BTreeMap::new(),
            listed,
            under_way: 0,
            listed_running: Few::new(),
            listed_gang: None,
            left: false,
        };
        self.jobs.insert(ix, record);
    }

    pub(super) fn left(&mut self, ix: JobIx) {
        let Some(record) = self.jobs.get_mut(&ix) else {
            return;
        };
        record.left = true;
        for ((_, node), bytes) in std::mem::take(&mut record.gathered) {
            if let Some(sum) = self.gathered_at.get_mut(&node) {
                *sum = sum.saturating_sub(bytes);
            }
        }
        let stages: Vec<Stage> = record.tasks.keys().copied().collect();
        for stage in stages {
            self.clear_pending(ix, stage);
            if let Some(state) = record_stage(&mut self.jobs, ix, stage) {
                state.pending = 0;
            }
            self.index(ix, stage);
        }
        let held: Vec<SlotIx> = self.held_by(ix);
        held.into_iter().for_each(|slot| self.free(slot));
        self.forget(ix);
    }

    /// Nothing of a stage waits any more.
    fn clear_pending(&mut self, ix: JobIx, stage: Stage) {
        let Some(record) = self.jobs.get_mut(&ix) else {
            return;
        };
        let (seq, class) = (record.job.seq, record.class.get(&stage).copied());
        let Some((tasks, class)) = record.tasks.get_mut(&stage).zip(class) else {
            return;
        };
        tasks.pending.clear();
        tasks.in_rack.clear();
        tasks.placeless.clear();
        put(&mut self.placeless, (stage, class), (seq, ix), false);
        for node in std::mem::take(&mut tasks.at_node).into_keys() {
            put(&mut self.near, (stage, class, node), (seq, ix), false);
        }
    }

    /// A job that is over is kept as long as something of it runs.
    pub(super) fn forget(&mut self, ix: JobIx) {
        let record = self.jobs.get(&ix);
        if !record.is_some_and(|record| record.left && record.under_way == 0) {
            return;
        }
        let gone = self.jobs.remove(&ix);
        for (_, class) in gone.iter().flat_map(|record| &record.class) {
            self.needs.leave(*class);
        }
        self.failed.retain(|(_, job), _| *job != ix);
        self.failed_at.retain(|(_, job, ..)| *job != ix);
    }

    pub(super) fn held_by(&self, job: JobIx) -> Vec<SlotIx> {
        let first = (job, SlotIx(0));
        let held = self
            .held_of
            .range(first..)
            .map_while(|(whose, slot)| (*whose == job).then_some(*slot));
        held.collect()
    }

    /// A slot is kept for a gang.
    pub(super) fn hold(&mut self, slot: SlotIx, job: JobIx, until: Nanos) {
        self.let_loose(slot);
        self.held.insert(slot, (job, until));
        self.held_of.insert((job, slot));
        self.hold_ends.insert((until, slot));
    }

    /// It is not kept any more.
    pub(super) fn let_loose(&mut self, slot: SlotIx) {
        if let Some((job, until)) = self.held.remove(&slot) {
            self.held_of.remove(&(job, slot));
            self.hold_ends.remove(&(until, slot));
        }
    }

    pub(super) fn runnable(&mut self, ix: JobIx, stage: Stage, tasks: &[Task]) {
        let Some(record) = self.jobs.get_mut(&ix).filter(|record| !record.left) else {
            return;
        };
        let Some(known) = record.tasks.get_mut(&stage) else {
            return;
        };
        let first = u32::try_from(known.all.len()).unwrap_or(u32::MAX);
        known.all.reserve_exact(tasks.len());
        known.all.extend(tasks.iter().map(|task| TaskRecord {
            task: task.clone(),
            ..TaskRecord::default()
        }));
        if let Some(state) = record.job.stages.get_mut(&stage) {
            state.runnable = true;
        }
        for (offset, _) in (0_u32..).zip(tasks) {
            self.make_pending(ix, stage, TaskIx(first.saturating_add(offset)));
        }
        self.index(ix, stage);
    }

    /// A task waits for a slot. [`index`](Self::index) is to follow.
    pub(super) fn make_pending(&mut self, ix: JobIx, stage: Stage, task: TaskIx) {
        self.set_pending(ix, stage, task, true);
    }

    pub(super) fn take_pending(&mut self, ix: JobIx, stage: Stage, task: TaskIx) {
        self.set_pending(ix, stage, task, false);
    }

    fn set_pending(&mut self, ix: JobIx, stage: Stage, task: TaskIx, waits: bool) {
        let Some(record) = self.jobs.get_mut(&ix) else {
            return;
        };
        let entry = (record.job.seq, ix);
        let class = record.class.get(&stage).copied();
        let Some((tasks, class)) = record.tasks.get_mut(&stage).zip(class) else {
            return;
        };
        let Tasks {
            all,
            pending,
            at_node,
            in_rack,
            placeless,
        } = tasks;
        let Some(known) = all.get(task.0 as usize) else {
            return;
        };
        let changed = if waits {
            pending.insert(task)
        } else {
            pending.remove(&task)
        };
        if !changed {
            return;
        }
        for node in &known.task.nodes {
            let before = at_node.contains_key(node);
            put(at_node, *node, task, waits);
            let any = at_node.contains_key(node);
            if any != before {
                put(&mut self.near, (stage, class, *node), entry, any);
            }
            let there = self.nodes.get(node.0 as usize);
            if let Some(there) = there.filter(|there| there.has_joined) {
                put(in_rack, there.node.rack.clone(), task, waits);
            }
        }
        let before = !placeless.is_empty();
        if !waits {
            placeless.remove(&task);
        } else if !has_place(&self.nodes, &known.task) {
            placeless.insert(task);
        }
        let any = !placeless.is_empty();
        if any != before {
            put(&mut self.placeless, (stage, class), entry, any);
        }
        if let Some(state) = record.job.stages.get_mut(&stage) {
            state.pending = match waits {
                true => state.pending.saturating_add(1),
                false => state.pending.saturating_sub(1),
            };
        }
    }

    /// Brings the orders of jobs in line with what a stage has pending.
    pub(super) fn index(&mut self, ix: JobIx, stage: Stage) {
        let now = self.now;
        let Some(record) = self.jobs.get_mut(&ix) else {
            return;
        };
        let Some(class) = record.class.get(&stage).copied() else {
            return;
        };
        let left = record.left;
        let Some(state) = record.job.stages.get_mut(&stage) else {
            return;
        };
        let pending = state.pending > 0 && !left;
        let waits = pending && state.running == 0;
        let waited = state.waiting_since;
        state.waiting_since = waits.then(|| waited.unwrap_or(now));
        let waiting_since = state.waiting_since;
        let after = ListedStage {
            pending,
            unfinished: !left && !state.is_done(),
        };
        let before = record.listed.insert(stage, after).unwrap_or_default();
        if after != before {
            self.list(ix, stage, class, before, after);
        }
        self.index_running(ix);
        if stage == Stage::Gang {
            self.index_gang(ix);
        }
        if waited != waiting_since {
            if let Some(since) = waited {
                put(&mut self.waiting, (stage, class), (since, ix), false);
            }
            if let Some(since) = waiting_since {
                put(&mut self.waiting, (stage, class), (since, ix), true);
            }
        }
    }

    /// Brings the orders in line that do not go by numbers of attempts.
    fn list(
        &mut self,
        ix: JobIx,
        stage: Stage,
        class: Class,
        before: ListedStage,
        after: ListedStage,
    ) {
        let Some(Job {
            seq,
            priority,
            queue,
            tenant,
            ..
        }) = self.jobs.get(&ix).map(|record| &record.job)
        else {
            return;
        };
        let entry = (*seq, ix);
        if after.unfinished != before.unfinished {
            put(&mut self.unfinished, stage, entry, after.unfinished);
        }
        let pending = after.pending;
        if pending == before.pending {
            return;
        }
        put(&mut self.runnable, (stage, class), entry, pending);
        let key = (stage, *priority, class);
        put(&mut self.by_priority, key, entry, pending);
        for owner in [Owner::Queue(queue.clone()), Owner::Tenant(tenant.clone())] {
            put(&mut self.by_owner, (stage, owner, class), entry, pending);
        }
    }

    /// Brings the order by attempts under way in line, for all stages of a job: each counts for all.
    fn index_running(&mut self, ix: JobIx) {
        if !self.by_running_is_kept {
            return;
        }
        let Some(record) = self.jobs.get_mut(&ix) else {
            return;
        };
        let (seq, priority) = (record.job.seq, record.job.priority);
        let (running, left) = (record.under_way, record.left);
        for (stage, class) in &record.class {
            let state = record.job.stages.get(stage);
            let pending = !left && state.is_some_and(|state| state.pending > 0);
            let before = record.listed_running.get(stage).copied();
            let after = pending.then_some(running);
            if before == after {
                continue;
            }
            let key = (*stage, *class, priority);
            if let Some(before) = before {
                put(&mut self.by_running, key, (before, seq, ix), false);
            }
            match after {
                Some(after) => {
                    put(&mut self.by_running, key, (after, seq, ix), true);
                    record.listed_running.insert(*stage, after);
                }
                None => {
                    record.listed_running.remove(stage);
                }
            }
        }
    }

    /// Brings the order of gangs that wait in line.
    fn index_gang(&mut self, ix: JobIx) {
        let Some(record) = self.jobs.get_mut(&ix) else {
            return;
        };
        let Some(class) = record.class.get(&Stage::Gang).copied() else {
            return;
        };
        let (seq, priority) = (record.job.seq, record.job.priority);
        let owner = (record.job.tenant.clone(), record.job.queue.clone());
        let state = record.job.stages.get(&Stage::Gang);
        let ranks = state.map_or(0, |state| state.pending);
        let after = (ranks > 0 && !record.left).then_some(ranks);
        let before = std::mem::replace(&mut record.listed_gang, after);
        if before == after {
            return;
        }
        for (ranks, is_in) in [(before, false), (after, true)] {
            if let Some(ranks) = ranks {
                let key = (priority, owner.clone(), class, ranks);
                put(&mut self.gangs, key, (seq, ix), is_in);
            }
        }
    }

    /// What becomes of a task whose attempt is over: done, or pending again where no twin runs. One that was pending,
    /// since the result of a twin was lost, is not any more.
    pub(super) fn settle(
        &mut self,
        job: JobIx,
        stage: Stage,
        task: TaskIx,
        attempt: AttemptIx,
        done: bool,
    ) {
        self.late.remove(&attempt);
        let Some(record) = self.jobs.get_mut(&job) else {
            return;
        };
        let left = record.left;
        let Some(known) = record
            .tasks
            .get_mut(&stage)
            .and_then(|tasks| tasks.all.get_mut(task.0 as usize))
        else {
            return;
        };
        known.attempts.retain(|other| *other != attempt);
        if done && !known.done {
            known.done = true;
            self.late.extend(&known.attempts);
            self.take_pending(job, stage, task);
            if let Some(state) = record_stage(&mut self.jobs, job, stage) {
                state.done = state.done.saturating_add(1);
            }
        } else if !known.done && known.attempts.is_empty() && !left {
            self.make_pending(job, stage, task);
        }
    }

    pub(super) fn output_lost(&mut self, job: JobIx, maps: &[TaskIx]) {
        for task in maps {
            let Some(record) = self.jobs.get_mut(&job).filter(|record| !record.left) else {
                return;
            };
            let known = record
                .tasks
                .get_mut(&Stage::Map)
                .and_then(|tasks| tasks.all.get_mut(task.0 as usize));
            let Some(known) = known.filter(|known| known.done) else {
                continue;
            };
            known.done = false;
            for attempt in &known.attempts {
                self.late.remove(attempt);
            }
            if let Some(state) = record_stage(&mut self.jobs, job, Stage::Map) {
                state.done = state.done.saturating_sub(1);
            }
            self.make_pending(job, Stage::Map, *task);
        }
        self.index(job, Stage::Map);
    }
}

/// Whether a node that has a task's input has a container.
fn has_place(nodes: &[NodeRecord], task: &Task) -> bool {
    let mut there = task.nodes.iter();
    there.any(|node| {
        let record = nodes.get(node.0 as usize);
        record.is_some_and(|record| !record.containers.is_empty())
    })
}
