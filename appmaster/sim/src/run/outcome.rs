//! What a run was like.

use std::time::Duration;

pub use ::gantt::Bar;
use policy::schedule::record::RecordLine;
use policy::schedule::{Decision, Nanos};

use super::BusyTime;

/// What became of a job.
#[derive(Clone, Debug, serde::Serialize)]
pub struct JobTimes {
    /// Its name.
    pub name: String,
    /// When it was submitted, in seconds.
    pub submit_s: f64,
    /// When its first attempt began, in seconds.
    pub begin_s: f64,
    /// When its last task was done, in seconds, or it failed.
    pub end_s: f64,
    /// One of its tasks failed too often.
    pub failed: bool,
}

/// What a run was like.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Each job, in the order of submission.
    pub jobs: Vec<JobTimes>,
    /// Each attempt, in the order in which they ended.
    pub bars: Vec<Bar>,
    /// Decisions, with the nanosecond of each.
    pub decisions: Vec<(Nanos, Decision)>,
    /// When the last job was done.
    pub end: Nanos,
    /// How many events were played.
    pub events: u64,
    /// What of the processor's time went into the session and its policy, about, the rest being the simulator's own;
    /// 0 where it was not [timed](crate::WorkloadRun::timed).
    pub deciding: Duration,
    /// For how long attempts were on slots of each speed.
    pub busy: BusyTime,
    /// How many attempts were lost with what they ran on.
    pub lost: u64,
    /// SHA-256 of the decisions: equal runs have equal ones.
    pub digest: String,
    /// What was told and decided, where that is [recorded](crate::WorkloadRun::recording).
    pub record: Vec<RecordLine>,
}

pub(crate) fn in_seconds(at: Nanos) -> f64 {
    Duration::from_nanos(at.0).as_secs_f64()
}
