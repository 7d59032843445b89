//! The end of a job whose application is its own, where its ApplicationMaster has said it, and what YARN has
//! to say of that.

use std::ops::ControlFlow;

use job::exit::Exit;
use job::wire;
use proto_hadoop::yarn::{ApplicationReport, YarnApplicationState};
use tokio::time::timeout;

use super::attach::Attached;
use super::lost::ROOT_PATIENCE;
use super::mirror::{JobOver, Mirrored, Mirroring};
use super::patiently;
use super::submitted_application::{Followed, SubmittedApplication};
use crate::ended::{by_verdict, judge};
use crate::error::FollowError;
use terminal::{interruptible, say};

impl SubmittedApplication<'_> {
    /// Until the last word is said and the last byte is written.
    pub(super) async fn attached(&mut self, attached: Attached) -> Result<Followed, FollowError> {
        let how = Mirroring {
            ends_with_us: true,
            once_more: "to end it at once",
            asked: None,
            // The ApplicationMaster keeps it.
            patience: None,
        };
        match self.follower.mirror(attached, how).await {
            Mirrored::Over(over) => self.said(*over).await,
            // Nobody wants another attempt.
            Mirrored::Urged {
                signal, written, ..
            }
            | Mirrored::Broken {
                signalled: Some(signal),
                written,
                ..
            } => self.interrupted(signal, written).await.map(Followed::Ended),
            Mirrored::Broken {
                signalled: None,
                why,
                ..
            } => Ok(Followed::Lost(why)),
        }
    }

    /// What the ApplicationMaster's last word comes to.
    async fn said(&mut self, over: JobOver) -> Result<Followed, FollowError> {
        let JobOver {
            verdict,
            mut events,
            presence: _until_the_end,
            signalled,
            given,
            written,
            place,
            ..
        } = over;
        // The last event follows at once, or never: the verdict is said.
        let is_lost = verdict.exit_code == i32::from(Exit::Lost.code());
        let last = timeout(ROOT_PATIENCE, events.message());
        let last = match interruptible(self.follower.signals, last).await {
            ControlFlow::Continue(last) => last,
            ControlFlow::Break(signal) => {
                let is_killed = verdict.exit_code == i32::from(Exit::Killed.code());
                if (is_lost || is_killed) && self.attempts.are_left() {
                    // There may be another attempt.
                    return self.interrupted(signal, written).await.map(Followed::Ended);
                }
                let signal = signalled.or(Some(signal));
                let ended = by_verdict(verdict, signal, given, written);
                return Ok(Followed::Ended(ended));
            }
        };
        let is_taken = matches!(last, Ok(Ok(Some(wire::JobEvent { event: Some(_) }))));
        if !is_taken && is_lost && self.attempts.are_left() {
            // An attempt that YARN has given up, and that knows it, is not the job.
            return Ok(Followed::Lost(verdict.sentence));
        }
        let mut ended = by_verdict(verdict, signalled, given, written);
        let is_told = ended.code == Exit::Killed.code() && signalled.is_none();
        if !is_taken && is_told && self.attempts.are_left() {
            let report = match self.asked().await {
                ControlFlow::Continue(report) => report?,
                ControlFlow::Break(signal) => {
                    return self.interrupted(signal, written).await.map(Followed::Ended);
                }
            };
            if report.state != YarnApplicationState::Killed {
                // Told to end because YARN has given this attempt up: the next is the job.
                return Ok(Followed::Lost(ended.sentence));
            }
        }
        if !is_taken && (is_lost || is_told) {
            self.find_the_root(&mut ended, &place).await;
        }
        if ended.code == Exit::Killed.code() && signalled.is_none() {
            // By whom and why, YARN alone knows. Who does not wait for that has the ApplicationMaster's words.
            if let ControlFlow::Continue(report) = self.asked().await
                && let report = report?
                && report.state == YarnApplicationState::Killed
            {
                ended.sentence = judge(&report).sentence;
            }
        }
        if !is_taken && ended.code == Exit::Success.code() {
            say(format!(
                "the ResourceManager has not taken the verdict of {}, a success; YARN may record a \
                 failure",
                self.follower.id
            ));
        }
        Ok(Followed::Ended(ended))
    }

    /// What YARN says of the application, unless a signal ends the wait for it.
    pub(super) async fn asked(
        &mut self,
    ) -> ControlFlow<u8, Result<ApplicationReport, FollowError>> {
        let asking = patiently(self.follower.rm, &self.follower.id);
        interruptible(self.follower.signals, asking).await
    }
}
