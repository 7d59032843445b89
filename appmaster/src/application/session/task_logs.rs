//! What tasks have printed, for clients that ask: the launcher of the task is asked, and the client gets what it answers.
//! A client that names no task gets the list of those that have printed something.

use job::JobId;
use job::history::TaskStage;
use job::wire;
use job::wire::launcher_order::Order;
use job::wire::task_order;
use tonic::Status;

use super::super::ranks_and_no_tasks;
use super::Session;
use crate::ledger::{LogAnswer, logged};
use crate::mapreduce::{MapReduce, PrintedPlace, Wanted};
use crate::work::JobWork;

impl Session {
    /// A client wants to read what an attempt at a task has printed.
    pub(super) fn log_asked(&mut self, request: &wire::TaskLogRequest, answer: LogAnswer) {
        let Some(task) = request.task else {
            return drop(answer.send(self.logged(request.job)));
        };
        let place = match self.place(request, task) {
            Ok(place) => place,
            Err(refusal) => return drop(answer.send(Err(refusal))),
        };
        if let Some(id) = self.ledger.ask(answer, place.attempt, place.host) {
            let process = place.process;
            let order = wire::TaskOrder {
                job: request.job,
                order: Some(task_order::Order::Log(wire::ReadLog { id, process })),
            };
            self.edge.holding.tell(&place.container, Order::Task(order));
        }
    }

    /// Which attempts there are.
    fn logged(&self, job: u32) -> Result<wire::TaskLog, Status> {
        let all = self.tasks_of(job)?.logged();
        Ok(logged(all, |of| {
            self.edge.holding.link(&of.place.container).is_some()
        }))
    }

    fn tasks_of(&self, job: u32) -> Result<&MapReduce, Status> {
        let job = JobId(job);
        let Some(entry) = self.jobs.get(job) else {
            return Err(Status::not_found(match self.jobs.has_come(job) {
                true => {
                    let name = format!("s{}.{}", self.edge.attempt.application.id, job.0);
                    sentences::task_log_gone(&name)
                }
                false => format!("there is no job {} here", job.0),
            }));
        };
        match entry.work() {
            JobWork::MapReduce(mapreduce) => Ok(mapreduce),
            JobWork::Queued(_) | JobWork::Mpi(_) => Err(ranks_and_no_tasks(self.edge.attempt, job)),
        }
    }

    fn place(&self, request: &wire::TaskLogRequest, task: u32) -> Result<PrintedPlace, Status> {
        let mapreduce = self.tasks_of(request.job)?;
        let stage = match request.reduce {
            true => TaskStage::Reduce,
            false => TaskStage::Map,
        };
        let wanted = Wanted {
            stage,
            task,
            attempt: request.attempt,
        };
        let place = mapreduce.printed(wanted).map_err(Status::not_found)?;
        match self.edge.holding.link(&place.container) {
            Some(_) => Ok(place),
            None => Err(Status::not_found(format!(
                "the container on {} that it ran in is gone, and what it printed with it; gerbil mr history s{}.{} \
                 says why it ended, once the job is over",
                place.host, self.edge.attempt.application.id, request.job
            ))),
        }
    }
}
