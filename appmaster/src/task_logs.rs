//! What tasks have printed, for clients that ask: their launchers are asked, and what these answer is handed on. Who
//! names no task is told of which there is something.

mod list;

use std::collections::BTreeMap;

use job::JobId;
use job::history::TaskStage;
use job::wire;
use job::wire::launcher_order::Order;
use job::wire::task_order;
use tokio::sync::oneshot;
use tonic::Status;

use crate::mapreduce::{MapReduce, Place, Wanted};
use crate::session::Session;
use crate::work::JobWork;

/// Questions under way, each of which may bring some megabytes.
const MOST: usize = 16;

/// Who is to be told.
pub(crate) type LogAnswer = oneshot::Sender<Result<wire::TaskLog, Status>>;

/// Questions that launchers have not answered.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    next: u32,
    open: BTreeMap<u32, Question>,
}

#[derive(Debug)]
struct Question {
    answer: LogAnswer,
    attempt: u32,
    host: String,
}

impl Questions {
    /// The number of one more; it is refused where there are too many.
    fn add(&mut self, question: Question) -> Option<u32> {
        self.open.retain(|_, question| !question.answer.is_closed());
        if self.open.len() >= MOST {
            let busy = format!("{MOST} logs are being read; try again in a moment");
            let _heard = question.answer.send(Err(Status::resource_exhausted(busy)));
            return None;
        }
        let id = self.next;
        self.next = id.wrapping_add(1);
        self.open.insert(id, question);
        Some(id)
    }

    /// A launcher has answered.
    pub(crate) fn answered(&mut self, read: wire::LogRead) {
        // Else whoever has asked has gone.
        if let Some(question) = self.open.remove(&read.id) {
            let answer = match read.trouble {
                why if !why.is_empty() => Err(Status::not_found(why)),
                _ => Ok(wire::TaskLog {
                    attempt: question.attempt,
                    host: question.host,
                    stdout: read.stdout,
                    stderr: read.stderr,
                    ..wire::TaskLog::default()
                }),
            };
            let _heard = question.answer.send(answer);
        }
    }
}

impl Session {
    /// A client wants to read what an attempt at a task has printed.
    pub(crate) fn log_asked(&mut self, request: &wire::TaskLogRequest, answer: LogAnswer) {
        let Some(task) = request.task else {
            return drop(answer.send(self.logged(request.job)));
        };
        let place = match self.place(request, task) {
            Ok(place) => place,
            Err(refusal) => return drop(answer.send(Err(refusal))),
        };
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        let question = Question {
            answer,
            attempt: place.attempt,
            host: place.host,
        };
        if let Some(id) = sharing.questions.add(question) {
            let process = place.process;
            let order = wire::TaskOrder {
                job: request.job,
                order: Some(task_order::Order::Log(wire::ReadLog { id, process })),
            };
            self.holding.tell(&place.container, Order::Task(order));
        }
    }

    /// Which attempts there are.
    fn logged(&self, job: u32) -> Result<wire::TaskLog, Status> {
        let all = self.tasks_of(job)?.logged();
        Ok(list::list(all, |of| {
            self.holding.link(&of.place.container).is_some()
        }))
    }

    fn tasks_of(&self, job: u32) -> Result<&MapReduce, Status> {
        let job = JobId(job);
        let name = format!("s{}.{}", self.attempt.application.id, job.0);
        let Some(entry) = self.jobs.get(&job) else {
            let sharing = self.sharing.as_ref();
            let was = sharing.is_some_and(|of| (1..of.next_job).contains(&job.0));
            return Err(Status::not_found(match was {
                true => sentences::task_log_gone(&name),
                false => format!("there is no job {} here", job.0),
            }));
        };
        match &entry.work {
            JobWork::MapReduce(mapreduce) => Ok(mapreduce),
            JobWork::Queued(_) | JobWork::Mpi(_) => Err(Status::failed_precondition(format!(
                "{name} has ranks and no tasks: gerbil logs {name} [RANK] shows what they have printed, where the job \
                 was left to the session"
            ))),
        }
    }

    fn place(&self, request: &wire::TaskLogRequest, task: u32) -> Result<Place, Status> {
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
        match self.holding.link(&place.container) {
            Some(_) => Ok(place),
            None => Err(Status::not_found(format!(
                "the container on {} that it ran in is gone, and what it printed with it; gerbil mr history s{}.{} \
                 says why it ended, once the job is over",
                place.host, self.attempt.application.id, request.job
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> (Question, oneshot::Receiver<Result<wire::TaskLog, Status>>) {
        let (answer, answered) = oneshot::channel();
        let question = Question {
            answer,
            attempt: 1,
            host: "n1".into(),
        };
        (question, answered)
    }

    #[test]
    fn whoever_has_left_makes_room_for_others_and_answers_find_who_has_asked() {
        let mut questions = Questions::default();
        let mut waiting = Vec::new();
        for id in 0..16 {
            let (question, answered) = question();
            assert_eq!(questions.add(question), Some(id));
            waiting.push(answered);
        }
        let (one_more, mut answered) = question();
        assert_eq!(questions.add(one_more), None);
        let refused = answered.try_recv().unwrap().unwrap_err();
        assert!(refused.message().contains("16 logs"), "{refused}");
        drop(waiting.remove(3));
        let (one_more, mut answered) = question();
        assert_eq!(questions.add(one_more), Some(16));
        let read = |id, trouble: &str| wire::LogRead {
            id,
            trouble: trouble.into(),
            ..wire::LogRead::default()
        };
        questions.answered(read(16, ""));
        let log = answered.try_recv().unwrap().unwrap();
        assert_eq!((log.attempt, log.host.as_str()), (1, "n1"));
        questions.answered(read(0, "the file is gone"));
        let trouble = waiting[0].try_recv().unwrap().unwrap_err();
        assert_eq!(trouble.message(), "the file is gone");
        // Twice, or never asked.
        questions.answered(read(0, ""));
        questions.answered(read(99, ""));
    }
}
