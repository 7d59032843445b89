//! A stage whose tasks turn out to need something else than was said.

use crate::schedule::session::ScheduleState;
use crate::schedule::{JobIx, ResourceName, Stage, TaskIx};

impl ScheduleState {
    /// Tasks of a stage need these elements from now on. What they take of their containers stays: attempts under
    /// way give back what they have taken. Those that are pending wait from now on.
    pub(super) fn needed(&mut self, ix: JobIx, stage: Stage, locks: &[ResourceName]) {
        let Some(record) = self.jobs.get(&ix).filter(|record| !record.left) else {
            return;
        };
        let (Some(state), Some(tasks)) = (record.job.stages.get(&stage), record.tasks.get(&stage))
        else {
            return;
        };
        let mut need = state.need.clone();
        if need.locks == locks {
            return;
        }
        need.locks = locks.to_vec();
        let pending: Vec<TaskIx> = tasks.pending.iter().copied().collect();
        // Out of all orders under the class of the old need, into those of the new one.
        for task in &pending {
            self.take_pending(ix, stage, *task);
        }
        self.index(ix, stage);
        let class = self.needs.enter(&need);
        if let Some(record) = self.jobs.get_mut(&ix) {
            if let Some(before) = record.class.insert(stage, class) {
                // Attempts under way count as what they would need now: by that their ends are counted.
                let state = record.job.stages.get(&stage);
                let running = state.map_or(0, |state| state.running);
                let tenant = &record.job.tenant;
                let used = &mut self.used;
                used.change_class(tenant, before, |count| count.saturating_sub(running));
                used.change_class(tenant, class, |count| count.saturating_add(running));
                self.needs.leave(before);
            }
            if let Some(state) = record.job.stages.get_mut(&stage) {
                state.need = need;
            }
        }
        for task in pending {
            self.make_pending(ix, stage, task);
        }
        self.index(ix, stage);
    }
}
