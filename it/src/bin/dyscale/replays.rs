//! Records of sessions as workloads of the simulator: how near it comes when told how long each task took.

use it::results::{Axis, Chart, Figure, Series, Setting, Table};

use crate::policies::short;
use crate::recorded::{JobRun, SessionRun, mean};
use crate::{DyScaleOptions, command};

/// What SimMR claims, percent.
const NEAR: f64 = 5.0;

impl SessionRun {
    /// How far off the replay is of each job's time, percent.
    fn off(&self) -> impl Iterator<Item = f64> {
        let each = self.jobs.iter();
        each.map(|job| (job.replayed - job.came) / (job.real - job.came) * 100.0 - 100.0)
    }

    fn end_off(&self) -> f64 {
        (self.end(|job| job.replayed) / self.end(|job| job.real) - 1.0) * 100.0
    }

    fn mean_off(&self, queue: &str) -> f64 {
        let of = |end: fn(&JobRun) -> f64| self.mean(queue, end);
        (of(|job| job.replayed) / of(|job| job.real) - 1.0) * 100.0
    }
}

pub(crate) fn figure(options: &DyScaleOptions, setting: Setting, runs: &[SessionRun]) -> Figure {
    let mut table = Table::new(&[
        "policy",
        "seed",
        "jobs",
        "recorded end, s",
        "replayed end, s",
        "off, %",
        "interactive mean off, %",
        "batch mean off, %",
        "a job's time off in the mean, %",
        "jobs within 5 %",
        "decision to start, ms",
    ]);
    for run in runs {
        let near = run.off().filter(|off| off.abs() <= NEAR).count();
        table.row([
            short(&run.policy).to_owned(),
            run.seed.to_string(),
            run.jobs.len().to_string(),
            format!("{:.2}", run.end(|job| job.real)),
            format!("{:.2}", run.end(|job| job.replayed)),
            format!("{:+.2}", run.end_off()),
            format!("{:+.1}", run.mean_off("interactive")),
            format!("{:+.1}", run.mean_off("batch")),
            format!("{:.1}", mean(run.off().map(f64::abs))),
            near.to_string(),
            run.start_ms.to_string(),
        ]);
    }
    let ends = runs.iter().filter(|run| run.end_off().abs() <= NEAR);
    let most = runs.iter().map(|run| run.end_off().abs());
    let jobs: Vec<f64> = runs
        .iter()
        .flat_map(SessionRun::off)
        .map(f64::abs)
        .collect();
    let near = jobs.iter().filter(|off| **off <= NEAR).count();
    let findings = vec![
        format!(
            "{} of {} sessions end within {NEAR} % of what was recorded; the one farthest off is off by {:.2} %.",
            ends.count(),
            runs.len(),
            most.fold(0.0, f64::max)
        ),
        format!(
            "{near} of {} jobs take a time within {NEAR} % of the recorded one; in the mean they are off by {:.1} %.",
            jobs.len(),
            mean(jobs.iter().copied())
        ),
    ];
    let bars = |end: fn(&JobRun) -> f64| {
        let at = runs.iter().enumerate();
        at.map(|(place, run)| (place as f64, run.end(end)))
            .collect()
    };
    let name = |run: &SessionRun| format!("{} {}", short(&run.policy), run.seed);
    Figure {
        name: "dyscale-replays".to_owned(),
        title: "Recorded sessions replayed by the simulator".to_owned(),
        command: command("replays", options),
        method: "The sessions of the figure before. Each was recorded (`gerbil session start --record`); the record is told to \
                 its policy again, which decides the same, and its times become a workload: when jobs came, how long each task \
                 took, on which cores, and the median from a decision to a start (`gerbil-sim compare`). *Off*: the replay \
                 beside the record."
            .to_owned(),
        paper: "SimMR, the paper's simulator, is within 5 % of real executions.".to_owned(),
        findings,
        setting,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("all done, s"),
            names: runs.iter().map(name).collect(),
            stacked: false,
            series: vec![
                Series::measured("recorded", bars(|job| job.real)),
                Series::given("replayed", bars(|job| job.replayed)),
            ],
        },
    }
}
