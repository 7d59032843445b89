//! What a driver asks for.

use std::sync::Arc;

use gerbil_task::inputs::Folders;
use gerbil_task::{FromDriver, Submission, ToDriver, VERSION, said};

use super::under_way::Submitted;
use super::{DriverWorkDone, FAILED, RunEnd, Serving};
use crate::driver::{DriverMessage, DriverReply};
use crate::error::MapReduceError;
use crate::input;
use crate::open::open;
use crate::process::{code, how};

impl Serving<'_> {
    /// What the driver says.
    pub(super) async fn heard(&mut self, heard: Option<DriverMessage>) {
        let message = match heard {
            Some(DriverMessage::Said(message)) => message,
            Some(DriverMessage::Declined(status)) => {
                // It has said why itself.
                let (code, sentence) = (code(status), String::new());
                return self.lost(RunEnd { code, sentence }).await;
            }
            Some(DriverMessage::Gone(status)) => {
                let jobs = self.ended.len() + self.under_way.len();
                let sentence = match jobs {
                    0 => format!("the driver {} before it submitted a job", how(status)),
                    jobs => format!(
                        "the driver {} in the middle, after {jobs} submitted jobs",
                        how(status)
                    ),
                };
                let code = FAILED;
                return self.lost(RunEnd { code, sentence }).await;
            }
            Some(DriverMessage::Broken(error)) => {
                let (code, sentence) = (error.exit().code(), error.to_string());
                return self.lost(RunEnd { code, sentence }).await;
            }
            None => {
                let sentence = "the driver was lost".to_owned();
                let code = FAILED;
                return self.lost(RunEnd { code, sentence }).await;
            }
        };
        match message {
            FromDriver::Hello { version, plan } => self.greet(version, &plan).await,
            FromDriver::Submit(submission) => self.submit(submission),
            FromDriver::Wait { submission } => {
                self.waited_for = Some(submission);
                self.answer_wait();
            }
            FromDriver::Files {
                inputs,
                recursive,
                map_files,
            } => {
                let folders = Folders {
                    recursive,
                    map_files,
                };
                let orders = Arc::clone(&self.run.orders);
                self.begin(async move {
                    let files = orders.files(&inputs, folders).await?;
                    Ok(ToDriver::Listed { files }.into())
                });
            }
            FromDriver::List { path } => {
                let orders = Arc::clone(&self.run.orders);
                self.begin(async move {
                    let found = input::list(&orders.places, &path).await?.into_iter();
                    let files = found.map(|file| gerbil_task::Listed {
                        path: file.place.url(),
                        length: file.length,
                    });
                    let files = files.collect();
                    Ok(ToDriver::Listed { files }.into())
                });
            }
            FromDriver::Open { path, from } => {
                let orders = Arc::clone(&self.run.orders);
                self.work = Some(Box::pin(async move {
                    let opened = open(&orders.places, &path, from).await;
                    DriverWorkDone::Opened(Box::new(opened))
                }));
            }
            FromDriver::Remove { path } => self.remove(&path),
            FromDriver::Done => self.is_done = true,
            FromDriver::Failed { sentence } => {
                // One that does not get over a refusal has failed for that.
                let refused = self.refused.as_ref();
                let refused = refused.filter(|refused| refused.sentence == sentence);
                let sentence = match said::sentence(&sentence) {
                    sentence if sentence.starts_with("panicked") => {
                        format!("the driver {sentence}")
                    }
                    sentence => sentence,
                };
                let refused = refused.map(|refused| refused.code);
                let jobs = self.ended.values().rev();
                let failed = jobs.map(|(ended, _)| ended.code).find(|code| *code != 0);
                let code = refused.or(failed).unwrap_or(FAILED);
                self.lost(RunEnd { code, sentence }).await;
            }
            other => {
                let other = said::message(&other);
                let sentence = format!("the driver said {other}, which makes no sense here");
                let code = FAILED;
                self.lost(RunEnd { code, sentence }).await;
            }
        }
    }

    async fn greet(&mut self, version: u32, plan: &str) {
        let why = if version != VERSION {
            format!("speaks version {version} of the task protocol, and this gerbil {VERSION}")
        } else if plan != self.run.orders.planned.digest {
            "registers other jobs than in its role `plan`: registration must not depend on files, time or environment"
                .to_owned()
        } else {
            match self.run.orders.split_max(&self.run.settings).await {
                Ok(split_max) => {
                    return self.answer(ToDriver::Welcome {
                        version: VERSION,
                        defaults: self.run.settings.defaults.clone(),
                        given: self.run.settings.given.clone(),
                        split_max,
                    });
                }
                Err(error) => return self.not_begun(&error).await,
            }
        };
        let error = MapReduceError::NoJob {
            program: self.run.program.clone(),
            why,
        };
        self.not_begun(&error).await;
    }

    /// There is nothing that the driver could submit.
    async fn not_begun(&mut self, error: &MapReduceError) {
        let (code, sentence) = (error.exit().code(), error.to_string());
        self.lost(RunEnd { code, sentence }).await;
    }

    /// Does something for the driver, beside the loop.
    fn begin(&mut self, work: impl Future<Output = Result<DriverReply, MapReduceError>> + 'static) {
        self.work = Some(Box::pin(async move { DriverWorkDone::Answer(work.await) }));
    }

    fn submit(&mut self, mut submission: Submission) {
        submission.brings.extend_from_slice(&self.run.brings);
        let number = submission.submission;
        let is_known = self.under_way.contains_key(&number) || self.given_up.contains_key(&number);
        if is_known || self.ended.contains_key(&number) {
            return self.refuse(&MapReduceError::Asked(format!(
                "submission {number} has been there already: each has a number of its own"
            )));
        }
        let output = self.run.orders.places.find(&submission.output);
        let given_up = self.given_up.values().map(|(job, _)| job);
        let mut others = self.under_way.values().chain(given_up);
        if let Ok(output) = output
            && others.any(|other| other.output == output)
        {
            return self.refuse(&MapReduceError::OutputExists { url: output.url() });
        }
        let (orders, jobs) = (Arc::clone(&self.run.orders), Arc::clone(&self.run.jobs));
        if self.run.is_dry {
            self.work = Some(Box::pin(async move {
                DriverWorkDone::Planned(match orders.order(submission).await {
                    Ok(order) => jobs.ask(&order).await,
                    Err(error) => Err(error),
                })
            }));
            return;
        }
        let detached = self.run.is_detached;
        let accept = async move {
            let mut order = orders.order(submission).await?;
            order.brought = order.brought.fetched(&orders.places).await?;
            let mut notes = order.notes.clone();
            if let Some(overwrite) = &order.overwrite {
                notes.extend(overwrite.finish_earlier().await?);
            }
            Submitted::new(&jobs, Arc::new(order), detached, notes).await
        };
        self.work = Some(Box::pin(async move {
            DriverWorkDone::Submitted(number, Box::new(accept.await))
        }));
    }

    fn remove(&mut self, path: &str) {
        let places = &self.run.orders.places;
        let output = match places.find(path) {
            Ok(output) if self.outputs.contains(&output) => output,
            Ok(other) => {
                return self.refuse(&MapReduceError::Asked(format!(
                    "{} is no output of a job of this driver, and stays",
                    other.url()
                )));
            }
            Err(error) => return self.refuse(&error),
        };
        let storage = match places.storage(&output.address) {
            Ok(storage) => storage,
            Err(error) => return self.refuse(&error),
        };
        self.outputs.remove(&output);
        self.begin(async move {
            storage.remove(&output.path).await?;
            Ok(ToDriver::Removed.into())
        });
    }

    /// The only job of a program without a driver, on the operands of the command line.
    pub(super) fn drive_only_job(&mut self) -> Result<(), MapReduceError> {
        let plan = &self.run.orders.planned.plan;
        let [job] = plan.jobs.as_slice() else {
            return Err(MapReduceError::NoJob {
                program: self.run.program.clone(),
                why: format!("registers {} jobs and has no driver", plan.jobs.len()),
            });
        };
        let words = self.run.words.iter().map(|word| {
            let text = word.to_str().map(str::to_owned);
            text.ok_or_else(|| {
                MapReduceError::Asked(format!(
                    "{}: this name is not UTF-8, and no task can be told of it: rename it",
                    word.display()
                ))
            })
        });
        let words = words.collect::<Result<Vec<String>, _>>()?;
        let Some((output, inputs)) = words.split_last().filter(|(_, inputs)| !inputs.is_empty())
        else {
            return Err(MapReduceError::Asked(format!(
                "input and output are needed: {} IN... OUT",
                self.run.program.display()
            )));
        };
        let submission = Submission {
            job: job.name.clone(),
            inputs: inputs.to_vec(),
            output: output.clone(),
            settings: self.run.settings.over(&job.settings),
            ..Submission::default()
        };
        self.submit(submission);
        self.is_done = true;
        Ok(())
    }
}
