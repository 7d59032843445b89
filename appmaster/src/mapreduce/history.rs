//! What is remembered of a job's attempts, and what is kept of the job when it ends.

use gerbil_task::settings::JOB_NAME;
use job::history::{AttemptEnd, JobHistory, JobState, TaskAttempt, TaskStage};
use policy::schedule::{AttemptIx, Stage};

use super::MapReduce;
use super::attempts::PlacedAttempt;

/// Attempts of one job that are remembered, some ten megabytes; those beyond are counted.
const REMEMBERED: usize = 50_000;

/// Attempts that are over.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// With the numbers of their processes.
    attempts: Vec<(AttemptIx, TaskAttempt)>,
    /// That are not remembered.
    left_out: u64,
}

impl Past {
    fn push(&mut self, ix: AttemptIx, attempt: TaskAttempt) {
        if self.attempts.len() < REMEMBERED {
            self.attempts.push((ix, attempt));
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }

    /// Those that are remembered, in the order of their ends.
    pub(super) fn attempts(&self) -> impl Iterator<Item = (AttemptIx, &TaskAttempt)> {
        self.attempts.iter().map(|(ix, attempt)| (*ix, attempt))
    }
}

impl MapReduce {
    /// An attempt is over. One that was never started is no attempt.
    pub(super) fn remember(&mut self, attempt: &PlacedAttempt, end: AttemptEnd, output_bytes: u64) {
        let Some(began) = attempt.began else { return };
        let (stage, task) = self.named(attempt);
        let failure = self.failures.get(&(attempt.stage, attempt.task));
        let failure = failure.filter(|_| matches!(end, AttemptEnd::Failed | AttemptEnd::NoDevice));
        let sentence = failure.cloned().unwrap_or_default();
        let took = self.now.0.saturating_sub(began.0);
        self.explain_ended(attempt, end, (took, output_bytes), &sentence);
        let over = TaskAttempt {
            stage,
            task,
            attempt: attempt.number,
            host: attempt.host.clone(),
            container: attempt.container.0.clone(),
            slot: attempt.slot,
            began_ms: began.0,
            ended_ms: self.now.0,
            end,
            output_bytes,
            sentence,
        };
        self.past.push(attempt.ix, over);
    }

    /// An attempt's stage, and the number of its map or partition.
    pub(super) fn named(&self, attempt: &PlacedAttempt) -> (TaskStage, u32) {
        match attempt.stage {
            Stage::Map => (TaskStage::Map, attempt.task.0),
            Stage::Reduce | Stage::Gang => {
                let partition = self.machine.partition(attempt.task);
                (TaskStage::Reduce, partition.unwrap_or(attempt.task.0))
            }
        }
    }

    /// All that is kept of the job. Attempts that still run are ended with it.
    pub(super) fn history(&mut self, state: JobState, sentence: String) -> JobHistory {
        let running: Vec<PlacedAttempt> = self.attempts.all().cloned().collect();
        for attempt in running {
            self.remember(&attempt, AttemptEnd::Killed, 0);
        }
        let past = std::mem::take(&mut self.past);
        let attempts = past.attempts.into_iter().map(|(_, attempt)| attempt);
        let settings = self.description.settings.clone();
        let name = settings.get(JOB_NAME).filter(|name| !name.is_empty());
        let folder = self.folder();
        JobHistory {
            version: JobHistory::VERSION,
            job: folder
                .as_ref()
                .map_or_else(String::new, |of| of.job.clone()),
            name: name.unwrap_or(&self.description.job).clone(),
            output: folder.map_or_else(String::new, |of| of.url()),
            // Known to whoever keeps it.
            began_ms: 0,
            took_ms: self.now.0,
            state,
            sentence,
            bytes: self.orders.bytes(),
            report: self.report(),
            settings,
            attempts: attempts.collect(),
            attempts_left_out: past.left_out,
        }
    }
}
