//! What is answered to a driver when work for it, or a job of its, has come to an end.

use follow::ended::Ended;
use follow::follower::tasks::{JobNews, JobNewsSender, TasksEnd};
use gerbil_task::ToDriver;
use tokio::sync::mpsc;

use super::under_way::{Submitted, UnderWay};
use super::{DriverWorkDone, RunEnd, Serving};
use crate::driver::DriverReply;
use crate::error::MapReduceError;
use crate::open::Opened;

/// What a driver is told of a job whose ApplicationMaster was lost while it committed.
const COUNTERS_LOST: &str =
    "its output is whole, but its counters were lost with its ApplicationMaster";

impl Serving<'_> {
    /// What was done for the driver has come to an end.
    pub(super) fn done(&mut self, done: DriverWorkDone, tell: &mpsc::Sender<(u32, JobNews)>) {
        match done {
            DriverWorkDone::Answer(Ok(answer)) => self.answer(answer),
            DriverWorkDone::Answer(Err(error)) => self.refuse(&error),
            DriverWorkDone::Opened(opened) => match *opened {
                Ok(Opened { file, filling }) => {
                    if let Some(filling) = filling {
                        self.filling.spawn(filling.fill());
                    }
                    self.answer(DriverReply {
                        message: ToDriver::Opened,
                        file: Some(file),
                    });
                }
                Err(error) => self.refuse(&error),
            },
            DriverWorkDone::Planned(Ok(lines)) => {
                self.show.planned(&lines);
                let (code, sentence) = (0, String::new());
                self.stop(RunEnd { code, sentence }, 0);
            }
            DriverWorkDone::Planned(Err(error)) => self.not_taken(&error),
            DriverWorkDone::Submitted(number, submitted) => match *submitted {
                Ok(mut submitted) => {
                    let notes = std::mem::take(&mut submitted.notes);
                    notes.into_iter().for_each(|note| self.note(note));
                    if self.run.is_detached {
                        self.show.left(&submitted.job);
                        let (code, sentence) = (0, String::new());
                        return self.stop(RunEnd { code, sentence }, 0);
                    }
                    let id = submitted.job.id.clone();
                    self.begun(number, submitted, 1, tell);
                    self.answer(ToDriver::Accepted { id });
                }
                Err(error) => self.not_taken(&error),
            },
            DriverWorkDone::Again(number, submitted) => {
                let Some((job, ended)) = self.given_up.remove(&number) else {
                    return;
                };
                match *submitted {
                    Ok(submitted) => self.begun(number, submitted, job.starts + 1, tell),
                    Err(error) => {
                        let why = format!("{}; it could not begin again: {error}", ended.sentence);
                        let sentence = why;
                        self.over_with(number, job, Ended { sentence, ..ended });
                    }
                }
            }
        }
    }

    /// A job was taken, for the first time or again.
    fn begun(
        &mut self,
        number: u32,
        submitted: Submitted,
        starts: u32,
        tell: &mpsc::Sender<(u32, JobNews)>,
    ) {
        let Submitted {
            job: accepted,
            order,
            output,
            overwrite,
            notes: _,
        } = submitted;
        self.show.accepted(&accepted);
        let told = JobNewsSender {
            to: tell.clone(),
            job: number,
        };
        let (jobs, wishes) = (&self.run.jobs, self.run.jobs.wishes.subscribe());
        let following = jobs.follow(accepted.number, told.clone(), wishes);
        self.under_way.insert(
            number,
            UnderWay {
                accepted,
                output,
                order,
                starts,
            },
        );
        self.following.spawn(async move {
            let mut end = following.await;
            if let Some(overwrite) = overwrite {
                end.ended = overwrite.conclude(end.ended, &told).await;
            }
            (number, end)
        });
    }

    /// There is no such job, which a program without a driver does not get over.
    fn not_taken(&mut self, error: &MapReduceError) {
        match self.driver {
            Some(_) => self.refuse(error),
            None => {
                let (code, sentence) = (error.exit().code(), error.to_string());
                self.stop(RunEnd { code, sentence }, 0);
            }
        }
    }

    pub(super) fn job_ended(&mut self, submission: u32, end: TasksEnd) {
        let Some(job) = self.under_way.remove(&submission) else {
            return;
        };
        let over = match end.is_given_up {
            true => self.begins_again(submission, job, end.ended),
            false => Some((job, end.ended)),
        };
        if let Some((job, ended)) = over {
            self.over_with(submission, job, ended);
        }
    }

    /// A job is over, and its driver may hear of it.
    fn over_with(&mut self, submission: u32, job: UnderWay, ended: Ended) {
        let verdict = ended.verdict.as_ref();
        let report = verdict.and_then(|verdict| serde_json::from_str(&verdict.tasks).ok());
        self.show.ended(&job.accepted, &ended, report.as_ref());
        if ended.code == 0 {
            self.outputs.insert(job.output);
        }
        self.ended.insert(submission, (ended, report));
        self.answer_wait();
    }

    /// Tells the driver of the job that it waits for, if that has ended.
    pub(super) fn answer_wait(&mut self) {
        let Some(number) = self.waited_for else {
            return;
        };
        if self.under_way.contains_key(&number) || self.given_up.contains_key(&number) {
            return;
        }
        self.waited_for = None;
        let Some((ended, report)) = self.ended.get(&number) else {
            return self.refuse(&MapReduceError::Asked(format!(
                "there is no submission {number}"
            )));
        };
        self.waited.insert(number);
        let failure = match (ended.code, ended.sentence.as_str()) {
            // A driver may decide by the counters what comes next.
            (0, _) if ended.verdict.is_none() => Some(COUNTERS_LOST.to_owned()),
            (0, _) => None,
            (code, "") => Some(format!("the job ended with code {code}")),
            (_, sentence) => Some(sentence.to_owned()),
        };
        let counters = report.clone().unwrap_or_default().counters;
        self.answer(ToDriver::Ended {
            counters,
            failure,
            has_output: ended.code == 0,
        });
    }
}
