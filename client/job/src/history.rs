//! What became of a MapReduce job: a file of JSON in the folder `history` of the user's staging folder, which its
//! ApplicationMaster writes when the job ends, and which is there when session and application are gone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use storage::Address;

use crate::TasksReport;

/// What these files are called behind the job's text.
pub const SUFFIX: &str = ".json";
/// The folder of these files, in the staging folder.
pub const FOLDER: &str = "history";

/// The folder that a job's file goes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryFolder {
    /// Its file system.
    pub address: Address,
    /// Absolute.
    pub path: String,
}

/// One job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobHistory {
    /// Of this form: [`JobHistory::VERSION`].
    pub version: u32,
    /// `application_1700000000000_0042_7`: job 7 of that application.
    pub job: String,
    /// What lists call it.
    pub name: String,
    /// Its output folder, a URL.
    pub output: String,
    /// When the session took it, ms since 1970 by the clock of the ApplicationMaster.
    pub began_ms: u64,
    /// From then until its output was there or given up, ms.
    pub took_ms: u64,
    /// How it ended.
    pub state: JobState,
    /// Why it failed; empty: it did not.
    pub sentence: String,
    /// Of its input.
    pub bytes: u64,
    /// Counters, numbers of tasks, times.
    pub report: TasksReport,
    /// All settings.
    pub settings: BTreeMap<String, String>,
    /// In the order of their ends.
    pub attempts: Vec<TaskAttempt>,
    /// Attempts beyond those that are kept.
    pub attempts_left_out: u64,
}

/// How a job ended, as YARN says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum JobState {
    /// All of its output is there.
    #[default]
    Succeeded,
    /// It has no output.
    Failed,
    /// Somebody has ended it.
    Killed,
}

/// One attempt at a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAttempt {
    /// A map or a reduce.
    pub stage: TaskStage,
    /// The number of the map, or of the reduce's partition.
    pub task: u32,
    /// How many there were at this task before.
    pub attempt: u32,
    /// Its node.
    pub host: String,
    /// YARN's id of its container.
    pub container: String,
    /// The slot there.
    pub slot: u32,
    /// When its launcher was told to start it, ms since the job began.
    pub began_ms: u64,
    /// When its end was known, ms since the job began.
    pub ended_ms: u64,
    /// How it ended.
    pub end: AttemptEnd,
    /// What it has left: of a map its part of all partitions, of a reduce its files.
    pub output_bytes: u64,
    /// Why it failed; empty: it did not.
    pub sentence: String,
}

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskStage {
    /// It reads a split.
    Map,
    /// It reads a partition.
    Reduce,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AttemptEnd {
    /// Its result was there.
    Succeeded,
    /// It counts against its task.
    Failed,
    /// Nobody wanted it any more.
    Killed,
    /// Its container was lost, or what it was to read.
    Lost,
    /// It found no device, and its task is queued again as one that needs it.
    #[serde(rename = "NO_DEVICE")]
    NoDevice,
}

impl JobHistory {
    /// Of the form that is written. A reader takes what it knows, and does without what is missing.
    pub const VERSION: u32 = 1;
}
