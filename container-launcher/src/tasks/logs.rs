//! What the tasks of a job have printed, until the job is over: of those that failed all of it, of those that ended
//! well as much as there is room for, the newest.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gerbil_task::said;
use job::wire::{LogRead, PrintedStream, TaskEnded};
use tokio::time::timeout;

use super::log::{Log, Printed};
use super::start;

/// Processes that ended well of which something is kept, and its size, bytes.
const WELL: usize = 1_000;
const WELL_BYTES: u64 = 16 * 1024 * 1024;
/// For what a process that is gone has left in its pipes to be in its files. A child of its own may hold them open.
const DRAINS: Duration = Duration::from_secs(1);
/// Lines of an attempt that has failed which the container's log repeats, of each stream.
const LINES: usize = 200;

/// What one process prints.
#[derive(Clone, Debug)]
pub(super) struct TaskLog {
    pub(super) stdout: Arc<Log>,
    pub(super) stderr: Arc<Log>,
    /// How far these two have come.
    pub(super) coming: [Printed; 2],
}

impl TaskLog {
    /// Adds to the end of an attempt that has failed what it has printed, which the container's log says, too:
    /// YARN keeps that one.
    pub(super) async fn add_to(self, ended: &mut TaskEnded, title: &str) {
        for printed in self.coming.clone() {
            // What is there by then is what is told.
            drop(timeout(DRAINS, printed.all()).await);
        }
        for (name, log, told) in [
            ("standard output", &self.stdout, &mut ended.stdout),
            ("standard error", &self.stderr, &mut ended.stderr),
        ] {
            // One that cannot be read is empty.
            let brief = log.brief().unwrap_or_default();
            repeat(title, name, &brief);
            *told = Some(brief);
        }
    }

    fn size(&self) -> u64 {
        self.stdout.size().saturating_add(self.stderr.size())
    }

    /// The answer to a question.
    pub(super) fn read(&self, id: u32) -> LogRead {
        let read = || -> io::Result<LogRead> {
            Ok(LogRead {
                id,
                stdout: Some(self.stdout.read()?),
                stderr: Some(self.stderr.read()?),
                trouble: String::new(),
            })
        };
        read()
            .unwrap_or_else(|error| trouble(id, format!("what it printed cannot be read: {error}")))
    }
}

/// By the numbers of the processes.
#[derive(Debug, Default)]
pub(super) struct Logs {
    all: BTreeMap<u32, TaskLog>,
    /// Those that ended well, the oldest first.
    well: VecDeque<u32>,
    bytes: u64,
}

impl Logs {
    pub(super) fn insert(&mut self, process: u32, log: TaskLog) {
        self.all.insert(process, log);
    }

    /// Where to read; `None`: nothing is kept of that process.
    pub(super) fn get(&self, process: u32) -> Option<TaskLog> {
        self.all.get(&process).cloned()
    }

    /// A process has ended well: what it printed goes when there is no more room. `job`: the folder of the job.
    pub(super) fn ended_well(&mut self, job: &Path, process: u32) {
        let Some(log) = self.all.get(&process) else {
            return start::forget(job, process);
        };
        match log.size() {
            // Nothing is read of it.
            0 => start::forget(job, process),
            size => self.bytes = self.bytes.saturating_add(size),
        }
        self.well.push_back(process);
        while (self.well.len() > WELL || self.bytes > WELL_BYTES)
            && let Some(oldest) = self.well.pop_front()
        {
            if let Some(log) = self.all.remove(&oldest) {
                self.bytes = self.bytes.saturating_sub(log.size());
            }
            start::forget(job, oldest);
        }
    }
}

/// Says in the container's log what a task has printed on one stream.
fn repeat(title: &str, name: &str, printed: &PrintedStream) {
    if printed.head.is_empty() {
        return;
    }
    crate::say(&format!("{title} has failed, and printed on {name}:"));
    lines(&printed.head)
        .iter()
        .for_each(|line| crate::say(line));
    if printed.left_out > 0 {
        crate::say(&format!("[{} bytes are left out here]", printed.left_out));
        lines(&printed.tail)
            .iter()
            .for_each(|line| crate::say(line));
    }
}

/// Such as no terminal takes for orders.
fn lines(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let lines = text.lines().take(LINES);
    lines
        .map(|line| format!("| {}", said::sentence(line)))
        .collect()
}

/// The answer to a question about a process of which nothing is kept.
pub(super) fn not_kept(id: u32) -> LogRead {
    let words = format!(
        "what it printed is not kept: of tasks that end well a node keeps that of the last {WELL}, {} MiB in all",
        WELL_BYTES >> 20
    );
    trouble(id, words)
}

fn trouble(id: u32, trouble: String) -> LogRead {
    LogRead {
        id,
        trouble,
        ..LogRead::default()
    }
}
