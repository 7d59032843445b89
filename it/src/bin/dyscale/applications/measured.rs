//! What the histories of jobs tell of a run, and runs on fast and slow cores beside each other.

use anyhow::{Context as _, Result, ensure};
use gerbil_task::TaskPhase;
use it::cores::Periods;
use job::history::{AttemptEnd, JobHistory, JobState, TaskStage};

use super::reach::Reach;
use super::suite::Application;
use crate::recorded::mean;

/// Seconds of each phase, in the order of [`TaskPhase::ALL`].
pub(crate) type PhaseSeconds = [f64; TaskPhase::ALL.len()];

/// An application that was run once; seconds and bytes.
#[derive(Clone, Debug)]
pub(crate) struct ApplicationRun {
    /// From when the session has a job until its output is there, of all its jobs.
    pub(crate) took: f64,
    /// A task's, from its start to its end, in the mean.
    pub(crate) map: f64,
    pub(crate) reduce: f64,
    /// Of all tasks together.
    pub(crate) phases: PhaseSeconds,
    pub(crate) volume: Volume,
    /// Attempts that did not end well.
    pub(crate) without: u32,
    /// Of the control group meanwhile.
    pub(crate) periods: Periods,
}

/// How much an application reads and writes, which is the same on all cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Volume {
    pub(crate) maps: u32,
    pub(crate) reduces: u32,
    /// Bytes.
    pub(crate) input: u64,
    /// Of maps, as reduces fetch it: combined, not compressed.
    pub(crate) between: u64,
    pub(crate) output: u64,
    /// Of the output.
    pub(crate) records: u64,
}

/// An application's runs, round by round.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) application: Application,
    pub(crate) fast: Vec<ApplicationRun>,
    pub(crate) slow: Vec<ApplicationRun>,
}

impl ApplicationRun {
    /// Of its jobs, in their order.
    pub(crate) fn of(jobs: &[JobHistory], periods: Periods) -> Result<Self> {
        let (first, last) = jobs.first().zip(jobs.last()).context("no job")?;
        for job in jobs {
            ensure!(
                job.state == JobState::Succeeded && job.attempts_left_out == 0,
                "{} {} did not succeed: {}",
                job.job,
                job.name,
                job.sentence
            );
        }
        let attempts = || jobs.iter().flat_map(|job| &job.attempts);
        let well = || attempts().filter(|attempt| attempt.end == AttemptEnd::Succeeded);
        let task = |stage: TaskStage| {
            let took = well().filter(|attempt| attempt.stage == stage);
            mean(took.map(|of| of.ended_ms.saturating_sub(of.began_ms) as f64 / 1e3))
        };
        let mut phases = PhaseSeconds::default();
        for job in jobs {
            for (phase, took) in gerbil_task::phases(&job.report.counters) {
                phases[phase as usize] += took.as_secs_f64();
            }
        }
        let without = attempts().count() - well().count();
        Ok(Self {
            took: jobs.iter().map(|job| job.took_ms as f64 / 1e3).sum(),
            map: task(TaskStage::Map),
            reduce: task(TaskStage::Reduce),
            phases,
            volume: Volume {
                maps: jobs.iter().map(|job| job.report.maps).sum(),
                reduces: jobs.iter().map(|job| job.report.reduces).sum(),
                input: first.bytes,
                between: jobs
                    .iter()
                    .map(|job| counted(job, "MAP_OUTPUT_MATERIALIZED_BYTES"))
                    .sum(),
                output: counted(last, "BYTES_WRITTEN"),
                records: counted(last, "REDUCE_OUTPUT_RECORDS"),
            },
            without: u32::try_from(without)?,
            periods,
        })
    }

    /// A line of progress.
    pub(crate) fn line(&self) -> String {
        format!(
            "{:.2} s, a map {:.2} s, a reduce {:.2} s, {} of {} periods used up",
            self.took, self.map, self.reduce, self.periods.used_up, self.periods.all
        )
    }

    pub(crate) const fn phase(&self, phase: TaskPhase) -> f64 {
        self.phases[phase as usize]
    }
}

/// A counter, of whatever group.
fn counted(job: &JobHistory, name: &str) -> u64 {
    let groups = job.report.counters.values();
    let sum: i64 = groups.filter_map(|group| group.get(name)).sum();
    sum.cast_unsigned()
}

impl Measured {
    /// That all runs have done the same.
    pub(crate) fn volume(&self) -> Result<Volume> {
        let mut all = self.fast.iter().chain(&self.slow).map(|run| run.volume);
        let first = all.next().context("no run")?;
        for other in all {
            ensure!(
                (other.records, other.output) == (first.records, first.output),
                "{}: {} records of {} bytes, and {} of {} in another run",
                self.application.name,
                first.records,
                first.output,
                other.records,
                other.output
            );
        }
        Ok(first)
    }

