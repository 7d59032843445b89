//! Carries out what a job of tasks wants done about them: slots are the session's, orders its launchers', and
//! the output folder is worked on by a task whose end is news.

use std::sync::Arc;

use job::JobId;
use job::wire;
use job::wire::launcher_order::Order;
use policy::lending::{Lending, Word};

use crate::ledger::Storages;
use crate::loop_event::LoopEvent;
use crate::mapreduce::{Folder, FolderWork, MapReduceEffect, MapReduceEvent, Others, keep};
use crate::run::now_us;
use crate::session::Session;
use crate::work::{JobWork, WorkEvent};

impl Session {
    /// Does one thing for the tasks of `job`.
    pub(crate) fn carry_out_for_tasks(&mut self, job: JobId, wanted: MapReduceEffect) {
        let now = self.now();
        match wanted {
            MapReduceEffect::Slots => {
                let request = self.loan(job).map(|loan| Arc::clone(&loan.request));
                if let (Some(request), Some(sharing)) = (request, &mut self.sharing) {
                    sharing.hold_back(job, &request);
                }
            }
            MapReduceEffect::Runnable { stage, inputs } => self.wish_of(job, |lending, number| {
                lending.runnable(now, number, stage, &inputs)
            }),
            MapReduceEffect::MapsLost(maps) => self.wish_of(job, |lending, number| {
                lending.output_lost(now, number, maps)
            }),
            MapReduceEffect::Homes { partitions, among } => {
                let mut homes = Vec::new();
                self.wish_of(job, |lending, number| {
                    homes = lending.homes(now, number, &partitions, &among);
                    Vec::new()
                });
                self.tell(job, WorkEvent::OfTasks(MapReduceEvent::Homes(homes)));
            }
            MapReduceEffect::Needed { stage, needs } => {
                self.wish_of(job, |lending, number| {
                    lending.needed(now, number, stage, &needs)
                });
                self.look_for_elements();
            }
            MapReduceEffect::NoRoom(container) => {
                let nodes = self.sharing.as_ref().map(|sharing| &sharing.nodes);
                let small = nodes.map_or_else(Vec::new, |of| of.without_larger_gpu(&container));
                self.wish_of(job, |lending, number| lending.avoid(now, number, &small));
            }
            MapReduceEffect::Avoid(container) => {
                self.wish_of(job, |lending, number| {
                    lending.avoid(now, number, &[container])
                });
            }
            MapReduceEffect::NoMore => {
                self.wish_of(job, |lending, number| lending.close(now, number))
            }
            MapReduceEffect::Began(attempt) => self.lending(|lending| {
                lending.began(now, attempt);
                Vec::new()
            }),
            MapReduceEffect::Progress { attempt, done, of } => self.lending(|lending| {
                lending.progress(now, attempt, done, of);
                Vec::new()
            }),
            MapReduceEffect::Over { attempt, how } => {
                self.task_ends(job, attempt, how);
                self.lending(|lending| lending.ended(now, attempt, how));
            }
            MapReduceEffect::Tell { to, order } => {
                let order = Some(*order);
                let order = wire::TaskOrder { job: job.0, order };
                self.holding.tell(&to, Order::Task(order));
            }
            MapReduceEffect::Folder(work) => self.work_on_folder(job, work),
            MapReduceEffect::Keep(folder, history) => {
                let storages = self.storages();
                self.answer(job, async move {
                    let kept = keep(&folder, *history, &storages).await;
                    WorkEvent::OfTasks(MapReduceEvent::Kept(kept))
                });
            }
            MapReduceEffect::Show(phase) => {
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
    fn work_on_folder(&mut self, job: JobId, work: FolderWork) {
        let work_of = self.jobs.get(&job).map(|entry| &entry.work);
        let Some(JobWork::MapReduce(mapreduce)) = work_of else {
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
        let record = match &work {
            FolderWork::SetUp { .. } => self.record(job, &folder),
            FolderWork::Commit { .. } | FolderWork::GiveUp => None,
        };
        let (storages, news) = (self.storages(), self.news.clone());
        let waits = async move |sentence| {
            let waits = WorkEvent::OfTasks(MapReduceEvent::FolderWaits(sentence));
            let _heard = news.send(LoopEvent::Of(job, waits)).await.is_ok();
        };
        self.answer(job, async move {
            let recording = async {
                if let Some(record) = record {
                    record.await;
                }
            };
            let (done, ()) =
                tokio::join!(folder.carry_out(work, others, storages, waits), recording);
            WorkEvent::OfTasks(MapReduceEvent::Folder(done))
        });
    }

    /// Those that its jobs share.
    fn storages(&self) -> Storages {
        let sharing = self.sharing.as_ref();
        sharing.map_or_else(Storages::default, |sharing| sharing.ledger.storages())
    }

    /// Leaves a record of where the job's output goes, before anything of it is there that would have to be
    /// finished or removed. A job is not refused for want of one.
    fn record(
        &mut self,
        job: JobId,
        folder: &Folder,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let name = self.loan(job).map(|loan| loan.name.clone())?;
        let sharing = self.sharing.as_mut()?;
        let began_ms = u64::try_from(now_us() / 1000).unwrap_or(0);
        sharing.ledger.record(job, name, folder, began_ms)
    }

    /// A job is over: its record goes, with others of the same time.
    pub(crate) fn record_ended(&mut self, job: JobId) {
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        if let Some(removing) = sharing.ledger.job_over(job) {
            self.tasks.spawn(removing);
        }
    }
}
