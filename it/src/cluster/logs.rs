//! What daemons and containers have written.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Cluster;
use crate::daemon::Daemon;

/// Bytes of a log's end that a failure shows.
const TAIL: u64 = 3000;
/// Lines of an error and of what caused it that a failure shows, and of the log's end.
const ERROR_LINES: usize = 12;
/// Characters of each: a daemon writes its whole class path into one.
const LINE: usize = 300;
/// Files of containers that a failure shows: those of the last job or two.
const NEWEST: usize = 12;

impl Cluster {
    /// The log file of a daemon.
    #[must_use]
    pub fn log(&self, daemon: Daemon) -> PathBuf {
        self.daemon_folder(daemon).join("log")
    }

    /// Why a cluster did not come up: of each daemon the first error that it wrote, and of the first that
    /// ended by itself what it wrote last. Each log is shown once.
    #[must_use]
    pub(super) fn failure(&self) -> String {
        let ended = self.ended().map(|(daemon, _)| daemon);
        let mut text = String::new();
        for daemon in self.all_daemons() {
            let path = self.log(daemon);
            let log = fs::read(&path).unwrap_or_default();
            let shown = excerpt(&String::from_utf8_lossy(&log), ended == Some(daemon));
            if !shown.is_empty() {
                text.push_str(&format!("--- {}\n{shown}", path.display()));
            }
        }
        text
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

/// The first error of a log, and what it ends with.
pub(super) fn excerpt(log: &str, with_end: bool) -> String {
    let error = first_error(log);
    let last = if with_end { end(log) } else { Vec::new() };
    let last = last.iter().filter(|line| !error.contains(line));
    let mut text = String::new();
    for line in error.iter().chain(last) {
        text.extend(line.chars().take(LINE));
        text.push('\n');
    }
    text
}

/// The first line of a log that tells of an error, with what follows until the next entry: the exception
/// and its causes, without the way to them.
fn first_error(log: &str) -> Vec<&str> {
    let tells = |line: &&str| {
        let level = line.split_whitespace().nth(2).unwrap_or_default();
        matches!(level, "ERROR" | "FATAL") || line.starts_with("Exception in thread")
    };
    let mut lines = log.lines().skip_while(|line| !tells(line));
    let first = lines.next();
    let more = lines
        .take_while(|line| !is_entry(line))
        .filter(|line| !line.starts_with(char::is_whitespace));
    first.into_iter().chain(more).take(ERROR_LINES).collect()
}

/// `2026-11-22 10:56:22,048 INFO …`
fn is_entry(line: &str) -> bool {
    line.starts_with(|character: char| character.is_ascii_digit())
}

fn end(log: &str) -> Vec<&str> {
    let lines = log
        .lines()
        .filter(|line| !line.starts_with(char::is_whitespace));
    let lines: Vec<&str> = lines.collect();
    lines[lines.len().saturating_sub(ERROR_LINES)..].to_vec()
}

fn tail(path: &Path) -> Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut end = Vec::new();
    file.take(TAIL).read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_shown_with_its_causes_and_nothing_else() {
        let log = "2026-11-22 10:56:22,048 INFO a.B: up\n\
                   2026-11-22 10:56:22,049 ERROR a.B: Error starting\n\
                   java.lang.IllegalStateException: no\n\
                   \tat a.B.c(B.java:1)\n\
                   Caused by: java.net.UnknownHostException: fresh\n\
                   \t... 13 more\n\
                   2026-11-22 10:56:22,050 ERROR a.B: and another\n";
        assert_eq!(
            first_error(log),
            [
                "2026-11-22 10:56:22,049 ERROR a.B: Error starting",
                "java.lang.IllegalStateException: no",
                "Caused by: java.net.UnknownHostException: fresh",
            ]
        );
        assert!(first_error("2026-11-22 10:56:22,048 INFO a.B: no ERROR\n").is_empty());
        assert_eq!(excerpt(log, true).lines().count(), 5, "each line once");
    }
}
