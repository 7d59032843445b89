//! Traces of jobs ([`policy::schedule::trace`]), and what they are made of: the mix of DyScale's figures
//! ([`crate::dyscale`]), traces that SWIM has published ([`swim`]), and what the jobs of a cluster have left
//! ([`history`]).

pub mod history;
pub mod swim;

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use policy::schedule::Nanos;
use policy::schedule::trace::{HEADER, TracedJob, read_trace};

use crate::run::in_seconds;
use crate::workload::{AlikeTasks, WorkloadJob, seconds};

/// The jobs of the trace in a file, by their submission.
///
/// # Errors
///
/// It cannot be read, is no trace, or has no job: a sentence with the file and the line.
pub fn read(path: &Path) -> Result<Vec<TracedJob>> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {shown}"))?;
    let mut jobs = read_trace(&text).with_context(|| format!("{shown}"))?;
    ensure!(!jobs.is_empty(), "{shown} has no job");
    jobs.sort_by_key(|job| job.submit);
    Ok(jobs)
}

/// The text of a trace.
#[must_use]
pub fn text(jobs: &[TracedJob]) -> String {
    let lines = jobs.iter().map(|job| format!("{job}\n"));
    format!("{HEADER}\n{}", lines.collect::<String>())
}

/// A job as it is played: what its reduces take to have their input is a part of what they take.
#[must_use]
pub fn played(job: &TracedJob) -> WorkloadJob {
    let tasks = |count, each| (count > 0).then(|| AlikeTasks::of(count, in_seconds(each)));
    WorkloadJob {
        name: job.name.clone(),
        submit_s: in_seconds(job.submit),
        user: String::new(),
        queue: job.class.map_or("", |class| class.queue()).to_owned(),
        priority: 0,
        deadline_s: None,
        maps: tasks(job.maps, job.map),
        reduces: tasks(job.reduces, job.shuffle.plus(job.reduce)),
        ranks: None,
    }
}

/// Jobs of a workload as a trace has them: tasks that are not alike by their mean, ranks not at all.
///
/// # Errors
///
/// A time is none, or a job has no maps.
pub fn traced(jobs: &[WorkloadJob]) -> Result<Vec<TracedJob>> {
    jobs.iter().map(one_traced).collect()
}

fn one_traced(job: &WorkloadJob) -> Result<TracedJob> {
    let count = |stage: &Option<AlikeTasks>| stage.as_ref().map_or(0, |tasks| tasks.count);
    let each = |stage: &Option<AlikeTasks>| match stage {
        Some(tasks) => seconds(tasks.mean_seconds()),
        None => Ok(Nanos(0)),
    };
    let maps = count(&job.maps);
    ensure!(maps > 0, "job {:?} has no maps", job.name);
    Ok(TracedJob {
        name: job.name.clone(),
        submit: seconds(job.submit_s)?,
        class: policy::schedule::JobClass::of_queue(&job.queue),
        maps,
        reduces: count(&job.reduces),
        map: each(&job.maps)?,
        shuffle: Nanos(0),
        reduce: each(&job.reduces)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dyscale::Mix;

    #[test]
    fn a_mix_is_played_from_its_trace_as_it_was_drawn() {
        let mix = Mix {
            jobs: 50,
            ..Mix::default()
        };
        let drawn = mix.draw(1, Some(50.0));
        let text = text(&traced(&drawn).unwrap());
        let jobs = read_trace(&text).unwrap();
        assert_eq!(jobs.len(), 50);
        for (job, drawn) in jobs.iter().map(played).zip(&drawn) {
            assert_eq!((&job.name, &job.queue), (&drawn.name, &drawn.queue));
            let near = |one: f64, other: f64| (one - other).abs() < 1e-8;
            assert!(near(job.submit_s, drawn.submit_s));
            for (one, other) in [(&job.maps, &drawn.maps), (&job.reduces, &drawn.reduces)] {
                let shape = |of: &Option<AlikeTasks>| of.as_ref().map(|of| (of.count, of.seconds));
                match (shape(one), shape(other)) {
                    (Some((count, seconds)), Some((of, each))) => {
                        assert!(count == of && near(seconds, each));
                    }
                    (one, other) => assert_eq!(one, other),
                }
            }
        }
    }
}
