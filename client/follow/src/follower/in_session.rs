//! A job of a session: the application is everybody's there, and is never told to end on account of one job.
//! What ends it early is an order to its ApplicationMaster.

use job::exit::Exit;
use job::wire;
use proto_hadoop::{ApplicationClient, ApplicationId};
use tokio::time::timeout;

use super::attach::{Coming, attach_over};
use super::lost::ROOT_PATIENCE;
use super::mirror::{JobOver, Mirrored, Mirroring};
use super::redial::Unheard;
use super::{Follower, LATER};
use crate::conclusion::{Conclusion, Given, JobEnd, Written, conclude};
use crate::dial::Dialled;
use crate::ended::{Ended, by_verdict, chain, judge};
use crate::timeout::WaitTimeout;

/// A job that a session has taken.
#[derive(Debug)]
pub struct InSession<'a> {
    /// The job.
    pub follower: Follower<'a>,
    /// By which the user calls the session.
    pub name: String,
    /// The job's number in it.
    pub job: u32,
    /// For the job to run.
    pub wait_timeout: WaitTimeout,
}

impl InSession<'_> {
    /// Until the job is over. The session's ApplicationMaster has been dialled to submit it.
    pub async fn follow(mut self, dialled: Dialled) -> Ended {
        let address = dialled.address.clone();
        let attaching = attach_over(
            dialled,
            self.follower.keys,
            Coming::to_follow(self.job),
            None,
        );
        tokio::pin!(attaching);
        let mut asked = None;
        let attached = loop {
            tokio::select! {
                attached = &mut attaching => break attached,
                // It is to be told to end, and for that we have to be its client.
                signal = self.follower.signals.ending() => match asked.replace(signal) {
                    None => {}
                    Some(_) => return self.left(signal),
                },
            }
        };
        let attached = match attached {
            Ok(attached) => attached,
            Err(error) => {
                let why = chain(&error);
                return self.lost(&why).await;
            }
        };
        let how = Mirroring {
            ends_with_us: true,
            once_more: "to leave it to the session",
            asked,
            patience: Some(self.wait_timeout),
        };
        match Box::pin(self.follower.mirror(attached, how)).await {
            Mirrored::Over(over) => self.said(*over),
            Mirrored::Urged {
                signal,
                is_over: true,
                written,
            } => self.cut(signal, written),
            Mirrored::Urged { signal, .. } => self.left(signal),
            Mirrored::Broken {
                signalled: Some(signal),
                ..
            } => self.left(signal),
            Mirrored::Broken {
                signalled: None,
                why,
                ..
            } => self.unheard(&address, &why).await,
        }
    }

    /// The link broke. Its other end may be well.
    async fn unheard(&mut self, address: &str, why: &str) -> Ended {
        self.follower
            .progress
            .show(format!("the connection broke ({why}), dialling again"));
        let unheard = Unheard {
            address,
            keys: self.follower.keys,
            name: &self.name,
            job: self.job,
            has_tasks: false,
            why,
        };
        let asked = tokio::select! {
            asked = unheard.ask() => asked,
            signal = self.follower.signals.ending() => return self.left(signal),
        };
        self.follower.progress.clear();
        match asked {
            Some(ended) => ended,
            None => self.lost(why).await,
        }
    }

    /// What the ApplicationMaster's last word comes to.
    fn said(&self, over: JobOver) -> Ended {
        let was_killed = over.verdict.state() == wire::FinalState::Killed;
        let mut ended = by_verdict(over.verdict, over.signalled, over.given, over.written);
        let is_asked = over.signalled.is_some() || over.is_late;
        if was_killed && ended.code == Exit::Killed.code() && !is_asked {
            // Not for its own sake.
            ended.sentence = format!(
                "{} was ended with its session: {}",
                self.words(),
                ended.sentence
            );
        }
        if over.is_late && was_killed {
            ended.code = Exit::NotInTime.code();
            ended.sentence = format!(
                "{} did not run within {:?} (--wait-timeout), so it was given up; gerbil session status {} \
                 shows who has the slots",
                self.words(),
                self.wait_timeout.limit().unwrap_or_default(),
                self.name
            );
        }
        ended
    }

    /// The job is over, and the user does not wait for the last of its output.
    fn cut(&mut self, signal: u8, written: Written) -> Ended {
        self.follower.progress.clear();
        let sentence = format!(
            "{} is over; the command was interrupted before all of its output was written",
            self.words()
        );
        let end = JobEnd::Killed(Exit::Killed.code());
        let Conclusion { code, sentence } =
            conclude(end, &sentence, Some(signal), Given::All, written);
        Ended {
            code,
            sentence,
            verdict: None,
        }
    }

    /// The user does not wait for the end.
    fn left(&mut self, signal: u8) -> Ended {
        self.follower.progress.clear();
        Ended {
            code: 128u8.saturating_add(signal),
            sentence: format!(
                "{} was told to end, and not waited for; gerbil session status {} shows whether it is gone",
                self.words(),
                self.name
            ),
            verdict: None,
        }
    }

    /// Whoever runs the job cannot be heard any more.
    async fn lost(&mut self, why: &str) -> Ended {
        self.follower.progress.clear();
        let (rm, id) = (self.follower.rm, self.follower.id);
        lost(rm, id, &self.name, &self.words(), why).await
    }

    fn words(&self) -> String {
        format!("job {} of session {}", self.job, self.name)
    }
}

/// How a job ends, of these `words`, when the ApplicationMaster of session `name` cannot be heard any more.
/// YARN may know why.
async fn lost(
    rm: &ApplicationClient,
    id: ApplicationId,
    name: &str,
    words: &str,
    why: &str,
) -> Ended {
    let mut code = Exit::Lost.code();
    let mut sentence =
        format!("lost the ApplicationMaster of session {name} ({id}), and with it {words}: {why}");
    // A NodeManager that lives tells YARN within a heartbeat.
    let over = async {
        loop {
            match rm.report(&id).await {
                Ok(report) if report.state.is_final() => return Some(judge(&report)),
                Ok(_) => tokio::time::sleep(LATER).await,
                Err(_unknown) => return None,
            }
        }
    };
    if let Ok(Some(judged)) = timeout(ROOT_PATIENCE, over).await {
        if judged.code == Exit::Killed.code() {
            // As a job whose application is its own.
            code = judged.code;
        }
        sentence.push_str(match judged.sentence.as_str() {
            "" => "; its application is over",
            _ => "; ",
        });
        sentence.push_str(&judged.sentence);
    }
    Ended {
        code,
        sentence,
        verdict: None,
    }
}
