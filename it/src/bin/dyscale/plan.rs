//! The jobs of a session, drawn by a seed, and the same as a workload.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use sim::{Chance, Workload};

/// Of a batch map on the fast core, seconds.
pub(crate) const BATCH_SECONDS: f64 = 4.0;
/// Between two interactive jobs in the mean, seconds.
pub(crate) const GAP: f64 = 3.0;
/// An interactive job has so many maps at the most, and one at least.
const MOST_MAPS: u64 = 3;
/// A map of it takes that long at least on the fast core, and up to twice as long, milliseconds.
pub(crate) const LEAST_MS: u64 = 800;

/// What is submitted.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The batch job, then the interactive ones.
    pub(crate) jobs: Vec<PlannedJob>,
}

#[derive(Clone, Debug)]
pub(crate) struct PlannedJob {
    pub(crate) queue: &'static str,
    /// Seconds after the batch job.
    pub(crate) after: f64,
    pub(crate) maps: u32,
    /// Of each map, on the fast core.
    pub(crate) seconds: f64,
}

impl Plan {
    pub(crate) fn drawn(seed: u64, maps: u32, interactive: u32) -> Self {
        let batch = PlannedJob {
            queue: "batch",
            after: 0.0,
            maps,
            seconds: BATCH_SECONDS,
        };
        let mut chance = Chance::seeded(seed);
        let mut after = 0.0;
        let drawn = (0..interactive).map(|_| {
            // Exponential, from 1 millionth to 1.
            let even = (chance.below(1_000_000) + 1) as f64 / 1e6;
            after -= GAP * even.ln();
            PlannedJob {
                queue: "interactive",
                after,
                maps: u32::try_from(chance.below(MOST_MAPS)).unwrap_or(0) + 1,
                seconds: (LEAST_MS + chance.below(LEAST_MS)) as f64 / 1e3,
            }
        });
        Self {
            jobs: std::iter::once(batch).chain(drawn).collect(),
        }
    }

    /// The same for the simulator, with jobs that come at these seconds, whose tasks take this long beside their rest.
    pub(crate) fn workload(&self, arrivals: &[f64], beside: Duration) -> Result<Workload> {
        let jobs = self.jobs.iter().zip(arrivals).zip(1_u32..);
        let jobs = jobs.map(|((job, at), number)| {
            json!({
                "name": number.to_string(),
                "submit_s": at,
                "queue": job.queue,
                "maps": { "count": job.maps, "seconds": job.seconds, "memory_mb": 1 },
            })
        });
        let workload = json!({
            "nodes": [{
                "count": super::bench::NODES,
                "map_slots": 1,
                "slow_map_slots": super::bench::SLOW_SLOTS,
                "speed": "fast",
            }],
            "jobs": jobs.collect::<Vec<_>>(),
            "start_ms": u64::try_from(beside.as_millis())?,
        });
        Ok(serde_json::from_value(workload)?)
    }
}

#[cfg(test)]
mod tests {
    use policy::schedule::named;
    use sim::WorkloadRun;

    use super::*;

    #[test]
    fn a_seed_draws_the_same_jobs_which_the_simulator_plays() {
        let plan = Plan::drawn(7, 120, 20);
        let text = |plan: &Plan| format!("{plan:?}");
        assert_eq!(text(&plan), text(&Plan::drawn(7, 120, 20)));
        assert_ne!(text(&plan), text(&Plan::drawn(8, 120, 20)));
        let arrivals: Vec<f64> = plan.jobs.iter().map(|job| job.after).collect();
        assert_eq!(arrivals.len(), 21);
        assert!(arrivals.is_sorted());
        let workload = plan
            .workload(&arrivals, Duration::from_millis(100))
            .unwrap();
        let ends = |policy: &str| -> Vec<f64> {
            let run = WorkloadRun::new(&workload, named(policy).unwrap());
            let played = run.play().unwrap().jobs;
            played.iter().map(|job| job.end_s - job.submit_s).collect()
        };
        let (fifo, dyscale) = (ends("fifo"), ends("dyscale"));
        let interactive = |ends: &[f64]| ends[1..].iter().sum::<f64>();
        assert!(interactive(&dyscale) < interactive(&fifo) / 2.0);
    }
}
