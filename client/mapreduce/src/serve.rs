//! One run: a driver and the jobs that it submits, from its hello to the last verdict.
//!
//! Whatever takes time (a listing, a submission) is done beside the loop, so that news of jobs, signals and the
//! driver's own end are heard at once. How it ends early is decided in one place: what ends it is remembered, jobs
//! under way are told to end, and their verdicts are awaited, unless the user asks once more.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use follow::ended::Ended;
use follow::follower::tasks::{Told, Wish};
use follow::signals::{self, Asked, Signals};
use gerbil_task::{FromDriver, Submission, ToDriver, VERSION};
use job::TasksReport;
use job::exit::Exit;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::driver::{Answer, Driver, Heard};
use crate::error::MapReduceError;
use crate::input;
use crate::jobs::{Accepted, Jobs};
use crate::open::{Opened, open};
use crate::order::Orders;
use crate::overwrite::Overwrite;
use crate::places::Place;
use crate::process::{code, how};
use crate::settings::Given;

/// News of jobs that wait to be shown.
const NEWS: usize = 64;
/// For the word to leave that this process is about to be stopped.
const LAST_WORD: Duration = Duration::from_millis(100);
/// Between two looks at how much is uploaded.
const UPLOADING: Duration = Duration::from_millis(250);
/// What a driver is told of a job whose ApplicationMaster was lost while it committed.
const COUNTERS_LOST: &str =
    "its output is whole, but its counters were lost with its ApplicationMaster";
/// What a failure returns that is neither a signal's nor a job's.
const FAILED: u8 = 1;

/// A run.
#[derive(Debug)]
pub struct Run {
    /// The program, as its roles are started here.
    pub program: PathBuf,
    /// The user's words behind it.
    pub words: Vec<OsString>,
    /// Settings below and above those of its jobs.
    pub settings: Given,
    /// Completes what is submitted.
    pub orders: Arc<Orders>,
    /// Runs it.
    pub jobs: Arc<Jobs>,
    /// The first job is told, and nothing is run.
    pub is_dry: bool,
}

/// Whoever shows people what happens.
pub trait Show {
    /// Something that is good to know.
    fn note(&mut self, sentence: &str);
    /// What the first job would be, a line each.
    fn planned(&mut self, lines: &[String]);
    /// So many bytes of so many have been uploaded.
    fn uploaded(&mut self, done: u64, all: u64);
    /// What all jobs wait for.
    fn waits(&mut self, why: &str);
    /// The session has taken a job.
    fn accepted(&mut self, job: &Accepted);
    /// News of a job.
    fn told(&mut self, job: &Accepted, told: &Told);
    /// A job has ended; there may be nothing to report.
    fn ended(&mut self, job: &Accepted, ended: &Ended, report: Option<&TasksReport>);
    /// The user has asked for the end, and may ask once more to leave before it.
    fn ending(&mut self, jobs: usize);
    /// This process is about to be stopped.
    fn paused(&mut self);
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What the command returns.
    pub code: u8,
    /// Why, for people; empty: nothing is to be said.
    pub sentence: String,
}

type Work = Pin<Box<dyn Future<Output = Done>>>;

/// What was done for a driver.
enum Done {
    /// What it is answered.
    Answer(Result<Answer, MapReduceError>),
    /// A file that it is handed.
    Opened(Box<Result<Opened, MapReduceError>>),
    /// What its submission would be.
    Planned(Result<Vec<String>, MapReduceError>),
    /// Its submission of this number is the session's.
    Submitted(u32, Box<Result<Submitted, MapReduceError>>),
}

/// What the session has taken.
struct Submitted {
    job: Accepted,
    output: Place,
    overwrite: Option<Overwrite>,
    /// What should be known of it, a sentence each.
    notes: Vec<String>,
}

