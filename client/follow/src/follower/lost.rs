//! When the ApplicationMaster, or its word, is lost: what YARN knows of it.

use std::ops::ControlFlow;
use std::time::Duration;

use job::exit::Exit;
use proto_hadoop::yarn::YarnApplicationState;
use tokio::time::{Instant, sleep, timeout};

use super::{LATER, SubmittedApplication, patiently};
use crate::attempts::{self, Lost};
use crate::conclusion::Written;
use crate::ended::{Ended, judge};
use crate::error::FollowError;
use crate::kill::kill;
use terminal::interruptible;

/// Each for the ResourceManager to take the verdict from the ApplicationMaster, which goes on trying
/// without us, and for its own account of a job that is lost.
pub(super) const ROOT_PATIENCE: Duration = Duration::from_secs(5);

impl SubmittedApplication<'_> {
    /// The ResourceManager has not taken the verdict. Where that is because it has itself given the
    /// ApplicationMaster up, what that saw are the consequences, or the other side of the same.
    pub(super) async fn find_the_root(&mut self, ended: &mut Ended, place: &str) {
        let asking = timeout(ROOT_PATIENCE, self.follower.rm.report(&self.follower.id));
        let asked = interruptible(self.follower.signals, asking).await;
        let ControlFlow::Continue(Ok(Ok(report))) = asked else {
            return;
        };
        if report.state != YarnApplicationState::Failed {
            return;
        }
        let root = judge(&report).sentence;
        ended.sentence = match ended.code == Exit::Lost.code() {
            true => format!(
                "{}; YARN has given up its ApplicationMaster {place}: {root}",
                ended.sentence
            ),
            // It was told to end, and nobody has asked for that.
            false => format!(
                "lost the ApplicationMaster of {} {place}: {root}",
                self.follower.id
            ),
        };
        ended.code = Exit::Lost.code();
    }

    /// The link broke without a verdict: the ResourceManager knows what became of the job. `None`:
    /// there is another attempt.
    pub(super) async fn lost(&mut self, why: &str) -> Result<Option<Ended>, FollowError> {
        let deadline = Instant::now() + self.attempts.patience();
        self.follower
            .progress
            .show(format!("lost the ApplicationMaster ({why}), asking YARN"));
        while Instant::now() < deadline {
            let report = tokio::select! {
                report = patiently(self.follower.rm, &self.follower.id) => report,
                signal = self.follower.signals.ending() => return self.interrupted(signal, Written::Part).await.map(Some),
            };
            let report = match report {
                Ok(report) => report,
                // That nobody answers is no reason why it was lost.
                Err(silence) => {
                    return Ok(Some(Ended {
                        code: Exit::Lost.code(),
                        sentence: format!(
                            "lost the ApplicationMaster of {}: {why}; nor could YARN be asked: {silence}",
                            self.follower.id
                        ),
                        verdict: None,
                    }));
                }
            };
            if report.state.is_final() {
                let mut ended = judge(&report);
                if ended.code == 0 || ended.sentence.is_empty() {
                    return Ok(Some(ended));
                }
                if report.state != YarnApplicationState::Killed && ended.code == Exit::Killed.code()
                {
                    // It ended the job because it had lost us, too.
                    ended.code = Exit::Lost.code();
                }
                ended.sentence = format!(
                    "lost the ApplicationMaster of {}: {}",
                    self.follower.id, ended.sentence
                );
                return Ok(Some(ended));
            }
            match self.attempts.next(&report, self.follower.input.is_spent()) {
                Lost::Still => {}
                Lost::Replaced { lost, name } => {
                    if let ControlFlow::Break(signal) = self.say_replaced(lost, &name).await {
                        return self.interrupted(signal, Written::Part).await.map(Some);
                    }
                    self.follower.progress = self.follower.progress.anew();
                    self.wait_timeout = self.wait_timeout.anew();
                    return Ok(None);
                }
                Lost::Spent => {
                    let (rm, id) = (self.follower.rm, self.follower.id);
                    let killed = kill(rm, &id, attempts::SPENT);
                    match interruptible(self.follower.signals, killed).await {
                        ControlFlow::Continue(killed) => drop(killed?),
                        ControlFlow::Break(signal) => {
                            return Ok(Some(Ended::unawaited(id, signal)));
                        }
                    }
                    return Ok(Some(Ended {
                        code: Exit::Lost.code(),
                        sentence: format!(
                            "lost the ApplicationMaster of {}: {why}; {}",
                            self.follower.id,
                            attempts::SPENT
                        ),
                        verdict: None,
                    }));
                }
            }
            tokio::select! {
                () = sleep(LATER) => {}
                signal = self.follower.signals.ending() => return self.interrupted(signal, Written::Part).await.map(Some),
            }
        }
        // It may be cut off from us alone; what nobody follows must not stay.
        let (rm, id) = (self.follower.rm, self.follower.id);
        let killed = kill(rm, &id, "the client lost the ApplicationMaster");
        match interruptible(self.follower.signals, killed).await {
            ControlFlow::Continue(killed) => drop(killed?),
            ControlFlow::Break(signal) => return Ok(Some(Ended::unawaited(id, signal))),
        }
        Ok(Some(Ended {
            code: Exit::Lost.code(),
            sentence: format!(
                "lost the ApplicationMaster of {}: {why}; YARN still took it for alive after {} s, \
                 so the job was killed",
                self.follower.id,
                self.attempts.patience().as_secs()
            ),
            verdict: None,
        }))
    }
}
