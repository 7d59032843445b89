//! A stage whose tasks turn out to need something else than was said.

use crate::schedule::element::without_elements;
use crate::schedule::session::ScheduleState;
use crate::schedule::{Bundle, JobIx, ResourceName, Stage, TaskIx};

impl ScheduleState {
    /// Tasks of a stage need these elements from now on, and else what they have needed before. Those that are pending
    /// wait from now on; attempts under way have taken what they have, count so, and give that back.
    pub(super) fn needed(
        &mut self,
        ix: JobIx,
        stage: Stage,
        locks: &[ResourceName],
        counted: &Bundle,
    ) {
        let Some(record) = self.jobs.get(&ix).filter(|record| !record.left) else {
            return;
        };
        let (Some(state), Some(tasks)) = (record.job.stages.get(&stage), record.tasks.get(&stage))
        else {
            return;
        };
        let mut need = without_elements(&state.need);
        need.locks = locks.to_vec();
        for (name, amount) in counted.iter() {
            need.bundle.change(name, |_| amount);
        }
        if need == state.need {
            return;
        }
        let pending: Vec<TaskIx> = tasks.pending.iter().copied().collect();
        // Out of all orders under the class of the old need, into those of the new one.
        for task in &pending {
            self.take_pending(ix, stage, *task);
        }
        self.index(ix, stage);
        let class = self.needs.enter(&need);
        if let Some(record) = self.jobs.get_mut(&ix) {
            if let Some(before) = record.class.insert(stage, class) {
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
