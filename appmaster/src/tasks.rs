//! Carries out what a job of tasks wants done about them: slots are the session's, orders its launchers', and
//! the output folder is worked on by a task whose end is news.

use std::sync::Arc;

use job::wire;
use job::wire::launcher_order::Order;
use policy::lending::{Lending, Word};

use crate::mapreduce::{FolderWork, Others, Told, Wanted, keep};
use crate::session::{JobId, Session};
use crate::work::{Heard, Work};

impl Session {
    /// Does one thing for the tasks of `job`.
    pub(crate) fn carry_out_for_tasks(&mut self, job: JobId, wanted: Wanted) {
        let now = self.now();
        match wanted {
            Wanted::Slots => {
                let priority = self.loan(job).map(|loan| loan.wish.priority);
                if let (Some(priority), Some(sharing)) = (priority, &mut self.sharing) {
                    sharing.hold_back(job, priority);
                }
            }
            Wanted::Runnable { stage, inputs } => self.wish_of(job, |lending, number| {
                lending.runnable(now, number, stage, &inputs)
            }),
            Wanted::MapsLost(maps) => self.wish_of(job, |lending, number| {
                lending.output_lost(now, number, maps)
            }),
            Wanted::NoMore => self.wish_of(job, |lending, number| lending.close(now, number)),
            Wanted::Began(attempt) => self.lending(|lending| {
                lending.began(now, attempt);
                Vec::new()
            }),
            Wanted::Progress { attempt, done, of } => self.lending(|lending| {
                lending.progress(now, attempt, done, of);
                Vec::new()
            }),
            Wanted::Over { attempt, how } => {
                self.lending(|lending| lending.ended(now, attempt, how));
            }
            Wanted::Tell { to, order } => {
                let order = Some(*order);
                let order = wire::TaskOrder { job: job.0, order };
                self.holding.tell(&to, Order::Task(order));
            }
            Wanted::Folder(work) => self.work_on_folder(job, work),
            Wanted::Keep(folder, history) => self.answer(job, async move {
                Heard::OfTasks(Told::Kept(keep(&folder, *history).await))
            }),
            Wanted::Show(phase) => {
                let client = self.jobs.get(&job).and_then(|entry| entry.client.as_ref());
                let event = Some(wire::job_event::Event::Tasks(phase));
                if let Some(client) = client {
                    let _shown = client.try_send(Ok(wire::JobEvent { event })).is_ok();
                }
            }
        }
    }

    /// Does something with the slots that a job was told of to want; nothing, if it was not.
    fn wish_of(&mut self, job: JobId, with: impl FnOnce(&mut Lending, u32) -> Vec<Word>) {
        if let Some(number) = self.loan(job).and_then(|loan| loan.number) {
            self.lending(|lending| with(lending, number));
        }
    }

    /// Whoever may own an output folder is known here alone.
    fn work_on_folder(&self, job: JobId, work: FolderWork) {
        let work_of = self.jobs.get(&job).map(|entry| &entry.work);
        let Some(Work::MapReduce(mapreduce)) = work_of else {
            return;
        };
        let Some(folder) = mapreduce.folder() else {
            return;
        };
        let others = Others {
            cluster: Arc::clone(self.holding.cluster().client()),
            own: self.attempt,
            jobs: self.jobs.keys().map(|job| job.0).collect(),
        };
        self.answer(job, async move {
            Heard::OfTasks(Told::Folder(folder.carry_out(work, others).await))
        });
    }
}
