//! What a session's record tells: when jobs were done, what was moved, and how near the simulator comes.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::results::Spread;
use policy::schedule::record::What;
use policy::schedule::{AttemptIx, Decision, Event, Nanos, named};
use sim::recorded::RecordedSession;
use sim::{RunResult, WorkloadRun, record};

use crate::plan::Plan;

/// A session on daemons and in the simulator.
#[derive(Clone, Debug)]
pub(crate) struct SessionRun {
    pub(crate) policy: String,
    pub(crate) seed: u64,
    pub(crate) jobs: Vec<JobRun>,
    pub(crate) moves: Moves,
    /// From a decision to the task's start, the median, milliseconds.
    pub(crate) start_ms: u64,
    /// What a task took beyond its rest, the median, milliseconds.
    pub(crate) beside_ms: f64,
    /// Attempts that did not end well.
    pub(crate) without: u32,
}

/// A job of a session; seconds since the first one came.
#[derive(Clone, Debug)]
pub(crate) struct JobRun {
    pub(crate) queue: String,
    pub(crate) came: f64,
    /// Its last task was done, as the ApplicationMaster says.
    pub(crate) real: f64,
    /// In the simulator, told what was planned.
    pub(crate) planned: f64,
    /// In the simulator, told how long each task took.
    pub(crate) replayed: f64,
}

/// Of attempts that ran.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moves {
    /// Attempts that have gone on elsewhere, two for a swap.
    pub(crate) done: u32,
    /// Orders that could not be carried out.
    pub(crate) refused: u32,
    /// From each order to the answer of the launcher at the ApplicationMaster, milliseconds.
    pub(crate) answered: Vec<f64>,
}

impl SessionRun {
    pub(crate) fn new(policy: &str, seed: u64, plan: &Plan, record: &[u8]) -> Result<Self> {
        let session = RecordedSession::read(record, policy)?;
        ensure!(
            session.ends.len() == plan.jobs.len(),
            "{} of {} jobs came to an end",
            session.ends.len(),
            plan.jobs.len()
        );
        let recorded = &session.workload.jobs;
        let arrivals: Vec<f64> = recorded.iter().map(|job| job.submit_s).collect();
        let start_ms = session.workload.start_ms;
        let beside_ms = start_ms as f64 + 1e3 * beside(&session, plan)?;
        let workload = plan.workload(&arrivals, Duration::from_secs_f64(beside_ms / 1e3))?;
        let planned = WorkloadRun::new(&workload, named(&session.policy)?).play()?;
        let replayed = session.play(&session.policy)?;
        let ends = |of: &RunResult| -> Vec<f64> { of.jobs.iter().map(|job| job.end_s).collect() };
        let ends = ends(&planned).into_iter().zip(ends(&replayed));
        let jobs = recorded.iter().zip(&session.ends).zip(ends);
        let jobs = jobs.map(|((job, real), (planned, replayed))| JobRun {
            queue: job.queue.clone(),
            came: job.submit_s,
            real: *real,
            planned,
            replayed,
        });
        Ok(Self {
            policy: policy.to_owned(),
            seed,
            jobs: jobs.collect(),
            moves: Moves::of(record)?,
            start_ms,
            beside_ms,
            without: session.without,
        })
    }

    /// The mean time from when jobs of a queue came to their ends.
    pub(crate) fn mean(&self, queue: &str, end: fn(&JobRun) -> f64) -> f64 {
        let of = self.jobs.iter().filter(|job| job.queue == queue);
        mean(of.map(|job| end(job) - job.came))
    }

    /// When the last of all was done.
    pub(crate) fn end(&self, end: fn(&JobRun) -> f64) -> f64 {
        self.jobs.iter().map(end).fold(0.0, f64::max)
    }

    pub(crate) fn line(&self) -> String {
        let of = |queue| {
            let (real, planned) = (
                self.mean(queue, |job| job.real),
                self.mean(queue, |job| job.planned),
            );
            format!("{queue} {real:.2} s, simulator {planned:.2}")
        };
        format!(
            "{} seed {}: {}; {}; {} moves",
            self.policy,
            self.seed,
            of("interactive"),
            of("batch"),
            self.moves.done
        )
    }
}

impl Moves {
    fn of(record: &[u8]) -> Result<Self> {
        let mut moves = Self::default();
        // What is ordered, since when, and with which other one. A swap is answered by its first attempt, or by the other
        // where that has ended.
        let mut ordered: BTreeMap<AttemptIx, (Nanos, Option<AttemptIx>)> = BTreeMap::new();
        for line in record::lines(record) {
            let line = line?;
            match line.what {
                What::Decision(Decision::Move { attempt, .. }) => {
                    ordered.insert(attempt, (line.at, None));
                }
                What::Decision(Decision::Swap { one, other }) => {
                    ordered.insert(one, (line.at, Some(other)));
                    ordered.insert(other, (line.at, Some(one)));
                }
                What::Told(Event::Moved { attempt, ok })
                | What::Event(Event::Moved { attempt, ok }) => {
                    let (since, other) = ordered
                        .remove(&attempt)
                        .with_context(|| format!("{attempt:?} was moved, and not ordered to"))?;
                    let count = if other.is_some() { 2 } else { 1 };
                    if let Some(other) = other {
                        ordered.remove(&other);
                    }
                    let took = line.at.since(since);
                    moves
                        .answered
                        .push(Duration::from_nanos(took.0).as_secs_f64() * 1e3);
                    let all = if ok {
                        &mut moves.done
                    } else {
                        &mut moves.refused
                    };
                    *all = all.saturating_add(count);
                }
                What::Policy(_)
                | What::Asked(())
                | What::Decision(_)
                | What::Told(_)
                | What::Event(_) => {}
            }
        }
        Ok(moves)
    }
}

/// What tasks took once begun beyond what they are told to rest, the median, seconds.
fn beside(session: &RecordedSession, plan: &Plan) -> Result<f64> {
    let jobs = session.workload.jobs.iter().zip(&plan.jobs);
    let tasks = jobs.flat_map(|(job, planned)| {
        let maps = job.maps.iter().flat_map(|maps| &maps.each_seconds);
        maps.map(|took| took - planned.seconds)
    });
    let beside = Spread::of(&tasks.collect::<Vec<_>>()).context("no task was done")?;
    Ok(beside.median.max(0.0))
}

/// NaN of none.
pub(crate) fn mean(of: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = of.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_takes_from_its_order_to_the_answer_and_a_swap_is_of_two() {
        let lines = [
            r#"{"at":0,"policy":"dyscale"}"#,
            r#"{"at":1000000,"decision":{"Move":{"attempt":3,"to":7}}}"#,
            r#"{"at":2000000,"decision":{"Swap":{"one":4,"other":5}}}"#,
            r#"{"at":6000000,"event":{"Moved":{"attempt":3,"ok":true}}}"#,
            r#"{"at":9000000,"told":{"Moved":{"attempt":4,"ok":true}}}"#,
            r#"{"at":9000000,"decision":{"Swap":{"one":8,"other":9}}}"#,
            r#"{"at":9000000,"told":{"Moved":{"attempt":9,"ok":false}}}"#,
            r#"{"at":9000000,"decision":{"Move":{"attempt":3,"to":8}}}"#,
            r#"{"at":9500000,"event":{"Moved":{"attempt":3,"ok":false}}}"#,
        ];
        let moves = Moves::of(lines.join("\n").as_bytes()).unwrap();
        assert_eq!((moves.done, moves.refused), (3, 3));
        assert_eq!(moves.answered, [5.0, 7.0, 0.0, 0.5]);
    }
}
