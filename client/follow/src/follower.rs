//! From submit to the last word: waits for the ApplicationMaster, attaches to it ([`mod@attach`]), mirrors
//! the job ([`mirror`]), and asks YARN where it does not come to a last word ([`lost`], [`crate::ended`]).

mod attach;
mod lost;
mod mirror;
mod order;

use std::time::Duration;

use job::exit::Exit;
use proto_hadoop::yarn::{ApplicationReport, FinalApplicationStatus, YarnApplicationState};
use proto_hadoop::{AppAttemptId, ApplicationClient, ApplicationId};
use tokio::time::{Instant, sleep};

use attach::{Beside, attach};

use crate::attempts::{self, Attempts};
use crate::ended::{Ended, chain, judge};
use crate::error::FollowError;
use crate::explained::Sink;
use crate::keys::JobKeys;
use crate::kill::kill;
use crate::output::Layout;
use crate::progress::Progress;
use crate::queue_holders::Holders;
use crate::say::say;
use crate::signals::Signals;
use crate::streams::Source;
use crate::timeout::WaitTimeout;

/// Between two looks at the application: soon after the submit, and when it lasts.
const SOON: Duration = Duration::from_millis(25);
const LATER: Duration = Duration::from_millis(250);
/// When "soon" is over.
const SOON_ENDS: Duration = Duration::from_secs(3);
/// A ResourceManager that has not answered for so long is given up.
const RM_PATIENCE: Duration = Duration::from_secs(120);
/// What is waited for, where YARN itself does not say it.
const NOT_STARTED: &str = "YARN has not started the ApplicationMaster yet";
/// For YARN to say of an ApplicationMaster that cannot be reached that it is gone.
const GONE_SOON: Duration = Duration::from_secs(3);

/// One job that has been submitted.
#[derive(Debug)]
pub struct Follower<'a> {
    /// The ResourceManager.
    pub rm: &'a ApplicationClient,
    /// The application.
    pub id: ApplicationId,
    /// By which its ApplicationMaster knows us, and we know it.
    pub keys: &'a JobKeys,
    /// For YARN to start the ApplicationMaster.
    pub wait_timeout: WaitTimeout,
    /// What the user sees.
    pub progress: Progress,
    /// What the user asks for meanwhile.
    pub signals: &'a mut Signals,
    /// Where output goes.
    pub layout: Layout,
    /// What rank 0 reads.
    pub input: Source,
    /// Which of them is followed.
    pub attempts: Attempts,
    /// Rank 0 has our terminal.
    pub terminal: bool,
    /// Where the ApplicationMaster's reasons go.
    pub explain: Option<Sink>,
}

/// What a look at the application showed.
enum Seen {
    /// With what YARN says of the reason, if it says something.
    Waiting(Option<String>),
    Running(String, Option<AppAttemptId>),
    Over(Box<ApplicationReport>),
}