/// The run, while it lasts.
struct Serving<'a> {
    run: Run,
    show: &'a mut dyn Show,
    driver: Option<Driver>,
    /// What is done for the driver now.
    work: Option<Work>,
    /// A job that the driver waits for.
    waited_for: Option<u32>,
    /// The driver is done.
    is_done: bool,
    following: JoinSet<(u32, Ended)>,
    /// Files on their way to the driver.
    filling: JoinSet<Result<(), MapReduceError>>,
    /// By the driver's number.
    under_way: BTreeMap<u32, (Accepted, Place)>,
    ended: BTreeMap<u32, (Ended, Option<TasksReport>)>,
    waited: BTreeSet<u32>,
    outputs: BTreeSet<Place>,
    /// Sentences that were said.
    noted: BTreeSet<String>,
    /// Why all ends.
    stopping: Option<Outcome>,
}

/// Runs a program to its end.
///
/// # Errors
/// Its driver cannot be started.
pub async fn serve(
    run: Run,
    signals: &mut Signals,
    show: &mut dyn Show,
) -> Result<Outcome, MapReduceError> {
    let drives = run.orders.planned.plan.drives;
    let driver = match drives {
        true => Some(Driver::start(run.program.clone(), run.words.clone())?),
        false => None,
    };
    let (tell, mut news) = mpsc::channel(NEWS);
    let mut serving = Serving {
        run,
        show,
        driver,
        work: None,
        waited_for: None,
        is_done: false,
        following: JoinSet::new(),
        filling: JoinSet::new(),
        under_way: BTreeMap::new(),
        ended: BTreeMap::new(),
        waited: BTreeSet::new(),
        outputs: BTreeSet::new(),
        noted: BTreeSet::new(),
        stopping: None,
    };
    let settings = serving.run.settings.notes.clone();
    settings.into_iter().for_each(|note| serving.note(note));
    if !drives {
        serving.drive_only_job()?;
    }
    let outcome = serving.until_over(signals, &tell, &mut news).await;
    if let Some(driver) = serving.driver.take() {
        driver.end().await;
    }
    Ok(outcome)
}

