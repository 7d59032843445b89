//! Which jobs the figures play: mixes that are drawn, or a trace.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use policy::schedule::JobClass;
use policy::schedule::trace::TracedJob;

use super::mix::{ALONE, Draw, Mix};
use crate::trace;
use crate::workload::WorkloadJob;

/// What the jobs of a figure are.
#[derive(Clone, Debug)]
pub(super) enum FigureJobs {
    /// Another mix for each seed.
    Drawn(Mix),
    /// The same ones always, in the order of their submission.
    Traced(Arc<[TracedJob]>),
}

/// Jobs without a class of at most so many tasks are interactive, as `dyscale` has it.
const MOST: u32 = 300;

impl FigureJobs {
    /// Those of a trace in a file. Each has a class then.
    pub(super) fn traced(file: &str) -> Result<Self> {
        let jobs = trace::read(Path::new(file))?.into_iter().map(|job| {
            let tasks = job.maps.saturating_add(job.reduces);
            let by_size = match tasks <= MOST {
                true => JobClass::Interactive,
                false => JobClass::Batch,
            };
            TracedJob {
                class: job.class.or(Some(by_size)),
                ..job
            }
        });
        Ok(Self::Traced(jobs.collect()))
    }

    /// The jobs of a seed, with gaps of this mean between them, in seconds; `None`: each has all the time to itself. Those of
    /// a trace come as they came, so much faster or slower; evenly where it does not say when.
    pub(super) fn of(&self, seed: u64, gap: Option<f64>) -> Vec<WorkloadJob> {
        let jobs = match self {
            Self::Drawn(mix) => return mix.draw(seed, gap),
            Self::Traced(jobs) => jobs,
        };
        let mut played: Vec<WorkloadJob> = jobs.iter().map(trace::played).collect();
        let came = |of: Option<&WorkloadJob>| of.map_or(0.0, |job| job.submit_s);
        let (first, last) = (came(played.first()), came(played.last()));
        let numbers = (0_u32..).map(f64::from);
        let gaps = f64::from(u32::try_from(jobs.len().saturating_sub(1)).unwrap_or(u32::MAX));
        for (number, job) in numbers.zip(&mut played) {
            job.submit_s = match gap {
                None => number * ALONE,
                Some(gap) if last > first => (job.submit_s - first) / (last - first) * gaps * gap,
                Some(gap) => number * gap,
            };
        }
        played
    }

    /// How many they are.
    pub(super) fn count(&self) -> u32 {
        match self {
            Self::Drawn(mix) => mix.jobs,
            Self::Traced(jobs) => u32::try_from(jobs.len()).unwrap_or(u32::MAX),
        }
    }

    /// Where those of a seed are from.
    pub(super) fn source(&self, seed: u64) -> String {
        match self {
            Self::Drawn(_) => format!("the mix of seed {seed}"),
            Self::Traced(_) => "the trace".to_owned(),
        }
    }

    /// What they are, in words.
    pub(super) fn words(&self, seeds: u64) -> String {
        match self {
            Self::Drawn(Mix {
                jobs,
                maps,
                reduces,
                draw,
            }) => {
                let drawn = match draw {
                    Draw::Job => "job",
                    Draw::Task => "task",
                };
                format!(
                    "{jobs} jobs of Table 1's bins, maps times {maps}, reduces times {reduces}; times drawn for each {drawn}; \
                     means of {seeds} mixes, the same ones for each row"
                )
            }
            Self::Traced(jobs) => {
                let batch = jobs.iter().filter(|job| job.class == Some(JobClass::Batch));
                format!(
                    "{} jobs of a trace, {} of them batch, which come as in the trace, faster or slower",
                    jobs.len(),
                    batch.count()
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced(lines: &[&str]) -> FigureJobs {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.csv");
        let header = policy::schedule::trace::HEADER;
        std::fs::write(&path, format!("{header}\n{}\n", lines.join("\n"))).unwrap();
        FigureJobs::traced(path.to_str().unwrap()).unwrap()
    }

    fn times(jobs: &FigureJobs, gap: Option<f64>) -> Vec<f64> {
        jobs.of(1, gap).iter().map(|job| job.submit_s).collect()
    }

    #[test]
    fn jobs_of_a_trace_come_as_they_came_at_any_load() {
        let jobs = traced(&[
            "c,5000,,400,0,1,0,0",
            "a,1000,,1,0,1,0,0",
            "b,2000,batch,1,1,1,1,1",
        ]);
        assert_eq!(times(&jobs, Some(100.0)), [0.0, 50.0, 200.0]);
        assert_eq!(times(&jobs, None), [0.0, ALONE, 2.0 * ALONE]);
        let queues: Vec<String> = jobs.of(1, None).into_iter().map(|job| job.queue).collect();
        assert_eq!(queues, ["interactive", "batch", "batch"]);
        let at_once = traced(&["a,7,,1,0,1,0,0", "b,7,,1,0,1,0,0"]);
        assert_eq!(times(&at_once, Some(30.0)), [0.0, 30.0]);
        assert_eq!(times(&traced(&["a,7,,1,0,1,0,0"]), Some(30.0)), [0.0]);
    }
}
