//! A job whose application is its own, and ends with it: it is waited for, and what YARN says of the one
//! goes for the other.

use std::ops::ControlFlow;
use std::time::Duration;

use job::exit::Exit;
use proto_hadoop::yarn::{ApplicationReport, FinalApplicationStatus, YarnApplicationState};
use proto_hadoop::{AppAttemptId, ApplicationClient, ApplicationId};
use tokio::time::{Instant, sleep};

use super::attach::{Beside, Coming, attach};
use super::{Follower, LATER, address, patiently, reason};
use crate::attempts::{self, Attempts};
use crate::conclusion::{Conclusion, Given, JobEnd, Written, conclude};
use crate::ended::{Ended, chain, judge};
use crate::error::FollowError;
use crate::kill::{ended, kill};
use crate::pace::Pace;
use crate::progress::Progress;
use crate::queue_holders::Holders;
use crate::timeout::WaitTimeout;
use terminal::{interruptible, say};

/// Between two looks at the application.
const PACE: Pace = Pace {
    soon: Duration::from_millis(25),
    soon_ends: Duration::from_secs(3),
};
/// Between two looks at one that runs and cannot be reached.
const RUNS: Duration = Duration::from_secs(1);
/// What is waited for, where YARN itself does not say it.
const NOT_STARTED: &str = "YARN has not started the ApplicationMaster yet";
/// For YARN to say of an ApplicationMaster that cannot be reached that it is gone.
const GONE_SOON: Duration = Duration::from_secs(3);

/// A job that has been submitted as an application.
#[derive(Debug)]
pub struct SubmittedApplication<'a> {
    /// The job.
    pub follower: Follower<'a>,
    /// For YARN to start the ApplicationMaster.
    pub wait_timeout: WaitTimeout,
    /// Which of them is followed.
    pub attempts: Attempts,
}

/// What a look at the application showed.
enum SeenApplication {
    /// With what YARN says of the reason, if it says something.
    Waiting(Option<String>),
    Running(String, Option<AppAttemptId>),
    Over(Box<ApplicationReport>),
}

