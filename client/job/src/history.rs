//! What became of a MapReduce job: a file of JSON in the folder `history` of the user's staging folder, which its
//! ApplicationMaster writes when the job ends, and which is there when session and application are gone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use storage::Address;

use crate::{TasksReport, wire};

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
    /// Whose it is.
    #[serde(default)]
    pub user: String,
    /// Where it has waited for slots.
    #[serde(default)]
    pub queue: String,
    /// Its input: files, and folders of several of them, the first ones; what there is beyond them is counted in the last.
    #[serde(default)]
    pub inputs: Vec<String>,
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
    /// The slot there; of one that was moved the last.
    pub slot: u32,
    /// Slots that it had before that, the first one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_slots: Vec<EarlierSlot>,
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
    /// Of one that failed: the beginning and the end of what it has written to standard output.
    #[serde(default, skip_serializing_if = "Print::is_empty")]
    pub stdout: Print,
    /// And to standard error.
    #[serde(default, skip_serializing_if = "Print::is_empty")]
    pub stderr: Print,
}

/// A slot that an attempt has left for another while it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierSlot {
    /// Of its container.
    pub slot: u32,
    /// When it left, ms since the job began.
    pub until_ms: u64,
}

impl TaskAttempt {
    /// The slots that it had, each from when until when.
    pub fn stays(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        let earlier = self.earlier_slots.iter();
        let earlier = earlier.map(|earlier| (earlier.slot, earlier.until_ms));
        let all = earlier.chain([(self.slot, self.ended_ms)]);
        all.scan(self.began_ms, |from, (slot, until)| {
            Some((slot, std::mem::replace(from, until), until))
        })
    }
}

/// What an attempt has printed on one stream, as far as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Print {
    /// Its beginning.
    pub head: String,
    /// Bytes between head and tail.
    #[serde(default)]
    pub left_out: u64,
    /// Its end.
    #[serde(default)]
    pub tail: String,
}

impl Print {
    /// Of what a launcher has told; what is no text is replaced.
    #[must_use]
    pub fn of(stream: &wire::PrintedStream) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            head: text(&stream.head),
            left_out: stream.left_out,
            tail: text(&stream.tail),
        }
    }

    /// There is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty()
    }

    /// Bytes that are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.head.len().saturating_add(self.tail.len())
    }

    /// As clients hear it while the task runs.
    #[must_use]
    pub fn stream(self) -> wire::PrintedStream {
        wire::PrintedStream {
            head: self.head.into_bytes(),
            left_out: self.left_out,
            tail: self.tail.into_bytes(),
        }
    }
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
