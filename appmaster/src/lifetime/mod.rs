//! How long a session lives: it takes jobs until a client, YARN, its owner or idleness stops it, and is over when the
//! ResourceManager knows.
//!
//! ```text
//! open ─▶ stopping ── the last job is over ─▶ unregistering ── the ResourceManager knows ─▶ over
//! recovering ─▶ stopping (an ApplicationMaster that comes after another takes no jobs)
//! ```

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod owner;
#[cfg(test)]
mod tests;

use policy::Millis;
use proto_hadoop::yarn::FinalApplicationStatus;

use crate::loop_event::JobEvents;

pub(crate) use owner::NOT_OWNED;
use owner::Owner;

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// The jobs of an ApplicationMaster that was lost are brought to an end; it takes none.
    Recovering,
    /// It takes jobs.
    Open,
    /// It takes none, and ends with the last.
    Stopping(FinalApplicationStatus, String),
    /// The ResourceManager is being told.
    Unregistering,
    /// The ResourceManager knows, or cannot be told.
    Over,
}

/// Why a session stops by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// No job has come for too long.
    Idle,
    /// The client with which it is to end has not come.
    OwnerMissed,
}

/// The life of one session.
#[derive(Debug)]
pub(crate) struct Lifetime {
    stage: Stage,
    owner: Owner,
    /// Without jobs it stops after this; `None`: never.
    idle: Option<Millis>,
    /// Without jobs since then.
    idle_since: Option<Millis>,
    /// The file with what was decided is being closed.
    awaits_record: bool,
}

impl Lifetime {
    /// A session begins at time 0.
    pub(crate) fn new(is_owned: bool, idle: Option<Millis>) -> Self {
        Self {
            stage: Stage::Open,
            owner: match is_owned {
                true => Owner::awaited(Millis(0)),
                false => Owner::NoClient,
            },
            idle,
            idle_since: Some(Millis(0)),
            awaits_record: false,
        }
    }

    /// The ApplicationMaster comes after another, whose jobs are brought to an end first.
    pub(crate) fn recover(&mut self) {
        self.stage = Stage::Recovering;
    }

    /// They are over, as far as that could be done: so is the session.
    pub(crate) fn recovered(&mut self, words: String) {
        self.stage = Stage::Stopping(FinalApplicationStatus::Failed, words);
    }

    /// It takes jobs.
    pub(crate) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// It ends with its last job.
    pub(crate) fn is_stopping(&self) -> bool {
        matches!(self.stage, Stage::Stopping(..))
    }

    /// Its record is being closed: until then it does not unregister.
    pub(crate) fn record_closes(&mut self) {
        self.awaits_record = true;
    }

    /// Its record is closed.
    pub(crate) fn record_closed(&mut self) {
        self.awaits_record = false;
    }

    /// Whether it is being closed.
    pub(crate) fn awaits_record(&self) -> bool {
        self.awaits_record
    }

    /// Containers that are lost are replaced: jobs are there or may come.
    pub(crate) fn holds_containers(&self) -> bool {
        matches!(self.stage, Stage::Open | Stage::Stopping(..))
    }

    /// The ResourceManager knows, or cannot be told.
    pub(crate) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// From now on it takes no job. With an undefined `status` YARN is not told, and starts the next ApplicationMaster.
    /// `false`: it ends by itself when something else is done.
    pub(crate) fn stop(&mut self, status: FinalApplicationStatus, words: String) -> bool {
        match &self.stage {
            Stage::Open => {
                tracing::info!("the session stops: {words}");
                self.stage = Stage::Stopping(status, words);
                true
            }
            Stage::Stopping(..) => true,
            Stage::Recovering | Stage::Unregistering | Stage::Over => false,
        }
    }

    /// The last job of a session that stops is over: how it ended, and why. From now on it unregisters.
    pub(crate) fn unregister(&mut self) -> Option<(FinalApplicationStatus, String)> {
        let Stage::Stopping(status, words) = &mut self.stage else {
            return None;
        };
        let verdict = (*status, std::mem::take(words));
        self.stage = Stage::Unregistering;
        Some(verdict)
    }

    /// The ResourceManager knows that the session is over, or cannot be told.
    pub(crate) fn unregistered(&mut self) {
        self.stage = Stage::Over;
    }

    /// A job has come.
    pub(crate) fn job_came(&mut self) {
        self.idle_since = None;
    }

    /// A job is over; `is_last`: no other is there.
    pub(crate) fn job_over(&mut self, now: Millis, is_last: bool) {
        self.idle_since = is_last.then_some(now);
    }

    /// A client comes with which the session is to end.
    ///
    /// # Errors
    /// None is awaited.
    pub(crate) fn owner_comes(&mut self, events: JobEvents) -> Result<(), &'static str> {
        self.owner.comes(events)
    }

    /// What is due when.
    pub(crate) fn dues(&self) -> [(&'static str, Option<Millis>); 2] {
        let idle = self.idle_until().filter(|_| self.is_open());
        let owner = self.owner.wakes_at().filter(|_| self.is_open());
        [("a session without jobs", idle), ("its client", owner)]
    }

    /// Why it stops by itself now.
    pub(crate) fn due(&self, now: Millis) -> Vec<Reason> {
        if !self.is_open() {
            return Vec::new();
        }
        let is_idle = self.idle_until().is_some_and(|at| now >= at);
        let reasons = [
            (is_idle, Reason::Idle),
            (self.owner.is_missed(now), Reason::OwnerMissed),
        ];
        let due = reasons.into_iter().filter(|(is_due, _)| *is_due);
        due.map(|(_, reason)| reason).collect()
    }

    fn idle_until(&self) -> Option<Millis> {
        Some(self.idle_since?.plus(self.idle?))
    }
}