impl Serving<'_> {
    async fn until_over(
        &mut self,
        signals: &mut Signals,
        tell: &mpsc::Sender<(u32, Told)>,
        news: &mut mpsc::Receiver<(u32, Told)>,
    ) -> Outcome {
        loop {
            if let Some(outcome) = self.over() {
                return outcome;
            }
            tokio::select! {
                heard = hear(&mut self.driver) => self.heard(heard).await,
                done = work(&mut self.work) => {
                    self.work = None;
                    self.done(done, tell);
                }
                Some((job, told)) = news.recv() => self.told(job, &told),
                Some(joined) = self.following.join_next() => {
                    while let Ok((job, told)) = news.try_recv() {
                        self.told(job, &told);
                    }
                    match joined {
                        Ok((submission, ended)) => self.job_ended(submission, ended),
                        Err(broken) => {
                            self.under_way.clear();
                            let sentence = format!("following a job was broken off: {broken}");
                            let code = Exit::Lost.code();
                            self.lost(Outcome { code, sentence }).await;
                        }
                    }
                }
                Some(Ok(Err(error))) = self.filling.join_next() => {
                    // What it has read is no whole file, and it cannot know.
                    let (code, sentence) = (error.exit().code(), error.to_string());
                    self.lost(Outcome { code, sentence }).await;
                }
                () = sleep(UPLOADING), if self.work.is_some() => {
                    use std::sync::atomic::Ordering::Relaxed;
                    let moved = &self.run.jobs.moved;
                    let (done, all) = (moved.done.load(Relaxed), moved.all.load(Relaxed));
                    match self.run.jobs.waits() {
                        waits if waits.is_empty() => self.show.uploaded(done, all),
                        waits => self.show.waits(&waits),
                    }
                }
                asked = signals.next() => match asked {
                    Asked::Forward(_) => {}
                    Asked::Pause => {
                        let before = *self.run.jobs.wishes.borrow();
                        self.run.jobs.wishes.send_replace(Wish::Pause);
                        self.show.paused();
                        sleep(LAST_WORD).await;
                        signals::pause();
                        self.run.jobs.wishes.send_replace(before);
                    }
                    Asked::End(signal) => {
                        if let Some(outcome) = self.interrupted(signal).await {
                            return outcome;
                        }
                    }
                },
            }
        }
    }

    /// News of a job that is under way.
    fn told(&mut self, job: u32, told: &Told) {
        let mut all = self.under_way.values();
        if let Some((accepted, _)) = all.find(|(accepted, _)| accepted.number == job) {
            self.show.told(accepted, told);
        }
    }

    /// How the run ended, if it has.
    fn over(&mut self) -> Option<Outcome> {
        if !self.under_way.is_empty() || self.work.is_some() {
            return None;
        }
        if let Some(outcome) = self.stopping.take() {
            return Some(outcome);
        }
        if !self.is_done {
            return None;
        }
        self.answer(ToDriver::Leave);
        // A job that failed and that nobody waited for is the whole run's failure.
        let ended = self.ended.iter();
        let mut unheard = ended.filter(|(number, _)| !self.waited.contains(number));
        let failed = unheard.find(|(_, (ended, _))| ended.code != 0);
        let outcome = failed.map(|(_, (ended, _))| Outcome {
            code: ended.code,
            sentence: ended.sentence.clone(),
        });
        Some(outcome.unwrap_or(Outcome {
            code: 0,
            sentence: String::new(),
        }))
    }

    /// Says something that is good to know, once.
    fn note(&mut self, sentence: String) {
        if self.noted.insert(sentence.clone()) {
            self.show.note(&sentence);
        }
    }

    fn answer(&self, answer: impl Into<Answer>) {
        if let Some(driver) = &self.driver {
            driver.answer(answer.into());
        }
    }

    fn refuse(&self, error: &MapReduceError) {
        self.answer(ToDriver::Refused {
            sentence: error.to_string(),
        });
    }

    /// All is to end, for this reason, on account of this signal if of one.
    fn stop(&mut self, outcome: Outcome, signal: u8) {
        self.stopping.get_or_insert(outcome);
        self.waited_for = None;
        self.is_done = false;
        self.run.jobs.wishes.send_replace(Wish::End(signal));
    }

    /// The user asks for the end; an outcome if he does not wait for it.
    async fn interrupted(&mut self, signal: u8) -> Option<Outcome> {
        let code = 128_u8.saturating_add(signal);
        if self.stopping.is_some() {
            let ids: Vec<&str> = self
                .under_way
                .values()
                .map(|(job, _)| job.id.as_str())
                .collect();
            return Some(Outcome {
                code,
                sentence: format!(
                    "{} told to end, and not waited for; gerbil {} shows whether it is gone",
                    match ids.as_slice() {
                        [] => "the driver was".to_owned(),
                        [one] => format!("{one} was"),
                        several => format!("{} were", several.join(", ")),
                    },
                    match self.run.jobs.are_alone() {
                        true => "ps",
                        false => "session status",
                    }
                ),
            });
        }
        // What is on its way to the session is let go: a job that nobody follows ends there.
        self.work = None;
        self.show.ending(self.under_way.len());
        let sentence = match self.ended.len() + self.under_way.len() {
            0 => "interrupted before anything was submitted".to_owned(),
            _ => "interrupted".to_owned(),
        };
        self.stop(Outcome { code, sentence }, signal);
        if let Some(driver) = self.driver.take() {
            driver.end().await;
        }
        None
    }

    /// What the driver says.
    async fn heard(&mut self, heard: Option<Heard>) {
        let message = match heard {
            Some(Heard::Said(message)) => message,
            Some(Heard::Declined(status)) => {
                // It has said why itself.
                let (code, sentence) = (code(status), String::new());
                return self.lost(Outcome { code, sentence }).await;
            }
            Some(Heard::Gone(status)) => {
                let jobs = self.ended.len() + self.under_way.len();
                let sentence = match jobs {
                    0 => format!("the driver {} before it submitted a job", how(status)),
                    jobs => format!(
                        "the driver {} in the middle, after {jobs} submitted jobs",
                        how(status)
                    ),
                };
                let code = FAILED;
                return self.lost(Outcome { code, sentence }).await;
            }
            Some(Heard::Broken(error)) => {
                let (code, sentence) = (error.exit().code(), error.to_string());
                return self.lost(Outcome { code, sentence }).await;
            }
            None => {
                let sentence = "the driver was lost".to_owned();
                let code = FAILED;
                return self.lost(Outcome { code, sentence }).await;
            }
        };
        match message {
            FromDriver::Hello { version, plan } => self.greet(version, &plan).await,
            FromDriver::Submit(submission) => self.submit(submission),
            FromDriver::Wait { submission } => {
                self.waited_for = Some(submission);
                self.answer_wait();
            }
            FromDriver::Files { inputs, recursive } => {
                let orders = Arc::clone(&self.run.orders);
                self.begin(async move {
                    let files = orders.files(&inputs, recursive).await?;
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
                    Done::Opened(Box::new(opened))
                }));
            }
            FromDriver::Remove { path } => self.remove(&path),
            FromDriver::Done => self.is_done = true,
            FromDriver::Failed { sentence } => {
                let sentence = match sentence.starts_with("panicked") {
                    true => format!("the driver {sentence}"),
                    false => sentence,
                };
                let jobs = self.ended.values().rev();
                let failed = jobs.map(|(ended, _)| ended.code).find(|code| *code != 0);
                let code = failed.unwrap_or(FAILED);
                self.lost(Outcome { code, sentence }).await;
            }
            other => {
                let sentence = format!("the driver said {other:?}, which makes no sense here");
                let code = FAILED;
                self.lost(Outcome { code, sentence }).await;
            }
        }
    }

    /// There is no driver any more, and so no reason for its jobs.
    async fn lost(&mut self, outcome: Outcome) {
        self.work = None;
        if let Some(driver) = self.driver.take() {
            driver.end().await;
        }
        self.stop(outcome, 0);
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
        self.lost(Outcome { code, sentence }).await;
    }

    /// Does something for the driver, beside the loop.
    fn begin(&mut self, work: impl Future<Output = Result<Answer, MapReduceError>> + 'static) {
        self.work = Some(Box::pin(async move { Done::Answer(work.await) }));
    }

    fn submit(&mut self, submission: Submission) {
        let number = submission.submission;
        if self.under_way.contains_key(&number) || self.ended.contains_key(&number) {
            return self.refuse(&MapReduceError::Asked(format!(
                "submission {number} has been there already: each has a number of its own"
            )));
        }
        let output = self.run.orders.places.find(&submission.output);
        if let Ok(output) = output
            && self.under_way.values().any(|(_, other)| *other == output)
        {
            return self.refuse(&MapReduceError::OutputExists { url: output.url() });
        }
        let (orders, jobs) = (Arc::clone(&self.run.orders), Arc::clone(&self.run.jobs));
        if self.run.is_dry {
            self.work = Some(Box::pin(async move {
                Done::Planned(match orders.order(submission).await {
                    Ok(order) => jobs.ask(&order).await,
                    Err(error) => Err(error),
                })
            }));
            return;
        }
        let accept = async move {
            let order = orders.order(submission).await?;
            orders.make_parent(&order.output).await?;
            let (output, notes) = (order.output.clone(), order.notes.clone());
            let overwrite = order.overwrite.clone();
            let job = jobs.submit(order).await?;
            Ok(Submitted {
                job,
                output,
                overwrite,
                notes,
            })
        };
        self.work = Some(Box::pin(async move {
            Done::Submitted(number, Box::new(accept.await))
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

    /// What was done for the driver has come to an end.
    fn done(&mut self, done: Done, tell: &mpsc::Sender<(u32, Told)>) {
        match done {
            Done::Answer(Ok(answer)) => self.answer(answer),
            Done::Answer(Err(error)) => self.refuse(&error),
            Done::Opened(opened) => match *opened {
                Ok(Opened { file, filling }) => {
                    if let Some(filling) = filling {
                        self.filling.spawn(filling.fill());
                    }
                    self.answer(Answer {
                        message: ToDriver::Opened,
                        file: Some(file),
                    });
                }
                Err(error) => self.refuse(&error),
            },
            Done::Planned(Ok(lines)) => {
                self.show.planned(&lines);
                let (code, sentence) = (0, String::new());
                self.stop(Outcome { code, sentence }, 0);
            }
            Done::Planned(Err(error)) => self.not_taken(&error),
            Done::Submitted(number, accepted) => match *accepted {
                Ok(Submitted {
                    job: accepted,
                    output,
                    overwrite,
                    notes,
                }) => {
                    notes.into_iter().for_each(|note| self.note(note));
                    self.show.accepted(&accepted);
                    let id = accepted.id.clone();
                    let (jobs, tell) = (Arc::clone(&self.run.jobs), tell.clone());
                    let (job, wishes) = (accepted.number, self.run.jobs.wishes.subscribe());
                    self.under_way.insert(number, (accepted, output));
                    self.following.spawn(async move {
                        let ended = jobs.follow(job, tell.clone(), wishes).await;
                        match overwrite {
                            Some(overwrite) => (number, overwrite.conclude(ended, job, tell).await),
                            None => (number, ended),
                        }
                    });
                    self.answer(ToDriver::Accepted { id });
                }
                Err(error) => self.not_taken(&error),
            },
        }
    }

    /// There is no such job, which a program without a driver does not get over.
    fn not_taken(&mut self, error: &MapReduceError) {
        match self.driver {
            Some(_) => self.refuse(error),
            None => {
                let (code, sentence) = (error.exit().code(), error.to_string());
                self.stop(Outcome { code, sentence }, 0);
            }
        }
    }

    fn job_ended(&mut self, submission: u32, ended: Ended) {
        let Some((accepted, output)) = self.under_way.remove(&submission) else {
            return;
        };
        let verdict = ended.verdict.as_ref();
        let report = verdict.and_then(|verdict| serde_json::from_str(&verdict.tasks).ok());
        self.show.ended(&accepted, &ended, report.as_ref());
        if ended.code == 0 {
            self.outputs.insert(output);
        }
        self.ended.insert(submission, (ended, report));
        self.answer_wait();
    }

    /// Tells the driver of the job that it waits for, if that has ended.
    fn answer_wait(&mut self) {
        let Some(number) = self.waited_for else {
            return;
        };
        if self.under_way.contains_key(&number) {
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

    /// The only job of a program without a driver, on the operands of the command line.
    fn drive_only_job(&mut self) -> Result<(), MapReduceError> {
        let plan = &self.run.orders.planned.plan;
        let [job] = plan.jobs.as_slice() else {
            return Err(MapReduceError::NoJob {
                program: self.run.program.clone(),
                why: format!("registers {} jobs and has no driver", plan.jobs.len()),
            });
        };
        let words = self
            .run
            .words
            .iter()
            .map(|word| word.to_str().map(str::to_owned));
        let words: Option<Vec<String>> = words.collect();
        let words = words.unwrap_or_default();
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

/// What the driver says next; for ever where there is none.
async fn hear(driver: &mut Option<Driver>) -> Option<Heard> {
    match driver {
        Some(driver) => driver.hear().await,
        None => std::future::pending().await,
    }
}

/// What comes of what is done for the driver; for ever where nothing is.
async fn work(work: &mut Option<Work>) -> Done {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}
