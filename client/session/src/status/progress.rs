//! How far the tasks of a job are.

use job::wire;
use serde::Serialize;

use super::count;

/// How far a MapReduce job is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskProgress {
    /// Thousandths of the job.
    pub thousandths: u16,
    /// Maps, and those that are done.
    pub maps: u32,
    /// Those that are done.
    pub maps_done: u32,
    /// Reduces.
    pub reduces: u32,
    /// Those that are done.
    pub reduces_done: u32,
    /// Attempts that run.
    pub running: u32,
    /// Bytes of input.
    pub bytes: u64,
    /// Those of them that maps have read.
    pub bytes_done: u64,
}

impl From<wire::TasksPhase> for TaskProgress {
    fn from(phase: wire::TasksPhase) -> Self {
        Self {
            thousandths: phase.thousandths(),
            maps: phase.maps,
            maps_done: phase.maps_done,
            reduces: phase.reduces,
            reduces_done: phase.reduces_done,
            running: phase.running,
            bytes: phase.bytes,
            bytes_done: phase.bytes_done,
        }
    }
}

impl TaskProgress {
    /// Hundredths of the job.
    #[must_use]
    pub const fn percent(&self) -> u16 {
        self.thousandths / 10
    }

    /// In a line.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = format!(
            "{} % done: {} of {}",
            self.percent(),
            self.maps_done,
            count(usize::try_from(self.maps).unwrap_or(usize::MAX), "map")
        );
        if self.reduces > 0 {
            let reduces = count(
                usize::try_from(self.reduces).unwrap_or(usize::MAX),
                "reduce",
            );
            words.push_str(&format!(", {} of {reduces}", self.reduces_done));
        }
        if self.bytes > 0 {
            let mb = |bytes: u64| bytes / 1_000_000;
            words.push_str(&format!(
                ", {} of {} MB read",
                mb(self.bytes_done),
                mb(self.bytes)
            ));
        }
        words.push_str(&format!("; {} running", self.running));
        words
    }
}
