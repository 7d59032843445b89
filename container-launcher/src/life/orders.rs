//! What the ApplicationMaster orders.

use job::JobId;
use job::wire::launcher_event::Event;
use job::wire::launcher_order::Order;
use job::wire::{FilesFetched, JobLeft, MpiOrder, TaskOrder, mpi_order, task_order};

use tokio::task::JoinError;

use super::{Life, LifeError};
use crate::job_files;
use crate::mpi::Mpi;
use crate::share::Share;
use crate::tasks::{self, Tasks};

impl Life<'_> {
    pub(super) async fn on_order(&mut self, order: Order) -> Result<(), LifeError> {
        match order {
            Order::Mpi(MpiOrder {
                job,
                order: Some(order),
            }) => self.on_mpi_order(JobId(job), order).await?,
            Order::Task(TaskOrder {
                job,
                order: Some(order),
            }) => self.on_task_order(JobId(job), order).await?,
            Order::FetchFiles(order) => {
                // The first order of a job, or of one that begins again after it had left.
                self.ended.remove(JobId(order.job));
                let folder = self.container.around.folder.clone();
                self.fetching.begin(folder, order);
            }
            Order::TryPeers(order) => self.try_peers(order),
            Order::EndJob(order) => self.end_job(JobId(order.job)).await,
            // The loop leaves by itself, and another build does not speak to this one.
            Order::Leave(_) | Order::Mpi(_) | Order::Task(_) => {}
        }
        self.tell_reaped().await;
        Ok(())
    }

    async fn on_mpi_order(&mut self, job: JobId, order: mpi_order::Order) -> Result<(), LifeError> {
        if self.ended.has(job) {
            return Ok(());
        }
        let new = || Share::Mpi(Box::new(Mpi::new(job, &self.container)));
        let Share::Mpi(mpi) = self.jobs.entry(job).or_insert_with(new) else {
            return Err(self.confused("it is about ranks, and the job has tasks"));
        };
        let followed = mpi.on_order(order, &mut self.container).await;
        followed.map_err(|what| self.confused(what))
    }

    async fn on_task_order(
        &mut self,
        job: JobId,
        order: task_order::Order,
    ) -> Result<(), LifeError> {
        if self.ended.has(job) {
            return Ok(());
        }
        match order {
            task_order::Order::Start(order) => {
                let new = || Share::Tasks(Box::new(Tasks::new(job, &self.container)));
                let Share::Tasks(tasks) = self.jobs.entry(job).or_insert_with(new) else {
                    return Err(self.confused("a task of a job of ranks"));
                };
                tasks.on_start(order, &mut self.container).await;
            }
            task_order::Order::Gather(order) => {
                let new = || Share::Tasks(Box::new(Tasks::new(job, &self.container)));
                let Share::Tasks(tasks) = self.jobs.entry(job).or_insert_with(new) else {
                    return Err(self.confused("a task of a job of ranks"));
                };
                tasks.on_gather(order, &mut self.container);
            }
            task_order::Order::End(order) => {
                if let Some(Share::Tasks(tasks)) = self.jobs.get_mut(&job) {
                    tasks.on_end(order, &self.container).await;
                }
            }
            task_order::Order::Move(order) => match self.jobs.get_mut(&job) {
                Some(Share::Tasks(tasks)) => tasks.on_move(&order, &self.container).await,
                _ => self
                    .container
                    .outbox
                    .push_of_task(job, tasks::not_moved(order.process)),
            },
            task_order::Order::Log(order) => {
                if let Some(Share::Tasks(tasks)) = self.jobs.get(&job) {
                    tasks.on_log(&order, &self.container);
                }
            }
        }
        Ok(())
    }

    /// The job is over: what still runs of it is killed, and nothing of it is left when that is told.
    async fn end_job(&mut self, job: JobId) {
        self.ended.add(job);
        self.fetching.stop(job);
        if let Some(share) = self.jobs.remove(&job) {
            // Its ends are nobody's any more.
            drop(self.container.sweep(job).await);
            share.end(&self.container);
        }
        let folder = self.container.around.folder.clone();
        self.leaving.spawn(async move {
            job_files::forget(&folder, job).await;
            job
        });
    }

    /// The folder of a job is gone.
    pub(super) fn on_left(&mut self, left: Result<JobId, JoinError>) {
        if let Ok(JobId(job)) = left {
            let left = JobLeft { job };
            self.container.outbox.push_back(Event::JobLeft(left));
        }
    }

    /// Files are there, or why not is known.
    pub(super) fn on_fetched(&mut self, fetched: FilesFetched) {
        if !self.ended.has(JobId(fetched.job)) {
            self.container
                .outbox
                .push_back(Event::FilesFetched(fetched));
        }
    }
}
