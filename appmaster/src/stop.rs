//! A session ends: it takes no further job, and unregisters when the last is over. Or one job of it ends.

use job::JobId;
use job::wire;
use policy::Millis;
use policy::lifecycle::{KillReason, LifecycleEvent};
use proto_hadoop::yarn::FinalApplicationStatus;
use tonic::Status;

use crate::session::Session;
use crate::sharing::SessionState;
use crate::work::WorkEvent;

impl Session {
    /// Takes no further job; `at_once`: ends those that are there.
    pub(crate) fn stop(&mut self, at_once: bool, status: FinalApplicationStatus, words: String) {
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        match &sharing.stage {
            SessionState::Open => {
                tracing::info!("the session stops: {words}");
                sharing.stage = SessionState::Stopping(status, words);
            }
            SessionState::Stopping(..) => {}
            // It ends by itself when that is done.
            SessionState::Recovering | SessionState::Unregistering | SessionState::Over => return,
        }
        if at_once {
            self.end_all(&LifecycleEvent::KillRequested(KillReason::Terminated));
        }
    }

    fn end_all(&mut self, event: &LifecycleEvent) {
        let all: Vec<JobId> = self.jobs.keys().copied().collect();
        for job in all {
            self.tell(job, WorkEvent::Machine(event.clone()));
        }
    }

    /// A client wants a job ended.
    pub(crate) fn kill_asked(&mut self, job: JobId) -> Result<(), Status> {
        if self.loan(job).is_none() {
            let none = format!("there is no job {} here: it is over, or never was", job.0);
            return Err(Status::not_found(none));
        }
        self.tell(job, WorkEvent::ClientKill(KillReason::Interrupted));
        Ok(())
    }

    /// A client wants it stopped; how many jobs are there.
    pub(crate) fn stop_asked(
        &mut self,
        at_once: bool,
        verdict: Option<wire::SessionVerdict>,
    ) -> Result<u32, Status> {
        let Some(sharing) = &self.sharing else {
            return Err(Status::failed_precondition(
                "this application was started for one job and is no session",
            ));
        };
        let (status, words) = match verdict {
            Some(verdict) => (status(verdict.state()), verdict.sentence),
            None => {
                let words = format!("{} jobs were run", sharing.ended);
                (FinalApplicationStatus::Succeeded, words)
            }
        };
        self.stop(at_once, status, words);
        Ok(u32::try_from(self.jobs.len()).unwrap_or(u32::MAX))
    }

    /// Without its owner the session has no reason to be.
    pub(crate) fn owner_left(&mut self, why: &str) {
        self.stop(true, FinalApplicationStatus::Killed, why.to_owned());
    }

    /// YARN, or whoever may, ends this process.
    pub(crate) fn terminated(&mut self) {
        let words = "the session was ended from outside".to_owned();
        self.stop(true, FinalApplicationStatus::Killed, words);
    }

    /// Nobody answers as the ResourceManager, which may start another attempt of this application.
    pub(crate) fn resource_manager_lost(&mut self, silent: Millis) {
        let words = format!(
            "no answer from the ResourceManager for {} s",
            silent.0 / 1000
        );
        self.stop(false, FinalApplicationStatus::Failed, words);
        self.end_all(&LifecycleEvent::ResourceManagerLost { silent });
    }

    /// A session that stops, and whose last job is over, gives back what it holds and unregisters.
    pub(crate) fn may_unregister(&mut self) {
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        let SessionState::Stopping(status, words) = sharing.stage.clone() else {
            return;
        };
        if !self.jobs.is_empty() {
            return;
        }
        sharing.stage = SessionState::Unregistering;
        if let Some(book) = sharing.book.clone().filter(|_| sharing.next_job > 1) {
            self.tasks.spawn(async move {
                if let Err(sentence) = book.clear().await {
                    tracing::warn!("records of jobs are left: {sentence}");
                }
            });
        }
        let wants = sharing.pool.end();
        self.want(wants);
        self.holding.finish(status, words);
    }

    /// The ResourceManager knows that the session is over, or cannot be told.
    pub(crate) fn unregistered(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            sharing.stage = SessionState::Over;
        }
    }
}

/// As YARN says it.
const fn status(state: wire::FinalState) -> FinalApplicationStatus {
    match state {
        wire::FinalState::Succeeded => FinalApplicationStatus::Succeeded,
        wire::FinalState::Failed => FinalApplicationStatus::Failed,
        wire::FinalState::Killed => FinalApplicationStatus::Killed,
    }
}
