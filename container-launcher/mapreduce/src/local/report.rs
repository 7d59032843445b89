//! What became of a job: a few lines for people, JSON for programs.

use std::time::Duration;

use serde_json::json;

use super::LocalJob;
use super::queue::JobResult;
use crate::error::Result;

/// What there is to report.
pub(crate) struct Summary<'a> {
    pub(crate) order: &'a LocalJob<'a>,
    pub(crate) outcome: &'a JobResult,
    pub(crate) bytes: u64,
    pub(crate) slots: usize,
    /// What the job might have in memory, and the most that its spills were on the disk, bytes.
    pub(crate) memory: u64,
    pub(crate) scratch: u64,
    pub(crate) planning: Duration,
    pub(crate) took: Duration,
}

impl Summary<'_> {
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "{} took {:.2} s: maps {:.2} s, reduces {:.2} s",
            self.order.spec.planned.name,
            self.took.as_secs_f64(),
            self.outcome.map_time.as_secs_f64(),
            self.outcome.reduce_time.as_secs_f64(),
        );
        for (group, counters) in &self.outcome.counters {
            text.push_str(&format!("\n  {group}"));
            for (counter, value) in counters {
                text.push_str(&format!("\n    {counter}={value}"));
            }
        }
        text
    }

    pub(crate) fn json(&self) -> Result<Vec<u8>> {
        let report = json!({
            "job": self.order.spec.planned.name,
            "inputs": self.order.inputs,
            "output": self.order.output,
            "bytes": self.bytes,
            "maps": self.outcome.maps,
            "reduces": self.outcome.reduces,
            "slots": self.slots,
            "memory_budget_bytes": self.memory,
            "scratch_peak_bytes": self.scratch,
            "failed_attempts": self.outcome.failed_attempts,
            "seconds": {
                "planning": self.planning.as_secs_f64(),
                "maps": self.outcome.map_time.as_secs_f64(),
                "reduces": self.outcome.reduce_time.as_secs_f64(),
                "all": self.took.as_secs_f64(),
            },
            "counters": self.outcome.counters,
        });
        let mut text = serde_json::to_vec_pretty(&report)?;
        text.push(b'\n');
        Ok(text)
    }
}