    /// Slow beside fast, round by round.
    pub(crate) fn ratio(&self, of: impl Fn(&ApplicationRun) -> f64) -> Result<Reach> {
        let rounds = self.fast.iter().zip(&self.slow);
        let ratios: Vec<f64> = rounds.map(|(fast, slow)| of(slow) / of(fast)).collect();
        Reach::of(&ratios)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use job::history::TaskAttempt;

    use super::super::suite::SUITE;
    use super::*;

    /// A run that took so long, of a volume.
    fn run(took: f64, phases: PhaseSeconds, volume: Volume) -> ApplicationRun {
        ApplicationRun {
            took,
            map: took,
            reduce: took,
            phases,
            volume,
            without: 0,
            periods: Periods {
                all: 10,
                used_up: 5,
            },
        }
    }

    fn attempt(stage: TaskStage, took: u64, end: AttemptEnd) -> TaskAttempt {
        TaskAttempt {
            stage,
            task: 0,
            attempt: 0,
            host: String::new(),
            container: String::new(),
            slot: 0,
            earlier_slots: Vec::new(),
            began_ms: 100,
            ended_ms: 100 + took,
            end,
            output_bytes: 0,
            sentence: String::new(),
            stdout: job::history::Print::default(),
            stderr: job::history::Print::default(),
        }
    }

    fn history(took_ms: u64, bytes: u64, counters: &[(&str, &str, u64)]) -> JobHistory {
        let mut history = JobHistory {
            took_ms,
            bytes,
            ..JobHistory::default()
        };
        history.report.maps = 2;
        history.report.reduces = 1;
        for (group, name, value) in counters {
            let group = history.report.counters.entry((*group).to_owned());
            let group: &mut BTreeMap<String, i64> = group.or_default();
            group.insert((*name).to_owned(), value.cast_signed());
        }
        history
    }

    #[test]
    fn a_run_of_two_jobs_reads_what_the_first_one_does_and_writes_what_the_last_one_does() {
        let mut first = history(
            4000,
            900,
            &[
                ("t", "MAP_OUTPUT_MATERIALIZED_BYTES", 50),
                ("w", "BYTES_WRITTEN", 30),
                ("gerbil", "MAP_MILLISECONDS", 1500),
            ],
        );
        first.attempts = vec![
            attempt(TaskStage::Map, 1000, AttemptEnd::Succeeded),
            attempt(TaskStage::Map, 3000, AttemptEnd::Succeeded),
            attempt(TaskStage::Map, 9000, AttemptEnd::Killed),
        ];
        let mut last = history(
            500,
            30,
            &[
                ("t", "MAP_OUTPUT_MATERIALIZED_BYTES", 20),
                ("t", "REDUCE_OUTPUT_RECORDS", 3),
                ("w", "BYTES_WRITTEN", 10),
                ("gerbil", "MAP_MILLISECONDS", 500),
                ("gerbil", "SHUFFLE_MILLISECONDS", 40),
            ],
        );
        last.attempts = vec![attempt(TaskStage::Reduce, 250, AttemptEnd::Succeeded)];
        let periods = Periods { all: 9, used_up: 1 };
        let run = ApplicationRun::of(&[first.clone(), last], periods).unwrap();
        assert_eq!(
            run.volume,
            Volume {
                maps: 4,
                reduces: 2,
                input: 900,
                between: 70,
                output: 10,
                records: 3,
            }
        );
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(near(run.took, 4.5) && near(run.map, 2.0) && near(run.reduce, 0.25));
        assert!(near(run.phase(TaskPhase::Map), 2.0) && near(run.phase(TaskPhase::Shuffle), 0.04));
        assert_eq!(run.without, 1);
        first.state = JobState::Failed;
        assert!(ApplicationRun::of(&[first], periods).is_err());
    }

    #[test]
    fn ratios_are_of_rounds_and_outputs_are_to_be_equal() {
        let volume = Volume {
            records: 7,
            ..Volume::default()
        };
        let of = |took: f64| run(took, PhaseSeconds::default(), volume);
        let mut measured = Measured {
            application: SUITE[0],
            fast: vec![of(1.0), of(2.0)],
            slow: vec![of(2.0), of(6.0)],
        };
        let ratio = measured.ratio(|run| run.took).unwrap();
        assert_eq!(ratio.words(), "2.50 (2.00–3.00)");
        assert_eq!(measured.volume().unwrap(), volume);
        measured.slow[1].volume.records = 8;
        let error = measured.volume().unwrap_err().to_string();
        assert!(
            error.contains("7 records") && error.contains("TeraSort"),
            "{error}"
        );
    }
}
