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
/// Lines of an attempt that has failed which the container's log repeats: of each stream the first, and the last, which
/// say most of all why.
const FIRST: usize = 60;
const LAST: usize = 140;

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
    lines(printed).iter().for_each(|line| crate::say(line));
}

/// What the container's log says of it, in such letters as no terminal takes for orders.
fn lines(printed: &PrintedStream) -> Vec<String> {
    let shown = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text);
        let lines = text.lines();
        lines
            .map(|line| format!("| {}", said::sentence(line)))
            .collect()
    };
    let mut first = shown(&printed.head);
    let mut last = shown(&printed.tail);
    if printed.left_out == 0 {
        last = first.split_off(first.len().min(FIRST));
    }
    let surplus = last.len().saturating_sub(LAST);
    let gap = first.len().saturating_sub(FIRST).saturating_add(surplus);
    first.truncate(FIRST);
    match (gap, printed.left_out) {
        (0, 0) => {}
        (0, bytes) => first.push(format!("[{bytes} bytes are left out here]")),
        (lines, 0) => first.push(format!("[{lines} lines are left out here]")),
        (lines, bytes) => first.push(format!(
            "[{lines} lines, and {bytes} bytes between them, are left out here]"
        )),
    }
    first.extend(last.into_iter().skip(surplus));
    first
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

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(head: &str, left_out: u64, tail: &str) -> PrintedStream {
        PrintedStream {
            head: head.as_bytes().to_vec(),
            left_out,
            tail: tail.as_bytes().to_vec(),
        }
    }

    #[test]
    fn a_containers_log_repeats_the_first_and_the_last_lines() {
        let all = |count: usize| -> String { (0..count).map(|line| format!("{line}\n")).collect() };
        assert_eq!(lines(&printed("a\u{1b}[31m\nb\n", 0, "")).len(), 2);
        let whole = lines(&printed(&all(FIRST + LAST), 0, ""));
        assert_eq!(whole.len(), FIRST + LAST);
        assert!(whole.iter().all(|line| line.starts_with("| ")));
        let long = lines(&printed(&all(1000), 0, ""));
        assert_eq!(long.len(), FIRST + 1 + LAST);
        assert_eq!(long[FIRST], "[800 lines are left out here]");
        assert_eq!(
            (long[0].as_str(), long[FIRST + LAST].as_str()),
            ("| 0", "| 999")
        );
        let bytes = lines(&printed(&all(3), 7, &all(2)));
        assert_eq!(
            bytes,
            [
                "| 0",
                "| 1",
                "| 2",
                "[7 bytes are left out here]",
                "| 0",
                "| 1"
            ]
        );
        let both = lines(&printed(&all(100), 7, &all(150)));
        assert_eq!(
            both[FIRST],
            "[50 lines, and 7 bytes between them, are left out here]"
        );
        assert_eq!(both.last().map(String::as_str), Some("| 149"));
    }
}
