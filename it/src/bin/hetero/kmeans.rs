//! A round of K-means: what is asked for, and what it says of itself.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use job::MapReduceReport;

/// A round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KmeansJob {
    /// Centroids.
    pub(crate) k: usize,
    /// Maps, about.
    pub(crate) maps: u64,
    pub(crate) way: KmeansWay,
}

/// Where its packets are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KmeansWay {
    /// By the tasks themselves.
    Processor,
    /// On boards, while the next packet is made.
    Board,
    /// On boards, one packet after the other, as in the paper's Figure 11.
    Serial,
}

/// What came out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KmeansRun {
    /// From when the job was taken until its output was there.
    pub(crate) seconds: f64,
    /// Of its input.
    pub(crate) bytes: u64,
    /// What all maps together took to read, and to find lines in what they read.
    pub(crate) reading: Duration,
    /// What all maps together took for everything else that they do with records.
    pub(crate) mapping: Duration,
}

impl KmeansJob {
    /// Settings of the job, with splits of so many bytes.
    pub(crate) fn settings(self, split: u64) -> Vec<String> {
        let mut all = vec![
            format!("mapreduce.input.fileinputformat.split.maxsize={split}"),
            // Who waits for a board is not slow.
            "mapreduce.map.speculative=false".to_owned(),
        ];
        let more: &[&str] = match self.way {
            KmeansWay::Processor => &["needs.map=cpu", "needs.reduce=cpu"],
            KmeansWay::Board => &["acc.fallback=never"],
            KmeansWay::Serial => &["acc.fallback=never", "acc.modules=serial"],
        };
        all.extend(more.iter().map(|set| (*set).to_owned()));
        all
    }
}

impl KmeansRun {
    /// Of the report of `gerbil mr`.
    pub(crate) fn read(report: &[u8], job: KmeansJob) -> Result<Self> {
        let report: MapReduceReport = serde_json::from_slice(report)?;
        let round = report.jobs.iter().find(|of| of.name == "round");
        let round = round.context("no round was run")?;
        let tasks = round.tasks.as_ref().context("no task was run")?;
        let groups = || tasks.counters.values();
        let counted = |name: &str| -> u64 {
            let sum: i64 = groups().filter_map(|group| group.get(name)).sum();
            sum.cast_unsigned()
        };
        let packets = ["DEVICE_PACKETS", "PROCESSOR_PACKETS"].map(counted);
        let is_there = match (job.way, packets) {
            (KmeansWay::Processor, [devices, processors]) => devices == 0 && processors > 0,
            (_, [devices, processors]) => devices > 0 && processors == 0,
        };
        ensure!(is_there && tasks.failed_attempts == 0, "{job:?}: {tasks:?}");
        let took = round.ended_us.saturating_sub(round.submitted_us);
        let took = Duration::from_micros(u64::try_from(took)?);
        let phase = |name| Duration::from_millis(counted(name));
        Ok(Self {
            seconds: took.as_secs_f64(),
            bytes: round.input_bytes,
            reading: phase("READ_MILLISECONDS"),
            mapping: phase("MAP_MILLISECONDS"),
        })
    }

    /// Of the job's time.
    pub(crate) fn rate(&self) -> f64 {
        self.bytes as f64 / self.seconds / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"jobs": [
        {"name": "first", "submitted_us": 1, "ended_us": 2},
        {"name": "round", "input_bytes": 30000000, "submitted_us": 1000000, "ended_us": 2500000,
         "tasks": {"counters": {"gerbil": {"DEVICE_PACKETS": 7, "READ_MILLISECONDS": 40, "MAP_MILLISECONDS": 250}},
                   "maps": 2, "reduces": 1, "failed_attempts": 0, "tasks_ms": 1400, "commit_ms": 3}}]}"#;

    #[test]
    fn a_round_counts_from_when_it_was_taken() {
        let job = |way| KmeansJob {
            k: 16,
            maps: 2,
            way,
        };
        let run = KmeansRun::read(REPORT.as_bytes(), job(KmeansWay::Board)).unwrap();
        assert_eq!((run.seconds, run.rate()), (1.5, 20.0));
        let millis = Duration::from_millis;
        assert_eq!((run.reading, run.mapping), (millis(40), millis(250)));
        // It was to compute elsewhere.
        assert!(KmeansRun::read(REPORT.as_bytes(), job(KmeansWay::Processor)).is_err());
    }
}