impl SubmittedApplication<'_> {
    /// Until the job is over and gone.
    pub async fn follow(mut self) -> Result<Ended, FollowError> {
        loop {
            let address = match self.find().await? {
                FoundMaster::Address(address) => address,
                FoundMaster::Ended(ended) => return Ok(ended),
            };
            match self.attach_to(&address, None).await? {
                Followed::Ended(ended) => return Ok(ended),
                Followed::Lost(why) => {
                    if let Some(ended) = self.lost(&why).await? {
                        return Ok(ended);
                    }
                }
            }
        }
    }

    /// Waits for the ApplicationMaster of the present attempt.
    async fn find(&mut self) -> Result<FoundMaster, FollowError> {
        let mut said = String::new();
        let mut holders = Holders::new();
        loop {
            let seen = tokio::select! {
                seen = look(self.follower.rm, self.follower.id, &mut self.follower.progress) => seen?,
                signal = self.follower.signals.ending() => {
                    return self.interrupted(signal, Written::Part).await.map(FoundMaster::Ended);
                }
                () = self.wait_timeout.over() => return self.given_up(&said).await.map(FoundMaster::Ended),
            };
            match seen {
                SeenApplication::Waiting(reason) => {
                    said = reason.unwrap_or(said);
                    let looking = holders.look(self.follower.rm, self.follower.id);
                    match interruptible(self.follower.signals, looking).await {
                        ControlFlow::Continue(Some(held)) => self.follower.progress.held(held),
                        ControlFlow::Continue(None) => {}
                        ControlFlow::Break(signal) => {
                            return self
                                .interrupted(signal, Written::Part)
                                .await
                                .map(FoundMaster::Ended);
                        }
                    }
                }
                // What is still said of the attempt that is over.
                SeenApplication::Running(_, attempt) if self.attempts.is_over(attempt) => {
                    pause(&self.follower.progress).await;
                }
                SeenApplication::Running(address, attempt) => {
                    if let Some((lost, name)) = self.attempts.unseen(attempt)
                        && let ControlFlow::Break(signal) = self.say_replaced(lost, &name).await
                    {
                        return self
                            .interrupted(signal, Written::Part)
                            .await
                            .map(FoundMaster::Ended);
                    }
                    self.attempts.follow(attempt);
                    return Ok(FoundMaster::Address(address));
                }
                SeenApplication::Over(report) => return Ok(FoundMaster::Ended(judge(&report))),
            }
        }
    }

    /// Says that attempt `name` replaces the one that was `lost`.
    pub(super) async fn say_replaced(&mut self, lost: AppAttemptId, name: &str) -> ControlFlow<u8> {
        let sentence = attempts::replaced(self.follower.rm, lost, name);
        let sentence = interruptible(self.follower.signals, sentence).await;
        sentence.map_continue(say)
    }

    /// The same for the one attempt whose ApplicationMaster is a task of this process: it listens at
    /// `address`, and gives the output through `beside`.
    pub(crate) async fn follow_at(
        mut self,
        address: &str,
        beside: Beside,
    ) -> Result<Ended, FollowError> {
        match self.attach_to(address, Some(beside)).await? {
            Followed::Ended(ended) => Ok(ended),
            Followed::Lost(why) => match self.lost(&why).await? {
                Some(ended) => Ok(ended),
                None => Ok(self.attempts.unforeseen(self.follower.id)),
            },
        }
    }

    /// Attaches, and follows to the end.
    async fn attach_to(
        &mut self,
        address: &str,
        beside: Option<Beside>,
    ) -> Result<Followed, FollowError> {
        let attached = tokio::select! {
            attached = attach(address, self.follower.keys, Coming::default(), beside) => attached,
            signal = self.follower.signals.ending() => {
                return self.interrupted(signal, Written::Part).await.map(Followed::Ended);
            }
        };
        match attached {
            Ok(attached) => Box::pin(self.attached(attached)).await,
            Err(error) => {
                let error = chain(&error);
                let gone = is_gone(self.follower.rm, self.follower.id, &self.attempts);
                let gone = match interruptible(self.follower.signals, gone).await {
                    ControlFlow::Continue(gone) => gone?,
                    ControlFlow::Break(signal) => {
                        return self
                            .interrupted(signal, Written::Part)
                            .await
                            .map(Followed::Ended);
                    }
                };
                if gone {
                    return Ok(Followed::Lost(error));
                }
                say(format!(
                    "cannot attach to the ApplicationMaster of {} at {address}: {error}; is a \
                     firewall between here and that port? --am-ports holds it in a range. The job \
                     goes on; its output goes to the ApplicationMaster's log",
                    self.follower.id
                ));
                self.unattached().await
            }
        }
    }

    /// Follows a job whose ApplicationMaster cannot be reached, through the ResourceManager.
    async fn unattached(&mut self) -> Result<Followed, FollowError> {
        loop {
            let seen = tokio::select! {
                seen = look(self.follower.rm, self.follower.id, &mut self.follower.progress) => seen?,
                signal = self.follower.signals.ending() => {
                    return self.interrupted(signal, Written::Part).await.map(Followed::Ended);
                }
            };
            match seen {
                SeenApplication::Running(_, attempt) if self.attempts.is_another(attempt) => {
                    return Ok(Followed::Lost("it could not be reached".into()));
                }
                SeenApplication::Waiting(_) => {}
                SeenApplication::Running(..) => sleep(RUNS).await,
                SeenApplication::Over(report) => return Ok(Followed::Ended(judge(&report))),
            }
        }
    }

    /// Kills the job through the ResourceManager, when so much of its output is `written`.
    pub(crate) async fn interrupted(
        &mut self,
        signal: u8,
        written: Written,
    ) -> Result<Ended, FollowError> {
        self.follower.progress.clear();
        let (rm, id) = (self.follower.rm, self.follower.id);
        let killed = kill(rm, &id, "interrupted by the user");
        let status = match interruptible(self.follower.signals, killed).await {
            ControlFlow::Continue(killed) => ended(killed)?,
            ControlFlow::Break(_once_more) => return Ok(Ended::unawaited(id, signal)),
        };
        let (end, sentence) = match status {
            Some(FinalApplicationStatus::Succeeded) => (JobEnd::Succeeded, String::new()),
            _ => (
                JobEnd::Killed(Exit::Killed.code()),
                format!("{} was interrupted", self.follower.id),
            ),
        };
        let Conclusion { code, sentence } =
            conclude(end, &sentence, Some(signal), Given::All, written);
        Ok(Ended {
            code,
            sentence,
            verdict: None,
        })
    }

    /// Kills a job whose ApplicationMaster did not come in time; `said` is YARN's last word on it.
    pub(crate) async fn given_up(&mut self, said: &str) -> Result<Ended, FollowError> {
        self.follower.progress.clear();
        let ended = self.wait_timeout.ended(self.follower.id, said);
        let (rm, id) = (self.follower.rm, self.follower.id);
        let killed = kill(rm, &id, &ended.sentence);
        let report = match interruptible(self.follower.signals, killed).await {
            ControlFlow::Continue(report) => report?,
            ControlFlow::Break(signal) => return Ok(Ended::unawaited(id, signal)),
        };
        match report.final_status {
            // It was quicker than the order.
            FinalApplicationStatus::Succeeded => Ok(judge(&report)),
            _ => Ok(ended),
        }
    }
}

/// What came of waiting for an ApplicationMaster.
enum FoundMaster {
    /// It listens there.
    Address(String),
    /// There will be none.
    Ended(Ended),
}

/// What came of following an ApplicationMaster.
pub(super) enum Followed {
    Ended(Ended),
    /// It is gone, for this reason, and with it perhaps not the job.
    Lost(String),
}

/// Whether YARN says within a moment that the present attempt is over.
async fn is_gone(
    rm: &ApplicationClient,
    id: ApplicationId,
    attempts: &Attempts,
) -> Result<bool, FollowError> {
    let deadline = Instant::now() + GONE_SOON;
    while Instant::now() < deadline {
        let report = patiently(rm, &id).await?;
        let runs = report.state == YarnApplicationState::Running;
        if !runs || attempts.is_another(report.current_attempt) {
            return Ok(true);
        }
        sleep(LATER).await;
    }
    Ok(false)
}

/// One look at the application, after a pause that grows with its age.
async fn look(
    rm: &ApplicationClient,
    id: ApplicationId,
    progress: &mut Progress,
) -> Result<SeenApplication, FollowError> {
    let report = patiently(rm, &id).await?;
    let seen = match report.state {
        state if state.is_final() => return Ok(SeenApplication::Over(Box::new(report))),
        YarnApplicationState::Running => match address(&report) {
            Some(address) => return Ok(SeenApplication::Running(address, report.current_attempt)),
            None => SeenApplication::Waiting(reason(&report)),
        },
        _ => SeenApplication::Waiting(reason(&report)),
    };
    match &seen {
        SeenApplication::Waiting(Some(reason)) => progress.wait(reason),
        SeenApplication::Waiting(None) => progress.wait(NOT_STARTED),
        SeenApplication::Running(..) | SeenApplication::Over(_) => {}
    }
    pause(progress).await;
    Ok(seen)
}

/// Between two looks.
async fn pause(progress: &Progress) {
    sleep(PACE.pause(progress.age())).await;
}
