//! Carries out what a job of tasks wants done about them: slots are the session's, orders its launchers', and
//! the output folder is worked on by a task whose end is news.

use std::sync::Arc;

use job::JobId;
use job::wire;
use job::wire::job_event::Event as ToClient;
use job::wire::launcher_order::Order;

use super::Session;
use crate::loop_event::LoopEvent;
use crate::mapreduce::{Folder, FolderWork, MapReduceEffect, MapReduceEvent, Others, keep};
use crate::run::now_us;
use crate::work::{JobWork, WorkEvent};

/// Jobs whose progress makes up that of the application.
const SHOWN: usize = 32;

impl Session {
    /// Does one thing for the tasks of `job`.
    pub(super) fn carry_out_for_tasks(&mut self, job: JobId, wanted: MapReduceEffect) {
        match wanted {
            MapReduceEffect::Slots => self.slots.waits_for_turn(job),
            MapReduceEffect::Runnable { stage, inputs } => {
                self.with_slots(|slots, now| slots.runnable(now, job, stage, &inputs));
            }
            MapReduceEffect::MapsLost(maps) => {
                self.with_slots(|slots, now| slots.output_lost(now, job, maps));
            }
            MapReduceEffect::Homes { partitions, among } => {
                let homes =
                    self.with_slots(|slots, now| slots.homes(now, job, &partitions, &among));
                self.tell(job, WorkEvent::MapReduce(MapReduceEvent::Homes(homes)));
            }
            MapReduceEffect::Needed { stage, needs } => {
                self.with_slots(|slots, now| slots.needed(now, job, stage, &needs));
                self.nodes.change();
            }
            MapReduceEffect::NoRoom(container) => {
                let small = self.nodes.without_larger_gpu(&container);
                self.with_slots(|slots, now| slots.avoid(now, job, &small));
            }
            MapReduceEffect::Avoid(container) => {
                self.with_slots(|slots, now| slots.avoid(now, job, &[container]));
            }
            MapReduceEffect::NoMore => self.with_slots(|slots, now| slots.close(now, job)),
            MapReduceEffect::Began(attempt) => {
                self.with_slots(|slots, now| slots.began(now, attempt));
            }
            MapReduceEffect::InSlot { attempt, slot } => {
                (self.ledger).task_moves(self.edge.now(), job, attempt, slot);
            }
            MapReduceEffect::Moved { attempt, why_not } => {
                self.with_slots(|slots, now| slots.moved(now, attempt, why_not.as_deref()));
            }
            MapReduceEffect::Progress { attempt, done, of } => {
                self.with_slots(|slots, now| slots.progress(now, attempt, done, of));
            }
            MapReduceEffect::Over {
                attempt,
                how,
                phases,
            } => {
                self.ledger.task_ends(self.edge.now(), job, attempt, how);
                self.with_slots(|slots, now| slots.ended(now, attempt, how, phases));
            }
            MapReduceEffect::Tell { to, order } => {
                let order = Some(*order);
                let order = wire::TaskOrder { job: job.0, order };
                self.edge.holding.tell(&to, Order::Task(order));
            }
            MapReduceEffect::Folder(work) => self.work_on_folder(job, work),
            MapReduceEffect::Keep(folder, mut history) => {
                if let Some((user, queue)) = self.slots.owner(job) {
                    user.clone_into(&mut history.user);
                    queue.clone_into(&mut history.queue);
                }
                let storages = self.ledger.storages();
                self.edge.answer(job, async move {
                    let kept = keep(&folder, *history, &storages).await;
                    WorkEvent::MapReduce(MapReduceEvent::Kept(kept))
                });
            }
            MapReduceEffect::Show(phase) => {
                self.tell_progress();
                if let Some(entry) = self.jobs.get(job) {
                    entry.show(ToClient::Tasks(phase));
                }
            }
        }
    }

    /// YARN's page shows how far the jobs are: all of them alike, the first [`SHOWN`] of many.
    fn tell_progress(&self) {
        let all = self.jobs.iter().take(SHOWN);
        let all = all.filter_map(|(_, entry)| match entry.work() {
            JobWork::MapReduce(mapreduce) => Some(mapreduce.phase().thousandths()),
            JobWork::Queued(_) | JobWork::Mpi(_) => None,
        });
        let all: Vec<u16> = all.collect();
        let sum = all.iter().copied().map(usize::from).sum::<usize>();
        if let Some(mean) = sum.checked_div(all.len()) {
            let mean = u16::try_from(mean).unwrap_or(u16::MAX);
            self.edge.holding.progress(mean);
        }
    }

    /// Works on the output folder. Which other jobs may own it is known here alone.
    fn work_on_folder(&mut self, job: JobId, work: FolderWork) {
        let work_of = self.jobs.get(job).map(|entry| entry.work());
        let Some(JobWork::MapReduce(mapreduce)) = work_of else {
            return;
        };
        let Some(folder) = mapreduce.folder() else {
            return;
        };
        let others = Others {
            cluster: Arc::clone(self.edge.holding.cluster().client()),
            own: self.edge.attempt,
            jobs: self.jobs.iter().map(|(job, _)| job.0).collect(),
        };
        let record = match &work {
            FolderWork::SetUp { .. } => self.record(job, &folder),
            FolderWork::Commit { .. } | FolderWork::GiveUp => None,
        };
        let (storages, news) = (self.ledger.storages(), self.edge.news.clone());
        let waits = async move |sentence| {
            let waits = WorkEvent::MapReduce(MapReduceEvent::FolderWaits(sentence));
            let _heard = news.send(LoopEvent::Of(job, waits)).await.is_ok();
        };
        self.edge.answer(job, async move {
            let recording = async {
                if let Some(record) = record {
                    record.await;
                }
            };
            let (done, ()) =
                tokio::join!(folder.carry_out(work, others, storages, waits), recording);
            WorkEvent::MapReduce(MapReduceEvent::Folder(done))
        });
    }

    /// What leaves a record of where the job's output goes, before anything of it is there that would have to be
    /// finished or removed.
    fn record(
        &mut self,
        job: JobId,
        folder: &Folder,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let name = self.slots.name(job)?.to_owned();
        let began_ms = u64::try_from(now_us() / 1000).unwrap_or(0);
        self.ledger.record(job, name, folder, began_ms)
    }
}
