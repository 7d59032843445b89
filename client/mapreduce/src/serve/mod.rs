//! One run: a driver and the jobs that it submits, from its hello to the last verdict.
//!
//! Whatever takes time (a listing, a submission) is done beside the loop, so that news of jobs, signals and the
//! driver's own end are heard at once. How it ends early is decided in one place: what ends it is remembered, jobs
//! under way are told to end, and their verdicts are awaited, unless the user asks once more.

mod again;
mod done;
mod driver;
mod under_way;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use follow::ended::Ended;
use follow::follower::tasks::{JobControl, JobNews, TasksEnd};
use gerbil_task::{BroughtFile, ToDriver};
use job::TasksReport;
use job::exit::Exit;
use terminal::signals::{self, SignalRequest, Signals};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::driver::{Driver, DriverMessage, DriverReply};
use crate::error::MapReduceError;
use crate::jobs::{Accepted, JobRunner};
use crate::open::{CutShort, Opened};
use crate::order::JobOrders;
use crate::places::Location;
use crate::settings::RunSettings;
use under_way::{Submitted, UnderWay};

/// News of jobs that wait to be shown.
const NEWS: usize = 64;
/// For the word to leave that this process is about to be stopped.
const LAST_WORD: Duration = Duration::from_millis(100);
/// Between two looks at how much is uploaded.
const UPLOADING: Duration = Duration::from_millis(250);
/// Between two looks whether what jobs wait for has lasted.
const REMIND: Duration = Duration::from_secs(1);
/// What a failure returns that is neither a signal's nor a job's.
const FAILED: u8 = 1;

/// A run.
#[derive(Debug)]
pub struct DriverRun {
    /// The program, as its roles are started here.
    pub program: PathBuf,
    /// The user's words behind it.
    pub words: Vec<OsString>,
    /// Files that each of its jobs brings along.
    pub brings: Vec<BroughtFile>,
    /// Settings below and above those of its jobs.
    pub settings: RunSettings,
    /// Completes what is submitted.
    pub orders: Arc<JobOrders>,
    /// Runs it.
    pub jobs: Arc<JobRunner>,
    /// The first job is told, and nothing is run.
    pub is_dry: bool,
    /// The only job is left to its session, or to its application.
    pub is_detached: bool,
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
    /// A job was taken that is left to its session, or to its application.
    fn left(&mut self, job: &Accepted);
    /// News of a job.
    fn told(&mut self, job: &Accepted, told: &JobNews);
    /// Time has passed: what a job waits for may have lasted long enough to be said.
    fn remind(&mut self);
    /// A job was given up with its application, and begins again in another.
    fn given_up(&mut self, job: &Accepted);
    /// A job has ended; there may be nothing to report.
    fn ended(&mut self, job: &Accepted, ended: &Ended, report: Option<&TasksReport>);
    /// The user has asked for the end, and may ask once more to leave before it.
    fn ending(&mut self, jobs: usize);
    /// This process is about to be stopped.
    fn paused(&mut self);
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// What the command returns.
    pub code: u8,
    /// Why, for people; empty: nothing is to be said.
    pub sentence: String,
}

type DriverWork = Pin<Box<dyn Future<Output = DriverWorkDone>>>;

/// What was done for a driver.
enum DriverWorkDone {
    /// What it is answered.
    Answer(Result<DriverReply, MapReduceError>),
    /// A file that it is handed.
    Opened(Box<Result<Opened, MapReduceError>>),
    /// What its submission would be.
    Planned(Result<Vec<String>, MapReduceError>),
    /// Its submission of this number is the session's.
    Submitted(u32, Box<Result<Submitted, MapReduceError>>),
    /// The same of one that was given up.
    Again(u32, Box<Result<Submitted, MapReduceError>>),
}

/// The run, while it lasts.
struct Serving<'a> {
    run: DriverRun,
    show: &'a mut dyn Show,
    driver: Option<Driver>,
    /// What is done for the driver now.
    work: Option<DriverWork>,
    /// A job that the driver waits for.
    waited_for: Option<u32>,
    /// The driver is done.
    is_done: bool,
    following: JoinSet<(u32, TasksEnd)>,
    /// Files on their way to the driver.
    filling: JoinSet<Result<(), Box<CutShort>>>,
    /// By the driver's number.
    under_way: BTreeMap<u32, UnderWay>,
    /// Jobs that were given up with their application, and begin again, with how they were lost.
    given_up: BTreeMap<u32, (UnderWay, Ended)>,
    /// One of them is being submitted.
    beginning: Option<DriverWork>,
    ended: BTreeMap<u32, (Ended, Option<TasksReport>)>,
    waited: BTreeSet<u32>,
    outputs: BTreeSet<Location>,
    /// Sentences that were said.
    noted: BTreeSet<String>,
    /// What the driver was refused last.
    refused: Option<RunEnd>,
    /// Why all ends.
    stopping: Option<RunEnd>,
}

