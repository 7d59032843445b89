//! A session ends: it takes no further job, and unregisters when the last is over. Or one job of it ends.

use job::JobId;
use job::wire;
use policy::Millis;
use policy::lifecycle::KillReason;
use proto_hadoop::yarn::FinalApplicationStatus;
use tonic::Status;

use super::Session;
use super::hear::no_job;
use crate::work::{JobEvent, WorkEvent};

impl Session {
    /// Takes no further job; `at_once`: ends those that are there.
    pub(super) fn stop(&mut self, at_once: bool, status: FinalApplicationStatus, words: String) {
        if self.life.stop(status, words) && at_once {
            self.end_all(|| JobEvent::Killed(KillReason::Terminated));
        }
    }

    fn end_all(&mut self, why: impl Fn() -> JobEvent) {
        for job in self.jobs.numbers() {
            self.tell(job, WorkEvent::Every(why()));
        }
    }

    /// A client wants a job ended.
    pub(super) fn kill_asked(&mut self, job: JobId) -> Result<(), Status> {
        if self.jobs.get(job).is_none() {
            return Err(no_job(job));
        }
        self.tell(
            job,
            WorkEvent::Every(JobEvent::ClientKill(KillReason::Interrupted)),
        );
        Ok(())
    }

    /// A client wants it stopped; how many jobs are there.
    pub(super) fn stop_asked(
        &mut self,
        at_once: bool,
        verdict: Option<wire::SessionVerdict>,
    ) -> u32 {
        let (status, words) = match verdict {
            Some(verdict) => (status(verdict.state()), verdict.sentence),
            None => {
                let words = format!("{} jobs were run", self.jobs.ended());
                (FinalApplicationStatus::Succeeded, words)
            }
        };
        self.stop(at_once, status, words);
        u32::try_from(self.jobs.len()).unwrap_or(u32::MAX)
    }

    /// Without its owner the session has no reason to be.
    pub(super) fn owner_left(&mut self, why: &str) {
        self.stop(true, FinalApplicationStatus::Killed, why.to_owned());
    }

    /// YARN ends this process, or a signal does.
    pub(super) fn terminated(&mut self) {
        let words = "the session was ended from outside".to_owned();
        let status = match self.plan.is_owned {
            // Its node ends it, as where a NodeManager stops: the next one removes what is left, and then the client
            // begins its job again. Whoever wants the end of the application tells YARN.
            true => FinalApplicationStatus::Undefined,
            false => FinalApplicationStatus::Killed,
        };
        self.stop(true, status, words);
    }

    /// A session that was started for one job, without a client that waits, ends with that job, and as it has ended.
    pub(super) fn may_end_with_job(&mut self) {
        if !self.plan.ends_with_job || !self.jobs.have_come() || !self.life.is_open() {
            return;
        }
        let (status, words) = match self.edge.detached.ended().pop() {
            Some(ended) => (by_code(ended.exit_code), ended.sentence),
            None => (FinalApplicationStatus::Succeeded, String::new()),
        };
        self.stop(false, status, words);
    }

    /// The ResourceManager does not answer. It may start another attempt of this application.
    pub(super) fn resource_manager_lost(&mut self, silent: Millis) {
        let words = format!(
            "no answer from the ResourceManager for {} s",
            silent.0 / 1000
        );
        self.stop(false, FinalApplicationStatus::Failed, words);
        self.end_all(|| JobEvent::ResourceManagerLost { silent });
    }
}

/// What a job has come to whose command would have returned that.
const fn by_code(code: i32) -> FinalApplicationStatus {
    match code {
        0 => FinalApplicationStatus::Succeeded,
        // A signal's.
        129.. => FinalApplicationStatus::Killed,
        _ => FinalApplicationStatus::Failed,
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
