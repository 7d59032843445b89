//! A session's record as a workload: how near the simulator comes to what was.
//!
//! ```text
//! record ─▶ replayed to the same decisions ─▶ RecordedTimes ─▶ a Workload ─▶ played ─▶ each job's end beside the recorded
//! ```
//!
//! The workload has the session's containers from the first job on, its jobs when they came, the time that each task had its
//! slot, and of that the same part from the decision to the attempt's start, the median of all. What it lacks: attempts that
//! did not end well, input on a second node, and what jobs do before their first task, between their stages, and after their
//! last task.

mod slots;
mod times;

use std::io::BufRead;

use anyhow::{Context as _, Result, bail};
use policy::schedule::{Nanos, Stage, named};

use crate::record;
use crate::run::in_seconds;
use crate::{CoreSpeeds, Loss, RunResult, StageSpeeds, Workload, WorkloadJob, WorkloadRun};
use times::RecordedTimes;

/// What a session was like.
#[derive(Debug)]
pub struct RecordedSession {
    /// Its policy, as [`named`] reads it.
    pub policy: String,
    /// The same jobs and containers.
    pub workload: Workload,
    /// When the last task of each job was done, in seconds from the first job's coming.
    pub ends: Vec<f64>,
    /// Attempts that are not in the workload: they did not end well, or won nothing.
    pub without: u32,
    /// Containers that came after the first job, and are there from the beginning in the workload.
    pub later: u32,
}

impl RecordedSession {
    /// What a record tells, whose policy is `policy` where it does not say so itself.
    ///
    /// # Errors
    ///
    /// A line is none, the policy decides otherwise, or no job has come to an end.
    pub fn read(from: impl BufRead, policy: &str) -> Result<Self> {
        let (recorded, lines) = record::open(from)?;
        let policy = recorded.unwrap_or_else(|| policy.to_owned());
        let times = RecordedTimes::of(named(&policy)?, lines)?;
        let begin = times.begin().context("no job came")?;
        let since = |at: Nanos| in_seconds(at.since(begin));
        let speeds = times.speeds();
        // Whole milliseconds, as a workload has them.
        let start_ms = times.start().0.div_euclid(1_000_000);
        let start = Nanos::from_millis(start_ms);
        let (mut jobs, mut ends) = (Vec::new(), Vec::new());
        for (number, job) in times.jobs.iter().enumerate() {
            // One that was ended before has nothing to play.
            let Some(end) = job.end else { continue };
            let [maps, reduces, ranks] = [Stage::Map, Stage::Reduce, Stage::Gang]
                .map(|stage| job.tasks(stage, speeds, start));
            jobs.push(WorkloadJob {
                name: format!("{}", number.saturating_add(1)),
                submit_s: since(job.arrived),
                user: job.user.clone(),
                queue: job.queue.clone(),
                priority: job.priority,
                deadline_s: job.deadline.map(|at| in_seconds(at.since(job.arrived))),
                maps,
                reduces,
                ranks,
            });
            ends.push(since(end));
        }
        if jobs.is_empty() {
            bail!("no task of any job was done");
        }
        let last = times.jobs.iter().filter_map(|job| job.end).max();
        let lost = times.lost.iter();
        let lost = lost.filter(|(at, _)| (begin..last.unwrap_or(begin)).contains(at));
        let losses = lost.map(|(at, container)| Loss {
            at_s: since(*at),
            node: container.0,
            core: None,
        });
        let later = times.joined.iter().filter(|(at, _)| *at > begin).count();
        Ok(Self {
            policy,
            workload: Workload {
                losses: losses.collect(),
                speeds,
                start_ms,
                nodes: times.joined.into_iter().map(|(_, node)| node).collect(),
                jobs,
            },
            ends,
            without: times.without,
            later: u32::try_from(later)?,
        })
    }

    /// Plays it under `policy`.
    ///
    /// # Errors
    ///
    /// As [`WorkloadRun::play`].
    pub fn play(&self, policy: &str) -> Result<RunResult> {
        WorkloadRun::new(&self.workload, named(policy)?).play()
    }

    /// When the last task of all was done.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.ends.iter().copied().fold(0.0, f64::max)
    }

    /// Each job's end beside the recorded one, and that of all.
    #[must_use]
    pub fn table(&self, played: &RunResult) -> String {
        let mut text = String::from(
            "| job | tasks | came s | recorded end s | simulated end s | of its time % |\n|---|---|---|---|---|---|\n",
        );
        let mut off = Vec::new();
        let jobs = self.workload.jobs.iter().zip(&self.ends).zip(&played.jobs);
        for ((job, end), times) in jobs {
            let stages = [&job.maps, &job.reduces, &job.ranks].into_iter().flatten();
            let tasks = stages.fold(0_u32, |all, stage| all.saturating_add(stage.count));
            let percent = percent(end - job.submit_s, times.end_s - job.submit_s);
            off.push(percent.abs());
            text.push_str(&format!(
                "| {} | {tasks} | {:.3} | {end:.3} | {:.3} | {percent:+.1} |\n",
                job.name, job.submit_s, times.end_s
            ));
        }
        let (end, played_end) = (self.end(), in_seconds(played.end));
        let jobs = f64::from(u32::try_from(off.len()).unwrap_or(u32::MAX));
        text.push_str(&format!(
            "\n{} jobs, {} attempts that did not end well left out, {} containers that came after the first job; {} ms from a \
             decision to its start\n",
            off.len(),
            self.without,
            self.later,
            self.workload.start_ms,
        ));
        text.push_str(&format!(
            "all done: recorded {end:.3} s, simulated {played_end:.3} s, {:+.2} %; a job's time is off by {:.1} % in the mean\n",
            percent(end, played_end),
            off.iter().sum::<f64>() / jobs,
        ));
        text
    }
}

fn percent(recorded: f64, simulated: f64) -> f64 {
    (simulated - recorded) / recorded * 100.0
}

impl RecordedTimes {
    /// How fast slow cores are beside fast ones, by the jobs that had tasks on both.
    fn speeds(&self) -> CoreSpeeds {
        let unsaid = CoreSpeeds::default();
        let of = |stage, unsaid| self.slow(stage).unwrap_or(unsaid);
        CoreSpeeds {
            slow: StageSpeeds {
                map: of(Stage::Map, unsaid.slow.map),
                reduce: of(Stage::Reduce, unsaid.slow.reduce),
            },
            ..unsaid
        }
    }
}