/// Runs a program to its end.
///
/// # Errors
/// Its driver cannot be started.
pub async fn serve(
    run: DriverRun,
    signals: &mut Signals,
    show: &mut dyn Show,
) -> Result<RunEnd, MapReduceError> {
    let plan = &run.orders.planned.plan;
    let drives = plan.drives;
    if run.is_detached && drives && !plan.drives_one {
        return Err(MapReduceError::Asked(format!(
            "{} says as it goes which job is next, and is itself not left on the cluster: without --detach, nohup or tmux \
             keep the command",
            run.program.display()
        )));
    }
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
        given_up: BTreeMap::new(),
        beginning: None,
        ended: BTreeMap::new(),
        waited: BTreeSet::new(),
        outputs: BTreeSet::new(),
        noted: BTreeSet::new(),
        refused: None,
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
        tell: &mpsc::Sender<(u32, JobNews)>,
        news: &mut mpsc::Receiver<(u32, JobNews)>,
    ) -> RunEnd {
        loop {
            if let Some(outcome) = self.over() {
                return outcome;
            }
            self.may_begin_again();
            tokio::select! {
                heard = hear(&mut self.driver) => self.heard(heard).await,
                done = work(&mut self.work) => {
                    self.work = None;
                    self.done(done, tell);
                }
                done = work(&mut self.beginning) => {
                    self.beginning = None;
                    self.done(done, tell);
                }
                Some((job, told)) = news.recv() => self.told(job, &told),
                Some(joined) = self.following.join_next() => {
                    while let Ok((job, told)) = news.try_recv() {
                        self.told(job, &told);
                    }
                    match joined {
                        Ok((submission, end)) => self.job_ended(submission, end),
                        Err(broken) => {
                            self.under_way.clear();
                            let sentence = format!("following a job was broken off: {broken}");
                            let code = Exit::Lost.code();
                            self.lost(RunEnd { code, sentence }).await;
                        }
                    }
                }
                Some(Ok(Err(cut))) = self.filling.join_next() => {
                    // What it has read is no whole file, and it is ended before it can take it for one.
                    let (code, sentence) = (cut.error.exit().code(), cut.error.to_string());
                    self.lost(RunEnd { code, sentence }).await;
                }
                () = sleep(UPLOADING), if self.work.is_some() || self.beginning.is_some() => {
                    use std::sync::atomic::Ordering::Relaxed;
                    let moved = &self.run.jobs.moved;
                    let (done, all) = (moved.done.load(Relaxed), moved.all.load(Relaxed));
                    match self.run.jobs.waits() {
                        waits if waits.is_empty() => self.show.uploaded(done, all),
                        waits => self.show.waits(&waits),
                    }
                }
                () = sleep(REMIND), if !self.under_way.is_empty() => self.show.remind(),
                asked = signals.next() => match asked {
                    SignalRequest::Forward(_) => {}
                    SignalRequest::Pause => {
                        let before = *self.run.jobs.wishes.borrow();
                        self.run.jobs.wishes.send_replace(JobControl::Pause);
                        self.show.paused();
                        sleep(LAST_WORD).await;
                        signals::pause();
                        self.run.jobs.wishes.send_replace(before);
                    }
                    SignalRequest::End(signal) => {
                        if let Some(outcome) = self.interrupted(signal).await {
                            return outcome;
                        }
                    }
                },
            }
        }
    }

    /// News of a job that is under way, by the driver's number.
    fn told(&mut self, job: u32, told: &JobNews) {
        if let Some(job) = self.under_way.get(&job) {
            self.show.told(&job.accepted, told);
        }
    }

    /// How the run ended, if it has.
    fn over(&mut self) -> Option<RunEnd> {
        if !self.under_way.is_empty() || !self.given_up.is_empty() || self.work.is_some() {
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
        let outcome = failed.map(|(_, (ended, _))| RunEnd {
            code: ended.code,
            sentence: ended.sentence.clone(),
        });
        Some(outcome.unwrap_or(RunEnd {
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

    fn answer(&self, answer: impl Into<DriverReply>) {
        if let Some(driver) = &self.driver {
            driver.answer(answer.into());
        }
    }

    fn refuse(&mut self, error: &MapReduceError) {
        let (code, sentence) = (error.exit().code(), error.to_string());
        self.answer(ToDriver::Refused {
            sentence: sentence.clone(),
        });
        self.refused = Some(RunEnd { code, sentence });
    }

    /// All is to end, for this reason, on account of this signal if of one.
    fn stop(&mut self, outcome: RunEnd, signal: u8) {
        self.stopping.get_or_insert(outcome);
        self.waited_for = None;
        self.is_done = false;
        self.given_up.clear();
        self.beginning = None;
        self.run.jobs.wishes.send_replace(JobControl::End(signal));
    }

    /// The user asks for the end; an outcome if he does not wait for it.
    async fn interrupted(&mut self, signal: u8) -> Option<RunEnd> {
        let code = 128_u8.saturating_add(signal);
        if self.stopping.is_some() {
            let ids: Vec<&str> = self
                .under_way
                .values()
                .map(|job| job.accepted.id.as_str())
                .collect();
            return Some(RunEnd {
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
        let jobs = self.ended.len() + self.under_way.len() + self.given_up.len();
        let sentence = match jobs {
            0 if self.run.jobs.waits().is_empty() => "interrupted before anything was submitted",
            0 => "interrupted before its job began",
            _ => "interrupted",
        };
        let sentence = sentence.to_owned();
        // What is on its way to the session is let go: a job that nobody follows ends there.
        self.work = None;
        self.show.ending(self.under_way.len());
        self.stop(RunEnd { code, sentence }, signal);
        if let Some(driver) = self.driver.take() {
            driver.end().await;
        }
        None
    }

    /// There is no driver any more, and so no reason for its jobs.
    async fn lost(&mut self, outcome: RunEnd) {
        self.work = None;
        if let Some(driver) = self.driver.take() {
            driver.end().await;
        }
        self.stop(outcome, 0);
    }
}

/// What the driver says next; for ever where there is none.
async fn hear(driver: &mut Option<Driver>) -> Option<DriverMessage> {
    match driver {
        Some(driver) => driver.hear().await,
        None => std::future::pending().await,
    }
}

/// What comes of what is done for the driver; for ever where nothing is.
async fn work(work: &mut Option<DriverWork>) -> DriverWorkDone {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}
