//! A job of tasks whose ApplicationMaster is lost: the next one finishes its commit, where that was under way, or
//! removes what the job has left, and says so in YARN's last word on the application.

use std::time::Duration;

use job::exit::Exit;
use job::recovered::{has_committed, is_given_up};
use proto_hadoop::yarn::{ApplicationReport, FinalApplicationStatus, YarnApplicationState};
use proto_hadoop::{ApplicationClient, ApplicationId};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::LATER;
use super::tasks::{JobControl, JobNews, JobNewsSender, TasksEnd};
use crate::ended::{Ended, judge};

/// For a NodeManager that lives to tell YARN that the ApplicationMaster is gone, and for YARN to start the next.
const TOLD: Duration = Duration::from_secs(20);
/// For the next one to have a container and to be done: it gives itself twenty minutes.
const DONE: Duration = Duration::from_secs(1800);

/// Whose ApplicationMaster cannot be heard any more.
pub(super) struct Bereft<'a> {
    pub(super) rm: &'a ApplicationClient,
    pub(super) id: ApplicationId,
    /// By which the user calls the session; `None`: the application is the job's own.
    pub(super) name: Option<&'a str>,
    pub(super) job: u32,
    /// Why it cannot be heard.
    pub(super) why: &'a str,
    /// The last word of one that was told to end, by YARN, its node or by somebody who ended the application.
    pub(super) said: Option<Ended>,
    /// For YARN to miss it.
    pub(super) missed_after: Duration,
    /// Learns what the user is to see at once.
    pub(super) told: &'a JobNewsSender,
    pub(super) wishes: watch::Receiver<JobControl>,
}

/// What became of the application.
enum Became {
    Over(Box<ApplicationReport>),
    /// It is not over within this time, and has its second ApplicationMaster or not.
    Late(Duration, bool),
    /// Nobody says.
    Unknown(String),
    /// The user does not wait for that.
    Left,
}

impl Became {
    /// Whether it was ended in order, as its ApplicationMaster has said: YARN has not given that up.
    fn is_as_said(&self) -> bool {
        match self {
            Self::Over(report) => matches!(
                (report.state, report.final_status),
                (
                    YarnApplicationState::Finished,
                    FinalApplicationStatus::Killed | FinalApplicationStatus::Succeeded
                )
            ),
            Self::Late(_, is_next) => !is_next,
            Self::Unknown(_) | Self::Left => true,
        }
    }
}

impl Bereft<'_> {
    /// How the job ended, as far as can be known.
    pub(super) async fn end(mut self) -> TasksEnd {
        let became = self.wait().await;
        let job = self.job;
        let of = self.of();
        let words = match self.name {
            Some(name) => format!("job {job} of session {name}"),
            None => format!("job {job}"),
        };
        let why = self.why;
        let lost = format!("lost the ApplicationMaster of {of}, and with it {words}: {why}");
        if let Some(said) = self.said.take_if(|_| became.is_as_said()) {
            return said.into();
        }
        let mut is_to_run_again = false;
        let behind = match became {
            Became::Over(report) if has_committed(&report.diagnostics, job) => {
                let sentence = format!(
                    "the ApplicationMaster of {of} was lost ({why}) while {words} committed; the commit was finished: \
                     its output is whole, and its counters are lost"
                );
                self.tell(sentence).await;
                return TasksEnd::from(Ended {
                    code: Exit::Success.code(),
                    sentence: String::new(),
                    verdict: None,
                });
            }
            Became::Over(report) if report.state == YarnApplicationState::Killed => {
                return killed(judge(&report), self.name.map(|_| words.as_str())).into();
            }
            Became::Over(report) => {
                is_to_run_again = is_given_up(&report.diagnostics, job);
                match judge(&report).sentence {
                    sentence if sentence.is_empty() => "its application is over".to_owned(),
                    sentence => sentence,
                }
            }
            Became::Late(span, is_next) => format!(
                "{} after {} s; the output is whole where it has _SUCCESS",
                match is_next {
                    true => "the next one was not done",
                    false => "YARN had not missed it",
                },
                span.as_secs()
            ),
            Became::Unknown(silence) => format!("nor could YARN be asked: {silence}"),
            Became::Left => "what became of its output was not waited for".to_owned(),
        };
        TasksEnd {
            ended: Ended {
                code: Exit::Lost.code(),
                sentence: format!("{lost}; {behind}"),
                verdict: None,
            },
            is_given_up: is_to_run_again,
        }
    }

    async fn wait(&mut self) -> Became {
        let (since, mut is_next, mut is_silent) = (Instant::now(), false, false);
        loop {
            let report = tokio::select! {
                report = self.rm.report(&self.id) => report,
                () = left(&mut self.wishes) => return Became::Left,
            };
            let report = match report {
                Ok(report) => report,
                Err(silence) => return Became::Unknown(silence.to_string()),
            };
            if report.state.is_final() {
                return Became::Over(Box::new(report));
            }
            let attempt = report.current_attempt.map_or(1, |of| of.attempt);
            if attempt > 1 && !std::mem::replace(&mut is_next, true) {
                let sentence = format!(
                    "lost the ApplicationMaster of {} ({}); another one is started, which finishes what was being \
                     committed",
                    self.of(),
                    self.why
                );
                self.tell(sentence).await;
            }
            let span = match is_next {
                true => DONE,
                false => self.missed_after.max(TOLD),
            };
            if !is_next && since.elapsed() > TOLD && !std::mem::replace(&mut is_silent, true) {
                let sentence = format!(
                    "lost the ApplicationMaster of {} ({}); YARN still takes it for alive, and misses it after {} s at \
                     the latest",
                    self.of(),
                    self.why,
                    span.as_secs()
                );
                self.tell(sentence).await;
            }
            if since.elapsed() > span {
                return Became::Late(span, is_next);
            }
            tokio::select! {
                () = sleep(LATER) => {}
                () = left(&mut self.wishes) => return Became::Left,
            }
        }
    }

    fn of(&self) -> String {
        match self.name {
            Some(name) => format!("session {name} ({})", self.id),
            None => self.id.to_string(),
        }
    }

    async fn tell(&self, sentence: String) {
        self.told.tell(JobNews::Notice(sentence)).await;
    }
}

/// Of an application that the user, or another, has killed through YARN; `with` names the job of a session that
/// ended with it.
fn killed(judged: Ended, with: Option<&str>) -> Ended {
    let sentence = match with {
        Some(words) => format!("{}; {words} ended with it", judged.sentence),
        None => judged.sentence,
    };
    Ended { sentence, ..judged }
}

/// When the user wants the job to end.
pub(super) async fn left(wishes: &mut watch::Receiver<JobControl>) {
    let ends = |wish: &JobControl| matches!(wish, JobControl::End(_));
    if wishes.wait_for(ends).await.is_err() {
        std::future::pending::<()>().await;
    }
}
