//! What is remembered of a job's attempts, and what is kept of the job when it ends.

use std::collections::{BTreeMap, BTreeSet};

use gerbil_task::settings::JOB_NAME;
use job::history::{AttemptEnd, JobHistory, JobState, Print, TaskAttempt, TaskStage};
use job::wire::{PrintedStream, TaskEnded};
use policy::schedule::{AttemptIx, Stage};

use super::MapReduce;
use super::attempts::PlacedAttempt;

/// Attempts of one job that are remembered, some ten megabytes; those beyond are counted.
const REMEMBERED: usize = 50_000;
/// Of what attempts that failed have printed, bytes of one job: of some hundred of them. Those that failed first.
const PRINTED: usize = 4 << 20;

/// Files and folders of the input that are named.
const INPUTS: usize = 16;

/// Attempts that are over.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// With the numbers of their processes.
    attempts: Vec<(AttemptIx, TaskAttempt)>,
    /// That are not remembered.
    left_out: u64,
    /// What an attempt has printed whose end is just heard.
    heard: Option<(AttemptIx, [Print; 2])>,
    /// Bytes of what those that failed have printed.
    printed: usize,
}

impl Past {
    fn push(&mut self, ix: AttemptIx, attempt: TaskAttempt) {
        if self.attempts.len() < REMEMBERED {
            self.attempts.push((ix, attempt));
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }

    /// What an attempt has printed, as its launcher tells with its end.
    pub(super) fn hear(&mut self, ix: AttemptIx, ended: &TaskEnded) {
        let print = |stream: &Option<PrintedStream>| stream.as_ref().map(Print::of);
        let prints = [&ended.stdout, &ended.stderr].map(|of| print(of).unwrap_or_default());
        self.heard = prints
            .iter()
            .any(|print| !print.is_empty())
            .then_some((ix, prints));
    }

    /// What the attempt has printed that is about to be remembered, if there is room for it.
    fn prints(&mut self, ix: AttemptIx) -> [Print; 2] {
        let heard = self.heard.take().filter(|(of, _)| *of == ix);
        let prints = heard.map(|(_, prints)| prints).unwrap_or_default();
        let bytes: usize = prints.iter().map(Print::len).sum();
        let all = self.printed.saturating_add(bytes);
        if all > PRINTED {
            return Default::default();
        }
        self.printed = all;
        prints
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
        let [stdout, stderr] = match end {
            AttemptEnd::Failed | AttemptEnd::NoDevice => self.past.prints(attempt.ix),
            AttemptEnd::Succeeded | AttemptEnd::Killed | AttemptEnd::Lost => Default::default(),
        };
        let took = self.now.0.saturating_sub(began.0);
        self.explain_ended(attempt, end, (took, output_bytes), &sentence);
        let over = TaskAttempt {
            stage,
            task,
            attempt: attempt.number,
            host: attempt.host.clone(),
            container: attempt.container.0.clone(),
            slot: attempt.slot,
            earlier_slots: attempt.earlier_slots.clone(),
            began_ms: began.0,
            ended_ms: self.now.0,
            end,
            output_bytes,
            sentence,
            stdout,
            stderr,
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

    /// What it reads: files, and folders of which it reads several.
    fn inputs(&self) -> Vec<String> {
        let pieces = self
            .description
            .splits
            .iter()
            .flat_map(|split| &split.pieces);
        let files: BTreeSet<&str> = sort::set(pieces.map(|piece| piece.name.as_str()));
        let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for file in files {
            let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
            folders.entry(folder).or_default().push(file);
        }
        let mut inputs: Vec<String> = folders
            .iter()
            .take(INPUTS)
            .map(|(folder, files)| match files.as_slice() {
                [one] => (*one).to_owned(),
                several => format!("{folder} ({} files)", several.len()),
            })
            .collect();
        match folders.len().saturating_sub(INPUTS) {
            0 => {}
            more => inputs.push(format!("and {more} more")),
        }
        inputs
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
            // Known to the session.
            user: String::new(),
            queue: String::new(),
            inputs: self.inputs(),
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
