//! What the ApplicationMaster orders.

use job::wire::launcher_event::Event;
use job::wire::launcher_order::Order;
use job::wire::{JobLeft, MpiOrder, TaskOrder, mpi_order, task_order};

use super::{Life, LifeError};
use crate::job_files;
use crate::mpi::Mpi;
use crate::process::JobId;
use crate::share::Share;
use crate::tasks::Tasks;

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
                let folder = self.container.around.folder.clone();
                self.fetching.spawn(job_files::fetch(folder, order));
            }
            Order::EndJob(order) => self.end_job(JobId(order.job)).await,
            // The loop leaves by itself, and another build does not speak to this one.
            Order::Leave(_) | Order::Mpi(_) | Order::Task(_) => {}
        }
        self.tell_reaped().await;
        Ok(())
    }

    async fn on_mpi_order(&mut self, job: JobId, order: mpi_order::Order) -> Result<(), LifeError> {
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
        match order {
            task_order::Order::Start(order) => {
                let new = || Share::Tasks(Box::new(Tasks::new(job)));
                let Share::Tasks(tasks) = self.jobs.entry(job).or_insert_with(new) else {
                    return Err(self.confused("a task of a job of ranks"));
                };
                tasks.on_start(order, &mut self.container).await;
            }
            task_order::Order::End(order) => {
                if let Some(Share::Tasks(tasks)) = self.jobs.get(&job) {
                    tasks.on_end(order, &self.container).await;
                }
            }
        }
        Ok(())
    }

    /// The job is over: what still runs of it is killed, and nothing of it is left.
    async fn end_job(&mut self, job: JobId) {
        if self.jobs.remove(&job).is_some() {
            // Its ends are nobody's any more.
            drop(self.container.sweep(job).await);
        }
        job_files::forget(&self.container.around.folder, job).await;
        let left = JobLeft { job: job.0 };
        self.container.outbox.push_back(Event::JobLeft(left));
    }
}
