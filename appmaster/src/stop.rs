//! A session ends: it takes no further job, and unregisters when the last is over. Or one job of it ends.

use job::JobId;
use job::recovered::Recovered;
use job::wire;
use policy::Millis;
use policy::lifecycle::{KillReason, LifecycleEvent};
use proto_hadoop::yarn::FinalApplicationStatus;
use tonic::Status;

use crate::session::Session;
use crate::work::WorkEvent;

impl Session {
    /// Takes no further job; `at_once`: ends those that are there.
    pub(crate) fn stop(&mut self, at_once: bool, status: FinalApplicationStatus, words: String) {
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        if sharing.life.stop(status, words) && at_once {
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
        if !self.jobs.is_empty() {
            return;
        }
        let Some((status, words)) = sharing.life.unregister() else {
            return;
        };
        if sharing.next_job > 1
            && let Some(clearing) = sharing.ledger.clear()
        {
            self.tasks.spawn(clearing);
        }
        let wants = sharing.pool.end();
        self.want(wants);
        self.holding.finish(status, words);
    }

    /// The jobs of the ApplicationMaster before this one are over, as far as that could be done: so is the session.
    pub(crate) fn recovered(&mut self, recovered: &Recovered) {
        let words = recovered.sentence();
        tracing::warn!("{words}");
        if let Some(sharing) = &mut self.sharing {
            sharing.life.recovered(words);
        }
    }

    /// The ResourceManager knows that the session is over, or cannot be told.
    pub(crate) fn unregistered(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            sharing.life.unregistered();
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