impl Follower<'_> {
    /// Until the job is over and gone.
    pub async fn follow(mut self) -> Result<Ended, FollowError> {
        loop {
            let address = match self.find().await? {
                Found::Address(address) => address,
                Found::Ended(ended) => return Ok(ended),
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
    async fn find(&mut self) -> Result<Found, FollowError> {
        let mut said = String::new();
        let mut holders = Holders::new();
        loop {
            let seen = tokio::select! {
                seen = look(self.rm, self.id, &mut self.progress) => seen?,
                signal = self.signals.ending() => {
                    return self.interrupted(signal).await.map(Found::Ended);
                }
                () = self.wait_timeout.over() => return self.given_up(&said).await.map(Found::Ended),
            };
            match seen {
                Seen::Waiting(reason) => {
                    said = reason.unwrap_or(said);
                    if let Some(held) = holders.look(self.rm, self.id).await {
                        self.progress.held(held);
                    }
                }
                // What is still said of the attempt that is over.
                Seen::Running(_, attempt) if self.attempts.is_over(attempt) => {
                    pause(&self.progress).await;
                }
                Seen::Running(address, attempt) => {
                    if let Some((lost, name)) = self.attempts.unseen(attempt) {
                        say(attempts::replaced(self.rm, lost, &name).await);
                    }
                    self.attempts.follow(attempt);
                    return Ok(Found::Address(address));
                }
                Seen::Over(report) => return Ok(Found::Ended(judge(&report))),
            }
        }
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
                None => Ok(self.attempts.unforeseen(self.id)),
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
            attached = attach(address, self.keys, beside) => attached,
            signal = self.signals.ending() => {
                return self.interrupted(signal).await.map(Followed::Ended);
            }
        };
        match attached {
            Ok(attached) => Box::pin(self.attached(attached)).await,
            Err(error) => {
                let error = chain(&error);
                if self.is_gone().await? {
                    return Ok(Followed::Lost(error));
                }
                say(format!(
                    "cannot attach to the ApplicationMaster of {} at {address}: {error}; is a \
                     firewall between here and that port? --am-ports holds it in a range. The job \
                     goes on; its output goes to the ApplicationMaster's log",
                    self.id
                ));
                self.unattached().await
            }
        }
    }

    /// Whether YARN says within a moment that the present attempt is over.
    async fn is_gone(&mut self) -> Result<bool, FollowError> {
        let deadline = Instant::now() + GONE_SOON;
        while Instant::now() < deadline {
            let report = patiently(self.rm, &self.id).await?;
            let runs = report.state == YarnApplicationState::Running;
            if !runs || self.attempts.is_another(report.current_attempt) {
                return Ok(true);
            }
            sleep(LATER).await;
        }
        Ok(false)
    }

    /// Follows a job whose ApplicationMaster cannot be reached, through the ResourceManager.
    async fn unattached(&mut self) -> Result<Followed, FollowError> {
        loop {
            let seen = tokio::select! {
                seen = look(self.rm, self.id, &mut self.progress) => seen?,
                signal = self.signals.ending() => {
                    return self.interrupted(signal).await.map(Followed::Ended);
                }
            };
            match seen {
                Seen::Running(_, attempt) if self.attempts.is_another(attempt) => {
                    return Ok(Followed::Lost("it could not be reached".into()));
                }
                Seen::Waiting(_) => {}
                Seen::Running(..) => sleep(LATER).await,
                Seen::Over(report) => return Ok(Followed::Ended(judge(&report))),
            }
        }
    }

    /// Kills the job through the ResourceManager.
    pub(crate) async fn interrupted(&mut self, signal: u8) -> Result<Ended, FollowError> {
        self.progress.clear();
        let report = kill(self.rm, &self.id, "interrupted by the user").await?;
        Ok(Ended {
            code: match report.final_status {
                FinalApplicationStatus::Succeeded => Exit::Success.code(),
                _ => 128u8.saturating_add(signal),
            },
            sentence: format!("{} was interrupted", self.id),
            verdict: None,
        })
    }

    /// Kills a job whose ApplicationMaster did not come in time; `said` is YARN's last word on it.
    pub(crate) async fn given_up(&mut self, said: &str) -> Result<Ended, FollowError> {
        self.progress.clear();
        let ended = self.wait_timeout.ended(self.id, said);
        let report = kill(self.rm, &self.id, &ended.sentence).await?;
        match report.final_status {
            // It was quicker than the order.
            FinalApplicationStatus::Succeeded => Ok(judge(&report)),
            _ => Ok(ended),
        }
    }
}

/// What came of waiting for an ApplicationMaster.
enum Found {
    /// It listens there.
    Address(String),
    /// There will be none.
    Ended(Ended),
}

/// What came of following an ApplicationMaster.
enum Followed {
    Ended(Ended),
    /// It is gone, for this reason, and with it perhaps not the job.
    Lost(String),
}

/// One look at the application, after a pause that grows with its age.
async fn look(
    rm: &ApplicationClient,
    id: ApplicationId,
    progress: &mut Progress,
) -> Result<Seen, FollowError> {
    let report = patiently(rm, &id).await?;
    let seen = match report.state {
        state if state.is_final() => return Ok(Seen::Over(Box::new(report))),
        YarnApplicationState::Running => match report.rpc_port {
            Some(port) => {
                let address = match report.host.contains(':') {
                    // As a part of an address an IPv6 address stands in brackets.
                    true => format!("[{}]:{port}", report.host),
                    false => format!("{}:{port}", report.host),
                };
                return Ok(Seen::Running(address, report.current_attempt));
            }
            None => Seen::Waiting(reason(&report)),
        },
        _ => Seen::Waiting(reason(&report)),
    };
    match &seen {
        Seen::Waiting(Some(reason)) => progress.wait(reason),
        Seen::Waiting(None) => progress.wait(NOT_STARTED),
        Seen::Running(..) | Seen::Over(_) => {}
    }
    pause(progress).await;
    Ok(seen)
}

/// Between two looks.
async fn pause(progress: &Progress) {
    let young = progress.age() < SOON_ENDS;
    sleep(if young { SOON } else { LATER }).await;
}

/// What YARN says of an application that waits, on one line.
pub fn reason(report: &ApplicationReport) -> Option<String> {
    let reason = report.diagnostics.trim();
    let says = !reason.is_empty() && reason != "N/A";
    says.then(|| reason.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A ResourceManager may restart or fail over while a job waits or runs.
pub async fn patiently(
    rm: &ApplicationClient,
    id: &ApplicationId,
) -> Result<ApplicationReport, FollowError> {
    let deadline = Instant::now() + RM_PATIENCE;
    loop {
        match rm.report(id).await {
            Ok(report) => return Ok(report),
            Err(error) if error.is_final() => return Err(error.into()),
            Err(error) if Instant::now() > deadline => return Err(error.into()),
            Err(_passing) => sleep(LATER).await,
        }
    }
}
