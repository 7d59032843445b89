//! What jobs have left behind.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Cluster;
use crate::sweep::{self, FoundProcess};
use crate::wait;

/// What a job has left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Processes of containers.
    pub processes: Vec<FoundProcess>,
    /// Files and folders of jobs in the users' staging folders.
    pub staged: Vec<String>,
}

impl Leftovers {
    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Cluster {
    /// The processes of containers that run now, launch scripts among them.
    ///
    /// # Errors
    ///
    /// `/proc` cannot be read.
    pub fn container_processes(&self) -> Result<Vec<FoundProcess>> {
        sweep::find(&self.containers_mark())
    }

    /// What jobs have left behind at this moment.
    ///
    /// # Errors
    ///
    /// `/proc` or HDFS cannot be read.
    pub fn leftovers(&self) -> Result<Leftovers> {
        let staged = if self.has_hdfs {
            self.hdfs().staged("jobs")?
        } else {
            Vec::new()
        };
        Ok(Leftovers {
            processes: self.container_processes()?,
            staged,
        })
    }

    /// Waits until nothing is left of any job.
    ///
    /// # Errors
    ///
    /// Something is left after `deadline`; it is named.
    pub fn wait_until_clean(&self, deadline: Duration) -> Result<()> {
        let mut last = Leftovers::default();
        wait::until(
            "no process and no staged file of a job left",
            deadline,
            || {
                last = self.leftovers()?;
                Ok(last.is_empty().then_some(()))
            },
        )
        .with_context(|| format!("{last:#?}"))
    }

    pub(super) fn containers_mark(&self) -> PathBuf {
        // With the separator, as the warden looks for it.
        self.folder().join("nodes").join("")
    }
}
