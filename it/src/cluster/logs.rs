//! What daemons and containers have written.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Cluster;
use crate::daemon::Daemon;

/// Bytes of a log's end that a failure shows.
const TAIL: u64 = 3000;
/// Files of containers that a failure shows: those of the last job or two.
const NEWEST: usize = 12;

impl Cluster {
    /// The log file of a daemon.
    #[must_use]
    pub fn log(&self, daemon: Daemon) -> PathBuf {
        self.daemon_folder(daemon).join("log")
    }

    /// The ends of all daemons' logs and of the newest containers' logs, for a message.
    #[must_use]
    pub fn log_tails(&self) -> String {
        let mut text = String::new();
        let mut containers = self.container_logs();
        containers.sort_by_key(|path| path.metadata().and_then(|found| found.modified()).ok());
        let newest = containers.split_off(containers.len().saturating_sub(NEWEST));
        let daemons = self
            .all_daemons()
            .into_iter()
            .map(|daemon| self.log(daemon));
        let logs = daemons.chain(newest);
        for path in logs {
            if let Ok(end) = tail(&path)
                && !end.is_empty()
            {
                text.push_str(&format!("--- end of {}\n{end}\n", path.display()));
            }
        }
        text
    }

    /// Every file in the containers' log folders.
    #[must_use]
    pub fn container_logs(&self) -> Vec<PathBuf> {
        // NODE/logs/APPLICATION/CONTAINER/FILE
        let mut level: Vec<PathBuf> = self
            .nodes()
            .iter()
            .map(|node| node.folder.join("logs"))
            .collect();
        for _ in 0..3 {
            level = level
                .iter()
                .filter_map(|folder| fs::read_dir(folder).ok())
                .flatten()
                .flatten()
                .map(|found| found.path())
                .collect();
        }
        level.sort();
        level
    }
}

fn tail(path: &Path) -> Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut end = Vec::new();
    file.take(TAIL).read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}
