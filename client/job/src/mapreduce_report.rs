//! What `gerbil mr --report FILE` writes, one JSON object. Fields may be added, and one that is absent has its default;
//! none changes its meaning.

use serde::{Deserialize, Serialize};

use crate::TasksReport;

/// One run of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MapReduceReport {
    /// By which its user calls the session that ran the jobs; empty: it was an application of their own.
    pub session: String,
    /// The program, as the user gave it.
    pub program: String,
    /// What the command exited with.
    pub exit_code: i32,
    /// The cause in one sentence; empty for a success.
    pub sentence: String,
    /// The command began, microseconds since 1970.
    pub started_us: i64,
    /// It was over, microseconds since 1970.
    pub finished_us: i64,
    /// Those that were taken, in the order of their ends.
    pub jobs: Vec<MapReduceJobReport>,
}

/// One of its jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MapReduceJobReport {
    /// By which it is called: its application and its number there.
    pub id: String,
    /// As lists call it.
    pub name: String,
    /// Where its output lies, if it has succeeded.
    pub output: String,
    /// Bytes of its input.
    pub input_bytes: u64,
    /// What its stages need of their nodes.
    pub needs: Vec<StageNeed>,
    /// As of a command that runs this job alone.
    pub exit_code: i32,
    /// The cause in one sentence; empty for a success.
    pub sentence: String,
    /// It was taken, microseconds since 1970.
    pub submitted_us: i64,
    /// It was over, microseconds since 1970.
    pub ended_us: i64,
    /// What its tasks came to; `None`: it never began, or was lost.
    pub tasks: Option<TasksReport>,
}

/// What a stage of a job needs of its nodes, and why that is thought.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageNeed {
    /// `map`, `combine` or `reduce`.
    pub stage: String,
    /// `gpu`, `fpga`, or a type of the cluster's; `None`: nothing.
    pub need: Option<String>,
    /// 1: declared; 2: found, or not, in files.
    pub level: u8,
    /// Where, a few words each.
    pub evidence: Vec<String>,
    /// `declared`, `sure`, `likely` or `none`.
    pub confidence: String,
}
