//! The cluster, as Hadoop's settings describe it, and who asks.

use std::path::Path;

use gerbil_task::settings::{BLOCK_SIZE, MASK, REPLICATION};
use proto_hadoop::conf::Configuration;

use crate::settings::Settings;

/// What the user may say of files that are written, over Hadoop's files.
const OF_FILES: [&str; 3] = [BLOCK_SIZE, MASK, REPLICATION];

/// A cluster and who asks.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Hadoop's settings.
    pub configuration: Configuration,
    /// As the cluster knows the user.
    pub user: String,
}

impl Cluster {
    /// With what the user says of files that are written.
    #[must_use]
    pub fn writing(mut self, given: &Settings) -> Self {
        for name in OF_FILES {
            if let Some(value) = given.get(name) {
                self.configuration.set(name, value);
            }
        }
        self
    }

    /// A setting, variables replaced.
    #[must_use]
    pub fn hadoop(&self, key: &str) -> Option<String> {
        self.configuration.get(key).ok().flatten()
    }

    /// Folder of the settings.
    #[must_use]
    pub fn conf_dir(&self) -> Option<&Path> {
        let first = self.configuration.files().first();
        first.and_then(|file| file.parent())
    }
}
