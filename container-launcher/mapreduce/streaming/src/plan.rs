//! What tasks are told of a job: its params.

use serde::{Deserialize, Serialize};

/// What a stage does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// Records go on as they are.
    #[default]
    Identity,
    /// Keys say how their values are joined.
    Aggregate,
    /// This command is handed lines and prints lines.
    Command(String),
}

/// A file that the job brings along, and its name in the working folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brought {
    /// Where it is on this machine.
    pub path: String,
    /// What the command finds it as.
    pub link: String,
}

/// What tasks are told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamPlan {
    /// Each map.
    pub(crate) map: Stage,
    /// Each sorted run of a map, if anything is done with it.
    pub(crate) combine: Option<Stage>,
    /// Each reduce.
    pub(crate) reduce: Stage,
    /// Names in the working folder of the job, which each command finds in its own.
    pub(crate) links: Vec<String>,
    /// The working folder of the job; none: that of the task's process.
    pub(crate) folder: Option<String>,
    /// Variables of the commands.
    pub(crate) environment: Vec<(String, String)>,
}
