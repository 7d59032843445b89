//! The cluster, as Hadoop's settings describe it, and who asks.

use std::path::Path;

use proto_hadoop::conf::Configuration;

/// A cluster and who asks.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Hadoop's settings.
    pub configuration: Configuration,
    /// As the cluster knows the user.
    pub user: String,
}

impl Cluster {
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
