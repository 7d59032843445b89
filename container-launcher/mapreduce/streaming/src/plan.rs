//! What tasks are told of a job: its params.

use std::path::PathBuf;

use gerbil_mapreduce::{ErrorContext as _, Result};
use serde::{Deserialize, Serialize};

use crate::stage::At;

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

impl StreamPlan {
    /// What is done there.
    pub(crate) fn stage(&self, at: At) -> Stage {
        match at {
            At::Map => self.map.clone(),
            At::Combine => self.combine.clone().unwrap_or_default(),
            At::Reduce => self.reduce.clone(),
        }
    }

    /// The working folder of the job.
    pub(crate) fn job_folder(&self) -> Result<PathBuf> {
        match &self.folder {
            Some(folder) => Ok(PathBuf::from(folder)),
            None => std::env::current_dir().context(|| "the working folder"),
        }
    }
}
