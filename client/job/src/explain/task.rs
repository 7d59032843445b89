//! What is told of a MapReduce job's attempts.

use serde::{Deserialize, Serialize};

use crate::history::{AttemptEnd, TaskStage};

/// How near the input of a map is to where it runs, or what was gathered for a reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Locality {
    /// On the node.
    Node,
    /// In its rack.
    Rack,
    /// In another rack.
    Elsewhere,
    /// It has none that is on a node.
    Nowhere,
}

/// An attempt has a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPlaced {
    /// When, ms.
    pub at_ms: u64,
    /// Of which job, as its folder beside the output is called.
    pub job: String,
    /// Of which stage its task is.
    pub stage: TaskStage,
    /// The number of a map, or of a partition.
    pub task: u32,
    /// Attempts that there were at it before.
    pub attempt: u32,
    /// Host of its container.
    pub host: String,
    /// YARN's id of that.
    pub container: String,
    /// Which of its slots.
    pub slot: u32,
    /// Absent of a reduce for which nothing was gathered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Locality>,
    /// Where its input is, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_hosts: Vec<String>,
    /// Another attempt at the task runs, which takes longer than others.
    #[serde(default)]
    pub is_copy: bool,
}

/// An attempt that ran is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEnded {
    /// When, ms.
    pub at_ms: u64,
    /// Of which job, as its folder beside the output is called.
    pub job: String,
    /// Of which stage its task is.
    pub stage: TaskStage,
    /// The number of a map, or of a partition.
    pub task: u32,
    /// Attempts that there were at it before.
    pub attempt: u32,
    /// Host of its container.
    pub host: String,
    /// How it ended.
    pub end: AttemptEnd,
    /// How long it ran, ms.
    pub took_ms: u64,
    /// Bytes that it has left.
    pub output_bytes: u64,
    /// Why it failed; empty where it did not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sentence: String,
}

/// Why a partition is gathered elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyMoved {
    /// Its home lags behind those of others.
    Lags,
    /// Tasks there lack room.
    Full,
}

/// What reduces are to read of a partition is gathered elsewhere than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomeMoved {
    /// When, ms.
    pub at_ms: u64,
    /// Of which job, as its folder beside the output is called.
    pub job: String,
    /// Which.
    pub partition: u32,
    /// Host where it was gathered.
    pub from: String,
    /// Host where it is.
    pub to: String,
    /// Why.
    pub why: WhyMoved,
    /// About how many bytes were lacking there.
    pub lacks_bytes: u64,
    /// For how long the first of them had been, ms.
    pub behind_ms: u64,
}
