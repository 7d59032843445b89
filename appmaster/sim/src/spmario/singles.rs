//! Each job alone, under the baseline with 1, 2 and 4 processes and under SPMario with 1, 2 and 3 tasks.

use anyhow::Result;

use super::device::{DeviceResult, DeviceSetting, Freed, Gpu};
use super::jobs::JOBS;
use super::world::SpmarioWorld;
use crate::at_once;
use crate::figure::{FigureRow, FigureTable};

/// Order, processes or tasks, GPU. One core is SPMario's scheduler, so the paper compares its 3 tasks with 4 processes.
/// The baseline is several processes, SPMario's tasks are threads of one: so the first six rows. The others are the
/// other reading.
const ROWS: [(&str, u32, Gpu); 12] = [
    ("gpmr", 1, Gpu::Serial),
    ("gpmr", 2, Gpu::Serial),
    ("gpmr", 4, Gpu::Serial),
    ("spmario", 1, Gpu::Overlap),
    ("spmario", 2, Gpu::Overlap),
    ("spmario", 3, Gpu::Overlap),
    ("gpmr", 1, Gpu::Overlap),
    ("gpmr", 2, Gpu::Overlap),
    ("gpmr", 4, Gpu::Overlap),
    ("spmario", 1, Gpu::Serial),
    ("spmario", 2, Gpu::Serial),
    ("spmario", 3, Gpu::Serial),
];

/// What every caption says.
pub(super) const CAPTION: &str =
    "A job is alone; its host buffers are free when their chunks are on the device (buffer=copy).";

/// What a measure gives of each job, by row of [`ROWS`].
pub(super) struct SingleValues([[f64; JOBS.len()]; ROWS.len()]);

/// All of them, played.
pub(super) struct SingleRuns(Vec<DeviceResult>);

impl SingleRuns {
    pub(super) fn play(world: &SpmarioWorld) -> Result<Self> {
        let each = ROWS.iter().flat_map(|(order, tasks, gpu)| {
            JOBS.map(|job| {
                let setting = DeviceSetting {
                    order,
                    tasks: *tasks,
                    gpu: *gpu,
                    freed: Freed::Copy,
                };
                (setting, job)
            })
        });
        let each: Vec<_> = each.collect();
        let played = at_once::each(&each, |(setting, job)| world.together(*setting, &[*job]))?;
        Ok(Self(played))
    }

    pub(super) fn measure(&self, measure: impl Fn(&DeviceResult) -> f64) -> SingleValues {
        let mut values = [[0.0; JOBS.len()]; ROWS.len()];
        for (value, result) in values.iter_mut().flatten().zip(&self.0) {
            *value = measure(result);
        }
        SingleValues(values)
    }
}

impl SingleValues {
    /// In percent of the baseline's, with one process.
    pub(super) fn of_baseline(&self, base: &Self) -> Self {
        let mut values = self.0;
        let [base, ..] = base.0;
        for row in &mut values {
            for (value, base) in row.iter_mut().zip(base) {
                *value = *value / base * 100.0;
            }
        }
        Self(values)
    }

    /// Each of these divided by that of the other.
    pub(super) fn over(&self, other: &Self) -> Self {
        let mut values = self.0;
        for (value, other) in values.iter_mut().flatten().zip(other.0.as_flattened()) {
            *value /= other;
        }
        Self(values)
    }

    pub(super) fn times(&self, factor: f64) -> Self {
        let mut values = self.0;
        for value in values.iter_mut().flatten() {
            *value *= factor;
        }
        Self(values)
    }

    pub(super) fn less(&self, other: &Self) -> Self {
        let mut values = self.0;
        for (value, other) in values.iter_mut().flatten().zip(other.0.as_flattened()) {
            *value -= other;
        }
        Self(values)
    }

    /// Of the baseline with 1, 2 and 4 processes.
    pub(super) const fn baseline(&self) -> [[f64; JOBS.len()]; 3] {
        let [one, two, four, ..] = self.0;
        [one, two, four]
    }

    /// Of SPMario with 1, 2 and 3 tasks.
    pub(super) const fn spmario(&self) -> [[f64; JOBS.len()]; 3] {
        let [_, _, _, one, two, three, ..] = self.0;
        [one, two, three]
    }

    pub(super) fn table(&self, title: &str, unit: &'static str) -> FigureTable {
        let rows = ROWS.iter().zip(self.0);
        let rows = rows.map(|((order, tasks, gpu), values)| {
            let what = match (*order, tasks) {
                ("gpmr", _) => "p",
                (_, 1) => " task",
                _ => " tasks",
            };
            let gpu = match gpu {
                Gpu::Overlap => "overlap",
                Gpu::Serial => "serial",
            };
            FigureRow::new(format!("{order}, {tasks}{what}, {gpu}"), values.to_vec())
        });
        FigureTable {
            title: title.to_owned(),
            unit,
            columns: JOBS.map(|job| job.name.to_owned()).to_vec(),
            rows: rows.collect(),
        }
    }
}

/// The largest `one` / `other` of a job.
pub(super) fn most(one: &[f64; JOBS.len()], other: &[f64; JOBS.len()]) -> f64 {
    let quotients = one.iter().zip(other).map(|(one, other)| one / other);
    quotients.fold(0.0, f64::max)
}

/// The best of each job.
pub(super) fn best(
    rows: &[[f64; JOBS.len()]; 3],
    better: impl Fn(f64, f64) -> f64,
) -> [f64; JOBS.len()] {
    let [first, second, third] = *rows;
    let mut best = first;
    for (best, (second, third)) in best.iter_mut().zip(second.iter().zip(third)) {
        *best = better(better(*best, *second), third);
    }
    best
}

/// Whether each is at least half a percent above what it was before, in all jobs.
pub(super) fn rises(rows: &[[f64; JOBS.len()]; 3]) -> bool {
    let steps = rows.iter().zip(rows.iter().skip(1));
    let mut pairs = steps.flat_map(|(one, next)| one.iter().zip(next));
    pairs.all(|(one, next)| *next > one * 1.005)
}

/// `1.0, 1.3 and 0.9`, of each job; `digits` behind the point.
pub(super) fn listed(values: &[f64; JOBS.len()], digits: usize) -> String {
    let shown = values.map(|value| format!("{value:.digits$}"));
    shown.join(", ")
}

/// Within a tenth of the paper's.
pub(super) fn is_near(ours: f64, paper: f64) -> bool {
    (ours / paper - 1.0).abs() <= 0.1
}
